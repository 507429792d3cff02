"""`speak` makes the sound file that was asked for, and tells how."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from qwen3_tts_ncnn.runtime import TTS
from tests.cli.command_line import process, run

# Most runs here are cut after a few frames.
pytestmark = pytest.mark.filterwarnings("ignore::qwen3_tts_ncnn.runtime.SpeechWarning")

TEXT = "Hello there."


def speak(package: Path, *arguments: str | Path, text: str | bytes | None = None) -> Any:
    """Runs `speak` with what every run here needs, and expects it to succeed."""
    result = run("speak", package, *arguments, "--speaker", "ryan", "--threads", "1", text=text)
    assert result.exit_code == 0, result.output
    return result


def spoken(package: Path, folder: Path, *arguments: str | Path, text: str | bytes | None = None) -> bytes:
    """The bytes of the WAV that greedy speech gives."""
    wav = folder / "spoken.wav"
    speak(package, *arguments, "--greedy", "--max-frames", "8", "-o", wav, text=text)
    return wav.read_bytes()


def test_the_file_is_24_khz_mono_pcm16_of_1920_samples_a_frame(tiny_package: Path, tmp_path: Path) -> None:
    wav = tmp_path / "hello.wav"
    report = json.loads(speak(tiny_package, TEXT, "--seed", "7", "-o", wav, "--json").stdout)
    found = soundfile.info(wav)
    assert (found.samplerate, found.channels, found.format, found.subtype) == (24000, 1, "WAV", "PCM_16")
    assert found.frames == report["frames"] * 1920 > 0


def test_the_samples_are_those_of_the_library(tiny_package: Path, tmp_path: Path) -> None:
    wav = tmp_path / "hello.wav"
    speak(
        tiny_package, TEXT, "--seed", "3", "--temperature", "1.3", "--max-frames", "9", "--format", "float", "-o", wav
    )
    speech = TTS.load(tiny_package, threads=1).speak(TEXT, speaker="ryan", seed=3, temperature=1.3, max_frames=9)
    np.testing.assert_array_equal(soundfile.read(wav, dtype="float32")[0], speech.samples)


@pytest.mark.parametrize(
    ("name", "options", "format", "subtype"),
    [
        ("a.wav", [], "WAV", "PCM_16"),
        ("a.wav", ["--format", "pcm24"], "WAV", "PCM_24"),
        ("a.wav", ["--format", "float"], "WAV", "FLOAT"),
        ("a.flac", [], "FLAC", "PCM_16"),
        ("A.FLAC", ["--format", "pcm24"], "FLAC", "PCM_24"),
    ],
)
def test_formats(tiny_package: Path, tmp_path: Path, name: str, options: list[str], format: str, subtype: str) -> None:
    speak(tiny_package, TEXT, "--max-frames", "2", "-o", tmp_path / name, *options)
    found = soundfile.info(tmp_path / name)
    assert (found.format, found.subtype, found.frames) == (format, subtype, 2 * 1920)


def test_the_last_line_tells_length_time_and_what_stopped_it(tiny_package: Path, tmp_path: Path) -> None:
    wav = tmp_path / "demo.wav"
    result = speak(tiny_package, TEXT, "--greedy", "-o", wav)
    pattern = (
        rf"wrote {re.escape(str(wav))}: (\d+\.\d\d) s of speech in \d+\.\d\d s "
        r"\(real-time factor \d+\.\d\d\), stopped by eos\n"
    )
    told = re.fullmatch(pattern, result.stderr)
    assert told, result.stderr
    assert float(told.group(1)) == pytest.approx(soundfile.info(wav).duration, abs=0.005)
    assert result.stdout == ""


def test_a_run_that_meets_its_limit_warns(tiny_package: Path, tmp_path: Path) -> None:
    result = speak(tiny_package, TEXT, "--greedy", "--max-frames", "2", "-o", tmp_path / "a.wav")
    warning, line = result.stderr.splitlines()
    assert warning == (
        "Warning: the speech was stopped at its limit of frames, so it may be cut off or have gone astray: try another "
        "--seed, or --retry 2; --max-frames and --no-budget raise the limit"
    )
    assert line.endswith("stopped by limit")


def test_json_is_one_object_that_tells_everything(tiny_package: Path, tmp_path: Path) -> None:
    wav = tmp_path / "a.wav"
    result = speak(tiny_package, TEXT, "--seed", "5", "--language", "English", "--json", "-o", wav)
    report = json.loads(result.stdout)
    assert result.stderr == ""
    assert report["compute_seconds"] > 0
    assert report["real_time_factor"] == pytest.approx(report["compute_seconds"] / report["seconds"])
    assert report["seconds"] == pytest.approx(report["frames"] * 0.08)
    measured = ("compute_seconds", "real_time_factor", "seconds", "frames")
    assert {name: value for name, value in report.items() if name not in measured} == {
        "output": str(wav),
        "sample_rate": 24000,
        "stop": "eos",
        "package": "tiny-customvoice-fp32",
        "speaker": "ryan",
        "voice": None,
        "reference": None,
        "instruct": None,
        "in_context": False,
        "language": "english",
        "greedy": False,
        "seed": 5,
    }


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(tiny_package: Path, tmp_path: Path) -> None:
    def bytes_of(seed: str) -> bytes:
        speak(tiny_package, TEXT, "--seed", seed, "--max-frames", "6", "-o", tmp_path / "a.wav")
        return (tmp_path / "a.wav").read_bytes()

    assert bytes_of("7") == bytes_of("7")
    assert bytes_of("7") != bytes_of("8")


def test_a_run_without_a_seed_can_be_repeated_by_the_one_it_told(tiny_package: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.wav", tmp_path / "second.wav"
    told = speak(tiny_package, TEXT, "--max-frames", "6", "-o", first).stderr
    seed = re.search(r", seed (\d+)\n$", told)
    assert seed, told
    speak(tiny_package, TEXT, "--max-frames", "6", "--seed", seed.group(1), "-o", second)
    assert first.read_bytes() == second.read_bytes()


def test_two_runs_without_a_seed_have_two(tiny_package: Path, tmp_path: Path) -> None:
    command = (tiny_package, TEXT, "--max-frames", "1", "--json", "-o", tmp_path / "a.wav")
    assert json.loads(speak(*command).stdout)["seed"] != json.loads(speak(*command).stdout)["seed"]


def test_a_greedy_run_tells_no_seed(tiny_package: Path, tmp_path: Path) -> None:
    result = speak(tiny_package, TEXT, "--greedy", "--max-frames", "1", "--json", "-o", tmp_path / "a.wav")
    assert json.loads(result.stdout)["seed"] is None


@pytest.mark.parametrize(
    "content", [TEXT.encode(), TEXT.encode() + b"\n", b"\xef\xbb\xbf" + TEXT.encode() + b"\r\n\r\n"]
)
def test_text_from_standard_input_or_a_file_is_spoken_as_the_argument_is(
    tiny_package: Path, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes(content)
    expected = spoken(tiny_package, tmp_path, TEXT)
    assert spoken(tiny_package, tmp_path, text=content) == expected
    assert spoken(tiny_package, tmp_path, "-", text=content) == expected
    assert spoken(tiny_package, tmp_path, "--file", "-", text=content) == expected
    assert spoken(tiny_package, tmp_path, "--file", file) == expected


def test_a_newline_before_the_text_stays(tiny_package: Path, tmp_path: Path) -> None:
    assert spoken(tiny_package, tmp_path, text="\n\nHello.") != spoken(tiny_package, tmp_path, text="Hello.")


def test_the_two_text_layouts_differ_and_whole_text_is_the_default(tiny_package: Path, tmp_path: Path) -> None:
    default = spoken(tiny_package, tmp_path, TEXT)
    assert spoken(tiny_package, tmp_path, TEXT, "--whole-text") == default
    assert spoken(tiny_package, tmp_path, TEXT, "--streaming-text") != default


@pytest.mark.parametrize(
    "option",
    [
        ("--temperature", "3"),
        ("--top-k", "2"),
        ("--top-p", "0.2"),
        ("--repetition-penalty", "0.01"),  # above 1 shows only where a code would come twice
        ("--predictor-temperature", "3"),
        ("--predictor-top-k", "2"),
        ("--predictor-top-p", "0.2"),
        ("--language", "german"),
    ],
)
def test_every_option_reaches_the_model(tiny_package: Path, tmp_path: Path, option: tuple[str, str]) -> None:
    def bytes_of(*more: str) -> bytes:
        speak(tiny_package, TEXT, "--seed", "1", "--max-frames", "12", "-o", tmp_path / "a.wav", *more)
        return (tmp_path / "a.wav").read_bytes()

    assert bytes_of() != bytes_of(*option)


def test_a_process_of_its_own_prints_nothing_but_the_last_line(tiny_package: Path, tmp_path: Path) -> None:
    arguments = (
        "speak",
        tiny_package,
        TEXT,
        "--speaker",
        "ryan",
        "--threads",
        "1",
        "--greedy",
        "-o",
        tmp_path / "a.wav",
    )
    done = process(*arguments)
    assert (done.returncode, done.stdout) == (0, "")
    assert re.fullmatch(r"wrote .*stopped by eos\n", done.stderr)
