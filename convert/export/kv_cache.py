"""Gives every attention layer of a graph ncnn's in-place KV cache.

An SDPA layer as pnnx writes it has query, key, value, mask → output. With `7=1` it also takes a key and a value cache
and returns them, one row longer for each new one. The caches are opaque and belong to `runtime.kv_cache`.
"""

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.runtime.param import Layer, ParamGraph

_USE_CACHE = 7


def cache_names(layer: int) -> tuple[tuple[str, str], tuple[str, str]]:
    """Names of one layer's cache blobs: ((key in, value in), (key out, value out))."""
    ins, outs = ((f"cache_k_{way}_{layer}", f"cache_v_{way}_{layer}") for way in ("in", "out"))
    return ins, outs


def add_kv_cache(graph: ParamGraph, layers: int) -> None:
    """Adds caches to the graph's SDPA layers, which must be `layers` in number and have none yet.

    Raises `ConversionError` otherwise, so that a patched graph is never patched again.
    """
    attentions = graph.of_type("SDPA")
    if len(attentions) != layers:
        raise ConversionError(f"expected {layers} SDPA layers to give a KV cache, found {len(attentions)}")
    for layer in attentions:
        if layer.params.get(_USE_CACHE) or len(layer.inputs) != 4 or len(layer.outputs) != 1:
            raise ConversionError(
                f"SDPA layer {layer.name} has {len(layer.inputs)} inputs and {len(layer.outputs)} outputs: "
                "expected 4 and 1, is the KV cache there already?"
            )
    cache_inputs: list[str] = []
    for index, layer in enumerate(attentions):
        ins, outs = cache_names(index)
        layer.inputs += ins
        layer.outputs += outs
        layer.params[_USE_CACHE] = 1
        cache_inputs += ins
    first = next(n for n, layer in enumerate(graph.layers) if layer.type != "Input")
    graph.layers.insert(first, Layer("Input", "kv_cache", [], cache_inputs))
