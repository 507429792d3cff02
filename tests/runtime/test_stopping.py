"""Runs that went wrong are stopped, and speech is not: on made-up frames, for every reason."""

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.stopping import (
    StopReason,
    Watchdog,
    frame_budget,
    level_dbfs,
    piece_seed,
    retry_seed,
)

Frame = list[int]


def speech(frames: int, seed: int = 0) -> list[Frame]:
    """Frames as different as those of speech."""
    return np.random.default_rng(seed).integers(0, 2048, (frames, 16)).tolist()


def varied(first: Iterable[int], seed: int = 9) -> list[Frame]:
    """Frames of given codes in codebook 0, and all others different every time."""
    first = list(first)
    return [[code, *frame[1:]] for code, frame in zip(first, speech(len(first), seed), strict=True)]


def stops(
    frames: Iterable[Frame], levels: Iterable[float | None] | None = None, **options: Any
) -> tuple[int, str] | None:
    """After how many frames a watchdog stops the run, and why; None if it does not."""
    watchdog = Watchdog(**options)
    for count, (frame, level) in enumerate(zip(frames, levels or [None] * len(frames), strict=True), 1):
        if reason := watchdog.check(frame, level):
            return count, reason
    return None


def test_the_reasons_are_the_strings_that_a_program_reads() -> None:
    assert [str(reason) for reason in StopReason] == ["eos", "limit", "repeat", "silence"]
    assert StopReason.EOS == "eos"
    assert json.dumps({"stop": StopReason.REPEAT}) == '{"stop": "repeat"}'


def test_a_budget_grows_with_the_text() -> None:
    assert frame_budget(0) == 125
    assert frame_budget(1) == 145
    assert frame_budget(33) == 785
    assert frame_budget(33, frames=0, frames_per_token=5) == 165
    assert frame_budget(5, frames=10, frames_per_token=0) == 10


def test_a_budget_of_no_frames_is_refused() -> None:
    for options, message in (
        ({"frames": -1}, "budget frames is -1, expected 0 or more"),
        ({"frames_per_token": -2}, "budget frames per token is -2, expected 0 or more"),
        ({"frames": 0, "frames_per_token": 0}, "the budget of 7 text tokens is 0 frames, expected 1 or more"),
    ):
        with pytest.raises(OptionError) as caught:
            frame_budget(7, **options)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("tokens", "seconds"),
    [
        (1, 6.0),  # "Hmm", drawn out
        (3, 12.0),  # www.example.org spelt out at a quarter of the usual pace
        (12, 22.0),  # 123456789012 at a third
        (33, 29.0),  # the first article in English at a quarter
        (27, 31.0),  # … in Chinese
        (52, 51.0),  # … in Japanese
    ],
)
def test_a_budget_does_not_cut_the_slowest_speech(tokens: int, seconds: float) -> None:
    assert frame_budget(tokens) > seconds * 12.5


def test_speech_goes_on() -> None:
    frames = speech(2000)
    assert stops(frames) is None
    assert stops(frames, np.random.default_rng(1).uniform(-45, -5, 2000).tolist()) is None


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_frames_may_be_arrays(dtype: type[np.integer]) -> None:
    watchdog = Watchdog(repeat_frames=2)
    frame = np.arange(16, dtype=dtype)
    assert [watchdog.check(frame) for _ in range(5)] == [None, None, None, "repeat", "repeat"]


def test_a_frame_that_stands_still_is_caught_after_four_seconds() -> None:
    assert stops(speech(30) + speech(1, seed=1) * 200) == (30 + 1 + 50, "repeat")
    assert stops(speech(30) + speech(1, seed=1) * 50 + speech(30, seed=2)) is None


def test_a_code_that_stands_still_is_caught_after_eight_seconds() -> None:
    assert stops(varied([*range(30), *[7] * 200])) == (30 + 1 + 100, "repeat")
    assert stops(varied([*range(30), *[7] * 100, *range(30)])) is None


@pytest.mark.parametrize(
    ("period", "caught"),
    [
        *[(period, period + 50) for period in (2, 3, 7, 16)],
        *[(period, 4 * period) for period in (17, 25, 49, 50)],  # one round, and three more
        (51, None),
    ],
)
def test_a_cycle_is_caught_in_its_fourth_round_and_not_before_four_seconds(period: int, caught: int | None) -> None:
    cycle = speech(period, seed=3)
    assert stops(speech(40) + cycle * 60) == (None if caught is None else (40 + caught, "repeat"))


def test_a_cycle_in_codebook_0_alone_is_caught() -> None:
    assert stops(varied([*range(100, 140), *[1, 2, 3] * 60])) == (40 + 3 + 100, "repeat")
    assert stops(varied([*range(100, 140), *list(range(40)) * 6])) == (40 + 4 * 40, "repeat")


