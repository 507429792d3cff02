"""An fp32 package to one with smaller weights. Needs numpy and ncnn, and no torch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export.bound import Bound
from qwen3_tts_ncnn.convert.output_folder import check_output_folder, staged
from qwen3_tts_ncnn.convert.package_files import list_files, share_files
from qwen3_tts_ncnn.convert.precision.check import COSINE_BOUND, check_cosine
from qwen3_tts_ncnn.convert.precision.formats import FP32, Formats
from qwen3_tts_ncnn.convert.precision.rewrite import rewrite_graph
from qwen3_tts_ncnn.convert.report import GraphReport, OnGraph
from qwen3_tts_ncnn.runtime.errors import ModeError, OptionError, OutputError, PackageError
from qwen3_tts_ncnn.runtime.manifest import GraphInfo, Manifest, write_manifest
from qwen3_tts_ncnn.runtime.package import Package


@dataclass(frozen=True)
class FormatStep:
    """A graph that gets other weights."""

    name: str
    weights: GraphInfo
    bound: Bound = COSINE_BOUND


def steps_of(formats: Formats) -> list[FormatStep]:
    """The graphs that are not to stay fp32."""
    return [FormatStep(graph, weights) for graph, weights in formats.items() if weights != FP32]


def package_name(origin: str, mix: str) -> str:
    """A package's own name, from a repository's id, a folder's name or an fp32 package's: its last part, lowered,
    and the name of its precision."""
    return f"{origin.rsplit('/', 1)[-1].lower().removesuffix('-fp32')}-{mix}"


def convert_package(
    source: Path, output: Path, mix: str, formats: Formats, *, overwrite: bool = False, on_graph: OnGraph | None = None
) -> list[GraphReport]:
    """Writes a package like `source`, which is fp32, with other weights; files that stay are shared with it.

    Raises:
        PackageError: `source` is no whole package.
        ModeError: it is of the codec alone, or not fp32.
        OptionError: every graph is to stay fp32.
        OutputError: the folder is occupied or cannot be written.
        ConversionError: a graph cannot be rewritten, or does not compute what it did.
    """
    check_output_folder(output, overwrite=overwrite)
    package = Package.open(source)
    manifest = package.speech
    if output.exists() and output.samefile(source):
        raise OutputError(f"{output} is the package itself: choose another folder")
    for name, graph in manifest.graphs.items():
        if graph != FP32:
            raise ModeError(
                f"{source} has {name} in {graph.precision}: the precision of an fp32 package alone can be changed"
            )
    steps = steps_of(formats)
    if not steps:
        raise OptionError(f"{source} is an fp32 package already: choose another precision, or convert a checkpoint")
    package.verify()
    with staged(output) as folder:
        renamed = replace(manifest, name=package_name(manifest.name, mix))
        return change_weights(package.folder, folder, renamed, steps, on_graph)


def change_weights(
    source: Path,
    target: Path,
    manifest: Manifest,
    steps: Sequence[FormatStep],
    on_graph: OnGraph | None,
    first: int = 0,
) -> list[GraphReport]:
    """Fills the empty folder `target` with the package of `source`, whose manifest this is, with other weights.

    The manifest's sums must be true, for those of the files that stay are taken over. `first` graphs were told of
    before. Raises `ConversionError`.
    """
    reports = []
    changed = {f"{step.name}.{part}" for step in steps for part in ("param", "bin")}
    kept = {name: file for name, file in manifest.files.items() if name not in changed}
    share_files(source, target, kept)
    for number, step in enumerate(steps, start=first + 1):
        if on_graph:
            on_graph(number, first + len(steps), step, None)
        rewrite_graph(step.name, source, target, step.weights)
        measured = _check(step, source, target, manifest)
        reports.append(GraphReport(step.name, measured, step.bound))
        if on_graph:
            on_graph(number, first + len(steps), step, measured)
    graphs = manifest.graphs | {step.name: step.weights for step in steps}
    # What was measured of the fp32 package does not hold for this one.
    fresh = replace(manifest, graphs=graphs, files=list_files(target, kept), quality=None)
    write_manifest(fresh, target)
    return reports


def _check(step: FormatStep, source: Path, target: Path, manifest: Manifest) -> float:
    """What the rewritten graph's check measures."""
    shapes = {"talker_decoder": manifest.talker, "predictor_decoder": manifest.predictor}
    # The predictor's heads read its own width; everything else, its decoder included, reads the talker's.
    width = (manifest.predictor if step.name == "predictor_heads" else manifest.talker).hidden_size
    try:
        return check_cosine(step.name, (source, target), ("fp32", step.weights.precision), width, shapes.get(step.name))
    except PackageError as error:
        raise ConversionError(
            f"graph {step.name} cannot be run in {step.weights} ({error}); please report it"
        ) from None
