"""A graph's param text as Vulkan needs it. The weights stay as they are: no layer that has any is touched.

The text is ncnn's: a magic number, the counts of layers and blobs, and a line a layer (type, name, counts, blobs,
id=value pairs).
"""

import math
import re
from collections.abc import Sequence

# The layer is computed on the CPU: bit 4 of ncnn's feature mask takes Vulkan from it.
_ON_CPU = "31=16"

_HALF_SQRT = math.sqrt(0.5)


PAST, NEW, JOINED = "cache_past", "cache_new", "joined"
"""Blobs of the text for a GPU: KV rows that go in and that come out, and all outputs end to end."""


def vulkan_param(text: str, join: Sequence[str] = ()) -> str:
    """The text for a GPU, as ncnn 1.0.20261020 has to be told.

    - GELU_vulkan computes the tanh form whatever the layer says; the model's is x / 2 · (1 + erf(x / √2)).
    - Gemm_vulkan has no code for block-quantised weights, and its shader for int8 rows (`18=2`) does not compile.
    - ExpandDims and Squeeze have no Vulkan code; as Reshape they need no way to the CPU and back.
    - Every output is a submit and a wait, and a KV cache is two of them a layer, each copied whole both ways. Here the
      rows of all layers go in as one input, `PAST` (2 · layers · KV heads, rows, head_dim), and only new ones come out,
      `NEW`, of the same form. At least one row must go in: ncnn has no empty input.
    - The outputs `join` are laid end to end, flat, in `JOINED`, which is one submit for all of them.
    """
    magic, _, *lines = text.splitlines()
    layers = [out for line in lines if line.strip() for out in _layer(line.split())]
    layers = _with_explicit_caches(layers)
    if join:
        layers += _joined(join)
    blobs = sum(int(layer[3]) for layer in layers)
    return "\n".join([magic, f"{len(layers)} {blobs}", *(" ".join(layer) for layer in layers)]) + "\n"


def key_width(text: str) -> int:
    """Columns of one layer's keys, KV heads · head_dim: where the graph cuts its q/k/v projection.

    Raises `ValueError` for a text without such a cut.
    """
    cut = re.search(r"(?m)^Slice\s+\S+\s+1\s+3\s.*\s-23300=3,\d+,(\d+),\d+\s+1=1\s*$", text)
    if cut is None:
        raise ValueError("no layer cuts queries, keys and values apart")
    return int(cut[1])


def _with_explicit_caches(layers: list[list[str]]) -> list[list[str]]:
    """SDPA layers that take past rows and new ones laid end to end, instead of caches of ncnn's own."""
    caches = next((layer for layer in layers if layer[:2] == ["Input", "kv_cache"]), None)
    if caches is None:
        return layers
    names = caches[4:]
    equal = ",".join(["-23300=" + str(len(names)), *["-233"] * len(names)])
    made: list[list[str]] = []
    new: list[str] = []
    for layer in layers:
        if layer is caches:
            made.append(["Input", "kv_cache", "0", "1", PAST])
            made.append(["Slice", "kv_slice", "1", str(len(names)), PAST, *names, equal, "1=0"])
        elif layer[0] == "SDPA" and "7=1" in layer:
            query, key, value, mask, past_key, past_value, output, *_ = layer[4:]
            for rows, past in ((key, past_key), (value, past_value)):
                new.append(f"{rows}_new")
                made.append(["Split", f"{rows}_split", "1", "2", rows, new[-1], f"{rows}_next"])
                made.append(["Concat", f"{rows}_append", "2", "1", past, f"{rows}_next", f"{rows}_all", "0=1"])
            params = [pair for pair in layer[13:] if pair != "7=1"]
            made.append(["SDPA", layer[1], "4", "1", query, f"{key}_all", f"{value}_all", mask, output, *params])
        else:
            made.append(layer)
    return [*made, ["Concat", NEW, str(len(new)), "1", *new, NEW, "0=0"]]


def _joined(outputs: Sequence[str]) -> list[list[str]]:
    flat = [f"{name}_flat" for name in outputs]
    shaped = [
        ["Reshape", f"{name}_flatten", "1", "1", name, to, "0=-1"] for name, to in zip(outputs, flat, strict=True)
    ]
    return [*shaped, ["Concat", JOINED, str(len(flat)), "1", *flat, JOINED, "0=0"]]


def _layer(fields: list[str]) -> list[list[str]]:
    kind, name, *_ = fields
    params = dict(pair.split("=", 1) for pair in fields[4 + int(fields[2]) + int(fields[3]) :])
    if kind == "GELU":
        return _gelu(name, *fields[4:6])
    if kind == "Gemm" and params.get("18", "0") != "0":
        return [[*fields, _ON_CPU]]
    if kind == "ExpandDims" and params == {"-23303": "1,1"}:  # (C, T) to (C, 1, T)
        return [["Reshape", *fields[1:6], "0=0", "1=1", "2=-1"]]
    if kind == "Squeeze" and params == {"-23303": "1,1"}:  # (C, 1, T) to (C, T)
        return [["Reshape", *fields[1:6], "0=0", "1=-1"]]
    return [fields]


def _gelu(name: str, x: str, y: str) -> list[list[str]]:
    """y = (1 + erf(x · √½)) · x · ½, in layers that Vulkan has."""
    blob = [f"{name}_{part}" for part in ("x0", "x1", "scaled", "erf", "shifted", "product")]
    x0, x1, scaled, erf, shifted, product = blob
    return [
        ["Split", f"{name}_split", "1", "2", x, x0, x1],
        ["BinaryOp", f"{name}_scale", "1", "1", x0, scaled, "0=2", "1=1", f"2={_HALF_SQRT:.9g}"],
        ["Erf", f"{name}_erf", "1", "1", scaled, erf],
        ["BinaryOp", f"{name}_shift", "1", "1", erf, shifted, "0=0", "1=1", "2=1.0"],
        ["BinaryOp", f"{name}_multiply", "2", "1", shifted, x1, product, "0=2"],
        ["BinaryOp", f"{name}_halve", "1", "1", product, y, "0=2", "1=1", "2=0.5"],
    ]