def test_a_cycle_with_one_frame_changed_starts_anew() -> None:
    cycle = speech(5, seed=4)
    broken = cycle * 10 + speech(1, seed=5)
    assert stops(broken * 20, repeat_codes=None) is None


def test_a_phrase_said_twice_and_a_pause_go_on() -> None:
    phrase = speech(45, seed=6)
    pause = [[11] * 16] * 37  # 3 s
    assert stops(speech(20) + phrase * 2 + pause + phrase + speech(20, seed=8)) is None


def test_silence_is_caught_six_seconds_after_speech() -> None:
    frames = speech(300)
    assert stops(frames, [-20.0] * 50 + [-60.0] * 250) == (50 + 75, "silence")
    assert stops(frames, [-20.0] * 50 + [-math.inf] * 250) == (50 + 75, "silence")
    # Just loud enough is not silent, and every sound begins the count anew.
    assert stops(frames, [-20.0] * 50 + [-50.0] * 250) is None
    assert stops(frames, ([-20.0] + [-60.0] * 74) * 4) is None


def test_a_run_quiet_from_the_start_is_no_silence() -> None:
    assert stops(speech(1000), [-55.0] * 1000) is None


def test_frames_of_unknown_level_are_neither_speech_nor_silence() -> None:
    levels = [-20.0, *([None] * 5 + [-60.0]) * 100]
    assert stops(speech(601), levels) == (1 + 75 * 6, "silence")
    assert stops(speech(601), [None] + [-60.0] * 600) is None


def test_everything_can_be_turned_off() -> None:
    stuck, quiet = speech(1) * 500, [-20.0] + [-90.0] * 499
    assert stops(stuck, quiet, repeat_frames=None, repeat_codes=None, silence_frames=None) is None
    assert stops(stuck, quiet, repeat_frames=None, repeat_codes=None) == (76, "silence")
    assert stops(stuck, quiet, repeat_frames=None, silence_frames=None) == (101, "repeat")
    assert stops(stuck, quiet, repeat_codes=None, silence_frames=None) == (51, "repeat")


def test_everything_can_be_set() -> None:
    stuck = speech(1) * 500
    assert stops(stuck, repeat_frames=10) == (11, "repeat")
    assert stops(stuck, repeat_frames=None, repeat_codes=20) == (21, "repeat")
    assert stops(speech(9) * 50, repeat_frames=10, repeat_codes=10, longest_cycle=8) is None
    levels = [-20.0] + [-35.0] * 99
    assert stops(speech(100), levels, silence_frames=5, silence_level=-30.0) == (6, "silence")


@pytest.mark.parametrize("name", ["repeat_frames", "repeat_codes", "longest_cycle", "silence_frames"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_length_of_no_frame_is_refused(name: str, value: int) -> None:
    with pytest.raises(OptionError) as caught:
        Watchdog(**{name: value})
    assert str(caught.value) == f"{name} is {value}, expected 1 or more (a frame is 80 ms)"


def test_levels_are_of_the_root_mean_square() -> None:
    square = np.tile(np.array([1, -1], dtype=np.float32), 960)
    assert level_dbfs(square) == 0.0
    assert level_dbfs(square / 10) == pytest.approx(-20.0, abs=1e-6)
    sine = np.sin(2 * np.pi * np.arange(1920) / 96).astype(np.float32)
    assert level_dbfs(sine) == pytest.approx(-3.0103, abs=1e-4)
    assert level_dbfs(np.zeros(1920, dtype=np.float32)) == -math.inf
    assert level_dbfs(np.zeros(0, dtype=np.float32)) == -math.inf


def test_the_first_piece_and_the_first_attempt_keep_the_seed() -> None:
    for seed in (0, 7, 2**32 - 1, 2**40, -3):
        assert piece_seed(seed, 0) == seed
        assert retry_seed(seed, 0) == seed


def test_derived_seeds_are_the_same_for_ever() -> None:
    assert [piece_seed(7, piece) for piece in (1, 2, 3)] == [3017151418, 4013061339, 762666947]
    assert [retry_seed(7, attempt) for attempt in (1, 2, 3)] == [2519299738, 1799740117, 3416599948]
    assert piece_seed(2**40 + 7, 1) != piece_seed(7, 1)


def test_derived_seeds_differ_and_fit_32_bits() -> None:
    derived = [
        derive(seed, number) for derive in (piece_seed, retry_seed) for seed in range(30) for number in range(1, 30)
    ]
    assert len(set(derived)) == len(derived)
    assert all(0 <= seed < 2**32 for seed in derived)


@pytest.mark.parametrize(("derive", "what"), [(piece_seed, "piece"), (retry_seed, "retry")])
def test_numbers_below_0_are_a_mistake_of_the_program(derive: Any, what: str) -> None:
    with pytest.raises(ValueError, match=f"^{what} -1: counting starts at 0$"):
        derive(7, -1)
