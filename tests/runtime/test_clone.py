"""A recording becomes a voice: the same one every time, as upstream hears it, or one line says why not."""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.runtime import TTS, AudioError, ModeError, OptionError, ReferenceWarning, TextError, Voice
from tests.conftest import THREADS
from tests.runtime.recordings import RATE, SAID, recording, wav

GOOD = (recording(2 * RATE), RATE)


def test_without_a_transcript_a_voice_is_its_x_vector_alone(base: TTS) -> None:
    voice = base.clone(GOOD)
    assert (voice.codes, voice.transcript) == (None, None)
    assert voice.model == base.manifest.name == "tiny-base-fp32"
    assert voice.x_vector.shape == (base.manifest.talker.hidden_size,)
    assert voice.x_vector.dtype == np.float32


def test_with_a_transcript_it_has_the_codes_too_and_the_same_x_vector(base: TTS, oracle: Oracle) -> None:
    voice = base.clone(GOOD, transcript=SAID)
    assert voice.transcript == SAID
    assert voice.codes is not None
    assert voice.codes.dtype == np.int32
    assert np.array_equal(voice.codes, oracle.encode(GOOD[0]))
    assert np.array_equal(voice.x_vector, base.clone(GOOD).x_vector)


@pytest.mark.parametrize("transcript", [None, SAID])
def test_the_same_recording_is_the_same_bytes_in_whatever_form_it_comes(
    base: TTS, tiny_base_package: Path, tmp_path: Path, transcript: str | None
) -> None:
    (tmp_path / "a.wav").write_bytes(wav(GOOD[0]))
    expected = base.clone(GOOD, transcript=transcript).to_bytes()
    for source in (GOOD, wav(GOOD[0]), io.BytesIO(wav(GOOD[0])), tmp_path / "a.wav", str(tmp_path / "a.wav")):
        assert base.clone(source, transcript=transcript).to_bytes() == expected
    again = TTS.load(tiny_base_package, threads=THREADS)
    assert again.clone(GOOD, transcript=transcript).to_bytes() == expected


def test_another_recording_is_another_voice(base: TTS) -> None:
    one, other = (base.clone((recording(2 * RATE, seed=seed), RATE), transcript=SAID) for seed in (0, 1))
    assert not np.allclose(one.x_vector, other.x_vector, rtol=0, atol=0.1)
    assert not np.array_equal(one.codes, other.codes)  # type: ignore[arg-type]


def told(base: TTS, source: Any, transcript: str | None = None) -> list[str]:
    """The warnings of a clone, each of which points at the line that asked for it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        base.clone(source, transcript=transcript)
    assert {warning.category for warning in caught} <= {ReferenceWarning}
    assert {warning.filename for warning in caught} <= {__file__}
    assert not any("\n" in str(warning.message) for warning in caught)
    return [str(warning.message) for warning in caught]


def test_a_good_recording_is_warned_about_nothing(base: TTS) -> None:
    assert told(base, GOOD) == told(base, GOOD, SAID) == []


def test_what_may_make_the_voice_worse_is_a_warning(base: TTS) -> None:
    (short,) = told(base, (recording(RATE), RATE))
    assert short.startswith("the reference is only 1.00 s long: ")
    (long,) = told(base, GOOD, "one two three four five six seven eight nine ten " * 3)
    assert long.startswith("the transcript is too long for 2.0 s of recording ")
    clipped = np.clip(20 * recording(RATE), -1, 1)
    faults = told(base, (clipped, RATE), "x")
    assert [fault.split(":")[0] for fault in faults] == [
        "the reference is clipped",
        "the reference is only 1.00 s long",
        "the transcript is too short for 1.0 s of recording (some 0.33 syllables a second, speech has 2 to 8)",
    ]


def test_a_warning_can_be_an_error(base: TTS) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReferenceWarning)
        with pytest.raises(ReferenceWarning, match=r"is only 1\.00 s long"):
            base.clone((recording(RATE), RATE))


class Unread(io.BytesIO):
    """A recording that must not be looked at."""

    def read(self, *_: Any) -> bytes:
        raise AssertionError("the recording was read")


@pytest.mark.parametrize(
    ("transcript", "message"),
    [
        ("", "the transcript is empty: give at least one visible character"),
        (" \n", "the transcript is blank (length 2, nothing visible): give at least one visible character"),
        ("\u200b", "the transcript is blank (length 1, nothing visible): give at least one visible character"),
        ("a\0b", "the transcript has a NUL character (U+0000) at position 1, expected text: remove it"),
        ("a\ud800", "the transcript has a lone surrogate (U+D800) at position 1, expected valid Unicode: "),
    ],
)
def test_a_transcript_that_says_nothing_is_refused_before_the_recording_is_read(
    base: TTS, transcript: str, message: str
) -> None:
    with pytest.raises(TextError) as caught:
        base.clone(Unread(), transcript=transcript)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("transcript", [None, SAID, ""])
def test_a_custom_voice_package_clones_nothing_and_reads_nothing(tts: TTS, transcript: str | None) -> None:
    with pytest.raises(ModeError) as caught:
        tts.clone(Unread(), transcript=transcript)
    assert str(caught.value) == (
        "tiny-customvoice-fp32 is a custom_voice package, which takes no reference recording: clone with a base package"
    )


def test_what_no_voice_can_be_cloned_from_is_refused(base: TTS) -> None:
    with pytest.raises(AudioError, match=r"^the reference is 0\.100 s long, expected at least 0\.2 s: "):
        base.clone((recording(RATE // 10), RATE))
    with pytest.raises(AudioError, match=r"^the reference is longer than 1 s: "):
        base.clone(GOOD, max_seconds=1)
    with pytest.raises(OptionError, match=r"^the longest reference allowed is 0 s, "):
        base.clone(GOOD, max_seconds=0)


@pytest.mark.parametrize("transcript", [None, SAID])
def test_a_voice_that_was_saved_speaks_the_same(base: TTS, tmp_path: Path, transcript: str | None) -> None:
    voice = base.clone(GOOD, transcript=transcript)
    voice.save(tmp_path / "me.voice")
    one, other = (
        base.speak("Hi.", voice=each, greedy=True, max_frames=4) for each in (voice, Voice.load(tmp_path / "me.voice"))
    )
    assert np.array_equal(one.codes, other.codes)
    assert np.array_equal(one.samples, other.samples)
