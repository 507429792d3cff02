"""Packages that are no longer what was converted: every command refuses them in one line."""

from pathlib import Path

import pytest

from tests.cli.command_line import refusal
from tests.cli.damage import flip_last_byte, linked_copy, rewrite, rewrite_json

CHANGED = [
    "codec_decoder.bin",
    "talker_decoder.param",
    "tokenizer.json",
    "text_embedding.bin",
    "mimi_encoder.bin",
    "rvq_encoder.safetensors",
]

AGAIN = "copy the package again, or convert the checkpoint again"


@pytest.fixture
def package(tiny_package: Path, tmp_path: Path) -> Path:
    """A package whose files may be replaced."""
    return linked_copy(tiny_package, tmp_path / "package")


def all_refuse(package: Path, *, info: bool = True) -> str:
    """What `speak`, `codec`, `verify` and `info` say, which is the same."""
    wav, rvq = package.parent / "a.wav", package.parent / "a.rvq"
    speak = refusal("speak", package, "Hi.", "--speaker", "ryan", "--threads", "1", "-o", wav)
    rvq.write_bytes(bytes(22))
    assert refusal("codec", "decode", package, rvq, "--threads", "1", "-o", wav) == speak
    assert not wav.exists()
    assert refusal("verify", package) == speak
    if info:
        assert refusal("info", package) == speak
    return speak


def test_a_missing_folder(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    line = f"package {missing} does not exist: expected a folder made by `qwen3-tts-ncnn convert`"
    assert all_refuse(missing) == line


def test_a_file_in_place_of_the_folder(package: Path) -> None:
    file = package / "model.json"
    line = f"package {file} is a file: expected a folder made by `qwen3-tts-ncnn convert`"
    assert refusal("verify", file) == refusal("info", file) == line


def test_a_folder_that_is_no_package(tiny_checkpoint: Path) -> None:
    line = refusal("verify", tiny_checkpoint)
    assert line.endswith(
        "has no model.json, so it is not a package: convert the checkpoint with `qwen3-tts-ncnn convert`"
    )


def test_a_newer_format(package: Path) -> None:
    rewrite_json(package / "model.json", lambda manifest: manifest.update(format=2))
    assert all_refuse(package) == (
        f"{package} is a package of format 2, this version reads format 1: upgrade qwen3-tts-ncnn"
    )


def test_a_manifest_that_is_cut_off(package: Path) -> None:
    rewrite(package / "model.json", lambda content: content[:100])
    assert "model.json cannot be read as JSON (" in all_refuse(package)


def test_a_missing_file(package: Path) -> None:
    (package / "codec_decoder.bin").unlink()
    assert all_refuse(package) == (
        f"{package / 'codec_decoder.bin'} is missing from the package: convert the checkpoint again"
    )


def test_a_file_that_is_cut_off(package: Path) -> None:
    size = (package / "talker_decoder.bin").stat().st_size
    rewrite(package / "talker_decoder.bin", lambda content: content[:-1])
    line = f"{package / 'talker_decoder.bin'} has {size - 1} bytes, the package's manifest says {size}: {AGAIN}"
    assert all_refuse(package) == line


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_byte(package: Path, name: str) -> None:
    rewrite(package / name, flip_last_byte)
    # `info` checks sizes alone: it reads no more than it shows.
    assert all_refuse(package, info=False) == (
        f"{package / name} has changed since it was converted (its sha256 is not the manifest's): {AGAIN}"
    )


def test_a_changed_byte_of_what_only_cloning_reads(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    package = linked_copy(tiny_base_package, tmp_path / "package")
    rewrite(package / "mel_filters.safetensors", flip_last_byte)
    line = refusal("clone", package, reference, "--threads", "1", "-o", tmp_path / "me.voice")
    assert line == refusal("verify", package)
    assert line.startswith(f"{package / 'mel_filters.safetensors'} has changed since it was converted")
    assert [path.name for path in tmp_path.iterdir()] == ["package"]
