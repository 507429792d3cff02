"""ncnn's .bin as data: the weights of each layer, in the order of the param text.

A file has no table of contents: which weights a layer has, and how many, follows from its parameters alone (the
`load_model` of each layer in ncnn's source). A *tagged* weight begins with four bytes that tell its type; a raw one is
float32. Only the layers of the graphs whose precision may change are known here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.runtime.param import Layer, ParamGraph

FP32_TAG, BF16_TAG, INT8_TAG = 0, 0x01348B83, 0x000D4B38

# Parameters of a Gemm, A (M, K) times B (N, K), by their ids.
GEMM_HAS_A, GEMM_HAS_B, GEMM_HAS_C = 4, 5, 6
GEMM_M, GEMM_N, GEMM_K = 7, 8, 9
GEMM_C_KIND, GEMM_TRANSPOSED, GEMM_QUANTIZED = 10, 14, 18
_RMSNORM_SIZE, _RMSNORM_AFFINE = 0, 2

_WITHOUT_WEIGHTS = {
    "Input",
    "Split",
    "Slice",
    "Reshape",
    "Permute",
    "RotaryEmbed",
    "SDPA",
    "BinaryOp",
    "Swish",
}


@dataclass(frozen=True)
class Weight:
    """One weight: its values as they lie in the file, and whether a tag goes before them."""

    values: NDArray[np.float32]
    tagged: bool


def read_weights(graph: ParamGraph, path: Path) -> Iterator[tuple[Layer, list[Weight]]]:
    """Each layer with its weights, which are mapped, not read.

    Raises `ConversionError` for a layer that is not known here, or a file that is not float32 or not of the size that
    the graph needs.
    """
    sizes = [_sizes(layer) for layer in graph.layers]
    expected = 4 * sum(count + tagged for weights in sizes for count, tagged in weights)
    if path.stat().st_size != expected:
        raise ConversionError(f"{path.name} holds {path.stat().st_size} bytes, its param file expects {expected}")
    data = np.memmap(path, dtype="<f4", mode="r")
    at = 0
    for layer, of_layer in zip(graph.layers, sizes, strict=True):
        weights = []
        for count, tagged in of_layer:
            if tagged:
                if data[at : at + 1].view("<u4")[0] != FP32_TAG:
                    raise ConversionError(f"{path.name}: the weights of {layer.name} are not float32")
                at += 1
            weights.append(Weight(data[at : at + count], tagged))
            at += count
        yield layer, weights


def _sizes(layer: Layer) -> list[tuple[int, bool]]:
    """(values, tagged) of each weight of a layer."""

    def get(id: int) -> int:
        return int(layer.params.get(id, 0))  # type: ignore[arg-type]  # arrays and strings are under other ids

    match layer.type:
        case "Gemm":
            n, k = get(GEMM_N), get(GEMM_K)
            if not get(GEMM_HAS_B) or get(GEMM_QUANTIZED) or get(GEMM_C_KIND) not in (-1, 4):
                raise ConversionError(f"Gemm {layer.name} is not a float32 Linear, so its precision cannot be changed")
            bias = [(n, True)] if get(GEMM_HAS_C) and get(GEMM_C_KIND) == 4 else []
            return [(n * k, True), *bias]
        case "RMSNorm":
            return [(get(_RMSNORM_SIZE), False)] if get(_RMSNORM_AFFINE) else []
        case kind if kind in _WITHOUT_WEIGHTS:
            return []
        case kind:
            raise ConversionError(f"layer {layer.name} is of type {kind}, whose weights are not known here")
