"""What `speak` refuses: one line each, before a graph is loaded, and without touching the output."""

import os
from pathlib import Path

import pytest

from tests.cli.command_line import refusal

SPEAKERS = "serena, vivian, uncle_fu, ryan, aiden, ono_anna, sohee, eric, dylan"


pytestmark = pytest.mark.usefixtures("nothing_is_loaded")


def refused(package: Path, folder: Path, *arguments: str | Path, text: str | bytes | None = None) -> str:
    line = refusal("speak", package, *arguments, text=text)
    assert list(folder.iterdir()) == []
    return line


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--speaker", "bob"), f"tiny-customvoice-fp32 has no speaker 'bob': choose one of {SPEAKERS}"),
        ((), f"tiny-customvoice-fp32 needs a speaker: choose one of {SPEAKERS}"),
        (
            ("--speaker", "ryan", "--language", "klingon"),
            "tiny-customvoice-fp32 has no language 'klingon': choose one of auto, chinese (zh), english (en), german "
            "(de), italian (it), portuguese (pt), spanish (es), japanese (ja), korean (ko), french (fr), russian (ru), "
            "by name, code or BCP-47 tag",
        ),
    ],
)
def test_an_unknown_speaker_or_language_lists_the_valid_ones(
    tiny_package: Path, tmp_path: Path, options: tuple[str, ...], line: str
) -> None:
    assert refused(tiny_package, tmp_path, "Hi.", *options, "-o", tmp_path / "a.wav") == line


def test_a_dialect_is_no_language_to_ask_for(tiny_package: Path, tmp_path: Path) -> None:
    options = ("--speaker", "eric", "--language", "sichuan_dialect", "-o", tmp_path / "a.wav")
    assert "has no language 'sichuan_dialect'" in refused(tiny_package, tmp_path, "Hi.", *options)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "the text is empty: give at least one visible character"),
        (" \t\n ", "the text is blank (length 4, nothing visible): give at least one visible character"),
        ("\u200b\ufeff", "the text is blank (length 2, nothing visible): give at least one visible character"),
        ("a\0b", "the text has a NUL character (U+0000) at position 1, expected text: remove it"),
    ],
)
def test_a_text_with_nothing_to_say(tiny_package: Path, tmp_path: Path, text: str, line: str) -> None:
    options = ("--speaker", "ryan", "-o", tmp_path / "a.wav")
    assert refused(tiny_package, tmp_path, text, *options) == line


def test_empty_standard_input_is_an_empty_text(tiny_package: Path, tmp_path: Path) -> None:
    line = refused(tiny_package, tmp_path, "--speaker", "ryan", "-o", tmp_path / "a.wav", text="\n")
    assert line == "the text is empty: give at least one visible character"


def test_text_that_is_not_utf8(tiny_package: Path, tmp_path: Path) -> None:
    file = tmp_path / "latin1.txt"
    file.write_bytes("café".encode("latin-1"))
    options = ("--speaker", "ryan", "-o", tmp_path / "a.wav")
    wanted = "is not UTF-8 (byte 0xE9 at offset 3): save it as UTF-8"
    assert refusal("speak", tiny_package, "--file", file, *options) == f"{file} {wanted}"
    assert refusal("speak", tiny_package, *options, text=b"\xef\xbb\xbfcaf\xe9") == (
        "standard input is not UTF-8 (byte 0xE9 at offset 6): save it as UTF-8"
    )


def test_text_given_twice(tiny_package: Path, tmp_path: Path) -> None:
    options = ("Hi.", "--file", "text.txt", "--speaker", "ryan", "-o", tmp_path / "a.wav")
    assert refused(tiny_package, tmp_path, *options).startswith(
        "The text was given twice, as an argument and with --file: give one of them."
    )


