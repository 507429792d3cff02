"""Rotary tables as torch makes them, and masks that hide what they must."""

import numpy as np
import pytest
import torch

from qwen3_tts_ncnn.runtime.rope import HIDDEN, causal_mask, rope_tables, window_mask

H = float(HIDDEN)

# head_dim and theta of the talker, of the codec, and of the tiny models.
TABLES = [(128, 1e6), (64, 1e4), (32, 1e6), (32, 1e4)]


def torch_angles(positions: torch.Tensor, head_dim: int, theta: float) -> torch.Tensor:
    """transformers' default RoPE, which upstream uses (M:558-612): all of it in float32."""
    frequencies = 1.0 / (theta ** (torch.arange(0, head_dim, 2, dtype=torch.int64).float() / head_dim))
    return positions.float()[:, None] * frequencies


@pytest.mark.parametrize(("head_dim", "theta"), TABLES)
def test_tables_are_those_of_torch_up_to_position_8000(head_dim: int, theta: float) -> None:
    """Rounding at position 8000 could cost 5e-4; measured 2.7e-7 for 128 (one frequency is one bit off), else 6e-8."""
    angles = torch_angles(torch.arange(8000), head_dim, theta)
    cos, sin = rope_tables(0, 8000, head_dim, theta)
    assert cos.dtype == sin.dtype == np.float32
    assert cos.shape == sin.shape == (8000, head_dim // 2)
    assert np.abs(cos - angles.cos().numpy()).max() < 3e-7
    assert np.abs(sin - angles.sin().numpy()).max() < 3e-7


def test_a_table_that_starts_later_is_a_part_of_one_that_starts_at_0() -> None:
    whole, part = rope_tables(0, 600, 32, 1e6), rope_tables(500, 100, 32, 1e6)
    for one, other in zip(whole, part, strict=True):
        assert np.array_equal(one[500:], other)


def test_position_0_turns_nothing() -> None:
    cos, sin = rope_tables(0, 1, 8, 1e4)
    assert cos.tolist() == [[1, 1, 1, 1]]
    assert sin.tolist() == [[0, 0, 0, 0]]


def test_a_causal_mask_hides_what_comes_after() -> None:
    assert causal_mask(0, 3).tolist() == [[0, H, H], [0, 0, H], [0, 0, 0]]
    assert causal_mask(2, 3).tolist() == [[0, 0, 0, H, H], [0, 0, 0, 0, H], [0, 0, 0, 0, 0]]


def test_one_row_sees_all_of_its_past() -> None:
    assert causal_mask(4, 1).tolist() == [[0, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (0, [[H, H, 0, H, H], [H, H, 0, 0, H], [H, H, 0, 0, 0]]),
        (1, [[H, 0, 0, H, H], [H, 0, 0, 0, H], [H, H, 0, 0, 0]]),
        (2, [[0, 0, 0, H, H], [H, 0, 0, 0, H], [H, H, 0, 0, 0]]),
        (9, [[0, 0, 0, H, H], [H, 0, 0, 0, H], [H, H, 0, 0, 0]]),
    ],
)
def test_a_window_of_3_sees_3_positions_and_none_before_0(position: int, expected: list[list[float]]) -> None:
    assert window_mask(position, 3, 3).tolist() == expected


def test_a_window_of_1_sees_itself_alone() -> None:
    assert window_mask(5, 2, 1).tolist() == [[0, H], [H, 0]]


def test_every_row_sees_something_and_what_is_hidden_weighs_exactly_nothing() -> None:
    for mask in (causal_mask(3, 5), window_mask(0, 5, 72), window_mask(100, 5, 72)):
        weights = np.exp(mask - mask.max(axis=1, keepdims=True))
        assert (weights.sum(axis=1) >= 1).all()
        assert (weights[mask == HIDDEN] == 0).all()
        assert mask.dtype == np.float32
