"""Speech as an instruction describes it: a VoiceDesign package's only way, and a 1.7B CustomVoice package's choice."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime import TTS, ModeError, Speech, TextError, Voice
from qwen3_tts_ncnn.runtime.manifest import Manifest, read_manifest, write_manifest
from tests.conftest import THREADS
from tests.runtime.decoding import decode_as_spoken

# Most runs here are cut after a few frames.
pytestmark = pytest.mark.filterwarnings("ignore::qwen3_tts_ncnn.runtime.SpeechWarning")

TEXT = "Hello there, it's a fine day."
CALM, ANGRY = "A calm old man.", "An angry young woman, shouting."


@pytest.fixture(scope="module")
def large(tiny_package: Path, tmp_path_factory: pytest.TempPathFactory) -> TTS:
    """The tiny CustomVoice package, which says that it is a 1.7B one, loaded."""
    package = tmp_path_factory.mktemp("large") / "large-customvoice-fp32"
    shutil.copytree(tiny_package, package, copy_function=os.symlink)
    manifest = read_manifest(package)
    assert isinstance(manifest, Manifest)
    (package / "model.json").unlink()
    write_manifest(replace(manifest, name=package.name, size="1b7"), package)
    return TTS.load(package, threads=THREADS)


def speak(tts: TTS, text: str = TEXT, **options: Any) -> Speech:
    asked: dict[str, Any] = {"greedy": True, "max_frames": 4}
    return tts.speak(text, **asked | options)


def test_a_designed_voice_ends_by_itself_and_its_parts_fit_together(design: TTS) -> None:
    speech = speak(design, instruct=CALM, max_frames=None, watchdog=False)
    assert speech.stop == "eos"
    assert speech.selections.tolist() == [*speech.codes[:, 0], 2150]
    assert np.array_equal(speech.samples, decode_as_spoken(design, speech.codes))


def test_another_instruction_is_another_voice(design: TTS) -> None:
    assert not np.array_equal(speak(design, instruct=CALM).codes, speak(design, instruct=ANGRY).codes)


def test_a_speaker_of_1_7b_follows_an_instruction(large: TTS, tts: TTS) -> None:
    plain, calm, angry = (speak(large, speaker="ryan", instruct=instruct).codes for instruct in (None, CALM, ANGRY))
    assert np.array_equal(plain, speak(tts, speaker="ryan").codes)
    assert len({codes.tobytes() for codes in (plain, calm, angry)}) == 3


def test_every_piece_of_a_long_text_hears_the_instruction(design: TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwen3_tts_ncnn.runtime.tts.split_text", lambda text: text.split("|"))
    whole = speak(design, "One.|Two.", instruct=CALM)
    pieces = [speak(design, text, instruct=CALM).codes for text in ("One.", "Two.")]
    assert np.array_equal(whole.codes, np.concatenate(pieces))


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("design", {}, "tiny-design-fp32 needs an instruction that describes the voice, such as 'a calm old man'"),
    (
        "design",
        {"speaker": "ryan", "instruct": CALM},
        "tiny-design-fp32 is a voice_design package, which speaks as an instruction describes, but speaker 'ryan' was "
        "given: leave it out, or use a custom_voice or base package",
    ),
    (
        "design",
        {"voice": Voice(np.ones(64, dtype=np.float32)), "instruct": CALM},
        "tiny-design-fp32 is a voice_design package, which speaks as an instruction describes, but a voice was given: "
        "leave it out, or use a custom_voice or base package",
    ),
    (
        "tts",
        {"speaker": "ryan", "instruct": CALM},
        "tiny-customvoice-fp32 follows no instruction, because its checkpoint's size was not trained to (upstream "
        "drops it without a word): leave it out, or use a custom_voice package of 1.7B",
    ),
    (
        "base",
        {"voice": Voice(np.ones(64, dtype=np.float32)), "instruct": CALM},
        "tiny-base-fp32 is a base package, which follows no instruction: leave it out, or use a voice_design or 1.7B "
        "custom_voice package",
    ),
]


def no_frame(_count: int) -> None:
    raise AssertionError("a frame was made")


@pytest.mark.parametrize(("package", "options", "message"), REFUSED)
def test_what_does_not_fit_the_package_is_refused_before_any_frame(
    request: pytest.FixtureRequest, package: str, options: dict[str, Any], message: str
) -> None:
    loaded: TTS = request.getfixturevalue(package)
    with pytest.raises(ModeError) as caught:
        loaded.speak(TEXT, on_frame=no_frame, **options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("instruct", "message"),
    [
        ("", "the instruction is empty: give at least one visible character"),
        ("\x07\u200b", "the instruction is blank (length 2, nothing visible): give at least one visible character"),
        ("a\0", "the instruction has a NUL character (U+0000) at position 1, expected text: remove it"),
        (
            "a\ud83d",
            "the instruction has a lone surrogate (U+D83D) at position 1, expected valid Unicode: decode it as UTF-8 "
            "first",
        ),
    ],
)
def test_an_instruction_that_says_nothing_is_refused_before_any_frame(
    design: TTS, large: TTS, instruct: str, message: str
) -> None:
    for loaded, speaker in ((design, None), (large, "ryan")):
        with pytest.raises(TextError) as caught:
            loaded.speak(TEXT, speaker=speaker, instruct=instruct, on_frame=no_frame)
        assert str(caught.value) == message


def test_a_designed_voice_clones_nothing(design: TTS) -> None:
    with pytest.raises(ModeError, match="is a voice_design package, which takes no reference recording"):
        design.clone("me.wav")


@pytest.mark.filterwarnings("ignore::qwen3_tts_ncnn.runtime.tts.ReferenceWarning")
def test_a_designed_voice_can_be_kept_by_a_base_package(design: TTS, base: TTS) -> None:
    """What it said is the reference, and the text is its transcript."""
    speech = speak(design, TEXT, instruct=CALM, max_frames=None)
    voice = base.clone((speech.samples, speech.sample_rate), transcript=TEXT)
    assert voice.codes is not None
    assert voice.codes.shape == speech.codes.shape
    assert voice.transcript == TEXT
    kept = speak(base, "Another text.", voice=voice)
    assert len(kept.codes) == 4
