"""The codec decoder: a stream in any chunks is the whole, and upstream's chunks are upstream's."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.runtime import TTS, OptionError
from qwen3_tts_ncnn.runtime.mat import Floats

# dB. Rounding alone: measured 110.6 to 120.5 for the streams and 110.7 against upstream. That the chunks are exact but
# for rounding is shown in float64, in tests/convert/test_modules_codec.py. The project's own line is 90.
SNR = 100.0


def snr(ours: Floats, theirs: Floats) -> float:
    assert ours.shape == theirs.shape
    noise = np.square(ours.astype(np.float64) - theirs).sum()
    return float("inf") if noise == 0 else 10 * float(np.log10(np.square(theirs.astype(np.float64)).sum() / noise))


def codes(frames: int) -> NDArray[np.int32]:
    return np.random.default_rng(frames).integers(0, 2048, (frames, 16), dtype=np.int32)


@pytest.fixture(scope="module")
def whole(tts: TTS) -> Floats:
    """100 frames in one: beyond the window of 72, and more than one run of the graph takes."""
    return tts.codec.decode(codes(100))


def test_the_whole_is_1920_samples_a_frame_within_1(whole: Floats) -> None:
    assert whole.shape == (100 * 1920,)
    assert whole.dtype == np.float32
    assert 0.01 < float(np.abs(whole).max()) <= 1


@pytest.mark.parametrize(
    "chunks",
    [[1] * 100, [3] * 33 + [1], [4] * 25, [25] * 4, [1, 4, 20, 3, 71, 1], [99, 1]],
    ids=["1", "3", "4", "25", "mixed", "99-1"],
)
def test_a_stream_in_chunks_is_the_whole(tts: TTS, whole: Floats, chunks: list[int]) -> None:
    stream = tts.codec.stream()
    pieces = [stream.decode(part) for part in np.split(codes(100), np.cumsum(chunks)[:-1])]
    assert [len(piece) for piece in pieces] == [1920 * chunk for chunk in chunks]
    assert stream.position == 100
    assert snr(np.concatenate(pieces), whole) >= SNR


def test_the_past_is_heard(tts: TTS, whole: Floats) -> None:
    """A stream that begins anew is something else: the tests above would pass on a codec without a past."""
    assert snr(tts.codec.decode(codes(100)[50:]), whole[50 * 1920 :]) < 40


def test_two_streams_do_not_mix(tts: TTS) -> None:
    signals = (codes(11), codes(12)[:11])
    streams = [tts.codec.stream() for _ in signals]
    mixed = [[stream.decode(part[n : n + 1]) for stream, part in zip(streams, signals, strict=True)] for n in range(11)]
    for part, pieces in zip(signals, zip(*mixed, strict=True), strict=True):
        alone = tts.codec.stream()
        assert all(np.array_equal(alone.decode(part[n : n + 1]), piece) for n, piece in enumerate(pieces))


def test_340_frames_in_upstream_s_chunks_are_upstream_s(tts: TTS, tiny_checkpoint: Path) -> None:
    theirs = Oracle.load(tiny_checkpoint, threads=1).decode(codes(340).astype(np.int64))
    ours = tts.codec.decode_chunked(codes(340))
    assert snr(ours, theirs) >= SNR
    # The seam at frame 300 is where it differs from the whole.
    straight = tts.codec.decode(codes(340))
    assert snr(straight[: 300 * 1920], theirs[: 300 * 1920]) >= SNR
    assert snr(straight[300 * 1920 :], theirs[300 * 1920 :]) < 60


@pytest.mark.parametrize(
    ("frames", "starts"),
    [
        (10, [(0, 10)]),
        (11, [(0, 10), (6, 11)]),
        (20, [(0, 10), (6, 20)]),
        (25, [(0, 10), (6, 20), (16, 25)]),
    ],
)
def test_chunks_begin_where_upstream_s_begin(
    tts: TTS, monkeypatch: pytest.MonkeyPatch, frames: int, starts: list[tuple[int, int]]
) -> None:
    numbered = np.arange(frames, dtype=np.int32)[:, None].repeat(16, axis=1)
    seen: list[tuple[int, int]] = []

    def decode(part: NDArray[np.int32]) -> Floats:
        seen.append((int(part[0, 0]), int(part[-1, 0]) + 1))
        return part[:, 0].repeat(1920).astype(np.float32)

    monkeypatch.setattr(tts.codec, "decode", decode)
    samples = tts.codec.decode_chunked(numbered, chunk=10, context=4)
    assert seen == starts
    assert samples.tolist() == numbered[:, 0].repeat(1920).tolist()


def test_context_that_reaches_the_start_takes_all_before_it(tts: TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstream's comparison is strict (T:891): a chunk at frame 4 with 4 frames of context begins at 0 either way."""
    seen: list[int] = []

    def decode(part: NDArray[np.int32]) -> Floats:
        seen.append(len(part))
        return np.zeros(1920 * len(part), dtype=np.float32)

    monkeypatch.setattr(tts.codec, "decode", decode)
    tts.codec.decode_chunked(codes(10), chunk=4, context=4)
    tts.codec.decode_chunked(codes(10), chunk=4, context=7)
    assert seen == [4, 8, 6, 4, 8, 9]


def test_no_frames_are_no_samples(tts: TTS) -> None:
    nothing = np.zeros((0, 16), dtype=np.int32)
    for decode in (tts.codec.decode, tts.codec.decode_chunked, tts.codec.stream().decode):
        assert decode(nothing).shape == (0,)


def test_lists_and_every_integer_type_are_codes(tts: TTS) -> None:
    expected = tts.codec.decode(codes(2))
    for same in (codes(2).tolist(), codes(2).astype(np.int64), codes(2).astype(np.uint16)):
        assert np.array_equal(tts.codec.decode(same), expected)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((3, 15), np.int32), "codes are int32 of shape (3, 15), expected integers of shape"),
        (np.zeros(16, np.int32), "codes are int32 of shape (16,), expected integers of shape"),
        (np.zeros((1, 3, 16), np.int32), "codes are int32 of shape (1, 3, 16), expected integers of shape"),
        (np.zeros((3, 16)), "codes are float64 of shape (3, 16), expected integers of shape"),
        (np.zeros((3, 16), bool), "codes are bool of shape (3, 16), expected integers of shape"),
        ([], "codes are float64 of shape (0,), expected integers of shape"),
        (np.full((1, 16), 2048), "codes run from 2048 to 2048, expected 0 to 2047"),
        (np.arange(16)[None] - 1, "codes run from -1 to 14, expected 0 to 2047"),
        (np.full((1, 16), 2**32, np.int64), "codes run from 4294967296 to 4294967296, expected 0 to 2047"),
    ],
)
def test_what_is_no_code_is_refused(tts: TTS, wrong: NDArray[np.generic], message: str) -> None:
    for decode in (tts.codec.decode, tts.codec.decode_chunked, tts.codec.stream().decode):
        with pytest.raises(OptionError) as caught:
            decode(wrong)
        assert str(caught.value).removesuffix(" (frames, 16)") == message
