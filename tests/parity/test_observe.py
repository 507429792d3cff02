"""Upstream's choices are held to its own scores: the best of them where it is greedy, a possible one where it draws."""

import numpy as np
import pytest
import torch

from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.observe import choices, top_two
from qwen3_tts_ncnn.parity.trace import ABSENT

SCORES = (torch.tensor([[1.0, 4.0, 3.5, -torch.inf]]), torch.tensor([[2.0, 2.0, 0.0, 1.0]]))


def test_a_greedy_choice_is_the_best_and_the_first_of_equals() -> None:
    assert choices(SCORES, np.array([1, 0]), "codebook 0", greedy=True) == [(0.5, 2), (0.0, 1)]


def test_another_choice_than_the_best_was_not_greedy() -> None:
    with pytest.raises(ParityError, match="selection 1 of codebook 0 is 1, its scores say 0"):
        choices(SCORES, np.array([1, 1]), "codebook 0", greedy=True)


@pytest.mark.parametrize("drawn", [[0, 3], [2, 1]])
def test_a_drawn_token_may_be_any_and_the_margin_is_that_of_the_scores(drawn: list[int]) -> None:
    assert choices(SCORES, np.array(drawn), "codebook 0", greedy=False) == [(0.5, 2), (0.0, 1)]


def test_a_drawn_token_that_was_ruled_out_comes_from_other_scores() -> None:
    with pytest.raises(ParityError, match="selection 0 of codebook 0 is 3, which its scores rule out"):
        choices(SCORES, np.array([3, 0]), "codebook 0", greedy=False)


def test_scores_of_another_number_of_selections_are_others() -> None:
    with pytest.raises(ParityError, match="2 rows of scores for 1 selections of codebook 0"):
        choices(SCORES, np.array([1]), "codebook 0", greedy=True)


@pytest.mark.parametrize("only", [0, 2])
def test_where_one_token_alone_is_possible_there_is_no_runner_up(only: int) -> None:
    scores = torch.full((4,), -torch.inf)
    scores[only] = 1.5
    assert top_two(scores) == (only, ABSENT, float("inf"))
