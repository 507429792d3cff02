"""Weights as bytes: int8 by blocks with a scale each, and bf16."""

import numpy as np
from numpy.typing import NDArray

_HIGHEST = np.float32(127)

# Of a smaller magnitude, the scale is no float32; such weights are nothing beside any other.
_LOWEST = _HIGHEST / np.finfo(np.float32).max


def quantize_blocks(weight: NDArray[np.float32], block: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows (N, K) as int8 (N, K) and scales (N, ⌈K / block⌉), such that w ≈ q / scale.

    Each block of a row is scaled by its own largest magnitude; a block of zeros has scale 1, and one of
    magnitudes below 4e-37 is one of zeros.
    """
    rows, columns = weight.shape
    count = -(-columns // block)
    padded = np.pad(weight, ((0, 0), (0, count * block - columns))).reshape(rows, count, block)
    largest = np.abs(padded).max(axis=2)
    scales = np.divide(_HIGHEST, largest, out=np.ones_like(largest), where=largest > _LOWEST)
    values = np.rint(padded * scales[:, :, None]).clip(-_HIGHEST, _HIGHEST).astype(np.int8)
    return values.reshape(rows, count * block)[:, :columns], scales


def dequantize_blocks(values: NDArray[np.int8], scales: NDArray[np.float32], block: int) -> NDArray[np.float32]:
    """The weights that int8 values (N, K) and scales (N, ⌈K / block⌉) stand for."""
    each = np.repeat(scales, block, axis=1)[:, : values.shape[1]]
    weights: NDArray[np.float32] = values.astype(np.float32) / each
    return weights


def to_bf16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """The upper half of each float32, rounded to nearest, ties to even; exact for weights that were bf16 before."""
    bits = values.view(np.uint32)
    rounded: NDArray[np.uint16] = ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype(np.uint16)
    return rounded
