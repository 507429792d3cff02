"""A graph as Vulkan needs it: other layers around the same weights, for no layer that has any is touched."""

import math
from collections.abc import Sequence

from qwen3_tts_ncnn.runtime.param import Layer, ParamGraph

# Bit 4 of ncnn's feature mask takes Vulkan from a layer: it is computed on the CPU.
_FEATURE_MASK, _NO_VULKAN = 31, 16

_HALF_SQRT = math.sqrt(0.5)

_ADD, _MULTIPLY = 0, 2
"""Operations of BinaryOp."""

_KV_CACHE = 7
_QUANTISED = 18
"""Parameters of SDPA and of Gemm."""

PAST, NEW, JOINED = "cache_past", "cache_new", "joined"
"""Blobs of the graph for a GPU: KV rows that go in and that come out, and all outputs end to end."""


def vulkan_param(graph: ParamGraph, join: Sequence[str] = ()) -> ParamGraph:
    """The graph for a GPU, as ncnn 1.0.20261020 has to be told.

    - GELU_vulkan computes the tanh form whatever the layer says; the model's is x / 2 · (1 + erf(x / √2)).
    - Gemm_vulkan has no code for block-quantised weights, and its shader for int8 rows (`18=2`) does not compile.
    - ExpandDims and Squeeze have no Vulkan code; as Reshape they need no way to the CPU and back.
    - Every output is a submit and a wait, and a KV cache is two of them a layer, each copied whole both ways. Here the
      rows of all layers go in as one input, `PAST` (2 · layers · KV heads, rows, head_dim), and only new ones come out,
      `NEW`, of the same form. At least one row must go in: ncnn has no empty input.
    - The outputs `join` are laid end to end, flat, in `JOINED`, which is one submit for all of them.
    """
    layers = _with_explicit_caches([made for layer in graph.layers for made in _layer(layer)])
    if join:
        layers += _joined(join)
    return ParamGraph(layers)


def key_width(graph: ParamGraph) -> int:
    """Columns of one layer's keys, KV heads · head_dim: where the graph cuts its q/k/v projection.

    Raises `ValueError` for a graph without such a cut.
    """
    for layer in graph.of_type("Slice"):
        widths = layer.params.get(0)
        if isinstance(widths, list) and len(layer.outputs) == 3 and layer.params.get(1) == 1:
            return int(widths[1])
    raise ValueError("no layer cuts queries, keys and values apart")


def _with_explicit_caches(layers: list[Layer]) -> list[Layer]:
    """SDPA layers that take past rows and new ones laid end to end, instead of caches of ncnn's own."""
    caches = next((layer for layer in layers if layer.type == "Input" and layer.name == "kv_cache"), None)
    if caches is None:
        return layers
    made: list[Layer] = []
    new: list[str] = []
    for layer in layers:
        if layer is caches:
            equal = [-233] * len(caches.outputs)  # as many channels each
            made.append(Layer("Input", "kv_cache", [], [PAST]))
            made.append(Layer("Slice", "kv_slice", [PAST], caches.outputs, {0: equal, 1: 0}))
        elif layer.type == "SDPA" and layer.params.get(_KV_CACHE):
            query, key, value, mask, past_key, past_value = layer.inputs
            for rows, past in ((key, past_key), (value, past_value)):
                new.append(f"{rows}_new")
                made.append(Layer("Split", f"{rows}_split", [rows], [new[-1], f"{rows}_next"]))
                made.append(Layer("Concat", f"{rows}_append", [past, f"{rows}_next"], [f"{rows}_all"], {0: 1}))
            params = {id: setting for id, setting in layer.params.items() if id != _KV_CACHE}
            inputs = [query, f"{key}_all", f"{value}_all", mask]
            made.append(Layer("SDPA", layer.name, inputs, layer.outputs[:1], params))
        else:
            made.append(layer)
    return [*made, Layer("Concat", NEW, new, [NEW], {0: 0})]


def _joined(outputs: Sequence[str]) -> list[Layer]:
    flat = [f"{name}_flat" for name in outputs]
    shaped = [Layer("Reshape", f"{name}_flatten", [name], [f"{name}_flat"], {0: -1}) for name in outputs]
    return [*shaped, Layer("Concat", JOINED, flat, [JOINED], {0: 0})]


def _layer(layer: Layer) -> list[Layer]:
    """What stands for a layer."""
    if layer.type == "GELU":
        return _gelu(layer.name, layer.inputs[0], layer.outputs[0])
    if layer.type == "Gemm" and layer.params.get(_QUANTISED):
        return [Layer(layer.type, layer.name, layer.inputs, layer.outputs, layer.params | {_FEATURE_MASK: _NO_VULKAN})]
    if layer.params == {3: [1]}:  # the axis 1
        if layer.type == "ExpandDims":  # (C, T) to (C, 1, T)
            return [Layer("Reshape", layer.name, layer.inputs, layer.outputs, {0: 0, 1: 1, 2: -1})]
        if layer.type == "Squeeze":  # (C, 1, T) to (C, T)
            return [Layer("Reshape", layer.name, layer.inputs, layer.outputs, {0: 0, 1: -1})]
    return [layer]


def _gelu(name: str, x: str, y: str) -> list[Layer]:
    """y = (1 + erf(x · √½)) · x · ½, in layers that Vulkan has."""
    x0, x1, scaled, erf, shifted, product = (
        f"{name}_{part}" for part in ("x0", "x1", "scaled", "erf", "shifted", "product")
    )
    return [
        Layer("Split", f"{name}_split", [x], [x0, x1]),
        Layer("BinaryOp", f"{name}_scale", [x0], [scaled], {0: _MULTIPLY, 1: 1, 2: _HALF_SQRT}),
        Layer("Erf", f"{name}_erf", [scaled], [erf]),
        Layer("BinaryOp", f"{name}_shift", [erf], [shifted], {0: _ADD, 1: 1, 2: 1.0}),
        Layer("BinaryOp", f"{name}_multiply", [shifted, x1], [product], {0: _MULTIPLY}),
        Layer("BinaryOp", f"{name}_halve", [product], [y], {0: _MULTIPLY, 1: 1, 2: 0.5}),
    ]
