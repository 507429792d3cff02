"""Choosing a code: each processor by exact small lists, and the options it refuses."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import NumericalError, OptionError
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.sampling import (
    Sampling,
    choose,
    draw,
    keep_top_k,
    keep_top_p,
    penalize_repetition,
    softmax,
    suppress,
    temper,
)
from qwen3_tts_ncnn.runtime.torch_random import TorchSource

NO = -math.inf
GREEDY = Sampling(greedy=True)


def logits(*values: float) -> Floats:
    return np.array(values, dtype=np.float32)


class Draws:
    """A source that gives what it was told to."""

    def __init__(self, *draws: float) -> None:
        self.draws = np.array(draws)
        self.counts: list[int] = []

    def exponential(self, count: int) -> NDArray[np.floating]:
        self.counts.append(count)
        return np.resize(self.draws, count)


def test_repetition_divides_what_is_positive_and_multiplies_what_is_negative() -> None:
    given = logits(2, -2, 0, 4)
    assert penalize_repetition(given, [0, 1, 2], 2.0).tolist() == [1, -4, 0, 4]
    assert given.tolist() == [2, -2, 0, 4]


def test_an_id_that_came_twice_is_penalized_once() -> None:
    assert penalize_repetition(logits(4, 4), [0, 0, 0], 2.0).tolist() == [2, 4]


def test_nothing_seen_or_a_penalty_of_1_changes_nothing() -> None:
    assert penalize_repetition(logits(2, -2), [], 2.0).tolist() == [2, -2]
    assert penalize_repetition(logits(2, -2), [0, 1], 1.0).tolist() == [2, -2]


def test_suppressed_ids_are_impossible() -> None:
    given = logits(1, 2, 3)
    assert suppress(given, np.array([0, 2])).tolist() == [NO, 2, NO]
    assert given.tolist() == [1, 2, 3]


def test_top_k_keeps_the_k_highest_and_what_ties_with_the_last() -> None:
    assert keep_top_k(logits(3, 1, 2, 5), 2).tolist() == [3, NO, NO, 5]
    assert keep_top_k(logits(3, 1, 3, 5), 2).tolist() == [3, NO, 3, 5]
    for all_of_them in (0, 4, 50):
        assert keep_top_k(logits(3, 1, 2, 5), all_of_them).tolist() == [3, 1, 2, 5]


def test_top_p_keeps_the_fewest_that_reach_p() -> None:
    given = logits(*np.log([0.1, 0.5, 0.15, 0.25]))

    def kept(p: float) -> list[int]:
        return np.flatnonzero(np.isfinite(keep_top_p(given, p))).tolist()

    assert [kept(p) for p in (0.01, 0.49, 0.51, 0.74, 0.76, 0.89, 0.91, 1.0)] == [
        [1],
        [1],
        [1, 3],
        [1, 3],
        [1, 2, 3],
        [1, 2, 3],
        [0, 1, 2, 3],
        [0, 1, 2, 3],
    ]
    assert np.array_equal(keep_top_p(given, 0.6)[[1, 3]], given[[1, 3]])


def test_temperature_divides() -> None:
    assert temper(logits(1, -2, NO), 0.5).tolist() == [2, -4, NO]
    assert temper(logits(1, -2, NO), 1.0).tolist() == [1, -2, NO]
    assert temper(logits(1), 3.0).dtype == np.float32


def test_softmax_is_float32_and_stable() -> None:
    assert softmax(logits(1000, 1000, NO)).tolist() == [0.5, 0.5, 0]
    assert softmax(logits(0, 1)).dtype == np.float32


@pytest.mark.parametrize(("given", "chosen"), [((1, 3, 3, 2), 1), ((5, 5), 0), ((NO, NO, -7, -7), 2)])
def test_greedy_takes_the_highest_and_of_equals_the_lowest_id(given: tuple[float, ...], chosen: int) -> None:
    assert choose(logits(*given), GREEDY, None) == chosen


def test_greedy_neither_draws_nor_shapes() -> None:
    draws = Draws(1.0)
    sampling = Sampling(greedy=True, temperature=0.5, top_k=1, top_p=0.1)
    assert choose(logits(1, 2), sampling, draws) == 1
    assert draws.counts == []


def test_a_draw_is_the_largest_probability_over_exponential() -> None:
    given = logits(*np.log([0.5, 0.3, 0.2]))
    # 0.5 / 4 = 0.125, 0.3 / 1 = 0.3, 0.2 / 0.5 = 0.4
    assert choose(given, Sampling(greedy=False), Draws(4.0, 1.0, 0.5)) == 2
    assert choose(given, Sampling(greedy=False), Draws(4.0, 1.0, 1.0)) == 1
    assert choose(given, Sampling(greedy=False), Draws(1.0)) == 0


def test_every_entry_is_drawn_for_the_impossible_ones_too() -> None:
    """torch's multinomial does, and one generator serves the whole run."""
    draws = Draws(1.0)
    choose(logits(1, 2, NO, NO, 0), Sampling(greedy=False, top_k=1), draws)
    assert draws.counts == [5]


