"""model.json: what is written is read back, and what is not a manifest is one line."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.manifest import (
    FORMAT,
    MANIFEST,
    CodecManifest,
    FileInfo,
    Manifest,
    read_manifest,
    write_manifest,
)
from tests.runtime.manifests import base_manifest, codec_manifest, manifest


def refusal(folder: Path) -> str:
    """The message of the error, which must be one line."""
    with pytest.raises(PackageError) as caught:
        read_manifest(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def rewrite(
    folder: Path, change: dict[str, Any], *, without: str | None = None, written: CodecManifest | None = None
) -> None:
    write_manifest(written or manifest(), folder)
    data = json.loads((folder / MANIFEST).read_text(encoding="utf-8")) | change
    if without:
        del data[without]
    (folder / MANIFEST).write_text(json.dumps(data), encoding="utf-8")


@pytest.mark.parametrize("kind", [manifest, base_manifest, codec_manifest])
def test_a_manifest_is_read_as_it_was_written(tmp_path: Path, kind: Callable[..., CodecManifest]) -> None:
    written = kind(files={"a.bin": FileInfo(3, "00" * 32)})
    write_manifest(written, tmp_path)
    assert read_manifest(tmp_path) == written


@pytest.mark.parametrize("package", ["tiny_package", "tiny_base_package"])
def test_the_manifest_of_a_real_package_is_read_as_it_was_written(
    request: pytest.FixtureRequest, package: str, tmp_path: Path
) -> None:
    folder: Path = request.getfixturevalue(package)
    read = read_manifest(folder)
    assert type(read) is Manifest
    write_manifest(read, tmp_path)
    assert (tmp_path / MANIFEST).read_bytes() == (folder / MANIFEST).read_bytes()


def test_the_type_codec_alone_makes_a_manifest_without_speech(tmp_path: Path) -> None:
    """What else stands in the file is ignored, as unknown keys are."""
    rewrite(tmp_path, {"type": "codec"})
    assert read_manifest(tmp_path) == codec_manifest()
    rewrite(tmp_path, {"type": "custom_voice"}, written=codec_manifest())
    assert "(size is missing)" in refusal(tmp_path)


def test_the_same_manifest_is_the_same_bytes(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one", "two")]
    for path in paths:
        path.mkdir()
        write_manifest(manifest(name="größe"), path)
    one, two = ((path / MANIFEST).read_bytes() for path in paths)
    assert one == two
    assert one.startswith('{\n  "format": 1,\n  "name": "größe",\n'.encode())
    assert one.endswith(b"\n}\n")
    assert b"\r" not in one


def test_unknown_keys_are_ignored(tmp_path: Path) -> None:
    rewrite(tmp_path, {"later": {"nobody": "knows"}})
    assert read_manifest(tmp_path) == manifest()


def test_files_a_speaker_encoder_and_figures_may_be_absent_and_nothing_else_may(tmp_path: Path) -> None:
    rewrite(tmp_path, {}, without="files")
    assert read_manifest(tmp_path).files == {}
    for key in ("speaker_encoder", "quality"):
        rewrite(tmp_path, {}, without=key)
        assert read_manifest(tmp_path) == manifest()
    for written in (manifest(), codec_manifest()):
        for key in type(written).__dataclass_fields__.keys() - {
            "files",
            "format",
            "speaker_encoder",
            "quality",
            "type",
        }:
            rewrite(tmp_path, {}, without=key, written=written)
            assert f"({key} is missing)" in refusal(tmp_path)
    rewrite(tmp_path, {}, without="type")
    assert "(type is missing)" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": 7}, "name is the int 7, expected str"),
        ({"speakers": {"Ryan": {"id": "3"}}}, "speakers.Ryan.id is a string, expected int"),
        ({"codec": []}, "codec is a list, expected an object"),
        ({"speaker_encoder": {"width": 8}}, "speaker_encoder.sample_rate is missing"),
        ({"codec_encoder": None}, "codec_encoder is null, expected an object"),
        ({"files": {"a.bin": {"size": 1}}}, "files.a.bin.sha256 is missing"),
        ({"graphs": {"talker_decoder": None}}, "graphs.talker_decoder is null, expected an object"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    rewrite(tmp_path, change)
    assert refusal(tmp_path) == (
        f"{tmp_path / MANIFEST} is not a whole manifest ({reason}): convert the checkpoint again"
    )


def test_a_newer_format_asks_for_an_upgrade(tmp_path: Path) -> None:
    rewrite(tmp_path, {"format": FORMAT + 1, "speakers": "of another kind"})
    assert refusal(tmp_path) == (
        f"{tmp_path} is a package of format 2, this version reads format 1: upgrade qwen3-tts-ncnn"
    )


@pytest.mark.parametrize(("version", "said"), [(0, "0"), (None, "None"), ("1", "'1'"), (1.5, "1.5")])
def test_an_older_format_or_none_asks_for_a_conversion(tmp_path: Path, version: Any, said: str) -> None:
    rewrite(tmp_path, {"format": version})
    assert refusal(tmp_path) == f"{tmp_path / MANIFEST} says format {said}, expected 1: convert the checkpoint again"


def test_a_format_of_true_is_no_number(tmp_path: Path) -> None:
    rewrite(tmp_path, {"format": True})
    assert "format is the bool True, expected int" in refusal(tmp_path)


def test_a_json_list_has_no_format(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("[]")
    assert refusal(tmp_path).endswith("says format None, expected 1: convert the checkpoint again")


@pytest.mark.parametrize("content", [b"", b"{", b'{"format": 1', b"\xff\xfe", b"[" * 100_000], ids=repr)
def test_what_is_no_json_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(content)
    message = refusal(tmp_path)
    assert message.startswith(f"{tmp_path / MANIFEST} cannot be read as JSON (")
    assert message.endswith("): convert the checkpoint again")


def test_a_missing_folder_a_file_and_an_empty_folder_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "nowhere") == (
        f"package {tmp_path / 'nowhere'} does not exist: expected a folder made by `qwen3-tts-ncnn convert`"
    )
    assert refusal(tmp_path / "file").startswith(f"package {tmp_path / 'file'} is a file: expected a folder")
    assert refusal(tmp_path / "empty").startswith(f"{tmp_path / 'empty'} has no model.json, so it is not a package:")


def test_a_path_that_no_file_system_takes_is_one_line(tmp_path: Path) -> None:
    assert "File name too long" in refusal(tmp_path / ("n" * 300))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_manifest_that_may_not_be_read_is_one_line(tmp_path: Path) -> None:
    write_manifest(manifest(), tmp_path)
    (tmp_path / MANIFEST).chmod(0)
    assert "cannot be read" in refusal(tmp_path)
