"""A conversion that fails leaves the old package and nothing else. The graphs here are stand-ins of a few bytes."""

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qwen3_tts_ncnn.convert import conversion
from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.conversion import convert_checkpoint
from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export import pnnx
from qwen3_tts_ncnn.convert.export.graph_export import export_graph
from qwen3_tts_ncnn.convert.output_folder import check_output_folder
from qwen3_tts_ncnn.convert.plans import GraphPlan
from qwen3_tts_ncnn.runtime.errors import OutputError, TTSError
from tests.convert.stand_ins import contents, make_quick, stand_in

Export = Callable[[GraphPlan, Path], float]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_quick(monkeypatch)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out" / "package"


def fails_at(name: str, error: BaseException) -> Export:
    def export(plan: GraphPlan, package: Path) -> float:
        if plan.name == name:
            raise error
        return stand_in(plan, package)

    return export


def old_package(output: Path) -> dict[str, bytes]:
    output.mkdir(parents=True)
    (output / "model.json").write_text("{}")
    (output / "old.bin").write_text("old")
    return contents(output)


def beside(output: Path) -> list[str]:
    return sorted(path.name for path in output.parent.iterdir())


def refusal(error: type[TTSError], checkpoint: Checkpoint, output: Path, **options: Any) -> str:
    with pytest.raises(error) as caught:
        convert_checkpoint(checkpoint, output, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


FAILURES = [
    (ConversionError("graph codec_decoder does not compute"), ConversionError),
    (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), OutputError),
    (KeyboardInterrupt(), KeyboardInterrupt),
    (RuntimeError("a bug"), RuntimeError),
]


@pytest.mark.parametrize(("failure", "raised"), FAILURES, ids=lambda value: type(value).__name__)
def test_a_failure_midway_leaves_nothing(
    checkpoint: Checkpoint,
    output: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    raised: type[BaseException],
) -> None:
    monkeypatch.setattr(conversion, "export_graph", fails_at("codec_decoder", failure))
    with pytest.raises(raised):
        convert_checkpoint(checkpoint, output)
    assert beside(output) == []


@pytest.mark.parametrize(("failure", "raised"), FAILURES, ids=lambda value: type(value).__name__)
def test_a_failure_midway_leaves_the_old_package(
    checkpoint: Checkpoint,
    output: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    raised: type[BaseException],
) -> None:
    before = old_package(output)
    monkeypatch.setattr(conversion, "export_graph", fails_at("talker_decoder", failure))
    with pytest.raises(raised):
        convert_checkpoint(checkpoint, output, overwrite=True)
    assert contents(output) == before
    assert beside(output) == ["package"]


def told(name: str | None, code: int) -> OSError:
    return OSError(code, os.strerror(code), name)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (told(None, errno.ENOSPC), "{output} cannot be written (No space left on device): {space}choose another place"),
        (
            told("/x", errno.EDQUOT),
            "{output} cannot be written (Disk quota exceeded): {space}choose another place",
        ),
        (told(None, errno.EROFS), "{output} cannot be written (Read-only file system): choose another place"),
        (told("{output}.bin", errno.EIO), "{output} cannot be written (Input/output error): choose another place"),
        (
            told("/bin/pnnx", errno.EACCES),
            "{output} was not made, because of /bin/pnnx (Permission denied): mend that first",
        ),
    ],
)
def test_what_the_system_refuses_is_one_line_that_asks_for_space_where_there_is_none(
    checkpoint: Checkpoint, output: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, line: str
) -> None:
    if error.filename is not None:
        error.filename = error.filename.format(output=output)
    monkeypatch.setattr(conversion, "export_graph", fails_at("talker_codec_head", error))
    assert refusal(OutputError, checkpoint, output) == line.format(output=output, space="free some space or ")


