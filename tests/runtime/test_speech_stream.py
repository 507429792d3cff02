"""A stream is the speech: the same frames, and what the codec makes of all of them at once, in any chunk size."""

import gc
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.export.check import signal_to_noise
from qwen3_tts_ncnn.parity.clips import speech_like
from qwen3_tts_ncnn.runtime import TTS, ModeError, OptionError, Speech, SpeechWarning, TextError
from qwen3_tts_ncnn.runtime.kv_cache import KVCache
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.speech_stream import SpeechStream

TEXT = "Hello there, it's a fine day."
FRAME = 1920

# Most runs here are cut after a few frames.
pytestmark = pytest.mark.filterwarnings("ignore::qwen3_tts_ncnn.runtime.SpeechWarning")


@pytest.fixture(scope="module")
def speech(tts: TTS) -> Speech:
    """40 frames, with no seam of upstream's in them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpeechWarning)
        return tts.speak(TEXT, speaker="ryan", seed=1, max_frames=40, watchdog=False)


def stream(tts: TTS, **sizes: int | bool) -> SpeechStream:
    return tts.stream(TEXT, speaker="ryan", seed=1, max_frames=40, watchdog=False, **sizes)


@pytest.mark.parametrize("overlap", [False, True], ids=["alone", "overlapped"])
@pytest.mark.parametrize(("first", "most"), [(1, 1), (3, 3), (4, 4), (25, 25), (1, 25), (4, 24), (7, 2)])
def test_a_stream_is_the_speech_in_any_chunk_size(
    tts: TTS, speech: Speech, first: int, most: int, overlap: bool
) -> None:
    streamed = stream(tts, first_chunk=first, chunk=most, overlap=overlap)
    chunks = list(streamed)
    assert np.array_equal(streamed.codes, speech.codes)
    assert (streamed.stop, streamed.seed, streamed.sample_rate) == (speech.stop, 1, 24000)
    whole = tts.codec.decode(speech.codes)
    assert signal_to_noise(np.concatenate(chunks), whole) >= 100
    sizes = [len(chunk) // FRAME for chunk in chunks]
    assert sizes[0] == first
    assert max(sizes) <= max(first, most)
    assert sum(sizes) == len(speech.codes)


def test_chunks_grow_from_the_first_to_the_largest(tts: TTS) -> None:
    assert [len(chunk) // FRAME for chunk in stream(tts, first_chunk=4, chunk=12)] == [4, 8, 12, 12, 4]


def test_a_stream_that_did_not_end_by_itself_warns_at_its_end(tts: TTS) -> None:
    streamed = stream(tts)
    next(streamed)
    with pytest.warns(SpeechWarning, match="stopped at its limit of frames") as caught:
        list(streamed)
    assert [warning.filename for warning in caught] == [__file__]


def test_in_context_the_first_sample_is_the_one_after_the_reference(base: TTS) -> None:
    voice = base.clone((speech_like(40_000, 24_000, seed=1), 24_000), transcript="What was said before it.")
    assert voice.codes is not None
    streamed = base.stream(TEXT, voice=voice, seed=1, max_frames=12, first_chunk=3, chunk=5)
    samples = np.concatenate(list(streamed))
    whole = base.codec.decode(np.concatenate((voice.codes, streamed.codes)))
    assert len(samples) == FRAME * len(streamed.codes)
    assert signal_to_noise(samples, whole[FRAME * len(voice.codes) :]) >= 100


def test_the_first_samples_are_there_before_the_run_is_over(tts: TTS) -> None:
    made: list[int] = []
    streamed = tts.stream(TEXT, speaker="ryan", seed=3, first_chunk=2, overlap=False, on_frame=made.append)
    assert made == []
    assert len(next(streamed)) == 2 * FRAME
    assert made == [1, 2]
    assert streamed.stop is None
    streamed.close()


@pytest.mark.parametrize("overlap", [False, True], ids=["alone", "overlapped"])
def test_closing_stops_within_a_frame_and_frees_everything(
    tts: TTS, monkeypatch: pytest.MonkeyPatch, overlap: bool
) -> None:
    caches: list[weakref.ref[KVCache]] = []
    start = tts._talker.start

    def watched(rows: Floats, capacity: int) -> tuple[Floats, KVCache]:
        hidden, cache = start(rows, capacity)
        caches.append(weakref.ref(cache))
        return hidden, cache

    monkeypatch.setattr(tts._talker, "start", watched)
    made: list[int] = []
    with tts.stream(
        TEXT, speaker="ryan", seed=3, first_chunk=2, chunk=2, max_frames=400, overlap=overlap, budget=False,
        watchdog=False, on_frame=made.append,
    ) as streamed:  # fmt: skip
        next(streamed)
        (cache,) = caches
        assert cache() is not None
    count = len(made)
    assert count == 2, "frames that wait are not heard of"
    time.sleep(0.2)
    gc.collect()
    assert cache() is None
    assert list(streamed) == []
    assert (len(made), streamed.stop) == (count, None)
    assert [thread for thread in threading.enumerate() if thread.name == "frames"] == []


def test_a_long_text_streams_piece_by_piece_with_a_pause_between(tts: TTS) -> None:
    text = "One sentence of this text is quite long enough to stand alone, is it not? " * 8
    options = {"speaker": "ryan", "seed": 5, "max_frames": 4}
    speech = tts.speak(text, **options)  # type: ignore[arg-type]
    streamed = tts.stream(text, first_chunk=2, chunk=3, **options)  # type: ignore[arg-type]
    samples = np.concatenate(list(streamed))
    assert np.array_equal(streamed.codes, speech.codes)
    assert len(speech.codes) > 4
    assert signal_to_noise(samples, speech.samples) >= 100


def test_what_is_wrong_is_told_before_the_first_sample_is_asked_for(tts: TTS) -> None:
    with pytest.raises(ModeError, match="needs a speaker"):
        tts.stream(TEXT)
    with pytest.raises(TextError):
        tts.stream(" ", speaker="ryan")
    for sizes in ({"first_chunk": 0}, {"chunk": -1}):
        with pytest.raises(OptionError, match=r"chunk is (0|-1), expected 1 or more"):
            tts.stream(TEXT, speaker="ryan", **sizes)
    with pytest.raises(TypeError, match="there is no option 'sped'"):
        tts.stream(TEXT, speaker="ryan", sped=2)  # type: ignore[call-arg]


def test_an_error_of_the_frames_is_raised_where_the_samples_are_taken(
    tts: TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Iterator[object]:
        raise ValueError("no more frames")

    monkeypatch.setattr(tts._predictor, "fill", broken)
    for overlap in (False, True):
        with pytest.raises(ValueError, match="no more frames"):
            list(islice(stream(tts, overlap=overlap), 1))
