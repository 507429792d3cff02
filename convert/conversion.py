"""A checkpoint to a package: every graph made and checked, every tensor accounted for, all of it or nothing."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint, CodecCheckpoint
from qwen3_tts_ncnn.convert.checkpoint.inventory import unused_reason
from qwen3_tts_ncnn.convert.checkpoint.weights import Shapes, Weights
from qwen3_tts_ncnn.convert.codec_reuse import CodecDonor
from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export.check import Bound
from qwen3_tts_ncnn.convert.export.graph_export import export_graph
from qwen3_tts_ncnn.convert.manifest import (
    build_codec_manifest,
    build_manifest,
    codec_encoder_record,
    codec_record,
    list_files,
)
from qwen3_tts_ncnn.convert.modules.codec import state_shapes
from qwen3_tts_ncnn.convert.package_tables import (
    MEL_FILTERS,
    RVQ_TABLES,
    TEXT_TABLE,
    write_mel_filters,
    write_rvq_tables,
    write_text_table,
)
from qwen3_tts_ncnn.convert.plans import GraphPlan, codec_plans, speech_plans
from qwen3_tts_ncnn.convert.tokenizer import build_tokenizer_json
from qwen3_tts_ncnn.runtime.errors import OutputError
from qwen3_tts_ncnn.runtime.files import cannot_be_written, is_full, umask
from qwen3_tts_ncnn.runtime.manifest import MANIFEST, CodecManifest, write_manifest
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
        raise cannot_be_written(output, error) from None


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
    checkpoint: CodecCheckpoint,
    output: Path,
    *,
    overwrite: bool = False,
    codec_from: Path | None = None,
    on_graph: OnGraph | None = None,
) -> list[GraphReport]:
    """Writes the package of a checkpoint. It appears at `output` when it is whole and checked.

    Two conversions of one checkpoint are byte for byte the same. An old package at `output` stays until then.
    `codec_from` is a package whose codec files are taken instead of being made again.

    Raises:
        OutputError: the folder is occupied or cannot be written.
        CheckpointError: a tensor is missing.
        ConversionError: a graph does not compute what its torch module does, or a tensor is left over without being
            known as unused.
        PackageError: `codec_from` has another codec.
    """
    check_output_folder(output, overwrite=overwrite)
    conversion = _Conversion(checkpoint, codec_from)
    with _staging(output) as folder:
        reports = conversion.write(folder, on_graph)
        _put_in_place(folder, output)
    return reports


class _Conversion:
    """One conversion: which graphs, and what belongs beside them."""

    def __init__(self, checkpoint: CodecCheckpoint, codec_from: Path | None) -> None:
        self._checkpoint = checkpoint
        self._speech = checkpoint if isinstance(checkpoint, Checkpoint) else None
        self._main = Weights(self._speech.main if self._speech else Shapes({}))
        self._codec = Weights(checkpoint.codec)
        config = checkpoint.codec_config
        states = state_shapes(config.decoder, Weights(Shapes(checkpoint.codec.shapes)) / "decoder")
        self._codec_record = codec_record(config, states, checkpoint.codec_sha256())
        self._donor = CodecDonor.open(codec_from, self._codec_record) if codec_from else None
        codec = codec_plans(config, self._codec, self._codec_record, codec_encoder_record(config))
        speech = speech_plans(self._speech.config, self._main) if self._speech else []
        # The talker comes last: it takes longest, and whatever is wrong shows before.
        self._graphs = [plan.name for plan in (*speech[:-1], *codec, *speech[-1:])]
        self._plans = [*speech[:-1], *([] if self._donor else codec), *speech[-1:]]

    def write(self, folder: Path, on_graph: OnGraph | None) -> list[GraphReport]:
        """Everything into an empty folder."""
        reports = []
        if self._speech:
            text = build_tokenizer_json(self._speech.folder)
            (folder / TOKENIZER).write_text(text, encoding="utf-8", newline="\n")
        for number, plan in enumerate(self._plans, start=1):
            if on_graph:
                on_graph(number, len(self._plans), plan, None)
            measured = export_graph(plan, folder)
            reports.append(GraphReport(plan.name, measured, plan.bound))
            if on_graph:
                on_graph(number, len(self._plans), plan, measured)
        self._write_tables(folder)
        self._refuse_left_over()
        manifest = self._manifest()
        write_manifest(replace(manifest, files=list_files(folder)), folder)
        return reports

    def _write_tables(self, folder: Path) -> None:
        if self._speech:
            write_text_table(self._speech.main, self._main, folder / TEXT_TABLE)
            if self._speech.config.speaker_encoder:
                write_mel_filters(folder / MEL_FILTERS)
        if self._donor:
            self._donor.give(folder)
        else:
            write_rvq_tables(self._checkpoint.codec_config, self._codec, folder / RVQ_TABLES)

    def _refuse_left_over(self) -> None:
        left = self._main.left_over()
        if not self._donor:
            config = self._checkpoint.codec_config
            left += [name for name in self._codec.left_over() if unused_reason(name, config) is None]
        if left:
            raise ConversionError(
                f"tensor {left[0]} is in no graph and not known as unused ({len(left)} such tensors): please report it"
            )

    def _manifest(self) -> CodecManifest:
        source = self._checkpoint.source
        name = package_name(source.repo or source.name)
        if self._speech:
            return build_manifest(self._speech, self._codec_record, self._graphs, name)
        return build_codec_manifest(self._checkpoint, self._codec_record, self._graphs, name)


@contextmanager
def _staging(output: Path) -> Iterator[Path]:
    """A folder beside `output` that is gone afterwards, unless it was moved. Raises `OutputError` for `OSError`."""
    folder: Path | None = None
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{output.name[:40]}-", dir=output.parent))
        yield folder
    except OSError as error:
        raise _not_made(output, error) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _not_made(output: Path, error: OSError) -> OutputError:
    """What to tell of a conversion that the system broke off: by writing the package, or by something else."""
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(output)
    if is_full(error) or Path(name).absolute().is_relative_to(output.parent.absolute()):
        return cannot_be_written(output, error)
    return OutputError(f"{output} was not made, because of {name} ({error.strerror}): mend that first")


def _put_in_place(folder: Path, output: Path) -> None:
    """Moves the finished package to its place; an old one there is moved aside first and comes back on failure."""
    folder.chmod(0o777 & ~umask())
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
