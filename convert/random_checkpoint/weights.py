"""Random weights that behave: what each tensor of a checkpoint is drawn from, by its name.

Weights as they are initialised for training, N(0, 0.02), make a model that says one thing for ever: 4 distinct codes in
29 frames. These keep activations near one in every layer, logits far enough apart that arithmetic noise flips no
arg max, and an end-of-speech that is reached after a text-dependent number of frames.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

import numpy as np

from qwen3_tts_ncnn.convert.random_checkpoint.streams import Floats, Stream

Shape = tuple[int, ...]

HEAD_GAIN: Final = 4.0
USAGE_FLOOR: Final = 1e-5
"""Codebook rows used less than this count as used this much (T:717; transformers' Mimi does the same)."""

_CHANNEL_DECAY: Final = 0.7788007830714049  # exp(−1/4)


@dataclass(frozen=True)
class RandomWeights:
    """The values of every tensor of one checkpoint: a function of its name and shape, `seed` and `eos_gain`.

    Args:
        seed: all tensors' streams derive from it and the tensor's name.
        eos_id: the row of the talker's head that ends a run.
        eos_gain: how much longer that row is than the others.
    """

    seed: int
    eos_id: int
    eos_gain: float

    def tensor(self, name: str, shape: Shape) -> Floats:
        """The tensor called `name`, float32. ValueError if no rule knows such a name."""
        for pattern, draw in _RULES:
            if fnmatchcase(name, pattern):
                values = draw(self, name, shape).reshape(shape)
                return self._with_eos(values) if name == "talker.codec_head.weight" else values
        raise ValueError(f"{name}: no rule says what this tensor is drawn from")

    def stream(self, name: str) -> Stream:
        """The random numbers that belong to `name`."""
        return Stream(self.seed, name)

    def _with_eos(self, head: Floats) -> Floats:
        head[self.eos_id] *= np.float32(self.eos_gain)
        return head


Draw = Callable[[RandomWeights, str, Shape], Floats]


def _normal(std: float, mean: float = 0.0) -> Draw:
    return lambda weights, name, shape: weights.stream(name).normal(math.prod(shape), std) + np.float32(mean)


def _uniform(low: float, high: float) -> Draw:
    return lambda weights, name, shape: weights.stream(name).uniform(math.prod(shape), low, high)


def _linear(gain: float) -> Draw:
    """A Linear (out, in) or Conv1d (out, in / groups, kernel): gain / √fan_in keeps the scale of its input."""
    return lambda weights, name, shape: weights.stream(name).normal(
        math.prod(shape), gain / math.sqrt(math.prod(shape[1:]))
    )


def _transposed(taps: int) -> Draw:
    """A ConvTranspose1d (in, out, kernel), of whose kernel `taps` taps reach each output sample."""
    return lambda weights, name, shape: weights.stream(name).normal(math.prod(shape), 1 / math.sqrt(taps * shape[0]))


def _usage(weights: RandomWeights, name: str, shape: Shape) -> Floats:
    """How often each codebook row was used in training: one in 32 never, which is below the clamp."""
    stream = weights.stream(name)
    usage = stream.uniform(shape[0], 0.5, 20.0)
    usage[stream.uniform(shape[0], 0.0, 1.0) < 1 / 32] = USAGE_FLOOR / 10
    return usage


def _codebook(std: float, decay: float = 1.0) -> Draw:
    """Row sums of a codebook: divided by their usage, rows of `std` that shrink by `decay` from channel to channel."""

    def draw(weights: RandomWeights, name: str, shape: Shape) -> Floats:
        usage = _usage(weights, f"{name.rpartition('.')[0]}.cluster_usage", shape[:1])
        rows = weights.stream(name).normal(math.prod(shape), std).reshape(shape) * _decays(shape[1], decay)
        return rows * np.maximum(usage, np.float32(USAGE_FLOOR))[:, None]

    return draw


def _into_codebook(weights: RandomWeights, name: str, shape: Shape) -> Floats:
    """A projection (out, in, 1) to the space of decaying codebooks, whose channels shrink as theirs do.

    So the distances to the nearest and second nearest row differ by much of their size, and float32 does not swap them.
    """
    return _linear(1.0)(weights, name, shape).reshape(shape) * _decays(shape[0], _CHANNEL_DECAY)[:, None, None]


def _decays(count: int, decay: float) -> Floats:
    """1, decay, decay², …, as a running product: exp and pow differ between C libraries in the last bit."""
    return np.cumprod([1.0] + [decay] * (count - 1)).astype(np.float32)


def _ones(weights: RandomWeights, name: str, shape: Shape) -> Floats:
    return np.ones(shape, np.float32)


# The first pattern that fits decides.
_RULES: Final[tuple[tuple[str, Draw], ...]] = (
    ("*_embedding.*weight", _normal(1.0)),
    ("talker.codec_head.weight", _linear(HEAD_GAIN)),
    ("*.lm_head.*.weight", _linear(HEAD_GAIN)),
    ("*.[qk]_norm.weight", _uniform(1.3, 1.7)),
    ("*norm.weight", _uniform(0.7, 1.3)),
    ("*.gate_proj.weight", _linear(1.5)),
    ("*.up_proj.weight", _linear(1.5)),
    ("speaker_encoder.fc.weight", _linear(0.5)),  # an x-vector as long as an embedding row
    # Codec.
    ("*.alpha", _normal(0.3)),
    # Magnitudes e^−β of about a half: at one, 25 snakes in a row make of float32's rounding the last bit of a PCM16.
    ("*.beta", _normal(0.3, mean=0.7)),
    ("*.gamma", _uniform(0.3, 0.7)),
    ("*_layer_scale.scale", _uniform(0.3, 0.7)),
    ("*.initialized", _ones),
    ("*.cluster_usage", _usage),
    ("decoder.*.rvq_first.*.embedding_sum", _codebook(1.0)),
    ("decoder.*.rvq_rest.*.embedding_sum", _codebook(0.25)),  # fifteen of them add up to one
    ("encoder.*.embed_sum", _codebook(2.0, _CHANNEL_DECAY)),
    ("decoder.upsample.*.0.conv.weight", _transposed(1)),
    ("decoder.decoder.*.block.1.conv.weight", _transposed(2)),
    ("decoder.decoder.*.block.*.conv2.conv.weight", _linear(0.4)),  # or twelve residual units clip the wave
    ("decoder.decoder.6.conv.weight", _linear(0.06)),
    ("decoder.decoder.6.conv.bias", _normal(0.01)),
    ("encoder.quantizer.*.input_proj.weight", _into_codebook),
    # ELU halves what it passes, and what does not change with the audio gives every frame the same code.
    ("encoder.encoder.layers.0.conv.weight", _linear(3.0)),
    ("encoder.encoder.*.conv.weight", _linear(1.25)),
    ("encoder.*.bias", _normal(0.03)),
    # All that is left is linear or convolutional.
    ("*.bias", _normal(0.1)),
    ("*.weight", _linear(1.0)),
)
