"""What `codec` refuses: one line each, before a graph is loaded. Recordings are refused in test_clone_errors.py."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime.rvq_file import write_rvq
from tests.cli.command_line import refusal
from tests.cli.damage import linked_copy

pytestmark = pytest.mark.usefixtures("nothing_is_loaded")


def refused(folder: Path, *arguments: str | Path) -> str:
    before = sorted(folder.iterdir())
    line = refusal("codec", *arguments)
    assert sorted(folder.iterdir()) == before
    return line


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty, expected 22 bytes a frame: encode the recording again"),
        (
            bytes(21),
            "has 21 bytes, expected a multiple of 22 (16 codes of 11 bits a frame): it is cut short, has something "
            "after its end, or is not a .rvq file",
        ),
        (
            bytes(45),
            "has 45 bytes, expected a multiple of 22 (16 codes of 11 bits a frame): it is cut short, has something "
            "after its end, or is not a .rvq file",
        ),
    ],
)
def test_codes_that_are_none(tiny_package: Path, tmp_path: Path, content: bytes, expected: str) -> None:
    rvq = tmp_path / "a.rvq"
    rvq.write_bytes(content)
    assert refused(tmp_path, "decode", tiny_package, rvq, "-o", tmp_path / "a.wav") == f"{rvq} {expected}"


def test_codes_that_cannot_be_read(tiny_package: Path, tmp_path: Path) -> None:
    line = refused(tmp_path, "decode", tiny_package, tmp_path / "none.rvq", "-o", tmp_path / "a.wav")
    wanted = "give the path of an existing file"
    assert line == f"{tmp_path}/none.rvq cannot be read (No such file or directory): {wanted}"
    line = refused(tmp_path, "decode", tiny_package, tmp_path, "-o", tmp_path / "a.wav")
    assert line == f"{tmp_path} cannot be read (Is a directory): {wanted}"


def test_codes_of_a_size_that_no_recording_has(tiny_package: Path, tmp_path: Path) -> None:
    rvq = tmp_path / "a.rvq"
    with rvq.open("wb") as file:
        file.truncate(1 << 40)
    line = refused(tmp_path, "decode", tiny_package, rvq, "-o", tmp_path / "a.wav")
    assert line == f"{rvq} has more than {64 << 20} bytes, the most such a file can have: it is something else"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.voice", "a.voice does not end in .rvq: give the output such an ending"),
        ("a", "a does not end in .rvq: give the output such an ending"),
        ("nowhere/a.rvq", "nowhere is not a folder, so a.rvq cannot be written there: create it first"),
    ],
)
def test_a_place_where_no_codes_can_be_written(
    tiny_package: Path, reference: Path, tmp_path: Path, name: str, expected: str
) -> None:
    assert refused(tmp_path, "encode", tiny_package, reference, "-o", tmp_path / name).endswith(expected)


def test_places_where_no_sound_can_be_written(tiny_package: Path, tmp_path: Path) -> None:
    rvq = tmp_path / "a.rvq"
    write_rvq(rvq, np.zeros((1, 16), np.int32))
    line = refused(tmp_path, "decode", tiny_package, rvq, "-o", tmp_path / "a.mp3")
    assert line.endswith("a.mp3 does not end in .wav or .flac or .raw: give the output one of these endings")
    line = refused(tmp_path, "decode", tiny_package, rvq, "-o", tmp_path / "a.flac", "--format", "float")
    assert line == "FLAC has no sample format 'float': choose one of pcm16, pcm24"
    line = refused(tmp_path, "decode", tiny_package, rvq, "-o", "-", "--json")
    assert line.startswith("-o - and --json both write to standard output")


def test_a_package_that_is_none(tiny_package: Path, reference: Path, tmp_path: Path) -> None:
    line = refused(tmp_path, "encode", tmp_path / "none", reference, "-o", tmp_path / "a.rvq")
    assert line.startswith(f"package {tmp_path}/none does not exist")
    package = linked_copy(tiny_package, tmp_path / "package")
    (package / "rvq_encoder.safetensors").unlink()
    line = refused(tmp_path, "encode", package, reference, "-o", tmp_path / "a.rvq")
    assert line == f"{package}/rvq_encoder.safetensors is missing from the package: convert the checkpoint again"
