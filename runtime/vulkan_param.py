"""A graph's param text as Vulkan needs it. The weights stay as they are: no layer that has any is touched.

The text is ncnn's: a magic number, the counts of layers and blobs, and a line a layer (type, name, counts, blobs,
id=value pairs).
"""

import math

# The layer is computed on the CPU: bit 4 of ncnn's feature mask takes Vulkan from it.
_ON_CPU = "31=16"

_HALF_SQRT = math.sqrt(0.5)


def vulkan_param(text: str) -> str:
    """The text for a GPU, as ncnn 1.0.20261020 has to be told.

    - GELU_vulkan computes the tanh form whatever the layer says; the model's is x / 2 · (1 + erf(x / √2)).
    - Gemm_vulkan refuses block-quantised weights instead of leaving them to the CPU, and has an int8 of its own.
    - ExpandDims and Squeeze have no Vulkan code; as Reshape they need no way to the CPU and back.
    """
    magic, _, *lines = text.splitlines()
    layers = [out for line in lines if line.strip() for out in _layer(line.split())]
    blobs = sum(int(layer[3]) for layer in layers)
    return "\n".join([magic, f"{len(layers)} {blobs}", *(" ".join(layer) for layer in layers)]) + "\n"


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
