"""What a converted graph's text must not contain. Each check names the layer that fails it."""

import re
from collections.abc import Sequence

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.runtime.param import Layer, ParamGraph

_FOREIGN = ("pnnx.", "Tensor.", "torch.", "aten::", "prim::", "F.", "nn.")
_GEMM_ROWS = 7
_RESHAPE_BATCH = (12, 13)
_SHAPED = ("Reshape", "Crop", "Slice", "Tile", "MemoryData")


def check_structure(graph: ParamGraph, name: str, *, traced_lengths: Sequence[int]) -> None:
    """Raises `ConversionError` for a foreign layer, a batch axis, or a traced length frozen into a layer's shape."""
    for layer in graph.layers:
        if layer.type.startswith(_FOREIGN):
            raise ConversionError(f"{name}: layer {layer.name} is of type {layer.type}, which ncnn does not have")
        if layer.type == "Reshape" and any(layer.params.get(key) for key in _RESHAPE_BATCH):
            raise ConversionError(f"{name}: layer {layer.name} makes a batch axis, which cached SDPA refuses")
        if layer.type == "Gemm" and layer.params.get(_GEMM_ROWS, 0) != 0:
            raise ConversionError(f"{name}: layer {layer.name} is for {layer.params[_GEMM_ROWS]} rows alone")
        frozen = [size for size in _sizes(layer) if size in traced_lengths]
        if layer.type in _SHAPED and frozen:
            raise ConversionError(f"{name}: layer {layer.name} ({layer.type}) has the traced length {frozen[0]} in it")


def _sizes(layer: Layer) -> list[int]:
    """Every integer among a layer's values, in arrays and shape expressions too."""
    text = " ".join(map(str, layer.params.values()))
    return [int(number) for number in re.findall(r"(?<![\w.+-])\d+(?![\w.])", text)]
