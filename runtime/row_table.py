"""A table of rows on disk: a lookup reads the rows it takes, not the hundreds of megabytes around them.

Read, not mapped: around each row of a mapped file that it touches, Linux maps 64 kB that are in its page cache anyway,
and after a few seconds of speech a process holds the whole table.
"""

import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.mat import Floats

_STORED: dict[str, np.dtype[Any]] = {"bf16": np.dtype("<u2"), "f16": np.dtype("<f2"), "f32": np.dtype("<f4")}

# ncnn puts four bytes that tell the type before a weight; these are float32's.
_NCNN_TAG = bytes(4)


class RowTable:
    """Rows (n, width) of a row-major file, widened to float32 exactly. Safe to use from several threads at once."""

    def __init__(self, file: Path, rows: int, width: int, dtype: str, *, offset: int = 0) -> None:
        """Raises `PackageError` when the file is not of that size, or the type is not known."""
        if dtype not in _STORED:
            raise PackageError(f"{file} is of dtype {dtype}, expected one of {', '.join(_STORED)}")
        self._dtype, self._is_bf16 = _STORED[dtype], dtype == "bf16"
        self._rows, self._width, self._offset = rows, width, offset
        expected = offset + rows * width * self._dtype.itemsize
        try:
            self._file = file.open("rb", buffering=0)
            weakref.finalize(self, self._file.close)
            size = file.stat().st_size
        except OSError as error:
            raise PackageError(f"{file} cannot be read ({error.strerror}): verify the package") from None
        if size != expected:
            raise PackageError(f"{file} holds {size} bytes, expected {expected}: verify the package")
        self._lock = threading.Lock()

    @classmethod
    def of_embedding(cls, file: Path, rows: int, width: int) -> "RowTable":
        """The table of an ncnn graph that is one Embed layer, from its `.bin`: no graph has to be loaded for a lookup.

        Raises `PackageError` when the file is not such a one.
        """
        table = cls(file, rows, width, "f32", offset=len(_NCNN_TAG))
        if table._file.read(len(_NCNN_TAG)) != _NCNN_TAG:
            raise PackageError(f"{file} is not a table of float32 rows: convert the checkpoint again")
        return table

    def __len__(self) -> int:
        return self._rows

    def rows(self, ids: Sequence[int] | NDArray[np.integer]) -> Floats:
        """Rows (n, width) of ids (n,), each from 0 to the length of the table − 1."""
        stored = np.empty((len(ids), self._width), dtype=self._dtype)
        stride = self._width * self._dtype.itemsize
        with self._lock:
            for row, id in zip(stored, ids, strict=True):
                self._file.seek(self._offset + int(id) * stride)
                self._file.readinto(row)
        if self._is_bf16:
            widened: Floats = (stored.astype(np.uint32) << 16).view(np.float32)
            return widened
        return np.asarray(stored, dtype=np.float32)
