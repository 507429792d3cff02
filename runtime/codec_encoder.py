"""The codec's encoder: samples in, frames of 16 codes out.

The graph makes one latent vector a frame; the two quantizers, side by side on that vector, find the nearest codes here
(transformers' `MimiSplitResidualVectorQuantizer`, T:982 keeps the first 16 of its 32 levels).
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.manifest import CodecEncoderShape
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.rope import causal_mask, rope_tables


class RVQTables:
    """Codebooks (16, entries, dim), and the projections (dim, latent) into the semantic and the acoustic space."""

    def __init__(self, codebooks: Floats, semantic: Floats, acoustic: Floats) -> None:
        # Distances are differences of large numbers: float64 leaves the nearest code to the numbers, not to rounding.
        self._codebooks = codebooks.astype(np.float64)
        self._norms = np.square(self._codebooks).sum(axis=2)
        self._projections = (semantic.astype(np.float64), acoustic.astype(np.float64))
        self.levels = len(codebooks)

    @classmethod
    def load(cls, path: Path) -> "RVQTables":
        """Reads the tables of a package. Raises `PackageError`."""
        try:
            tables = load_file(path)
            return cls(tables["codebooks"], tables["semantic_projection"], tables["acoustic_projection"])
        except Exception as error:  # safetensors raises classes of its own
            raise PackageError(f"{path} cannot be read ({error}): verify the package") from None

    def encode(self, latent: Floats) -> NDArray[np.int32]:
        """Codes (T, 16) of latent vectors (T, latent): the first codebook alone, the other 15 each on what is left."""
        semantic, acoustic = (latent.astype(np.float64) @ projection.T for projection in self._projections)
        levels = [self._nearest(0, semantic)]
        for level in range(1, self.levels):
            levels.append(self._nearest(level, acoustic))
            acoustic = acoustic - self._codebooks[level][levels[-1]]
        return np.stack(levels, axis=1).astype(np.int32)

    def _nearest(self, level: int, vectors: NDArray[np.float64]) -> NDArray[np.intp]:
        """The entry of the least squared distance; the vector's own norm is the same for all of them."""
        distances = self._norms[level] - 2 * (vectors @ self._codebooks[level].T)
        nearest: NDArray[np.intp] = distances.argmin(axis=1)
        return nearest


class CodecEncoder:
    """Mono samples at 24 kHz to codes."""

    def __init__(self, graph: Graph, tables: RVQTables, shape: CodecEncoderShape) -> None:
        self._graph = graph
        self._tables = tables
        self._shape = shape

    def encode(self, samples: Floats) -> NDArray[np.int32]:
        """Codes (T, 16) of samples (n,), T = ceil(n / 1920)."""
        frame = self._shape.samples_per_frame
        frames = -(-len(samples) // frame)
        if not frames:
            return np.zeros((0, self._tables.levels), dtype=np.int32)
        wave = np.zeros((1, frames * frame), dtype=np.float32)
        wave[0, : len(samples)] = samples
        steps = frames * self._shape.steps_per_frame
        cos, sin = rope_tables(0, steps, self._shape.head_dim, self._shape.rope_theta)
        masks = valid_columns(len(samples), frames * frame, self._shape.ratios)
        latent = self._graph.run(
            {"wave": wave, "mask": causal_mask(0, steps), "cos": cos, "sin": sin}
            | {f"valid_{n}": mask for n, mask in enumerate(masks)},
            "latent",
        )
        return self._tables.encode(latent.T)


def valid_columns(samples: int, padded: int, ratios: Sequence[int]) -> list[Floats]:
    """For each strided convolution, the downsampling to frames included, which of its input columns are valid.

    Masks (1, 1, columns): 1 where a column is the recording's, 0 where it is padding. Each convolution leaves
    ceil(valid / ratio) valid ones.
    """
    masks, valid, columns = [], samples, padded
    for ratio in (*ratios, 1):
        masks.append((np.arange(columns) < valid).astype(np.float32).reshape(1, 1, -1))
        valid, columns = -(-valid // ratio), columns // ratio
    return masks
