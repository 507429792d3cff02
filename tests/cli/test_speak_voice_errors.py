"""Voices and recordings that `speak` refuses: one line each, before a graph is loaded, without touching the output."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime import Voice
from tests.cli.command_line import refusal
from tests.cli.damage import linked_copy, rewrite_json
from tests.cli.recordings import FITTING

pytestmark = pytest.mark.usefixtures("nothing_is_loaded")

SPEAKERS = "serena, vivian, uncle_fu, ryan, aiden, ono_anna, sohee, eric, dylan"


def voice(width: int = 64) -> Voice:
    """A voice as the tiny Base package makes them, unless of another width."""
    random = np.random.default_rng(5)
    codes = random.integers(0, 2048, (4, 16), dtype=np.int32)
    return Voice(random.standard_normal(width, dtype=np.float32), codes, FITTING, "tiny-base-fp32")


@pytest.fixture
def voice_file(tmp_path: Path) -> Path:
    """The file of a voice."""
    voice().save(tmp_path / "me.voice")
    return tmp_path / "me.voice"


def refused(package: Path, folder: Path, *options: str | Path) -> str:
    line = refusal("speak", package, "Hi.", "-o", folder / "a.wav", *options)
    assert not (folder / "a.wav").exists()
    return line


def test_a_voice_or_a_recording_where_speakers_speak(
    tiny_package: Path, voice_file: Path, reference: Path, tmp_path: Path
) -> None:
    for speaker in ((), ("--speaker", "ryan")):
        assert refused(tiny_package, tmp_path, "--voice", voice_file, *speaker) == (
            "tiny-customvoice-fp32 is a custom_voice package, which speaks with its own speakers alone: leave the "
            f"voice out and choose one of {SPEAKERS}, or use a base package"
        )
        assert refused(tiny_package, tmp_path, "--reference", reference, *speaker) == (
            "tiny-customvoice-fp32 is a custom_voice package, which takes no reference recording: "
            "clone with a base package"
        )


def test_a_voice_or_a_recording_where_voices_are_described(
    tiny_package: Path, voice_file: Path, reference: Path, tmp_path: Path
) -> None:
    package = linked_copy(tiny_package, tmp_path / "package")
    rewrite_json(package / "model.json", lambda manifest: manifest.update(type="voice_design", speakers={}))
    assert "is a voice_design package" in refused(package, tmp_path, "--voice", voice_file)
    assert refused(package, tmp_path, "--reference", reference) == (
        "tiny-customvoice-fp32 is a voice_design package, which takes no reference recording: clone with a base package"
    )


def test_a_speaker_where_there_are_none(
    tiny_base_package: Path, voice_file: Path, reference: Path, tmp_path: Path
) -> None:
    line = (
        "tiny-base-fp32 is a base package, which has no speakers, but speaker 'ryan' was given: leave it out and give "
        "a voice, or use a custom_voice package"
    )
    for options in ((), ("--voice", voice_file), ("--reference", reference)):
        assert refused(tiny_base_package, tmp_path, "--speaker", "ryan", *options) == line


def test_no_voice_where_one_is_needed(tiny_base_package: Path, tmp_path: Path) -> None:
    assert refused(tiny_base_package, tmp_path) == "tiny-base-fp32 needs a voice: clone one from a recording"


def test_an_unknown_language_lists_the_valid_ones(tiny_base_package: Path, voice_file: Path, tmp_path: Path) -> None:
    line = refused(tiny_base_package, tmp_path, "--voice", voice_file, "--language", "klingon")
    assert line.startswith("tiny-base-fp32 has no language 'klingon': choose one of auto, chinese (zh), english (en), ")


def test_the_package_is_looked_at_before_the_recording(tiny_package: Path, tmp_path: Path) -> None:
    assert "takes no reference" in refused(tiny_package, tmp_path, "--reference", tmp_path / "missing.wav")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ("--voice", "me.voice", "--reference", "me.wav"),
            "The voice was given twice, with --voice and --reference: give one of them.",
        ),
        (
            ("--transcript", FITTING),
            "There is a transcript but no --reference, the recording that it is of: give both, or leave it out.",
        ),
        (
            ("--voice", "me.voice", "--transcript-file", "me.txt"),
            "There is a transcript but no --reference, the recording that it is of: give both, or leave it out.",
        ),
        (
            ("--reference", "me.wav", "--transcript", FITTING, "--transcript-file", "me.txt"),
            "The transcript was given twice, with --transcript and --transcript-file: give one of them.",
        ),
    ],
)
def test_options_that_contradict_each_other(
    tiny_base_package: Path, tmp_path: Path, options: tuple[str, ...], expected: str
) -> None:
    # None of the files is there: the options are looked at first.
    assert refused(tiny_base_package, tmp_path, *options) == f"{expected} See `qwen3-tts-ncnn speak --help`."


def test_a_voice_of_another_width(tiny_base_package: Path, tmp_path: Path) -> None:
    voice(1024).save(tmp_path / "me.voice")
    assert refused(tiny_base_package, tmp_path, "--voice", tmp_path / "me.voice") == (
        "the voice, made with tiny-base-fp32, has an x-vector of 1024 values, tiny-base-fp32 takes 64: clone the "
        "recording again with this package"
    )
    voice(63).save(tmp_path / "me.spk")
    assert refused(tiny_base_package, tmp_path, "--voice", tmp_path / "me.spk") == (
        "the voice has an x-vector of 63 values, tiny-base-fp32 takes 64: clone the recording again with this package"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none.voice", "none.voice cannot be read (No such file or directory): give the path of an existing file"),
        ("me.rvq", "me.rvq holds codes alone, which are no voice without an x-vector and a transcript: give a .voice"),
        ("me.wav", "me.wav does not end in .voice or .spk: clone a recording first, and give the voice's file"),
    ],
)
def test_a_voice_that_is_none(tiny_base_package: Path, tmp_path: Path, name: str, expected: str) -> None:
    assert f"{tmp_path}/{expected}" in refused(tiny_base_package, tmp_path, "--voice", tmp_path / name)


def header_length(length: int) -> Callable[[bytes], bytes]:
    return lambda data: length.to_bytes(8, "little") + data[8:]


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Replaces bytes of the header by as many others."""
    assert len(old) == len(new)
    return lambda data: data.replace(old, new)


