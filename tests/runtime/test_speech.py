"""A package speaks, from the text to the samples."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from qwen3_tts_ncnn.convert.export.check import signal_to_noise
from qwen3_tts_ncnn.runtime import TTS, ModeError, OptionError, PackageError, Speech, TextError
from tests.conftest import THREADS
from tests.runtime.decoding import decode_as_spoken

# Most runs here are cut after a few frames.
pytestmark = pytest.mark.filterwarnings("ignore::qwen3_tts_ncnn.runtime.SpeechWarning")

TEXT = "Hello there, it's a fine day."


@pytest.fixture(scope="module")
def greedy(tts: TTS) -> Speech:
    return tts.speak(TEXT, speaker="ryan", language="english", greedy=True, watchdog=False)


def test_a_run_ends_by_itself_and_its_parts_fit_together(tts: TTS, greedy: Speech) -> None:
    frames = len(greedy.codes)
    assert greedy.stop == "eos"
    assert 2 <= frames < 100
    assert greedy.codes.shape == (frames, 16)
    assert greedy.codes.dtype == np.int32
    assert 0 <= greedy.codes.min() <= greedy.codes.max() < 2048
    assert greedy.selections.tolist() == [*greedy.codes[:, 0], 2150]
    assert greedy.samples.shape == (1920 * frames,)
    assert greedy.sample_rate == 24000
    assert greedy.duration == pytest.approx(0.08 * frames)
    assert np.array_equal(greedy.samples, decode_as_spoken(tts, greedy.codes))
    assert 0.01 < float(np.sqrt(np.square(greedy.samples).mean())) < 1


def test_greedy_is_the_same_every_time_whatever_the_seed(tts: TTS, greedy: Speech) -> None:
    for seed in (None, 1, 2):
        again = tts.speak(TEXT, speaker="ryan", language="english", greedy=True, watchdog=False, seed=seed)
        assert again.seed is None
        assert np.array_equal(again.codes, greedy.codes)
        assert np.array_equal(again.samples, greedy.samples)


def test_the_same_seed_is_the_same_speech_and_another_is_another(tts: TTS) -> None:
    one, same, other = (tts.speak(TEXT, speaker="ryan", seed=seed, max_frames=5) for seed in (7, 7, 8))
    assert (one.seed, same.seed, other.seed) == (7, 7, 8)
    assert np.array_equal(one.codes, same.codes)
    assert np.array_equal(one.samples, same.samples)
    assert not np.array_equal(one.codes, other.codes)


def test_without_a_seed_two_runs_differ(tts: TTS) -> None:
    one, other = (tts.speak(TEXT, speaker="ryan", max_frames=5) for _ in range(2))
    assert not np.array_equal(one.codes, other.codes)
    assert one.seed != other.seed


def test_a_seed_that_was_drawn_gives_the_same_speech_again(tts: TTS) -> None:
    drawn = tts.speak(TEXT, speaker="ryan", max_frames=5)
    assert drawn.seed is not None
    again = tts.speak(TEXT, speaker="ryan", max_frames=5, seed=drawn.seed)
    assert np.array_equal(again.samples, drawn.samples)


def test_the_same_seed_is_the_same_speech_on_one_thread_and_on_two(tts: TTS, tiny_package: Path) -> None:
    """Two frames: where the second core is busy, a step on two threads takes a hundred times as long."""
    two_threads = TTS.load(tiny_package, threads=2)
    one, two = (loaded.speak(TEXT, speaker="ryan", seed=7, max_frames=2) for loaded in (tts, two_threads))
    assert np.array_equal(one.codes, two.codes)
    assert np.array_equal(one.selections, two.selections)
    assert signal_to_noise(two.samples, one.samples) >= 100


def test_two_packages_speak_alike(tiny_package: Path, greedy: Speech) -> None:
    again = TTS.load(str(tiny_package), threads=THREADS).speak(
        TEXT, speaker="ryan", language="english", greedy=True, watchdog=False
    )
    assert np.array_equal(again.samples, greedy.samples)


def test_speaker_language_text_and_layout_are_heard(tts: TTS, greedy: Speech) -> None:
    asked = {"text": TEXT, "speaker": "ryan", "language": "english", "greedy": True, "max_frames": 4}
    changes = ({"speaker": "serena"}, {"language": "german"}, {"text": "Goodbye."}, {"streaming_text": True})
    heard = [tts.speak(**asked | change).codes for change in changes]  # type: ignore[arg-type]
    assert not any(np.array_equal(codes, greedy.codes[:4]) for codes in heard)


def test_the_limit_cuts_a_run_and_is_told(tts: TTS, greedy: Speech) -> None:
    for frames in (1, 3):
        cut = tts.speak(TEXT, speaker="ryan", language="english", greedy=True, max_frames=frames)
        assert cut.stop == "limit"
        assert np.array_equal(cut.codes, greedy.codes[:frames])
        assert np.array_equal(cut.selections, greedy.selections[: frames + 1])


def test_each_frame_is_told_as_it_comes(tts: TTS) -> None:
    told: list[int] = []
    tts.speak(TEXT, speaker="ryan", greedy=True, max_frames=4, on_frame=told.append)
    assert told == [1, 2, 3, 4]


def test_a_run_leaves_nothing_behind(tts: TTS, greedy: Speech) -> None:
    """Runs of other lengths in between, one of them broken off."""

    def break_off(frame: int) -> None:
        if frame == 2:
            raise KeyboardInterrupt

    tts.speak("Another one.", speaker="serena", seed=1, max_frames=7)
    with pytest.raises(KeyboardInterrupt):
        tts.speak("Broken off.", speaker="eric", seed=1, on_frame=break_off)
    again = tts.speak(TEXT, speaker="ryan", language="english", greedy=True, watchdog=False)
    assert np.array_equal(again.samples, greedy.samples)


def test_a_speaker_s_case_does_not_matter(tts: TTS, greedy: Speech) -> None:
    again = tts.speak(TEXT, speaker="RYAN", language="English", greedy=True, max_frames=3)
    assert np.array_equal(again.codes, greedy.codes[:3])


def test_speech_is_saved_as_it_is(greedy: Speech, tmp_path: Path) -> None:
    greedy.save(str(tmp_path / "a.wav"), subtype="float")
    samples, rate = soundfile.read(tmp_path / "a.wav", dtype="float32")
    assert rate == 24000
    assert np.array_equal(samples, greedy.samples)
    greedy.save(tmp_path / "b.flac")
    assert soundfile.info(tmp_path / "b.flac").frames == len(greedy.samples)


def test_names_are_the_checkpoint_s(tts: TTS) -> None:
    assert tts.speakers == [
        *("serena", "vivian", "uncle_fu", "ryan", "aiden", "ono_anna", "sohee", "eric", "dylan"),
    ]
    assert tts.languages[:2] == ["chinese", "english"]
    assert not any("dialect" in language for language in tts.languages)


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("Hi.", {}, ModeError, r"needs a speaker: choose one of serena, .*dylan$"),
        ("Hi.", {"speaker": "nobody"}, ModeError, r"has no speaker 'nobody': choose one of serena, "),
        (
            "Hi.",
            {"speaker": "ryan", "language": "elvish"},
            ModeError,
            r"has no language 'elvish': choose one of auto, ",
        ),
        ("", {"speaker": "ryan"}, TextError, r"^the text is empty: "),
        (" \n\t", {"speaker": "ryan"}, TextError, r"^the text is blank "),
        ("\x07\x1b\u200b", {"speaker": "ryan"}, TextError, r"^the text is blank \(length 3, nothing visible\): "),
        ("a\0b", {"speaker": "ryan"}, TextError, r"^the text has a NUL character \(U\+0000\) at position 1, "),
        ("a\udc80", {"speaker": "ryan"}, TextError, r"^the text has a lone surrogate \(U\+DC80\) at position 1, "),
        ("Hi.", {"speaker": "ryan", "seed": 2**64}, OptionError, r"^seed is 18446744073709551616, expected "),
        ("Hi.", {"speaker": "ryan", "seed": "7"}, OptionError, r"^seed is '7', expected a whole number"),
        ("Hi.", {"speaker": "ryan", "instruct": "Softly."}, ModeError, r"follows no instruction, because its .* size "),
        ("Hi.", {"speaker": "ryan", "max_frames": 0}, OptionError, r"^max_frames is 0, "),
        ("Hi.", {"speaker": "ryan", "predictor_top_p": 2.0}, OptionError, r"^predictor_top_p is 2\.0, "),
    ],
)
def test_what_cannot_be_spoken_is_refused_before_any_frame(
    tts: TTS, text: str, options: dict[str, object], error: type[Exception], message: str
) -> None:
    def no_frame(_count: int) -> None:
        raise AssertionError("a frame was made")

    with pytest.raises(error, match=message) as caught:
        tts.speak(text, on_frame=no_frame, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_what_cannot_be_loaded_is_refused(tiny_package: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"^backend is 'quantum', expected "):
        TTS.load(tiny_package, backend="quantum", threads=THREADS)
    with pytest.raises(OptionError, match=r"^threads is 0, "):
        TTS.load(tiny_package, threads=0)
    with pytest.raises(OptionError, match=r"^pretokenizer is 'none', "):
        TTS.load(tiny_package, threads=THREADS, pretokenizer="none")  # type: ignore[arg-type]
    with pytest.raises(PackageError, match=r"^package .*nowhere does not exist: "):
        TTS.load(tmp_path / "nowhere", threads=THREADS)
