"""A safetensors file written tensor by tensor, so that a checkpoint larger than memory can be made.

The format (https://github.com/huggingface/safetensors#format): the header's length as 8 little-endian bytes, the header
as JSON, then the tensors' bytes back to back. Two files of the same tensors are byte for byte equal.
"""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, Final, Literal

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.random_checkpoint.streams import Floats

Dtype = Literal["BF16", "F32"]

_BYTES: Final[dict[Dtype, int]] = {"BF16": 2, "F32": 4}
_BLOCK: Final = 1 << 20


def write_safetensors(
    path: Path,
    shapes: Mapping[str, tuple[int, ...]],
    dtype: Dtype,
    values: Callable[[str], Floats],
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write one tensor of `dtype` for every name of `shapes`, sorted by name.

    `values(name)` is called once for each name and gives the tensor in float32; one tensor is held at a time.
    `progress(done, total)` hears of the bytes written after each tensor.
    """
    names = sorted(shapes)
    sizes = [math.prod(shapes[name]) * _BYTES[dtype] for name in names]
    with path.open("wb") as file:
        file.write(_header(names, sizes, shapes, dtype))
        done = 0
        for name, size in zip(names, sizes, strict=True):
            tensor = values(name)
            if tensor.shape != tuple(shapes[name]):
                raise ValueError(f"{name}: values of shape {tensor.shape} for a tensor of {shapes[name]}")
            _write(file, tensor, dtype)
            done += size
            if progress is not None:
                progress(done, sum(sizes))


def _header(names: list[str], sizes: list[int], shapes: Mapping[str, tuple[int, ...]], dtype: Dtype) -> bytes:
    # transformers refuses a file whose metadata does not name a framework.
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, size in zip(names, sizes, strict=True):
        header[name] = {"dtype": dtype, "shape": list(shapes[name]), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the data starts at a multiple of 8
    return len(text).to_bytes(8, "little") + text


def _write(file: BinaryIO, tensor: Floats, dtype: Dtype) -> None:
    flat = np.ascontiguousarray(tensor, "<f4").reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        file.write((bfloat16(block) if dtype == "BF16" else block).tobytes())


def bfloat16(values: Floats) -> NDArray[np.uint16]:
    """The bit patterns of finite `values` as bfloat16, rounded to nearest, ties to even."""
    bits = values.view(np.uint32)
    bits = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (bits >> np.uint32(16)).astype("<u2")
