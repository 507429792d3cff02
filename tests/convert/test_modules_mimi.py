"""The codec's encoder is transformers' Mimi as upstream builds it, where the last frame is not whole too."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.checkpoint.codec_config import MimiShape
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.errors import CheckpointError
from qwen3_tts_ncnn.convert.modules.mimi_encoder import MimiEncoder, PaddedConv, RepeatLast
from qwen3_tts_ncnn.runtime.codec_encoder import valid_columns
from qwen3_tts_ncnn.runtime.rope import causal_mask, rope_tables
from tests.convert.tensors import Dictionary, noise, observed, relative

FRAME = 1920
BOUND = 2e-6  # of the largest value; rounding alone

# One sample, ends of whole frames and their neighbours, ends within each strided convolution's step.
LENGTHS = [1, 4, 5, 959, 960, 961, 1919, 1920, 1921, 2401, 3839, 3840, 3841, 24001]


@pytest.fixture(scope="module")
def encoder(checkpoint: Checkpoint) -> MimiEncoder:
    return MimiEncoder(
        MimiShape.from_dict(checkpoint.codec_config.encoder), Weights(checkpoint.codec) / "encoder"
    ).eval()


@pytest.fixture(scope="module")
def mimi(upstream: Any) -> Any:
    return upstream.speech_tokenizer.model.encoder


def wave_of(samples: int) -> Tensor:
    return 0.1 * noise(1, samples, seed=samples)


def inputs_of(wave: Tensor, shape: MimiShape, kind: torch.dtype = torch.float32) -> list[Tensor]:
    """What the graph takes for a wave (1, n)."""
    samples = wave.shape[1]
    padded = -(-samples // FRAME) * FRAME
    steps = padded // FRAME * 2
    halves = rope_tables(0, steps, shape.head_dim, shape.rope_theta)
    tables = [torch.from_numpy(np.concatenate((half, half), axis=1)) for half in halves]
    masks = [torch.from_numpy(mask[None]) for mask in valid_columns(samples, padded, shape.ratios)]
    wave = nn.functional.pad(wave, (0, padded - samples))
    return [each.to(kind) for each in (wave, torch.from_numpy(causal_mask(0, steps)), *tables, *masks)]


def upstream_layers(mimi: Any) -> dict[str, nn.Module]:
    convs = {"conv_in": 0, "down0": 3, "down1": 6, "down2": 9, "down3": 12, "conv_out": 14}
    layers = {name: mimi.encoder.layers[index] for name, index in convs.items()}
    layers |= {f"transformer{n}": layer for n, layer in enumerate(mimi.encoder_transformer.layers)}
    return layers | {"latent": mimi.downsample}


def our_layers(encoder: MimiEncoder) -> dict[str, nn.Module]:
    layers: dict[str, nn.Module] = {"conv_in": encoder.conv_in, "conv_out": encoder.conv_out}
    layers |= {f"down{n}": layer for n, layer in enumerate(encoder.downs)}
    layers |= {f"transformer{n}": layer for n, layer in enumerate(encoder.transformer)}
    return layers | {"latent": encoder.downsample}


def upstream_latent(mimi: Any, wave: Tensor) -> Tensor:
    """MimiModel._encode_frame up to its quantizer."""
    steps = mimi.encoder_transformer(mimi.encoder(wave[None]).transpose(1, 2), return_dict=True)[0]
    latent: Tensor = mimi.downsample(steps.transpose(1, 2))
    return latent


@pytest.mark.parametrize("samples", LENGTHS)
def test_every_layer_is_upstream_s(checkpoint: Checkpoint, encoder: MimiEncoder, mimi: Any, samples: int) -> None:
    shape, wave = MimiShape.from_dict(checkpoint.codec_config.encoder), wave_of(samples)
    theirs = observed(upstream_layers(mimi), lambda: upstream_latent(mimi, wave))
    ours = observed(our_layers(encoder), lambda: encoder(*inputs_of(wave, shape)))
    assert ours.keys() == theirs.keys()
    errors = {}
    for name, (_, expected) in theirs.items():
        _, result = ours[name]
        # What lies beyond the recording is nobody's.
        if name.startswith("transformer"):
            result = result[:, : expected.shape[1]]
        else:
            result = result.squeeze(2)[..., : expected.shape[2]]
        errors[name] = relative(result, expected)
    assert max(errors.values()) <= BOUND, errors


@pytest.mark.parametrize("samples", [1920, 3841, 2000])
def test_it_is_upstream_s_encoder_to_the_last_digits_of_float64(
    checkpoint: Checkpoint, encoder: MimiEncoder, mimi: Any, samples: int
) -> None:
    """What is left is the float32 of the rotary tables and the masks; an approximation would show."""
    shape, wave = MimiShape.from_dict(checkpoint.codec_config.encoder), wave_of(samples).double()
    exact, theirs = copy.deepcopy(encoder).double(), copy.deepcopy(mimi).double()
    with torch.no_grad():
        ours, expected = exact(*inputs_of(wave, shape, torch.float64)), upstream_latent(theirs, wave)
    assert ours.shape == (1, shape.heads * shape.head_dim, -(-samples // FRAME))
    assert relative(ours, expected) < 1e-7


def test_a_recording_longer_than_the_window_of_the_configuration_is_heard_whole(
    checkpoint: Checkpoint, encoder: MimiEncoder, mimi: Any
) -> None:
    """12 s are 300 steps, the window 250. And it makes a difference which of them are heard."""
    shape, wave = MimiShape.from_dict(checkpoint.codec_config.encoder), wave_of(12 * 24000)
    inputs = inputs_of(wave, shape)
    windowed = inputs[1].clone()
    steps = torch.arange(len(windowed))
    windowed[steps[:, None] - steps >= 250] = -1e9
    with torch.no_grad():
        ours, expected = encoder(*inputs), upstream_latent(mimi, wave)
        other = encoder(inputs[0], windowed, *inputs[2:])
    assert relative(ours, expected) <= BOUND
    assert relative(other, expected) > 1e-4


def test_the_masks_are_needed(checkpoint: Checkpoint, encoder: MimiEncoder, mimi: Any) -> None:
    """A wave that is merely padded with zeros becomes something else on its way through biases."""
    shape, wave = MimiShape.from_dict(checkpoint.codec_config.encoder), wave_of(2001)
    inputs = inputs_of(wave, shape)
    with torch.no_grad():
        expected = upstream_latent(mimi, wave)
        unmasked = encoder(*inputs[:4], *(torch.ones_like(mask) for mask in inputs[4:]))
    assert relative(unmasked[..., :1], expected[..., :1]) <= BOUND, "the first frame is whole"
    assert relative(unmasked, expected) > 1e-3


@pytest.mark.parametrize("valid", [1, 2, 5, 6])
def test_a_last_column_that_is_not_valid_repeats_the_one_before_it(valid: int) -> None:
    x = noise(1, 3, 1, 6)
    mask = (torch.arange(6) < valid).float().reshape(1, 1, 1, 6)
    with torch.no_grad():
        result = RepeatLast(3)(x, mask)
    assert torch.equal(result[..., :valid], x[..., :valid])
    if valid < 6:
        assert torch.equal(result[..., valid], x[..., valid - 1])


@pytest.mark.parametrize(("stride", "dilation", "kernel"), [(1, 1, 7), (1, 2, 3), (4, 1, 8), (1, 1, 1)])
def test_a_padded_conv_is_a_causal_one_with_its_stride(stride: int, dilation: int, kernel: int) -> None:
    weight, bias, x = noise(5, 3, kernel), noise(5), noise(1, 3, 24)
    scope = Weights(Dictionary({"conv.weight": weight, "conv.bias": bias}))
    with torch.no_grad():
        ours = PaddedConv(scope, stride=stride, dilation=dilation)(x.unsqueeze(2)).squeeze(2)
    past = (kernel - 1) * dilation + 1 - stride
    expected = nn.functional.conv1d(nn.functional.pad(x, (past, 0)), weight, bias, stride=stride, dilation=dilation)
    assert ours.shape == (1, 5, 24 // stride)
    assert relative(ours, expected) <= BOUND


def test_the_downsampling_repeats_the_first_column_and_has_no_bias() -> None:
    scope = Weights(Dictionary({"conv.weight": torch.ones(1, 1, 4)}))
    with torch.no_grad():
        ours = PaddedConv(scope, stride=2, mode="replicate")(torch.tensor([10.0, 1, 2, 3]).reshape(1, 1, 1, 4))
    assert ours.flatten().tolist() == [10 + 10 + 10 + 1, 10 + 1 + 2 + 3]


def test_the_shape_is_the_configuration_s_with_ratios_in_the_encoder_s_order(checkpoint: Checkpoint) -> None:
    config = checkpoint.codec_config.encoder
    shape = MimiShape.from_dict(config)
    assert config["upsampling_ratios"] == [8, 6, 5, 4]
    assert shape == MimiShape(
        ratios=(4, 5, 6, 8),
        steps_per_frame=2,
        residual_layers=1,
        dilation_growth=2,
        layers=8,
        heads=2,
        head_dim=32,
        rope_theta=10000.0,
        norm_eps=1e-5,
    )


@pytest.mark.parametrize("key", ["dilation_growth_rate", "head_dim", "norm_eps", "rope_theta", "upsampling_ratios"])
def test_a_key_that_the_encoder_needs_is_named_when_missing(checkpoint: Checkpoint, key: str) -> None:
    config = {name: value for name, value in checkpoint.codec_config.encoder.items() if name != key}
    with pytest.raises(CheckpointError) as caught:
        MimiShape.from_dict(config)
    assert str(caught.value).startswith(f"speech_tokenizer/config.json: encoder_config.{key} is missing, expected ")
