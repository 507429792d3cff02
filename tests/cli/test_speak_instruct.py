"""`speak --instruct`: a voice as it is described, kept for a base package, or refused before anything is loaded."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from qwen3_tts_ncnn.runtime import TTS, Voice
from qwen3_tts_ncnn.runtime.speech_warning import SpeechWarning
from tests.cli.command_line import refusal, run
from tests.cli.damage import linked_copy, rewrite_json
from tests.cli.recordings import FITTING

TEXT = "Hello there."
CALM = "A calm old man."


def speak(package: Path, output: Path, *options: str | Path) -> str:
    """Runs `speak`, which must succeed; returns what it says on standard error."""
    result = run("speak", package, *options, "-o", output, "--threads", "1")
    assert result.exit_code == 0, result.output
    return result.stderr


@pytest.fixture
def large_package(tiny_package: Path, tmp_path: Path) -> Path:
    """The tiny CustomVoice package, which says that it is a 1.7B one."""
    package = linked_copy(tiny_package, tmp_path / "large")
    rewrite_json(package / "model.json", lambda manifest: manifest.update(size="1b7"))
    return package


def test_a_designed_voice_is_that_of_the_library(tiny_design_package: Path, tmp_path: Path) -> None:
    wav = tmp_path / "a.wav"
    speak(tiny_design_package, wav, TEXT, "--instruct", CALM, "--seed", "3", "--max-frames", "9", "--format", "float")
    tts = TTS.load(tiny_design_package, threads=1)
    with pytest.warns(SpeechWarning):
        speech = tts.speak(TEXT, instruct=CALM, seed=3, max_frames=9)
    np.testing.assert_array_equal(soundfile.read(wav, dtype="float32")[0], speech.samples)


def test_json_tells_the_instruction_what_stopped_it_and_the_seed(tiny_design_package: Path, tmp_path: Path) -> None:
    options = ("--instruct", CALM, "--language", "zh-CN", "--seed", "3", "--max-frames", "4", "--json")
    result = run("speak", tiny_design_package, TEXT, *options, "-o", tmp_path / "a.wav", "--threads", "1")
    report = json.loads(result.stdout)
    names = ("speaker", "voice", "reference", "instruct", "in_context", "language", "stop", "seed", "frames")
    assert [report[name] for name in names] == [None, None, None, CALM, False, "zh-cn", "limit", 3, 4]


def test_a_speaker_of_1_7b_follows_an_instruction(large_package: Path, tmp_path: Path) -> None:
    def bytes_of(*options: str) -> bytes:
        speak(
            large_package, tmp_path / "a.wav", TEXT, "--speaker", "ryan", "--seed", "1", "--max-frames", "4", *options
        )
        return (tmp_path / "a.wav").read_bytes()

    assert bytes_of("--instruct", CALM) == bytes_of("--instruct", CALM)
    assert len({bytes_of(), bytes_of("--instruct", CALM), bytes_of("--instruct", "Angrily.")}) == 3


def test_a_designed_voice_is_kept_and_speaks_again(
    tiny_design_package: Path, tiny_base_package: Path, tmp_path: Path
) -> None:
    """What it said is the reference, and the text is its transcript."""
    wav, voice_file = tmp_path / "a.wav", tmp_path / "me.voice"
    keeping = ("--save-voice", voice_file, "--base", tiny_base_package)
    options = ("--instruct", CALM, "--seed", "3", "--format", "float")
    told = speak(tiny_design_package, wav, FITTING, *options, *keeping)
    assert told.splitlines()[0].startswith(f"wrote {wav}: ")
    samples, rate = soundfile.read(wav, dtype="float32")
    voice = Voice.load(voice_file)
    expected = TTS.load(tiny_base_package, threads=1).clone((samples, rate), transcript=FITTING)
    assert voice.codes is not None
    assert expected.codes is not None
    assert np.array_equal(voice.codes, expected.codes)
    assert np.array_equal(voice.x_vector, expected.x_vector)
    assert (voice.transcript, voice.model) == (FITTING, "tiny-base-fp32")
    assert len(voice.codes) == len(samples) / 1920
    again = tmp_path / "again.wav"
    speak(tiny_base_package, again, TEXT, "--voice", voice_file, "--seed", "1", "--max-frames", "2")
    assert soundfile.info(again).frames in (2 * 1920, 2 * 1920 + 1)  # upstream's cut


def test_what_makes_the_kept_voice_worse_is_told_in_a_line(
    tiny_design_package: Path, tiny_base_package: Path, tmp_path: Path
) -> None:
    keeping = ("--save-voice", tmp_path / "me.voice", "--base", tiny_base_package)
    options = ("--instruct", CALM, "--seed", "4")
    wrote, *lines = speak(tiny_design_package, tmp_path / "a.wav", "Hi.", *options, *keeping).splitlines()
    assert wrote.endswith("stopped by eos, seed 4")
    assert lines[0].startswith("Warning: the reference is only 0.40 s long: the voice may be unlike the speaker")
    assert [line.partition(":")[0] for line in lines] == ["Warning"] * len(lines)
    assert (tmp_path / "me.voice").exists()


def speak_and_not_keep(package: Path, base: Path, folder: Path, *options: str) -> list[str]:
    """Speaks what no voice can be kept of; the speech is there all the same. Returns the lines on standard error."""
    keeping = ("--save-voice", folder / "me.voice", "--base", base)
    arguments = (FITTING, "--instruct", CALM, "--seed", "3", *options, *keeping, "-o", folder / "a.wav")
    result = run("speak", package, *arguments, "--threads", "1")
    assert (result.exit_code, [path.name for path in folder.iterdir()]) == (2, ["a.wav"])
    return result.stderr.splitlines()


def test_a_voice_is_not_kept_where_the_speech_was_cut_off(
    tiny_design_package: Path, tiny_base_package: Path, tmp_path: Path
) -> None:
    """The text would be no transcript of it."""
    warning, wrote, error = speak_and_not_keep(tiny_design_package, tiny_base_package, tmp_path, "--max-frames", "5")
    assert warning.startswith("Warning: the speech was stopped at its limit of frames")
    assert wrote.endswith("stopped by limit, seed 3")
    assert error == (
        f"Error: the voice is not kept in {tmp_path / 'me.voice'}: its speech was stopped by limit, so the text is not "
        "what it says; try another --seed, or --retry 2"
    )


def test_a_voice_is_not_kept_of_a_speech_that_is_too_long_for_a_recording(
    tiny_design_package: Path, tiny_base_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwen3_tts_ncnn.runtime.cli.voice_keeping.LONGEST_SECONDS", 2.0)
    wrote, error = speak_and_not_keep(tiny_design_package, tiny_base_package, tmp_path)
    assert wrote.endswith("stopped by eos, seed 3")
    assert error == (
        f"Error: the voice is not kept in {tmp_path / 'me.voice'}: its speech is 2.2 s long, expected at most 2 s; "
        "keep that of a shorter text (3 to 15 s are best), and speak this one with --voice"
    )


@pytest.mark.usefixtures("nothing_is_loaded")
def test_a_text_that_takes_too_long_to_keep_a_voice_from_is_refused_before_a_graph_is_loaded(
    tiny_design_package: Path, tiny_base_package: Path, tmp_path: Path
) -> None:
    keeping = ("--save-voice", tmp_path / "me.voice", "--base", tiny_base_package)
    text = "八" * 732  # syllables, at 12 a second
    line = refusal("speak", tiny_design_package, text, "--instruct", CALM, "-o", tmp_path / "a.wav", *keeping)
    assert line == (
        "the text takes at least 61 s to say, and a voice is kept from 60 s at most: keep that of a shorter text (3 to "
        "15 s are best), and speak this one with --voice"
    )
    assert list(tmp_path.iterdir()) == []


REFUSED: list[tuple[str, tuple[str, ...], str]] = [
    (
        "tiny_design_package",
        (),
        "tiny-design-fp32 needs an instruction that describes the voice, such as 'a calm old man'",
    ),
    (
        "tiny_design_package",
        ("--speaker", "ryan", "--instruct", CALM),
        "tiny-design-fp32 is a voice_design package, which speaks as an instruction describes, but speaker 'ryan' was "
        "given: leave it out, or use a custom_voice or base package",
    ),
    (
        "tiny_package",
        ("--speaker", "ryan", "--instruct", CALM),
        "tiny-customvoice-fp32 follows no instruction, because its checkpoint's size was not trained to (upstream "
        "drops it without a word): leave it out, or use a custom_voice package of 1.7B",
    ),
    (
        "tiny_base_package",
        ("--reference", "REFERENCE", "--instruct", CALM),
        "tiny-base-fp32 is a base package, which follows no instruction: leave it out, or use a voice_design or 1.7B "
        "custom_voice package",
    ),
    (
        "tiny_design_package",
        ("--reference", "REFERENCE", "--instruct", CALM),
        "tiny-design-fp32 is a voice_design package, which takes no reference recording: clone with a base package",
    ),
    (
        "tiny_design_package",
        ("--instruct", " "),
        "the instruction is blank (length 1, nothing visible): give at least one visible character",
    ),
    (
        "tiny_design_package",
        ("--instruct", "a\0b"),
        "the instruction has a NUL character (U+0000) at position 1, expected text: remove it",
    ),
]


@pytest.mark.usefixtures("nothing_is_loaded")
@pytest.mark.parametrize(("package", "options", "line"), REFUSED)
def test_what_does_not_fit_the_package_is_refused_before_a_graph_is_loaded(
    request: pytest.FixtureRequest, reference: Path, tmp_path: Path, package: str, options: tuple[str, ...], line: str
) -> None:
    arguments = [reference if option == "REFERENCE" else option for option in options]
    folder = tmp_path / "out"
    folder.mkdir()
    assert refusal("speak", request.getfixturevalue(package), TEXT, *arguments, "-o", folder / "a.wav") == line
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("nothing_is_loaded")
def test_a_voice_that_cannot_be_kept_is_refused_before_a_graph_is_loaded(
    tiny_design_package: Path, tiny_base_package: Path, tmp_path: Path
) -> None:
    def refused(*options: str | Path) -> str:
        line = refusal("speak", tiny_design_package, TEXT, "--instruct", CALM, "-o", tmp_path / "a.wav", *options)
        assert list(tmp_path.iterdir()) == []
        return line

    together = (
        "--save-voice and --base go together: the base package clones the voice. See `qwen3-tts-ncnn speak --help`."
    )
    assert refused("--save-voice", tmp_path / "me.voice") == together
    assert refused("--base", tiny_base_package) == together
    assert refused("--save-voice", tmp_path / "me.voice", "--base", tiny_design_package) == (
        "tiny-design-fp32 is a voice_design package, which takes no reference recording: clone with a base package"
    )
    assert refused("--save-voice", tmp_path / "me.mp3", "--base", tiny_base_package).startswith(
        f"{tmp_path / 'me.mp3'} does not end in .voice"
    )
    assert refused("--save-voice", tmp_path / "me.voice", "--base", tmp_path / "none").startswith(
        f"package {tmp_path / 'none'} does not exist"
    )
