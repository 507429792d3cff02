"""`qwen3-tts-ncnn info`: what a package is and where it came from."""

import re
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from qwen3_tts_ncnn.runtime.cli.info_backend import backend_record, backend_table
from qwen3_tts_ncnn.runtime.cli.output import console, folder_size, print_json, size_text, standard_output
from qwen3_tts_ncnn.runtime.languages import AUTO
from qwen3_tts_ncnn.runtime.manifest import (
    CodecManifest,
    CodecShape,
    Manifest,
    Origin,
    Quality,
    SamplingDefaults,
)
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.records import write_record


@click.command(short_help="Say what a package is and came from.")
@click.argument("package", type=click.Path(path_type=Path))
@click.option("--backend", help="Say too what runs where with this backend, as in `speak`.")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object on standard output.")
def info(package: Path, backend: str | None, as_json: bool) -> None:
    """Say what PACKAGE is: its checkpoint, speakers, languages, codec, defaults, graphs and sizes.

    \b
    Examples:
      qwen3-tts-ncnn info models/tiny
      qwen3-tts-ncnn info models/tiny --backend vulkan
    """
    opened = Package.open(package)
    manifest, total = opened.manifest, folder_size(opened.folder)
    placed = None if backend is None else backend_record(opened, backend)
    if as_json:
        print_json(_record(manifest, total) | ({} if placed is None else {"backend": placed}))
        return
    screen = console()
    with standard_output():
        screen.print(_facts(manifest), "", _files(manifest, total), sep="\n")
        if placed is not None:
            screen.print("", backend_table(placed), sep="\n")


def _record(manifest: CodecManifest, total: int) -> dict[str, Any]:
    whole = write_record(manifest)
    kept = (
        "name",
        "format",
        "type",
        "size",
        "origin",
        "speakers",
        "speaker_encoder",
        "sampling",
        "made_with",
        "quality",
    )
    record = {name: whole[name] for name in kept if name in whole}
    record["codec"] = {name: value for name, value in whole["codec"].items() if name != "states"}
    if isinstance(manifest, Manifest):
        record["languages"] = [AUTO, *manifest.languages]
    record["graphs"] = {
        name: {"precision": graph.precision, "block": graph.block, "bytes": _graph_size(manifest, name)}
        for name, graph in manifest.graphs.items()
    }
    record["files"] = {name: file.size for name, file in manifest.files.items()}
    record["total_bytes"] = total
    return record


def _facts(manifest: CodecManifest) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    speech = manifest if isinstance(manifest, Manifest) else None
    rows = {
        "package": manifest.name,
        "type": f"{manifest.type}, {_size(speech.size)}" if speech else f"{manifest.type} alone, it does not speak",
        "checkpoint": _origin(manifest.origin),
        **(_speech_facts(speech) if speech else {}),
        "codec": _codec(manifest.codec),
        "made with": ", ".join(f"{name} {version}" for name, version in manifest.made_with.items()),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _speech_facts(manifest: Manifest) -> dict[str, str]:
    speakers = (f"{name} ({who.dialect})" if who.dialect else name for name, who in manifest.speakers.items())
    encoder = manifest.speaker_encoder
    return {
        "speakers": ", ".join(speakers) or "none",
        "cloning": f"speaker encoder, x-vectors of width {encoder.width}" if encoder else "none",
        "languages": ", ".join((AUTO, *manifest.languages)),
        "sampling": _sampling(manifest.sampling),
        "limit": f"{manifest.sampling.max_new_tokens - 1} frames, {_limit_seconds(manifest):.0f} s of speech",
        **({"quality": _quality(manifest.quality)} if manifest.quality else {}),
    }


def _quality(quality: Quality) -> str:
    total = quality.total
    return (
        f"{total.agreement:.2%} of upstream's first choices, KL {total.kl:.1e}, worst rank {total.worst_rank}; "
        f"measured over {quality.frames} frames of {quality.cases} cases, {quality.how}"
    )


def _codec(codec: CodecShape) -> str:
    rate = codec.sample_rate / codec.samples_per_frame
    return f"{rate:g} frames a second of {codec.codebooks} codes below {codec.codebook_size}, {codec.sample_rate} Hz"


def _files(manifest: CodecManifest, total: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("graph or file")
    table.add_column("precision")
    table.add_column("size", justify="right")
    for name, graph in manifest.graphs.items():
        table.add_row(name, str(graph), size_text(_graph_size(manifest, name)))
    text_table = manifest.text_table if isinstance(manifest, Manifest) else None
    graphs = {file for name in manifest.graphs for file in _graph_files(name)}
    for name, file in manifest.files.items():
        if name not in graphs:
            precision = text_table.dtype if text_table and name == text_table.file else ""
            table.add_row(name, precision, size_text(file.size))
    table.add_row("total", "", size_text(total), style="bold")
    return table


def _origin(origin: Origin) -> str:
    if origin.repo is None:
        return f"the folder {origin.name}"
    revision = f" at {origin.revision}" if origin.revision else ""
    licence = f", licence {origin.licence}" if origin.licence else ""
    return f"{origin.repo}{revision}{licence}"


def _sampling(sampling: SamplingDefaults) -> str:
    def one(sample: bool, temperature: float, top_k: int, top_p: float) -> str:
        return f"temperature {temperature:g}, top-k {top_k}, top-p {top_p:g}" if sample else "greedy"

    talker = one(sampling.do_sample, sampling.temperature, sampling.top_k, sampling.top_p)
    predictor = one(
        sampling.predictor_do_sample,
        sampling.predictor_temperature,
        sampling.predictor_top_k,
        sampling.predictor_top_p,
    )
    return f"{talker}, repetition penalty {sampling.repetition_penalty:g}; predictor: {predictor}"


def _size(size: str) -> str:
    """The configuration's "0b6" as people write it: 0.6B."""
    return re.sub(r"^(\d+)b(\d+)$", r"\1.\2B", size)


def _limit_seconds(manifest: Manifest) -> float:
    frames = manifest.sampling.max_new_tokens - 1
    return frames * manifest.codec.samples_per_frame / manifest.codec.sample_rate


def _graph_files(graph: str) -> tuple[str, str]:
    return f"{graph}.param", f"{graph}.bin"


def _graph_size(manifest: CodecManifest, graph: str) -> int:
    return sum(manifest.files[name].size for name in _graph_files(graph) if name in manifest.files)