def test_a_text_file_that_is_not_there(tiny_package: Path, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    line = refused(tiny_package, tmp_path, "--file", file, "--speaker", "ryan", "-o", tmp_path / "a.wav")
    assert line == f"{file} cannot be read (No such file or directory): give the path of a UTF-8 text file"


@pytest.mark.parametrize(
    ("output", "options", "expected"),
    [
        ("a.mp3", (), "does not end in .wav or .flac or .raw: give the output one of these endings"),
        ("a", (), "does not end in .wav or .flac or .raw: give the output one of these endings"),
        ("a.flac", ("--format", "float"), "FLAC has no sample format 'float': choose one of pcm16, pcm24"),
        ("nowhere/a.wav", (), "nowhere is not a folder, so a.wav cannot be written there: create it first"),
    ],
)
def test_an_output_that_cannot_be_written(
    tiny_package: Path, tmp_path: Path, output: str, options: tuple[str, ...], expected: str
) -> None:
    line = refused(tiny_package, tmp_path, "Hi.", "--speaker", "ryan", *options, "-o", tmp_path / output)
    assert line.endswith(expected)


def test_an_output_that_is_a_folder(tiny_package: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a.wav"
    folder.mkdir()
    line = refusal("speak", tiny_package, "Hi.", "--speaker", "ryan", "-o", folder)
    assert line == f"{folder} is a folder, expected the path of a file"


def test_an_output_folder_that_may_not_be_written_to(
    tiny_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda _path, mode: mode != os.W_OK)  # root may write anywhere
    line = refused(tiny_package, tmp_path, "Hi.", "--speaker", "ryan", "-o", tmp_path / "a.wav")
    assert line == f"{tmp_path} is a folder you may not write to: choose another place for a.wav"


def test_wav_and_json_do_not_share_standard_output(tiny_package: Path, tmp_path: Path) -> None:
    line = refused(tiny_package, tmp_path, "Hi.", "--speaker", "ryan", "-o", "-", "--json")
    assert line.startswith("-o - and --json both write to standard output: give -o a file, or leave out --json.")


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--temperature", "0", "Invalid value for '--temperature': 0.0 is not in the range x>0."),
        ("--temperature", "nan", "temperature is nan, expected above 0; for no chance at all use greedy"),
        ("--temperature", "inf", "temperature is inf, expected above 0; for no chance at all use greedy"),
        ("--temperature", "warm", "Invalid value for '--temperature': 'warm' is not a valid float"),
        ("--top-k", "-1", "Invalid value for '--top-k': -1 is not in the range x>=0."),
        ("--top-p", "1.5", "Invalid value for '--top-p': 1.5 is not in the range 0<x<=1."),
        ("--top-p", "nan", "top_p is nan, expected above 0 and at most 1"),
        ("--repetition-penalty", "-1", "Invalid value for '--repetition-penalty': -1.0 is not in the range x>0."),
        ("--predictor-top-p", "0", "Invalid value for '--predictor-top-p': 0.0 is not in the range 0<x<=1."),
        ("--max-frames", "0", "Invalid value for '--max-frames': 0 is not in the range x>=1."),
        ("--seed", "-1", "Invalid value for '--seed': -1 is not in the range 0<=x<=18446744073709551615."),
        ("--seed", str(2**64), f"Invalid value for '--seed': {2**64} is not in the range 0<=x<={2**64 - 1}."),
        ("--retry", "-1", "Invalid value for '--retry': -1 is not in the range x>=0."),
        ("--threads", "0", "Invalid value for '--threads': 0 is not in the range x>=1."),
        ("--format", "mp3", "Invalid value for '--format': 'mp3' is not one of 'pcm16', 'pcm24', 'float'."),
    ],
)
def test_a_bad_option_value(tiny_package: Path, tmp_path: Path, option: str, value: str, expected: str) -> None:
    line = refused(tiny_package, tmp_path, "Hi.", "--speaker", "ryan", "-o", tmp_path / "a.wav", option, value)
    assert line.startswith(expected)


def test_no_output_is_refused(tiny_package: Path, tmp_path: Path) -> None:
    assert refused(tiny_package, tmp_path, "Hi.", "--speaker", "ryan").startswith("Missing option '-o' / '--output'.")