def test_a_chance_of_zero_takes_its_id() -> None:
    """Once in 2^53 draws. It is torch's way too, of an impossible id as well (0 / 0)."""
    assert draw(logits(0.5, 0.25, 0.25), Draws(1.0, 0.0, 1e-30)) == 1
    assert draw(logits(0.5, 0.5, 0.0), Draws(0.0, 1.0, 0.0)) == 2


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(greedy=False, temperature=0.9, top_k=2, top_p=0.5)])
@pytest.mark.parametrize(
    ("given", "highest"),
    [((1, math.nan, 2), "nan"), ((math.nan,) * 3, "nan"), ((1, math.inf, NO), "inf"), ((NO, NO, NO), "-inf")],
)
def test_logits_that_are_no_numbers_are_an_error(sampling: Sampling, given: tuple[float, ...], highest: str) -> None:
    draws = Draws(1.0)
    with pytest.raises(NumericalError) as caught:
        choose(logits(*given), sampling, draws)
    assert str(caught.value) == (
        f"the highest of 3 logits is {highest}, expected a finite number: check the package with "
        "`qwen3-tts-ncnn verify`; where it is whole, the checkpoint is broken or was converted wrongly"
    )
    assert draws.counts == []


@pytest.mark.parametrize("temperature", [1e-6, 1e30])
def test_the_coldest_and_the_hottest_are_numbers_still(temperature: float) -> None:
    given, sampling = logits(1e30, -1e30, NO, 1e-30), Sampling(greedy=False, temperature=temperature, top_p=0.999)
    assert choose(given, sampling, Draws(1.0)) == 0


def test_an_equal_draw_goes_to_the_lowest_id() -> None:
    assert choose(logits(1, 1, 1), Sampling(greedy=False), Draws(1.0)) == 0


def test_what_is_filtered_is_never_drawn() -> None:
    source = TorchSource(0)
    given = logits(5, 1, 5, 0, 4)
    chosen = {choose(given, Sampling(greedy=False, temperature=100.0, top_k=3), source) for _ in range(300)}
    assert chosen == {0, 2, 4}


def test_temperature_comes_before_top_p() -> None:
    """Hot enough, all four are alike, so that 0.9 of the probability takes them all; cold, one has it alone."""
    given = logits(1, 2, 3, 4)
    last = Draws(1e-6, 1.0, 1.0, 1.0)
    assert choose(given, Sampling(greedy=False, temperature=1000.0, top_p=0.9), last) == 0
    assert choose(given, Sampling(greedy=False, temperature=0.01, top_p=0.9), last) == 3


def test_draws_follow_the_probabilities() -> None:
    source, count = TorchSource(1), 20_000
    given = logits(*np.log([0.6, 0.3, 0.1]))
    chosen = np.bincount([choose(given, Sampling(greedy=False), source) for _ in range(count)], minlength=3)
    # Four standard deviations of a binomial.
    for seen, probability in zip(chosen / count, (0.6, 0.3, 0.1), strict=True):
        assert abs(seen - probability) < 4 * math.sqrt(probability * (1 - probability) / count)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, "temperature is 0.0, expected above 0"),
        ({"temperature": -1.0}, "temperature is -1.0, expected above 0"),
        ({"temperature": math.nan}, "temperature is nan, expected above 0"),
        ({"temperature": math.inf}, "temperature is inf, expected above 0"),
        ({"temperature": 9e-7}, "temperature is 9e-07, expected 1e-06 or more; for no chance at all use greedy"),
        ({"top_k": -1}, "top_k is -1, expected 0 (all) or more"),
        ({"top_p": 0.0}, "top_p is 0.0, expected above 0 and at most 1"),
        ({"top_p": 1.5}, "top_p is 1.5, expected above 0 and at most 1"),
        ({"top_p": math.nan}, "top_p is nan, expected above 0 and at most 1"),
    ],
)
def test_a_value_out_of_range_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        Sampling(greedy=False, **options)
    assert str(caught.value).startswith(message)
