"""The code predictor: codebooks 1 to 15 of a frame from the talker's hidden state and codebook 0."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.kv_cache import CachedDecoder
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.row_table import RowTable

Choose = Callable[[Floats], int]


class Predictor:
    """Five layers with a fresh cache for every frame (M:1156, `Qwen3TTSTalkerCodePredictorModel…`)."""

    def __init__(self, embeds: RowTable, decoder: CachedDecoder, heads: Graph, *, steps: int, vocab_size: int) -> None:
        self._embeds = embeds
        self._decoder = decoder
        self._heads = heads
        self._vocab_size = vocab_size
        self.steps = steps
        self._cache = decoder.cache(steps + 1)

    def fill(self, hidden: Floats, first: Floats, choose: Choose) -> tuple[list[int], Floats]:
        """Codes 1..15, and the sum (1, H) of the embeddings of all 16.

        `hidden` (1, H) is the talker's, `first` (1, H) is E(code 0), `choose` picks a code from logits (vocabulary,).
        Step s embeds code s with table s − 1 and reads head s (M:1283–1300).
        """
        self._cache.clear()
        codes: list[int] = []
        rows = np.concatenate((hidden, first))
        total = first.copy()
        for step in range(self.steps):
            output = self._decoder.forward(rows, self._cache)[-1:]
            logits = self._heads.run({"hidden": output}, f"logits_{step}").reshape(-1)
            codes.append(choose(logits))
            rows = self._row(step, codes[-1])
            total += rows
        return codes, total

    def embed(self, codes: NDArray[np.int32]) -> Floats:
        """Rows (T, H): the embeddings of codes 1..15 (T, 15) of each frame, summed."""
        ids = codes + np.arange(self.steps, dtype=np.int32) * self._vocab_size
        rows = self._embeds.rows(ids.reshape(-1))
        total: Floats = rows.reshape(len(codes), self.steps, -1).sum(axis=1)
        return total

    def _row(self, table: int, code: int) -> Floats:
        return self._embeds.rows([table * self._vocab_size + code])
