"""A checkpoint to a package: every graph made and checked, every tensor accounted for, all of it or nothing."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.checkpoint.inventory import unused_tensors
from qwen3_tts_ncnn.convert.checkpoint.weights import Shapes, Weights
from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export.check import Bound
from qwen3_tts_ncnn.convert.export.graph_export import export_graph
from qwen3_tts_ncnn.convert.manifest import TEXT_TABLE, TEXT_TENSOR, build_manifest, codec_record, list_files
from qwen3_tts_ncnn.convert.modules.codec import state_shapes
from qwen3_tts_ncnn.convert.plans import GraphPlan, core_plans
from qwen3_tts_ncnn.convert.tokenizer import build_tokenizer_json
from qwen3_tts_ncnn.runtime.errors import OutputError
from qwen3_tts_ncnn.runtime.manifest import MANIFEST, write_manifest
from qwen3_tts_ncnn.runtime.package import TOKENIZER

# Told before and after each graph: the plan, and what was measured (None: begun).
OnGraph = Callable[[int, int, GraphPlan, float | None], None]


@dataclass(frozen=True)
class GraphReport:
    """One finished graph: the worst value that its check measured, and its bound."""

    name: str
    measured: float
    bound: Bound


def package_name(origin: str) -> str:
    """The package's own name, from a repository's id or a folder's name: its last part, lowered, and the precision."""
    return f"{origin.rsplit('/', 1)[-1].lower()}-fp32"


def check_output_folder(output: Path, *, overwrite: bool) -> None:
    """Raises `OutputError` when the package could not be put there; with `overwrite` an old package may be there."""
    try:
        _refuse_output(output, overwrite)
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise _cannot_be_written(output, error) from None


def _refuse_output(output: Path, overwrite: bool) -> None:
    if output.is_dir():
        occupied = any(output.iterdir())
        if occupied and not overwrite:
            raise OutputError(f"{output} is not empty: choose a new folder, or replace the package with --overwrite")
        if occupied and not (output / MANIFEST).is_file():
            raise OutputError(f"{output} is not empty and not a package, so it is not overwritten: choose a new folder")
    elif output.exists() or output.is_symlink():
        raise OutputError(f"{output} is a file, expected a folder to make: choose another path")
    nearest = next((path for path in output.absolute().parents if path.exists()), output)
    if not nearest.is_dir():
        raise OutputError(f"{nearest} is a file, so {output} cannot be made below it: choose another path")
    if not os.access(nearest, os.W_OK):
        raise OutputError(f"{nearest} is a folder you may not write to: choose another place for {output.name}")


def convert_checkpoint(
    checkpoint: Checkpoint, output: Path, *, overwrite: bool = False, on_graph: OnGraph | None = None
) -> list[GraphReport]:
    """Writes the package of a checkpoint. It appears at `output` when it is whole and checked.

    Two conversions of one checkpoint are byte for byte the same. An old package at `output` stays until then.

    Raises:
        OutputError: the folder is occupied or cannot be written.
        CheckpointError: a tensor is missing.
        ConversionError: a graph does not compute what its torch module does, or a tensor is left over without being
            known as unused.
    """
    check_output_folder(output, overwrite=overwrite)
    with _staging(output) as folder:
        reports = _write_package(checkpoint, folder, on_graph)
        _put_in_place(folder, output)
    return reports


def _write_package(checkpoint: Checkpoint, folder: Path, on_graph: OnGraph | None) -> list[GraphReport]:
    (folder / TOKENIZER).write_text(build_tokenizer_json(checkpoint.folder), encoding="utf-8", newline="\n")
    main, codec = Weights(checkpoint.main), Weights(checkpoint.codec)
    config = checkpoint.config.codec
    states = state_shapes(config.decoder, Weights(Shapes(checkpoint.codec.shapes)) / "decoder")
    codec_shape = codec_record(config, states)
    plans = core_plans(checkpoint.config, main, codec, codec_shape)
    reports = []
    for number, plan in enumerate(plans, start=1):
        if on_graph:
            on_graph(number, len(plans), plan, None)
        measured = export_graph(plan, folder)
        reports.append(GraphReport(plan.name, measured, plan.bound))
        if on_graph:
            on_graph(number, len(plans), plan, measured)
    _write_text_table(main, checkpoint, folder / TEXT_TABLE)
    _refuse_left_over(checkpoint, main, codec)
    name = package_name(checkpoint.source.repo or checkpoint.source.name)
    manifest = build_manifest(checkpoint, codec_shape, [plan.name for plan in plans], name)
    write_manifest(replace(manifest, files=list_files(folder)), folder)
    return reports


def _write_text_table(main: Weights, checkpoint: Checkpoint, path: Path) -> None:
    """The text embedding as the checkpoint stores it: half the size of float32, and as exact."""
    main.mark(TEXT_TENSOR)
    checkpoint.main.raw(TEXT_TENSOR).contiguous().view(torch.uint8).numpy().tofile(path)


def _refuse_left_over(checkpoint: Checkpoint, main: Weights, codec: Weights) -> None:
    known = unused_tensors(checkpoint.config)
    left = [name for weights in (main, codec) for name in weights.left_over() if name not in known]
    if left:
        raise ConversionError(
            f"tensor {left[0]} is in no graph and not known as unused ({len(left)} such tensors): please report it"
        )


def _cannot_be_written(output: Path, error: OSError) -> OutputError:
    reason = error.strerror or error
    return OutputError(f"{output} cannot be written ({reason}): free some space or choose another place")


@contextmanager
def _staging(output: Path) -> Iterator[Path]:
    """A folder beside `output` that is gone afterwards, unless it was moved; a full disk is one clear line."""
    folder: Path | None = None
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{output.name[:40]}-", dir=output.parent))
        yield folder
    except OSError as error:
        raise _cannot_be_written(output, error) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(folder: Path, output: Path) -> None:
    """Moves the finished package to its place; an old one there is moved aside first and comes back on failure."""
    folder.chmod(0o777 & ~_umask())
    if not output.is_dir():
        folder.rename(output)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{output.name[:40]}-old-", dir=output.parent))
    output.rename(aside / output.name)
    try:
        folder.rename(output)
    except OSError:
        (aside / output.name).rename(output)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
