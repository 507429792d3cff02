"""`qwen3-tts-ncnn convert` and `checkpoint`. What needs torch is imported when a command runs, not for its help."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qwen3_tts_ncnn import models
from qwen3_tts_ncnn.runtime.cli.output import folder_size, print_json, size_text, tell
from qwen3_tts_ncnn.runtime.manifest import MANIFEST
from qwen3_tts_ncnn.runtime.package import Package

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qwen3_tts_ncnn.convert.precision.formats import Formats
    from qwen3_tts_ncnn.convert.report import GraphReport, OnGraph

PRESETS = ("tiny", "tiny-1.7b", "0.6b", "1.7b")
MODEL_TYPES = ("base", "custom_voice", "voice_design")

_PACKAGES = Path("models")


@click.command(short_help="Make a package of a checkpoint.")
@click.argument("checkpoint")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder of the package; models/NAME-PRECISION if not given.",
)
@click.option("--revision", help="Branch, tag or commit of a checkpoint that is downloaded.")
@click.option(
    "--precision",
    "precisions",
    multiple=True,
    default=("fp32",),
    show_default=True,
    metavar="[GRAPH=]PRECISION",
    help="Weights of talker, predictor and their heads: fp32, bf16, int8 (the mix that is "
    "recommended), int8/row or int8/BLOCK (32, 64, 128). "
    "Give it again for one graph: predictor_heads=fp32.",
)
@click.option(
    "--codec-from",
    metavar="PACKAGE",
    type=click.Path(path_type=Path),
    help="Take the codec's files, as hard links, from this package of a checkpoint with the same codec.",
)
@click.option("--overwrite", is_flag=True, help="Replace the package that is there, when the new one is whole.")
@click.option("--json", "as_json", is_flag=True, help="Tell what was made as one JSON object on standard output.")
def convert(
    checkpoint: str,
    output: Path | None,
    revision: str | None,
    precisions: tuple[str, ...],
    codec_from: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Make a package of CHECKPOINT: a folder, a Hugging Face id, or a short name such as 0.6b-customvoice.

    Every graph is compared with its PyTorch module; the package appears when all of them are within bounds. The
    checkpoint of the codec alone, tokenizer-12hz, gives a package for `codec encode` and `codec decode`. With the
    folder of an fp32 package instead, and --precision, a smaller one is made of it, which needs no PyTorch.

    \b
    Examples:
      qwen3-tts-ncnn convert 0.6b-customvoice
      qwen3-tts-ncnn convert models/qwen3-tts-12hz-0.6b-customvoice-fp32 --precision int8
    """
    begun = time.perf_counter()
    from qwen3_tts_ncnn.convert.precision.change import convert_package, package_name
    from qwen3_tts_ncnn.convert.precision.formats import parse_formats
    from qwen3_tts_ncnn.convert.progress import ConversionProgress

    mix, formats = parse_formats(precisions)
    package = output or _PACKAGES / package_name(_origin(checkpoint), mix)
    source = Path(checkpoint)
    with ConversionProgress() as progress:
        if (source / MANIFEST).is_file():
            if codec_from is not None or revision is not None:
                raise click.UsageError("--codec-from and --revision go with a checkpoint, not with a package.")
            reports = convert_package(source, package, mix, formats, overwrite=overwrite, on_graph=progress.graph)
        else:
            reports = _convert_checkpoint(
                checkpoint, package, revision, mix, formats, codec_from, overwrite, progress.graph
            )
    _tell(package, reports, codec_from, time.perf_counter() - begun, as_json)


def _convert_checkpoint(
    checkpoint: str,
    package: Path,
    revision: str | None,
    mix: str,
    formats: Formats,
    codec_from: Path | None,
    overwrite: bool,
    on_graph: OnGraph,
) -> list[GraphReport]:
    """Finds, downloads where need be, and converts."""
    from qwen3_tts_ncnn.convert.checkpoint import find_checkpoint, open_checkpoint
    from qwen3_tts_ncnn.convert.conversion import convert_checkpoint
    from qwen3_tts_ncnn.convert.output_folder import check_output_folder

    check_output_folder(package, overwrite=overwrite)
    if codec_from is not None:
        Package.open(codec_from)  # whatever is wrong with it shows before a download
    opened = open_checkpoint(find_checkpoint(checkpoint, revision=revision, progress=tell))
    return convert_checkpoint(
        opened, package, overwrite=overwrite, codec_from=codec_from, mix=mix, formats=formats, on_graph=on_graph
    )


@click.command(short_help="Write a checkpoint of random weights.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--preset", type=click.Choice(PRESETS), default="tiny", show_default=True, help="Size of the model.")
@click.option(
    "--type",
    "model_type",
    type=click.Choice(MODEL_TYPES),
    default="custom_voice",
    show_default=True,
    help="Kind of checkpoint.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another seed, another model.")
def checkpoint(folder: Path, preset: str, model_type: str, seed: int) -> None:
    """Write a checkpoint of random weights into FOLDER, to try everything without a download. It speaks noise.

    \b
    Example:
      qwen3-tts-ncnn checkpoint tiny-checkpoint --preset tiny --type custom_voice
    """
    from qwen3_tts_ncnn.convert.progress import WritingProgress
    from qwen3_tts_ncnn.convert.random_checkpoint import write_random_checkpoint

    with WritingProgress() as progress:
        write_random_checkpoint(folder, preset, model_type, seed=seed, progress=progress.written)
    tell(
        f"wrote {folder}: {preset} {model_type}, {size_text(folder_size(folder))} of random weights, "
        "so what it says will be noise"
    )


def _origin(checkpoint: str) -> str:
    """What the package is named after, known before anything is downloaded."""
    folder = Path(checkpoint)
    if folder.is_dir():
        return folder.resolve().name
    known = models.find(checkpoint)
    return known.repo if known else checkpoint


def _tell(
    package: Path, reports: Sequence[GraphReport], codec_from: Path | None, seconds: float, as_json: bool
) -> None:
    size = folder_size(package)
    if not as_json:
        reused = "" if codec_from is None else f" and the codec of {codec_from}"
        tell(f"wrote {package}: {len(reports)} graphs{reused}, {size_text(size)} in {seconds:.1f} s")
        return
    graphs = [
        {"name": report.name, "measure": report.bound.measure, "value": report.measured, "bound": report.bound.limit}
        for report in reports
    ]
    reused_from = None if codec_from is None else str(codec_from)
    print_json(
        {"package": str(package), "bytes": size, "seconds": seconds, "graphs": graphs, "codec_from": reused_from}
    )
