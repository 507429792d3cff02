"""Inputs to trace and to compare with: the same for the same number of rows, in the form that the modules take."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from qwen3_tts_ncnn.runtime.codec_encoder import valid_columns
from qwen3_tts_ncnn.runtime.manifest import CodecEncoderShape, CodecShape
from qwen3_tts_ncnn.runtime.rope import causal_mask, rope_tables, window_mask

Example = Callable[[int], tuple[Tensor, ...]]


def rows(width: int) -> Example:
    """Rows (n, width) of standard normal values."""

    def example(n: int) -> tuple[Tensor, ...]:
        return (torch.from_numpy(_random(n).standard_normal((n, width), dtype=np.float32)),)

    return example


def ids(count: int) -> Example:
    """Ids (1, n) below `count`."""

    def example(n: int) -> tuple[Tensor, ...]:
        # int32: the ids are int32 bits in ncnn, and no layer may lie between the input and Embed.
        return (torch.from_numpy(_random(n).integers(0, count, (1, n), dtype=np.int32)),)

    return example


def decoder(width: int, head_dim: int, theta: float) -> Example:
    """Hidden rows (1, n, width), causal mask, rotary tables."""

    def example(n: int) -> tuple[Tensor, ...]:
        (hidden,) = rows(width)(n)
        return (hidden.unsqueeze(0), torch.from_numpy(causal_mask(0, n)), *_tables(n, head_dim, theta))

    return example


def codec_decoder(shape: CodecShape) -> Example:
    """The ids of n frames, window mask, rotary tables, and the states of a signal that begins."""

    def example(n: int) -> tuple[Tensor, ...]:
        codes = _random(n).integers(0, shape.codebook_size, (n, shape.codebooks), dtype=np.int32)
        offsets = np.arange(shape.codebooks, dtype=np.int32) * shape.codebook_size
        return (
            torch.from_numpy((codes + offsets).reshape(1, -1)),
            torch.from_numpy(window_mask(0, n, shape.window)),
            *_tables(n, shape.head_dim, shape.rope_theta),
            *(torch.zeros(1, *state) for state in shape.states),
        )

    return example


def mimi_encoder(shape: CodecEncoderShape) -> Example:
    """A wave of n frames at −20 dBFS that ends within the last one, causal mask, rotary tables, valid columns."""

    def example(n: int) -> tuple[Tensor, ...]:
        padded, steps = n * shape.samples_per_frame, n * shape.steps_per_frame
        samples = padded - shape.samples_per_frame * 2 // 3  # which leaves an odd number of valid steps
        wave = np.zeros((1, padded), dtype=np.float32)
        wave[0, :samples] = 0.1 * _random(n).standard_normal(samples, dtype=np.float32)
        return (
            torch.from_numpy(wave),
            torch.from_numpy(causal_mask(0, steps)),
            *_tables(steps, shape.head_dim, shape.rope_theta),
            *(torch.from_numpy(mask[None]) for mask in valid_columns(samples, padded, shape.ratios)),
        )

    return example


def mel(mels: int) -> Example:
    """Log-mel frames (1, n, mels) of the level that speech has."""

    def example(n: int) -> tuple[Tensor, ...]:
        return (torch.from_numpy(2 * _random(n).standard_normal((1, n, mels), dtype=np.float32) - 4),)

    return example


def _random(n: int) -> np.random.Generator:
    return np.random.default_rng(n)


def _tables(n: int, head_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """Full-width rotary tables (n, head_dim), the form that torch multiplies by: both halves alike."""
    cos, sin = (torch.from_numpy(np.concatenate((half, half), axis=1)) for half in rope_tables(0, n, head_dim, theta))
    return cos, sin
