"""The talker: text and codec rows in, hidden states and codebook-0 logits out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.kv_cache import CachedDecoder, KVCache
from qwen3_tts_ncnn.runtime.lazy import Lazy
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.row_table import RowTable
from qwen3_tts_ncnn.runtime.text_table import TextTable


class Talker:
    """Embeddings, cached decoder and head of the large transformer (M: `Qwen3TTSTalkerForConditionalGeneration`)."""

    def __init__(
        self, table: TextTable, text_embed: Lazy[Graph], codec_embed: RowTable, decoder: CachedDecoder, head: Graph
    ) -> None:
        self._table = table
        self._text_embed = text_embed
        self._codec_embed = codec_embed
        self._decoder = decoder
        self._head = head

    def text_rows(self, ids: Sequence[int]) -> Floats:
        """TE(ids): rows (n, H) of text tokens, projected to the talker's width."""
        return self._text_embed.get().run({"rows": self._table.rows(ids)}, "embeddings")

    def drop_text_embed(self) -> None:
        """Frees what only prompts need, until the next one."""
        self._text_embed.drop()

    def codec_rows(self, ids: Sequence[int] | NDArray[np.int32]) -> Floats:
        """E(ids): rows (n, H) of the talker's codec embedding."""
        return self._codec_embed.rows(ids)

    def start(self, rows: Floats, capacity: int) -> tuple[Floats, KVCache]:
        """Prefill: the hidden state (1, H) after the prompt (n, H), and the cache, sized for `capacity` rows."""
        cache = self._decoder.cache(capacity)
        return self._decoder.forward(rows, cache)[-1:], cache

    def step(self, row: Floats, cache: KVCache) -> Floats:
        """The hidden state (1, H) after one more row (1, H)."""
        return self._decoder.forward(row, cache)

    def logits(self, hidden: Floats) -> Floats:
        """Codebook-0 logits (vocabulary,) of a hidden state (1, H)."""
        return self._head.run({"hidden": hidden}, "logits").reshape(-1)
