"""`convert --codec-from`: the codec of another package, shared where it is the same and refused where it is not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qwen3_tts_ncnn.convert.codec_reuse import CODEC_FILES
from tests.cli.command_line import refusal, run
from tests.cli.damage import flip_last_byte, linked_copy, rewrite, rewrite_json, rewrite_tensors
from tests.cli.test_convert import same_files


def inodes(package: Path) -> dict[str, int]:
    return {name: (package / name).stat().st_ino for name in CODEC_FILES}


def test_the_package_is_that_of_a_full_conversion_and_shares_its_codec(
    tiny_base_checkpoint: Path,
    tiny_base_package: Path,
    tiny_package: Path,
    tmp_path: Path,
    quick_graphs_of: Callable[[Path], None],
) -> None:
    quick_graphs_of(tiny_base_package)
    full, shared = tmp_path / "full", tmp_path / "shared"
    assert run("convert", tiny_base_checkpoint, "-o", full).exit_code == 0
    result = run("convert", tiny_base_checkpoint, "-o", shared, "--codec-from", tiny_package)
    assert result.exit_code == 0
    assert same_files(full, shared)
    assert inodes(shared) == inodes(tiny_package)
    assert not set(inodes(full).values()) & set(inodes(tiny_package).values())
    *graphs, last = result.stderr.splitlines()
    assert len(graphs) == 8
    assert not any("mimi" in line or "codec_decoder" in line for line in graphs)
    assert last.startswith(f"wrote {shared}: 8 graphs and the codec of {tiny_package}, ")


def test_the_codec_alone_is_all_shared(
    codec_checkpoint: Path, codec_package: Path, tiny_package: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    result = run("convert", codec_checkpoint, "-o", shared, "--codec-from", tiny_package, "--json")
    record = json.loads(result.stdout)
    assert (record["graphs"], record["codec_from"]) == ([], str(tiny_package))
    assert same_files(shared, codec_package)
    assert inodes(shared) == inodes(tiny_package)


def test_a_package_may_be_replaced_by_one_with_its_own_codec(
    codec_checkpoint: Path, codec_package: Path, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    run("convert", codec_checkpoint, "-o", package, "--codec-from", codec_package)
    result = run("convert", codec_checkpoint, "-o", package, "--codec-from", package, "--overwrite")
    assert result.exit_code == 0
    assert same_files(package, codec_package)
    assert list(tmp_path.iterdir()) == [package]


def refused(checkpoint: Path, donor: Path, folder: Path) -> str:
    before = sorted(folder.iterdir())
    line = refusal("convert", checkpoint, "-o", folder / "new", "--codec-from", donor)
    assert sorted(folder.iterdir()) == before
    return line


def test_another_codec(codec_checkpoint: Path, tiny_package: Path, tmp_path: Path) -> None:
    def change(tensors: dict[str, Any]) -> None:
        next(iter(tensors.values())).add_(1)

    checkpoint = linked_copy(codec_checkpoint, tmp_path / "checkpoint")
    rewrite_tensors(checkpoint / "model.safetensors", change)
    assert refused(checkpoint, tiny_package, tmp_path) == (
        f"the codec of {tiny_package} was made from other weights than this checkpoint's: convert without --codec-from"
    )


def test_a_codec_made_by_other_versions(codec_checkpoint: Path, tiny_package: Path, tmp_path: Path) -> None:
    donor = linked_copy(tiny_package, tmp_path / "donor")
    rewrite_json(donor / "model.json", lambda manifest: manifest["made_with"].update(pnnx="20250101"))
    line = refused(codec_checkpoint, donor, tmp_path)
    assert line.startswith(f"{donor} was made with qwen3-tts-ncnn 0.1.0, pnnx 20250101, ")
    assert line.endswith(": convert without --codec-from")


@pytest.mark.parametrize("name", CODEC_FILES)
def test_a_file_that_has_changed(codec_checkpoint: Path, tiny_package: Path, tmp_path: Path, name: str) -> None:
    donor = linked_copy(tiny_package, tmp_path / "donor")
    rewrite(donor / name, flip_last_byte)
    assert refused(codec_checkpoint, donor, tmp_path) == (
        f"{donor / name} has changed since it was converted: convert without --codec-from"
    )


def test_what_is_no_package_is_refused_before_a_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(*_arguments: object, **_named: object) -> None:
        raise AssertionError("fetched before it was refused")

    monkeypatch.setattr("qwen3_tts_ncnn.convert.checkpoint.find_checkpoint", find)
    none = tmp_path / "none"
    line = refusal("convert", "tokenizer-12hz", "-o", tmp_path / "new", "--codec-from", none)
    assert line == f"package {none} does not exist: expected a folder made by `qwen3-tts-ncnn convert`"