def test_a_failing_pnnx_leaves_nothing(checkpoint: Checkpoint, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own folder of intermediate files included."""
    monkeypatch.setattr(conversion, "export_graph", export_graph)
    monkeypatch.setattr(pnnx, "pnnx_executable", lambda: Path("/bin/false"))
    assert refusal(ConversionError, checkpoint, output) == "pnnx failed with exit code 1: no output"
    assert beside(output) == []


def test_a_rename_that_fails_brings_the_old_package_back(
    checkpoint: Checkpoint, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = old_package(output)
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if target == output and (self / "talker_decoder.bin").exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    assert "cannot be written (Input/output error)" in refusal(OutputError, checkpoint, output, overwrite=True)
    assert contents(output) == before
    assert beside(output) == ["package"]


def test_overwriting_replaces_the_whole_package(checkpoint: Checkpoint, output: Path) -> None:
    old_package(output)
    convert_checkpoint(checkpoint, output, overwrite=True)
    assert "old.bin" not in contents(output)
    assert {"model.json", "tokenizer.json", "talker_decoder.bin"} <= contents(output).keys()
    assert beside(output) == ["package"]


def test_folders_above_the_package_are_made_and_an_empty_one_is_taken(checkpoint: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    longest = tmp_path / ("n" * 255)
    for output in (tmp_path / "a" / "b" / "package", tmp_path / "empty", longest):
        convert_checkpoint(checkpoint, output)
        assert (output / "model.json").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "empty", longest.name]


def test_an_occupied_output_is_refused_before_any_work(checkpoint: Checkpoint, output: Path) -> None:
    def no_graph(*_: object) -> None:
        raise AssertionError("a graph was begun")

    before = old_package(output)
    assert refusal(OutputError, checkpoint, output, on_graph=no_graph) == (
        f"{output} is not empty: choose a new folder, or replace the package with --overwrite"
    )
    assert contents(output) == before


def test_what_is_no_package_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-mother.txt").touch()
    with pytest.raises(OutputError) as caught:
        check_output_folder(tmp_path / "letters", overwrite=True)
    assert str(caught.value) == (
        f"{tmp_path / 'letters'} is not empty and not a package, so it is not overwritten: choose a new folder"
    )


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_is_never_overwritten(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "dangling"):
        with pytest.raises(OutputError, match=r"is a file, expected a folder to make: choose another path$"):
            check_output_folder(tmp_path / name, overwrite=overwrite)


def test_a_place_that_cannot_be_written_is_one_line(checkpoint: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "more" / "package"
    assert refusal(OutputError, checkpoint, below) == (
        f"{tmp_path / 'file'} is a file, so {below} cannot be made below it: choose another path"
    )
    assert "cannot be written (File name too long)" in refusal(OutputError, checkpoint, tmp_path / ("n" * 300))


def test_a_folder_that_may_not_be_written_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not (path == tmp_path and mode == os.W_OK))
    with pytest.raises(OutputError) as caught:
        check_output_folder(tmp_path / "more" / "package", overwrite=False)
    assert str(caught.value) == f"{tmp_path} is a folder you may not write to: choose another place for package"


@pytest.mark.parametrize(
    ("forgotten", "tensor"),
    [
        ("talker_text_embed", "talker.text_projection.linear_fc1.bias"),
        ("speaker_encoder", "speaker_encoder.asp.conv.bias"),
        ("mimi_encoder", "encoder.downsample.conv.weight"),
        ("codec_decoder", "decoder.decoder.0.conv.bias"),
    ],
)
def test_a_tensor_in_no_graph_is_refused(
    base_checkpoint: Checkpoint, output: Path, monkeypatch: pytest.MonkeyPatch, forgotten: str, tensor: str
) -> None:
    taken = []

    def forgetful(plan: GraphPlan, package: Path) -> float:
        taken.append(plan.name)
        return 0.0 if plan.name == forgotten else stand_in(plan, package)

    monkeypatch.setattr(conversion, "export_graph", forgetful)
    message = refusal(ConversionError, base_checkpoint, output)
    assert re.fullmatch(
        rf"tensor {re.escape(tensor)} is in no graph and not known as unused \(\d+ such tensors\): please report it",
        message,
    )
    assert forgotten in taken
    assert beside(output) == []


def test_tables_that_are_not_written_leave_their_tensors_over(
    checkpoint: Checkpoint, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The projections, and a usage and a sum for each of 16 levels."""
    monkeypatch.setattr(conversion, "write_rvq_tables", lambda *_: None)
    assert refusal(ConversionError, checkpoint, output) == (
        "tensor encoder.quantizer.acoustic_residual_vector_quantizer.input_proj.weight is in no graph and not known as "
        "unused (34 such tensors): please report it"
    )
    monkeypatch.setattr(conversion, "write_text_table", lambda *_: None)
    assert refusal(ConversionError, checkpoint, output).startswith(
        "tensor talker.model.text_embedding.weight is in no graph and not known as unused (35 such tensors)"
    )
