"""The codec decoder: a stream in any chunks is the whole, and upstream's chunks are upstream's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.export.check import signal_to_noise
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.runtime import TTS, FormatError
from qwen3_tts_ncnn.runtime.mat import Floats

# dB. Rounding alone: measured 110.6 to 120.5 for the streams and 110.7 against upstream. That the chunks are exact but
# for rounding is shown in float64, in tests/convert/test_modules_codec.py. The project's own line is 90.
SNR = 100.0


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
    assert signal_to_noise(np.concatenate(pieces), whole) >= SNR


def test_the_past_is_heard(tts: TTS, whole: Floats) -> None:
    """A stream that begins anew is something else: the tests above would pass on a codec without a past."""
    assert signal_to_noise(tts.codec.decode(codes(100)[50:]), whole[50 * 1920 :]) < 40


def test_two_streams_do_not_mix(tts: TTS) -> None:
    signals = (codes(11), codes(12)[:11])
    streams = [tts.codec.stream() for _ in signals]
    mixed = [[stream.decode(part[n : n + 1]) for stream, part in zip(streams, signals, strict=True)] for n in range(11)]
    for part, pieces in zip(signals, zip(*mixed, strict=True), strict=True):
        alone = tts.codec.stream()
        assert all(np.array_equal(alone.decode(part[n : n + 1]), piece) for n, piece in enumerate(pieces))


def test_340_frames_in_upstream_s_chunks_are_upstream_s(tts: TTS, oracle: Oracle) -> None:
    theirs = oracle.decode(codes(340).astype(np.int64))
    ours = tts.codec.decode_chunked(codes(340))
    assert signal_to_noise(ours, theirs) >= SNR
    # The seam at frame 300 is where it differs from the whole.
    straight = tts.codec.decode(codes(340))
    assert signal_to_noise(straight[: 300 * 1920], theirs[: 300 * 1920]) >= SNR
    assert signal_to_noise(straight[300 * 1920 :], theirs[300 * 1920 :]) < 60


def every_decode(tts: TTS) -> list[Callable[[Any], Floats]]:
    codec = tts.codec
    return [codec.decode, codec.decode_chunked, codec.stream().decode, codec.chunked_stream().decode]


def test_a_fork_goes_on_alone_and_leaves_its_stream_as_it_was(tts: TTS) -> None:
    """The states of ncnn are shared by both, and never written to."""
    said, one, other = np.split(codes(30), (12, 20))
    stream, untouched = tts.codec.stream(), tts.codec.stream()
    assert np.array_equal(stream.decode(said), untouched.decode(said))
    fork = stream.fork()
    samples = fork.decode(other)
    assert (stream.position, fork.position) == (12, 22)
    assert np.array_equal(stream.fork().decode(other), samples)
    assert np.array_equal(stream.decode(one), untouched.decode(one))


@pytest.mark.parametrize("pieces", [[1] * 33, [9, 2, 22], [10, 10, 10, 3], [33]], ids=str)
def test_a_chunked_stream_in_pieces_is_the_whole_in_chunks(tts: TTS, pieces: list[int]) -> None:
    """Of this graph; that the seams lie where upstream's do is exact in test_codec_chunks.py."""
    stream = tts.codec.chunked_stream(chunk=10, context=4)
    samples = np.concatenate([stream.decode(part) for part in np.split(codes(33), np.cumsum(pieces)[:-1])])
    assert signal_to_noise(samples, tts.codec.decode_chunked(codes(33), chunk=10, context=4)) >= SNR
    assert signal_to_noise(samples, tts.codec.decode(codes(33))) < 60


def test_no_frames_are_no_samples(tts: TTS) -> None:
    nothing = np.zeros((0, 16), dtype=np.int32)
    for decode in every_decode(tts):
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
        (np.full((1, 16), 2048), "codes reach from 2048 to 2048, expected 0 to 2047"),
        (np.arange(16)[None] - 1, "codes reach from -1 to 14, expected 0 to 2047"),
        (np.full((1, 16), 2**32, np.int64), "codes reach from 4294967296 to 4294967296, expected 0 to 2047"),
    ],
)
def test_what_is_no_code_is_refused(tts: TTS, wrong: NDArray[np.generic], message: str) -> None:
    for decode in every_decode(tts):
        with pytest.raises(FormatError) as caught:
            decode(wrong)
        assert str(caught.value).removesuffix(" (frames, 16)") == message
