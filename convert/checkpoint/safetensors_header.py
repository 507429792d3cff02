"""The header of a safetensors file, read and checked against the file's size before a byte of data is touched.

The format: 8 bytes of header length (little-endian), the header as JSON (name → dtype, shape, data_offsets), then the
data, without gaps, to the end of the file. The safetensors library checks the same when it opens a file, but only says
"incomplete buffer"; a person with a broken download wants to know how much of the file there is.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen3_tts_ncnn.convert.errors import CheckpointError

ITEM_SIZES = {"BF16": 2, "F16": 2, "F32": 4}  # the dtypes this project widens to float32 exactly
_MAX_HEADER = 100_000_000  # the library's own limit


@dataclass(frozen=True)
class TensorEntry:
    """One tensor of a safetensors file: where it is and how it is stored."""

    file: Path
    dtype: str
    shape: tuple[int, ...]


def read_header(path: Path) -> dict[str, TensorEntry]:
    """Name → entry of every tensor in the file.

    Raises:
        CheckpointError: the file is missing, truncated, not safetensors, or holds a dtype other than BF16, F16, F32.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = _header_length(path, file.read(8), size)
            header = _parse(path, file.read(length))
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing: download the whole checkpoint again") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}): check the file and its permissions") from None
    ends = [(_data_range(path, name, entry), name) for name, entry in header.items()]
    position = 0
    for (start, end), name in sorted(ends):
        if start != position:
            raise _broken(path, f"tensor {name} starts at byte {start} of the data, expected {position}")
        position = end
    if size != 8 + length + position:
        state = "is truncated" if size < 8 + length + position else "has surplus bytes at its end"
        raise CheckpointError(
            f"{path} {state}: it is {size} bytes, its header says {8 + length + position}: download it again"
        )
    return {name: TensorEntry(path, entry["dtype"], tuple(entry["shape"])) for name, entry in header.items()}


def _header_length(path: Path, prefix: bytes, size: int) -> int:
    if len(prefix) < 8:
        raise CheckpointError(
            f"{path} is truncated: it is {size} bytes, a safetensors file has at least 8: download it again"
        )
    length = int(struct.unpack("<Q", prefix)[0])
    if length > _MAX_HEADER:
        raise _broken(path, f"it claims a header of {length} bytes")
    if 8 + length > size:
        raise CheckpointError(
            f"{path} is truncated: it is {size} bytes, its header alone ends at {8 + length}: download it again"
        )
    return length


def _parse(path: Path, text: bytes) -> dict[str, dict[str, Any]]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise _broken(path, "its header is not JSON") from None
    if not isinstance(header, dict):
        raise _broken(path, "its header is not a JSON object")
    header.pop("__metadata__", None)
    return header


def _data_range(path: Path, name: str, entry: Any) -> tuple[int, int]:
    """Where a tensor's bytes lie in the data section, after checking that its entry makes sense."""
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise _broken(path, f"the entry of tensor {name} lacks dtype, shape or data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if dtype not in ITEM_SIZES:
        raise CheckpointError(
            f"{path}: tensor {name} is stored as {dtype}, expected {', '.join(ITEM_SIZES)}: "
            "use an unquantised checkpoint as published or fine-tuned"
        )
    if not _sizes(shape) or not _sizes(offsets) or len(offsets) != 2:
        raise _broken(path, f"the entry of tensor {name} has no valid shape and data_offsets")
    start, end = offsets
    expected = math.prod(shape) * ITEM_SIZES[dtype]
    if end - start != expected:
        raise _broken(path, f"tensor {name} spans {end - start} bytes, its shape and dtype need {expected}")
    return start, end


def _sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _broken(path: Path, what: str) -> CheckpointError:
    return CheckpointError(f"{path} is not a valid safetensors file ({what}): download it again")
