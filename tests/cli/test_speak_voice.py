"""`speak` with a cloned voice: as the library does, and the same from a file as from the recording."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

from qwen3_tts_ncnn.runtime import TTS, Voice
from tests.cli.command_line import run
from tests.cli.recordings import FITTING, write_recording

# Most runs here are cut after a few frames.
pytestmark = pytest.mark.filterwarnings("ignore::qwen3_tts_ncnn.runtime.SpeechWarning")

TEXT = "Hello there."
OPTIONS = ("--threads", "1", "--seed", "3", "--max-frames", "9")


def speak(package: Path, output: Path, *options: str | Path) -> str:
    """Runs `speak`, which must succeed; returns what it says on standard error."""
    result = run("speak", package, TEXT, "-o", output, *OPTIONS, *options)
    assert result.exit_code == 0, result.output
    return result.stderr


@pytest.fixture
def voice(tiny_base_package: Path, reference: Path, tmp_path: Path) -> Path:
    """A voice cloned in context."""
    file = tmp_path / "me.voice"
    TTS.load(tiny_base_package, threads=1).clone(reference, transcript=FITTING).save(file)
    return file


def test_the_samples_are_those_of_the_library(tiny_base_package: Path, voice: Path, tmp_path: Path) -> None:
    wav = tmp_path / "a.wav"
    speak(tiny_base_package, wav, "--voice", voice, "--language", "German", "--format", "float")
    tts = TTS.load(tiny_base_package, threads=1)
    speech = tts.speak(TEXT, voice=Voice.load(voice), language="german", seed=3, max_frames=9)
    np.testing.assert_array_equal(soundfile.read(wav, dtype="float32")[0], speech.samples)


@pytest.mark.parametrize("in_context", [True, False])
def test_a_recording_speaks_as_the_voice_cloned_from_it(
    tiny_base_package: Path, reference: Path, tmp_path: Path, in_context: bool
) -> None:
    transcript = ("--transcript", FITTING) if in_context else ()
    file = tmp_path / "me.voice"
    assert run("clone", tiny_base_package, reference, *transcript, "--threads", "1", "-o", file).exit_code == 0
    speak(tiny_base_package, tmp_path / "voice.wav", "--voice", file)
    told = speak(tiny_base_package, tmp_path / "reference.wav", "--reference", reference, *transcript)
    assert re.match(
        rf"(Warning: the speech was stopped at its limit .*\n)?wrote {tmp_path}/reference\.wav: .*, seed 3\n$", told
    )
    assert (tmp_path / "voice.wav").read_bytes() == (tmp_path / "reference.wav").read_bytes()


def test_context_and_x_vector_speak_differently(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    speak(tiny_base_package, tmp_path / "a.wav", "--reference", reference)
    speak(tiny_base_package, tmp_path / "b.wav", "--reference", reference, "--transcript", FITTING)
    assert (tmp_path / "a.wav").read_bytes() != (tmp_path / "b.wav").read_bytes()


def test_a_spk_file_speaks_as_its_x_vector(tiny_base_package: Path, voice: Path, tmp_path: Path) -> None:
    Voice.load(voice).save(tmp_path / "me.spk")
    Voice(Voice.load(voice).x_vector, model="tiny-base-fp32").save(tmp_path / "x.voice")
    speak(tiny_base_package, tmp_path / "spk.wav", "--voice", tmp_path / "me.spk")
    speak(tiny_base_package, tmp_path / "x.wav", "--voice", tmp_path / "x.voice")
    assert (tmp_path / "spk.wav").read_bytes() == (tmp_path / "x.wav").read_bytes()


@pytest.mark.parametrize("in_context", [True, False])
def test_streaming_text_is_the_default_of_a_base_package(
    tiny_base_package: Path, voice: Path, tmp_path: Path, in_context: bool
) -> None:
    def bytes_of(*options: str) -> bytes:
        speak(tiny_base_package, tmp_path / "a.wav", "--voice", voice if in_context else spk, *options)
        return (tmp_path / "a.wav").read_bytes()

    spk = tmp_path / "me.spk"
    Voice.load(voice).save(spk)
    assert bytes_of() == bytes_of("--streaming-text")
    assert bytes_of() != bytes_of("--whole-text")


def test_json_says_whose_voice_it_is(tiny_base_package: Path, voice: Path, reference: Path, tmp_path: Path) -> None:
    def report(*options: str | Path) -> tuple[object, ...]:
        result = run("speak", tiny_base_package, TEXT, "-o", tmp_path / "a.wav", *OPTIONS, "--json", *options)
        record = json.loads(result.stdout)
        assert record["seconds"] == pytest.approx(record["frames"] * 0.08, abs=1 / 24000)  # upstream's cut
        return tuple(record[name] for name in ("speaker", "voice", "reference", "in_context"))

    assert report("--voice", voice) == (None, str(voice), None, True)
    assert report("--reference", reference) == (None, None, str(reference), False)
    assert report("--reference", reference, "--transcript", FITTING) == (None, None, str(reference), True)


def test_what_makes_the_voice_worse_is_told_before_the_last_line(tiny_base_package: Path, tmp_path: Path) -> None:
    short = write_recording(tmp_path / "short.wav", 0.5)
    told = speak(tiny_base_package, tmp_path / "a.wav", "--reference", short).splitlines()
    assert told[0] == f"Warning: {short} is only 0.50 s long: the voice may be unlike the speaker; 3 to 15 s are best"
    assert told[-1].startswith(f"wrote {tmp_path / 'a.wav'}: ")
