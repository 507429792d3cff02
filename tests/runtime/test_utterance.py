"""Frames become samples as they come, and a run that is speech no longer is cut where that shows."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.stopping import Watchdog
from qwen3_tts_ncnn.runtime.utterance import Utterance, decode_blocks, growing_sizes, utter
from tests.runtime.fakes import random_codes

PER_FRAME = 4  # samples


class MadeUpDecoding:
    """A frame's samples are its code 0, signed in turn, over 2048; a frame of code 0 is silent."""

    def __init__(self) -> None:
        self.blocks: list[int] = []

    def decode(self, codes: NDArray[np.int32]) -> Floats:
        self.blocks.append(len(codes))
        signs = np.array([1, -1, 1, -1], dtype=np.float32)
        samples: Floats = (codes[:, :1] / np.float32(2048) * signs).reshape(-1).astype(np.float32)
        return samples


def speech(frames: int, seed: int = 0) -> NDArray[np.int32]:
    """Codes (frames, 16) that are loud and never go round."""
    codes = random_codes(frames, seed)
    codes[:, 0] = 1000 + codes[:, 0] % 1000
    return codes


def silence(frames: int, seed: int = 1) -> NDArray[np.int32]:
    """Codes (frames, 16) without a sound: code 0 stands still for less than 8 s, the others never do."""
    codes = random_codes(frames, seed)
    codes[:, 0] = 0
    return codes


class Frames:
    """Frames one at a time, and how many were asked for."""

    def __init__(self, codes: NDArray[np.int32]) -> None:
        self.codes, self.taken = codes, 0

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        for frame in self.codes:
            self.taken += 1
            yield frame


def check_cut(utterance: Utterance, codes: NDArray[np.int32], frames: int) -> None:
    """Checks that an utterance is the first frames of a run and their samples."""
    assert np.array_equal(utterance.codes, codes[:frames])
    assert utterance.codes.dtype == np.int32
    assert np.array_equal(utterance.samples, MadeUpDecoding().decode(codes[:frames]))
    assert utterance.samples.dtype == np.float32


@pytest.mark.parametrize(
    ("frames", "blocks"), [(1, [1]), (24, [24]), (25, [25]), (26, [25, 1]), (50, [25, 25]), (60, [25, 25, 10])]
)
def test_watched_frames_are_decoded_in_blocks_of_two_seconds(frames: int, blocks: list[int]) -> None:
    codes, decoding = speech(frames), MadeUpDecoding()
    utterance = utter(codes, decoding, Watchdog(), None)
    assert decoding.blocks == blocks
    assert utterance.stopped is None
    check_cut(utterance, codes, frames)


@pytest.mark.parametrize("frames", [1, 25, 60])
def test_frames_that_nothing_watches_are_decoded_as_they_come_too(frames: int) -> None:
    codes, decoding = speech(frames), MadeUpDecoding()
    utterance = utter(codes, decoding, None, None)
    assert decoding.blocks == [min(25, frames - start) for start in range(0, frames, 25)]
    assert utterance.stopped is None
    check_cut(utterance, codes, frames)


def test_the_samples_are_the_same_watched_or_not() -> None:
    codes = speech(60)
    watched, alone = utter(codes, MadeUpDecoding(), Watchdog(), None), utter(codes, MadeUpDecoding(), None, None)
    assert np.array_equal(watched.samples, alone.samples)
    assert len(alone.samples) == 60 * PER_FRAME


@pytest.mark.parametrize("watchdog", [True, False])
def test_every_frame_is_told_before_it_is_decoded(watchdog: bool) -> None:
    told: list[tuple[int, int]] = []
    decoding = MadeUpDecoding()

    def on_frame(count: int) -> None:
        told.append((count, sum(decoding.blocks)))

    utter(speech(60), decoding, Watchdog() if watchdog else None, on_frame)
    assert told == [(n, (n - 1) // 25 * 25) for n in range(1, 61)]


def test_a_frame_that_stands_still_stops_the_run_where_it_is_known() -> None:
    """40 frames of speech, then one frame 51 times makes 4 s of repetition; the look after it is at frame 100."""
    codes = np.concatenate((speech(40), np.repeat(speech(1, seed=2), 160, axis=0)))
    frames, decoding = Frames(codes), MadeUpDecoding()
    utterance = utter(frames, decoding, Watchdog(), None)
    assert utterance.stopped == "repeat"
    check_cut(utterance, codes, 40 + 1 + 50)
    assert (frames.taken, decoding.blocks) == (100, [25] * 4)


def test_a_phrase_that_goes_round_stops_the_run() -> None:
    codes = np.concatenate((speech(10), np.tile(speech(20, seed=3), (10, 1))))
    utterance = utter(codes, MadeUpDecoding(), Watchdog(), None)
    assert utterance.stopped == "repeat"
    check_cut(utterance, codes, 10 + 20 + 60)


def test_long_silence_after_speech_stops_the_run() -> None:
    codes = np.concatenate((speech(30), silence(90), speech(100)))
    frames = Frames(codes)
    utterance = utter(frames, MadeUpDecoding(), Watchdog(), None)
    assert utterance.stopped == "silence"
    check_cut(utterance, codes, 30 + 75)
    assert frames.taken == 125


def test_silence_before_speech_and_a_pause_of_three_seconds_go_on() -> None:
    codes = np.concatenate((silence(80), speech(10), silence(38), speech(10)))
    utterance = utter(codes, MadeUpDecoding(), Watchdog(), None)
    assert utterance.stopped is None
    check_cut(utterance, codes, 138)


@pytest.mark.parametrize(
    "codes", [np.repeat(speech(1), 200, axis=0), np.concatenate((speech(10), silence(190)))], ids=["repeat", "silence"]
)
def test_what_nothing_watches_goes_on(codes: NDArray[np.int32]) -> None:
    utterance = utter(codes, MadeUpDecoding(), None, None)
    assert utterance.stopped is None
    check_cut(utterance, codes, 200)


def test_what_begins_in_the_last_frames_is_nobody_s_concern() -> None:
    """A run that ends by itself before the next look is whole."""
    codes = np.repeat(speech(1), 74, axis=0)
    utterance = utter(codes, MadeUpDecoding(), Watchdog(), None)
    assert utterance.stopped is None
    check_cut(utterance, codes, 74)


@pytest.mark.parametrize(
    ("first", "most", "sizes"),
    [
        (4, 24, [4, 8, 16, 24, 24, 24]),
        (1, 1, [1, 1, 1]),
        (1, 25, [1, 2, 4, 8, 16, 25, 25]),
        (4, 12, [4, 8, 12, 12]),
        (7, 2, [7, 2, 2]),
    ],
)
def test_sizes_double_up_to_the_most(first: int, most: int, sizes: list[int]) -> None:
    assert list(islice(growing_sizes(first, most), len(sizes))) == sizes


def test_blocks_are_of_the_sizes_asked_for_and_the_last_of_what_is_left() -> None:
    codes, decoding = speech(20), MadeUpDecoding()
    blocks = list(decode_blocks(codes, decoding, growing_sizes(2, 8), None, None))
    assert decoding.blocks == [2, 4, 8, 6]
    assert np.array_equal(np.concatenate([block.codes for block in blocks]), codes)
    assert np.array_equal(np.concatenate([block.samples for block in blocks]), MadeUpDecoding().decode(codes))
