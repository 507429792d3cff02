"""A decoder on a GPU that remembers: its KV rows are kept here and go in with every step.

ncnn's in-place cache never stays on a GPU between runs of the Python binding: each layer's two would be copied there
and back whole, each in a submit of its own. Kept here, all of them go in at once and only new rows come back.
"""

import numpy as np

from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.kv_cache import CachedDecoder, KVCache
from qwen3_tts_ncnn.runtime.manifest import Decoder
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.rope import HIDDEN, causal_mask
from qwen3_tts_ncnn.runtime.vulkan_param import JOINED, NEW, PAST

JOIN = ("hidden_out", NEW)
"""The outputs of such a graph that `JOINED` has."""


class HostCache(KVCache):
    """The rows (heads = 2 · layers · KV heads, rows, head_dim) of one sequence, behind one that no mask lets be seen.

    The first run needs a row to put in, for ncnn takes no empty input.
    """

    def __init__(self, heads: int, head_dim: int, capacity: int) -> None:
        self.offset = 0
        self.capacity = capacity
        self._rows = np.zeros((heads, 1 + capacity, head_dim), dtype=np.float32)

    @property
    def past(self) -> Floats:
        """All rows up to now, the hidden one before them."""
        return self._rows[:, : 1 + self.offset]

    def append(self, rows: Floats) -> None:
        """Appends rows of the same form; beyond the capacity at the cost of a copy."""
        count = rows.shape[1]
        if self.offset + count > self.capacity:
            self.capacity = 2 * (self.offset + count)
            larger = np.zeros((len(self._rows), 1 + self.capacity, self._rows.shape[2]), dtype=np.float32)
            larger[:, : 1 + self.offset] = self.past
            self._rows = larger
        self._rows[:, 1 + self.offset : 1 + self.offset + count] = rows
        self.offset += count

    def clear(self) -> None:
        """Forgets the sequence; its memory is used again."""
        self.offset = 0


class VulkanDecoder(CachedDecoder):
    """`CachedDecoder` for a graph that was loaded for a GPU with `JOIN`: one submit a step."""

    def __init__(self, graph: Graph, shape: Decoder, kv_heads: int) -> None:
        super().__init__(graph, shape)
        self._heads = 2 * shape.layers * kv_heads

    def cache(self, capacity: int) -> KVCache:
        """An empty cache sized for `capacity` rows; it grows beyond them at the cost of a copy."""
        return HostCache(self._heads, self._shape.head_dim, capacity)

    def forward(self, hidden: Floats, cache: KVCache) -> Floats:
        """Appends hidden (n, width) to the sequence and returns its last layer's output (n, hidden_size)."""
        assert isinstance(cache, HostCache)
        rows = np.ascontiguousarray(hidden, dtype=np.float32)
        count = len(rows)
        cos, sin = self._rope.at(cache.offset, count)
        mask = np.pad(causal_mask(cache.offset, count), ((0, 0), (1, 0)), constant_values=HIDDEN)
        joined = self._graph.run({"hidden": rows, "mask": mask, "cos": cos, "sin": sin, PAST: cache.past}, JOINED)
        new = self._heads * count * self._shape.head_dim
        cache.append(joined[-new:].reshape(self._heads, count, self._shape.head_dim))
        return joined[:-new].reshape(count, -1)