MUTATIONS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "is not a whole .voice file"),
    "cut in the header": (lambda data: data[:50], "is not a whole .voice file"),
    "cut in the codes": (lambda data: data[:-1], "is not a whole .voice file"),
    "something after the end": (lambda data: data + b"\0", "is not a whole .voice file"),
    "a huge header": (header_length(2**63), "is not a whole .voice file"),
    "a header that is too short": (header_length(40), "is not a whole .voice file"),
    "no JSON": (lambda data: data[:8] + b"]" + data[9:], "is not a whole .voice file"),
    "another format": (replaced(b"qwen3-tts-voice", b"qwen3-tts-faces"), "is a safetensors file but not of a voice"),
    "a newer format": (replaced(b'"format_version":"1"', b'"format_version":"2"'), "is a voice of format 2"),
    "another key": (replaced(b'"x_vector"', b'"x_rector"'), "expected x_vector and perhaps codes"),
    "another dtype": (replaced(b'"I32"', b'"F32"'), "codes is F32, expected I32"),
    "another shape": (
        replaced(b"[4,16]", b"[16,4]"),
        "codes are int32 of shape (16, 4), expected integers",
    ),
    "overlapping offsets": (replaced(b"[0,256]", b"[0,999]"), "is not a whole .voice file"),
    "NaN": (lambda data: data[:-256] + b"\xff" * 256, "codes reach from -1 to"),
    "codes without a transcript": (replaced(b'"transcript"', b'"transscrip"'), "codes but no transcript"),
    "a pickle": (lambda data: b"\x80\x04c" + data[3:], "is not a whole .voice file"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_voice_from_elsewhere_is_not_believed(
    tiny_base_package: Path, voice_file: Path, tmp_path: Path, name: str
) -> None:
    mutate, expected = MUTATIONS[name]
    data = voice_file.read_bytes()
    assert mutate(data) != data
    voice_file.write_bytes(mutate(data))
    line = refused(tiny_base_package, tmp_path, "--voice", voice_file)
    assert line.startswith(f"{voice_file} ")
    assert expected in line


def test_a_voice_of_nan_is_refused(tiny_base_package: Path, tmp_path: Path) -> None:
    data = Voice(voice().x_vector).to_bytes()
    (tmp_path / "me.voice").write_bytes(data[:-4] + np.float32(np.nan).tobytes())
    line = refused(tiny_base_package, tmp_path, "--voice", tmp_path / "me.voice")
    assert line.endswith(
        "me.voice does not hold a voice: the x-vector holds NaN or infinite values: clone the voice again"
    )


def test_random_mutations_are_one_line_or_a_voice(
    tiny_base_package: Path, voice_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What still is a voice goes on to be loaded, which here is refused by a line of its own."""

    def load(package: Path, **_named: object) -> None:
        Voice.load(tmp_path / "loaded.rvq")

    monkeypatch.setattr("qwen3_tts_ncnn.runtime.cli.speak.TTS.load", load)
    random = np.random.default_rng(11)
    data = voice_file.read_bytes()
    lines = []
    for _ in range(60):
        changed = bytearray(data)
        for place in random.integers(0, 330, random.integers(1, 4)):
            changed[place] = random.integers(256)
        voice_file.write_bytes(changed[: random.integers(len(changed))] if random.random() < 0.2 else changed)
        lines.append(refused(tiny_base_package, tmp_path, "--voice", voice_file))
    assert len(set(lines)) > 10
