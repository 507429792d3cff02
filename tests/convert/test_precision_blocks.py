"""Weights as int8 by blocks, and as bf16: how far from the float32 they may be, and what is kept exactly."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.precision.blocks import dequantize_blocks, quantize_blocks, to_bf16
from qwen3_tts_ncnn.convert.precision.formats import BLOCKS

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)

# Sizes below, at and above the smaller blocks, most of them no multiple.
WEIGHTS = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=70), elements=FLOATS)


def step(scales: NDArray[np.float32], block: int, columns: int) -> NDArray[np.float64]:
    """What one int8 step of each weight is."""
    return np.repeat(1 / scales.astype(np.float64), block, axis=1)[:, :columns]


@settings(deadline=None, max_examples=200)
@given(WEIGHTS, st.sampled_from(BLOCKS))
def test_no_weight_is_further_off_than_half_a_step_of_its_block(weight: NDArray[np.float32], block: int) -> None:
    values, scales = quantize_blocks(weight, block)
    rows, columns = weight.shape
    assert (values.dtype, values.shape) == (np.dtype(np.int8), weight.shape)
    assert (scales.dtype, scales.shape) == (np.dtype(np.float32), (rows, -(-columns // block)))
    assert np.isfinite(scales).all()
    size = step(scales, block, columns)
    # Beside the half, what a float32 product of up to 127 is rounded by.
    off = np.abs(weight - values * size)
    assert (off <= (0.5 + 127 * 2.0**-23) * size).all()


@settings(deadline=None)
@given(WEIGHTS, st.sampled_from(BLOCKS))
def test_the_largest_of_a_block_is_127_steps(weight: NDArray[np.float32], block: int) -> None:
    values, _ = quantize_blocks(weight, block)
    for start in range(0, weight.shape[1], block):
        part, largest = values[:, start : start + block].astype(int), np.abs(weight[:, start : start + block]).max(1)
        expected = np.where(largest > 127 / np.finfo(np.float32).max, 127, 0)
        assert np.array_equal(np.abs(part).max(axis=1), expected)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("columns", [1, 31, 32, 100, 128, 300])
def test_weights_on_the_grid_are_kept_exactly(block: int, columns: int) -> None:
    random = np.random.default_rng(columns)
    steps = random.integers(-127, 128, (5, columns))
    steps[:, ::block] = -127  # each block has its largest
    size = 2.0 ** -random.integers(1, 12, (5, -(-columns // block)))
    weight = (steps * np.repeat(size, block, axis=1)[:, :columns]).astype(np.float32)
    values, scales = quantize_blocks(weight, block)
    assert np.array_equal(values, steps)
    assert np.array_equal(scales, 1 / size)
    assert np.array_equal(dequantize_blocks(values, scales, block), weight)


def test_a_block_of_zeros_stays_zero_beside_one_that_is_not() -> None:
    weight = np.zeros((2, 96), dtype=np.float32)
    weight[1, 40] = -3
    values, scales = quantize_blocks(weight, 32)
    assert scales.tolist() == [[1, 1, 1], [1, np.float32(127 / 3), 1]]
    assert np.flatnonzero(values).tolist() == [96 + 40]
    assert values[1, 40] == -127
    assert not dequantize_blocks(np.zeros_like(values), scales, 32).any()


def test_a_large_weight_costs_its_own_block_alone() -> None:
    weight = np.full((1, 64), 0.01, dtype=np.float32)
    weight[0, 0] = 100
    values, scales = quantize_blocks(weight, 32)
    assert values[0, :32].tolist() == [127, *[0] * 31]
    assert values[0, 32:].tolist() == [127] * 32
    assert scales.tolist() == [[np.float32(1.27), np.float32(127) / np.float32(0.01)]]


@pytest.mark.filterwarnings("error")
def test_weights_too_small_for_a_scale_are_zeros() -> None:
    weight = np.array([[1e-38, 0, -1e-45, 3e-37]], dtype=np.float32)
    values, scales = quantize_blocks(weight, 32)
    assert (values.tolist(), scales.tolist()) == ([[0, 0, 0, 0]], [[1]])


def torch_bf16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    return torch.from_numpy(values.copy()).to(torch.bfloat16).view(torch.uint16).numpy()


@settings(deadline=None, max_examples=200)
@given(arrays(np.float32, st.integers(1, 60), elements=st.floats(width=32, allow_nan=False)))
def test_bf16_is_torch_s_bit_for_bit(values: NDArray[np.float32]) -> None:
    assert np.array_equal(to_bf16(values), torch_bf16(values))


def test_bf16_rounds_ties_to_even_as_torch_does() -> None:
    upper = np.arange(0, 0x7F80, 7, dtype=np.uint32)  # of every exponent
    for lower in (0x7FFF, 0x8000, 0x8001, 0xFFFF):
        for sign in (0, 0x80000000):
            values = (upper << 16 | lower | sign).astype(np.uint32).view(np.float32)
            assert np.array_equal(to_bf16(values), torch_bf16(values)), hex(lower)
    ties = np.array([0x3F808000, 0x3F818000], dtype=np.uint32).view(np.float32)  # 1 + 2⁻⁸, 1 + 3 · 2⁻⁸
    assert to_bf16(ties).tolist() == [0x3F80, 0x3F82]


def test_every_value_that_is_bf16_is_kept() -> None:
    every = np.arange(2**16, dtype=np.uint32)
    numbers = every[np.isfinite((every << 16).view(np.float32))]
    assert np.array_equal(to_bf16((numbers << 16).view(np.float32)), numbers)
