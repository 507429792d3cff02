"""Does a graph with smaller weights still compute what the float32 one does? By direction: their cosine."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export.bound import Bound
from qwen3_tts_ncnn.convert.export.decoding import decode
from qwen3_tts_ncnn.runtime.cpu import cpu_options, thread_count
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.manifest import Decoder
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.param import read_param

# What a wrong layout gives is near 0. Quality is another question, which `parity --teacher-forced` answers.
COSINE_BOUND = Bound("cosine", 0.95, at_least=True)

_ROWS = 12


def check_cosine(
    name: str, folders: Sequence[Path], precisions: Sequence[str], width: int, decoder: Decoder | None
) -> float:
    """The lowest cosine between rows of what two versions of a graph compute, each in a folder of its own.

    `width` is that of the rows that go in; `decoder` is the shape of a cached decoder, None for heads.
    Raises `ConversionError` when it is below the bound.
    """
    rows = np.random.default_rng(0).standard_normal((_ROWS, width), dtype=np.float32)
    outputs = []
    for folder, precision in zip(folders, precisions, strict=True):
        option = cpu_options(thread_count(None), precision)
        graph = Graph(folder / f"{name}.param", folder / f"{name}.bin", option)
        outputs.append(_heads(graph, folder, rows) if decoder is None else decode(graph, decoder, rows))
    lowest = min(_cosine(*pair) for pair in zip(*outputs, strict=True))
    if not COSINE_BOUND.holds(lowest):
        raise ConversionError(
            f"graph {name} in {precisions[1]} does not compute what it does in {precisions[0]}: cosine {lowest:.3g}, "
            f"expected at least {COSINE_BOUND.limit:g}; please report it"
        )
    return lowest


def _heads(graph: Graph, folder: Path, rows: Floats) -> Floats:
    """The logits of every head, one below the other."""
    param = read_param((folder / f"{graph.name}.param").read_text(encoding="utf-8"))
    names = [blob for layer in param.of_type("Gemm") for blob in layer.outputs]
    run = graph.extractor({"hidden": rows})
    return np.concatenate([run.array(name) for name in names])


def _cosine(ours: Floats, theirs: Floats) -> float:
    """NaN where a row is not finite."""
    norm = float(np.linalg.norm(ours.astype(np.float64)) * np.linalg.norm(theirs.astype(np.float64)))
    return float(np.dot(ours.astype(np.float64), theirs)) / norm if norm else float(np.array_equal(ours, theirs))
