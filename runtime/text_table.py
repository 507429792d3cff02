"""The text embedding: a lookup reads only the rows of the prompt, not 600 MB of table."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from qwen3_tts_ncnn.runtime import manifest
from qwen3_tts_ncnn.runtime.errors import TextError
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.row_table import RowTable


class TextTable:
    """Rows of the text embedding."""

    def __init__(self, folder: Path, shape: manifest.TextTable) -> None:
        """Raises `PackageError` when the file is not of the size or type that the manifest says."""
        self._table = RowTable(folder / shape.file, shape.rows, shape.width, shape.dtype)

    def rows(self, ids: Sequence[int]) -> Floats:
        """Rows (n, width) of the ids. Raises `TextError` for an id outside the table."""
        indices = np.asarray(ids, dtype=np.int64)
        outside = indices[(indices < 0) | (indices >= len(self._table))]
        if outside.size:
            raise TextError(f"token id {outside[0]} is outside the text table of {len(self._table)} rows")
        return self._table.rows(indices)
