"""A trace is N frames from N + 1 selections, on both sides, or it is no trace."""

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.errors import ParityError
from tests.parity.synthetic_traces import EOS, oracle_trace, package_trace


def test_as_many_selections_as_frames_are_refused() -> None:
    oracle = oracle_trace(4)
    with pytest.raises(ParityError, match=r"package's run: made 4 codebook-0 selections for 4 frames, expected 5"):
        package_trace(oracle, selections=oracle.selections[:-1])


def test_a_surplus_selection_is_refused_on_the_oracle_s_side_too() -> None:
    oracle = oracle_trace(4)
    with pytest.raises(ParityError, match=r"upstream's run: made 6 codebook-0 selections for 4 frames, expected 5"):
        type(oracle)(**{**vars(oracle), "selections": np.append(oracle.selections, EOS)})


def test_frames_must_hold_what_was_selected() -> None:
    oracle = oracle_trace(4)
    shifted = np.roll(oracle.selections, 1)
    with pytest.raises(ParityError, match="other codebook-0 tokens than it selected"):
        package_trace(oracle, selections=shifted)


def test_fifteen_codebooks_are_refused() -> None:
    oracle = oracle_trace(4)
    with pytest.raises(ParityError, match=r"shape \(4, 15\), expected \(frames, 16\)"):
        package_trace(oracle, codes=oracle.codes[:, :15])


def test_margins_of_another_length_are_refused() -> None:
    oracle = oracle_trace(4)
    with pytest.raises(ParityError, match=r"expected \(5, 16\) each"):
        type(oracle)(**{**vars(oracle), "margins": oracle.margins[:-1]})


def test_the_grid_ends_with_the_selection_that_became_no_frame() -> None:
    grid = oracle_trace(2).grid()
    assert grid.tolist() == [list(range(16)), list(range(100, 116)), [EOS] + [-1] * 15]
