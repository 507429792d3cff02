"""What `clone` refuses: one line each, before a graph is loaded, and without leaving a file."""

import os
from pathlib import Path

import pytest

from tests.cli.command_line import refusal
from tests.cli.recordings import FITTING, UNUSABLE

pytestmark = pytest.mark.usefixtures("nothing_is_loaded")


def refused(package: Path, reference: Path, folder: Path, *options: str | Path, name: str = "me.voice") -> str:
    """What `clone` says; it leaves nothing in the folder."""
    before = sorted(folder.iterdir())
    line = refusal("clone", package, reference, "-o", folder / name, *options)
    assert sorted(folder.iterdir()) == before
    return line


@pytest.mark.parametrize("kind", UNUSABLE)
def test_recordings_that_no_voice_can_be_cloned_from(tiny_base_package: Path, tmp_path: Path, kind: str) -> None:
    # One after the other, what takes a recording says the same of it.
    make, expected = UNUSABLE[kind]
    bad, wav = tmp_path / "bad.wav", tmp_path / "a.wav"
    make(bad)
    line = refused(tiny_base_package, bad, tmp_path)
    assert expected.format(path=bad) in line
    assert refusal("speak", tiny_base_package, "Hi.", "--reference", bad, "-o", wav) == line
    assert refusal("codec", "encode", tiny_base_package, bad, "-o", tmp_path / "a.rvq") == line
    assert not wav.exists()


def test_a_recording_within_a_lower_limit(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    line = refused(tiny_base_package, reference, tmp_path, "--max-reference-seconds", "3")
    assert line.startswith(f"{reference} is longer than 3 s: cut it")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", "Invalid value for '--max-reference-seconds': 0.0 is not in the range 0<x<=3600."),
        ("1e308", "Invalid value for '--max-reference-seconds': 1e+308 is not in the range 0<x<=3600."),
        ("nan", "the longest reference allowed is nan s, expected a positive number of seconds"),
    ],
)
def test_a_limit_that_is_none(
    tiny_base_package: Path, reference: Path, tmp_path: Path, value: str, expected: str
) -> None:
    line = refused(tiny_base_package, reference, tmp_path, "--max-reference-seconds", value)
    assert line.startswith(expected)


def test_a_custom_voice_package_clones_nothing(tiny_package: Path, reference: Path, tmp_path: Path) -> None:
    assert refused(tiny_package, reference, tmp_path) == (
        "tiny-customvoice-fp32 is a custom_voice package, which takes no reference recording: clone with a base package"
    )


def test_the_package_is_looked_at_before_the_recording(tiny_package: Path, tmp_path: Path) -> None:
    assert "takes no reference recording" in refused(tiny_package, tmp_path / "missing.wav", tmp_path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("me.wav", "me.wav does not end in .voice or .spk or .rvq: give the output such an ending"),
        ("me", "me does not end in .voice or .spk or .rvq: give the output such an ending"),
        ("nowhere/me.voice", "nowhere is not a folder, so me.voice cannot be written there: create it first"),
        ("x" * 300 + ".voice", ".voice cannot be written (File name too long): choose another place"),
    ],
)
def test_an_output_that_cannot_be_written(
    tiny_base_package: Path, reference: Path, tmp_path: Path, name: str, expected: str
) -> None:
    assert refused(tiny_base_package, reference, tmp_path, name=name).endswith(expected)


def test_an_output_that_is_a_folder(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    (tmp_path / "me.voice").mkdir()
    line = refused(tiny_base_package, reference, tmp_path)
    assert line == f"{tmp_path / 'me.voice'} is a folder, expected the path of a file"


def test_an_output_folder_that_may_not_be_written_to(
    tiny_base_package: Path, reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda _path, mode: mode != os.W_OK)  # root may write anywhere
    line = refused(tiny_base_package, reference, tmp_path)
    assert line == f"{tmp_path} is a folder you may not write to: choose another place for me.voice"


def test_codes_alone_need_a_transcript(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    assert refused(tiny_base_package, reference, tmp_path, name="me.rvq") == (
        f"there are no codes for {tmp_path / 'me.rvq'} without a transcript: give --transcript, write a .voice or .spk "
        "file, or use `codec encode`"
    )


@pytest.mark.parametrize(
    ("transcript", "expected"),
    [
        ("", "the transcript is empty: give at least one visible character"),
        (" \n", "the transcript is blank (length 2, nothing visible): give at least one visible character"),
        ("a\0b", "the transcript has a NUL character (U+0000) at position 1, expected text: remove it"),
    ],
)
def test_a_transcript_that_says_nothing(
    tiny_base_package: Path, reference: Path, tmp_path: Path, transcript: str, expected: str
) -> None:
    assert refused(tiny_base_package, reference, tmp_path, "--transcript", transcript) == expected


def test_a_transcript_given_twice(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    options = ("--transcript", FITTING, "--transcript-file", "me.txt")
    assert refused(tiny_base_package, reference, tmp_path, *options) == (
        "The transcript was given twice, with --transcript and --transcript-file: give one of them. "
        "See `qwen3-tts-ncnn clone --help`."
    )


def test_a_transcript_file_that_cannot_be_read(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    file = tmp_path / "me.txt"
    line = refused(tiny_base_package, reference, tmp_path, "--transcript-file", file)
    assert line == f"{file} cannot be read (No such file or directory): give the path of a UTF-8 text file"
    file.write_bytes("café".encode("latin-1"))
    line = refused(tiny_base_package, reference, tmp_path, "--transcript-file", file)
    assert line == f"{file} is not UTF-8 (byte 0xE9 at offset 3): save it as UTF-8"
