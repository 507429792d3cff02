"""The text embedding, memory-mapped: a lookup touches only the rows of the prompt, not 600 MB of table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime import manifest
from qwen3_tts_ncnn.runtime.errors import PackageError, TextError
from qwen3_tts_ncnn.runtime.mat import Floats

_STORED: dict[str, np.dtype[Any]] = {"bf16": np.dtype("<u2"), "f16": np.dtype("<f2"), "f32": np.dtype("<f4")}


class TextTable:
    """Rows of the text embedding, widened to float32 exactly."""

    def __init__(self, folder: Path, shape: manifest.TextTable) -> None:
        """Raises `PackageError` when the file is not of the size or type that the manifest says."""
        if shape.dtype not in _STORED:
            raise PackageError(f"text table is of dtype {shape.dtype}, expected one of {', '.join(_STORED)}")
        try:
            self._table = np.memmap(
                folder / shape.file, dtype=_STORED[shape.dtype], mode="r", shape=(shape.rows, shape.width)
            )
        except (OSError, ValueError) as error:
            raise PackageError(f"{folder / shape.file} cannot be mapped ({error}): verify the package") from None
        self._bf16 = shape.dtype == "bf16"

    def rows(self, ids: Sequence[int]) -> Floats:
        """Rows (n, width) of the ids. Raises `TextError` for an id outside the table."""
        indices = np.asarray(ids, dtype=np.int64)
        outside = indices[(indices < 0) | (indices >= len(self._table))]
        if outside.size:
            raise TextError(f"token id {outside[0]} is outside the text table of {len(self._table)} rows")
        stored: NDArray[Any] = self._table[indices]
        if self._bf16:
            widened: Floats = (stored.astype(np.uint32) << 16).view(np.float32)
            return widened
        return stored.astype(np.float32)
