"""Checkpoints and folders that `convert` and `checkpoint` refuse: one line each, and nothing is left behind."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import process, refusal
from tests.cli.damage import linked_copy, rewrite, rewrite_json, rewrite_tensors


@pytest.fixture
def checkpoint(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """A checkpoint whose files may be replaced."""
    return linked_copy(tiny_checkpoint, tmp_path / "checkpoint")


def refused(checkpoint: Path | str, folder: Path) -> str:
    """What `convert` says; it leaves nothing in the folder, which `checkpoint` may be in."""
    before = sorted(folder.iterdir())
    line = refusal("convert", checkpoint, "-o", folder / "package")
    assert sorted(folder.iterdir()) == before
    return line


def test_a_missing_folder(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    line = refused(missing, tmp_path)
    assert line.startswith(f"no checkpoint '{missing}': there is no such folder, and it is neither a short name (0.6b-")
    assert line.endswith("nor a Hugging Face id (owner/name)")


def test_a_file_in_place_of_the_folder(checkpoint: Path, tmp_path: Path) -> None:
    file = checkpoint / "model.safetensors"
    line = refused(file, tmp_path)
    assert line == f"{file} is a file, expected a checkpoint's folder: give the folder it lies in"


@pytest.mark.parametrize("name", ["config.json", "speech_tokenizer/config.json"])
def test_a_missing_configuration(checkpoint: Path, tmp_path: Path, name: str) -> None:
    (checkpoint / name).unlink()
    assert refused(checkpoint, tmp_path) == (
        f"{checkpoint / name} is missing: a Qwen3-TTS checkpoint needs it, download the whole checkpoint again"
    )


@pytest.mark.parametrize("name", ["model.safetensors", "speech_tokenizer/model.safetensors"])
def test_a_missing_weight_file(checkpoint: Path, tmp_path: Path, name: str) -> None:
    (checkpoint / name).unlink()
    assert refused(checkpoint, tmp_path) == (
        f"{checkpoint / name} is missing, and so is model.safetensors.index.json: "
        "a checkpoint needs one of them, download it again"
    )


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_a_missing_tokenizer_file_is_named(checkpoint: Path, tmp_path: Path, name: str) -> None:
    (checkpoint / name).unlink()
    assert name in refused(checkpoint, tmp_path)


def test_the_25_hz_tokenizer(checkpoint: Path, tmp_path: Path) -> None:
    rewrite_json(checkpoint / "config.json", lambda config: config.update(tokenizer_type="qwen3_tts_tokenizer_25hz"))
    assert refused(checkpoint, tmp_path) == (
        "config.json: tokenizer_type is 'qwen3_tts_tokenizer_25hz', expected 'qwen3_tts_tokenizer_12hz': "
        "only 12 Hz checkpoints can be converted, pick one named Qwen3-TTS-12Hz-*"
    )


@pytest.mark.parametrize("kept", [4, 100, -1])
def test_a_truncated_safetensors_file(checkpoint: Path, tmp_path: Path, kept: int) -> None:
    path = checkpoint / "model.safetensors"
    rewrite(path, lambda content: content[:kept])
    line = refused(checkpoint, tmp_path)
    assert line.startswith(str(path))
    assert "download" in line


def test_a_missing_tensor(checkpoint: Path, tmp_path: Path) -> None:
    name = "talker.model.norm.weight"
    rewrite_tensors(checkpoint / "model.safetensors", lambda tensors: tensors.pop(name))
    line = refused(checkpoint, tmp_path)
    assert name in line
    assert str(checkpoint / "model.safetensors") in line


def test_a_surplus_tensor(checkpoint: Path, tmp_path: Path) -> None:
    def add(tensors: dict[str, Any]) -> None:
        tensors["decoder.extra.weight"] = next(iter(tensors.values())).clone()

    rewrite_tensors(checkpoint / "speech_tokenizer" / "model.safetensors", add)
    line = refused(checkpoint, tmp_path)
    assert "decoder.extra.weight" in line
    assert str(checkpoint / "speech_tokenizer" / "model.safetensors") in line


def test_a_shape_that_disagrees_with_the_configuration(checkpoint: Path, tmp_path: Path) -> None:
    rewrite_json(checkpoint / "config.json", lambda config: config["talker_config"].update(intermediate_size=200))
    line = refused(checkpoint, tmp_path)
    assert "talker.model.layers.0.mlp." in line
    assert "192" in line
    assert "200" in line


def test_a_package_in_place_of_a_checkpoint(tiny_package: Path, tmp_path: Path) -> None:
    assert refused(tiny_package, tmp_path) == (
        f"{tiny_package} is an fp32 package already: choose another precision, or convert a checkpoint"
    )


def test_a_revision_of_a_folder(tiny_checkpoint: Path, tmp_path: Path) -> None:
    line = refusal("convert", tiny_checkpoint, "-o", tmp_path / "package", "--revision", "main")
    assert line == f"{tiny_checkpoint} is a folder, but revision main was given: leave the revision out"


def test_an_unknown_precision(tiny_checkpoint: Path, tmp_path: Path) -> None:
    line = refusal("convert", tiny_checkpoint, "-o", tmp_path / "package", "--precision", "int3")
    assert line == (
        "precision is 'int3', expected fp32, bf16, int8, int8/row or int8/BLOCK, for all or as GRAPH=PRECISION"
    )


def test_an_output_folder_that_is_not_empty(tiny_checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "model.json").touch()
    line = refusal("convert", tiny_checkpoint, "-o", tmp_path)
    assert line == f"{tmp_path} is not empty: choose a new folder, or replace the package with --overwrite"


def test_an_output_folder_of_something_else_is_never_overwritten(tiny_checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    line = refusal("convert", tiny_checkpoint, "-o", tmp_path, "--overwrite")
    assert line == f"{tmp_path} is not empty and not a package, so it is not overwritten: choose a new folder"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_output_that_is_a_file_or_lies_below_one(tiny_checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    line = refusal("convert", tiny_checkpoint, "-o", file)
    assert line == f"{file} is a file, expected a folder to make: choose another path"
    line = refusal("convert", tiny_checkpoint, "-o", file / "package")
    assert line == f"{file} is a file, so {file / 'package'} cannot be made below it: choose another path"


def test_a_random_checkpoint_where_something_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refusal("checkpoint", tmp_path) == f"{tmp_path} is not empty: choose a new folder, or empty this one first"
    assert refusal("checkpoint", tmp_path / "file") == f"{tmp_path / 'file'} is a file: choose a new folder"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


@pytest.mark.parametrize(("option", "value"), [("--preset", "huge"), ("--type", "singer"), ("--seed", "-1")])
def test_a_random_checkpoint_of_no_known_kind(tmp_path: Path, option: str, value: str) -> None:
    assert refusal("checkpoint", tmp_path / "new", option, value).startswith(f"Invalid value for '{option}': ")
    assert list(tmp_path.iterdir()) == []


def test_a_process_of_its_own_prints_one_line_too(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / "config.json").unlink()
    done = process("convert", checkpoint, "-o", tmp_path / "package")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"Error: {checkpoint / 'config.json'} is missing: a Qwen3-TTS checkpoint needs it, "
        "download the whole checkpoint again\n"
    )
