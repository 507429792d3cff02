"""A decoder that remembers: ncnn's in-place KV cache, prefill and step.

The caches are opaque. On x86 their rows are packed in panels and their capacity exceeds their height, so they are
never cloned, sliced, converted or read (a clone loses the tail of the last panel: NaN or nonsense, silently); they are
taken from one run and handed to the next. Seen in ncnn 1.0.20261020.
"""

import ncnn
import numpy as np

from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.manifest import Decoder
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.rope import RopeTables, causal_mask


class KVCache:
    """The keys and values of one sequence. `offset` rows are in it; it is sized for `capacity`.

    Owns the Mats and the allocator they came from, because the allocator must outlive them: the process crashes at
    exit otherwise. The Mats go first.
    """

    def __init__(self, layers: int, capacity: int) -> None:
        self.offset = 0
        self.capacity = capacity
        self._allocator = ncnn.PoolAllocator()
        self._mats = [ncnn.Mat() for _ in range(2 * layers)]

    def clear(self) -> None:
        """Forgets the sequence; its memory is used again."""
        self._mats = [ncnn.Mat() for _ in self._mats]
        self.offset = 0

    def __del__(self) -> None:
        self._mats = []


class CachedDecoder:
    """hidden rows in, hidden rows after the final norm out; what went before is in the cache."""

    def __init__(self, graph: Graph, shape: Decoder) -> None:
        self._graph = graph
        self._shape = shape
        self._rope = RopeTables(shape.head_dim, shape.rope_theta)
        self._ins = [f"cache_{kind}_in_{layer}" for layer in range(shape.layers) for kind in "kv"]
        self._outs = [f"cache_{kind}_out_{layer}" for layer in range(shape.layers) for kind in "kv"]

    def cache(self, capacity: int) -> KVCache:
        """An empty cache sized for `capacity` rows; it grows beyond them at the cost of a copy."""
        return KVCache(self._shape.layers, capacity)

    def forward(self, hidden: Floats, cache: KVCache) -> Floats:
        """Appends hidden (n, width) to the sequence and returns its last layer's output (n, hidden_size)."""
        rows = np.ascontiguousarray(hidden, dtype=np.float32)
        cos, sin = self._rope.at(cache.offset, len(rows))
        run = self._graph.extractor(
            {"hidden": rows, "mask": causal_mask(cache.offset, len(rows)), "cos": cos, "sin": sin}
            | dict(zip(self._ins, cache._mats, strict=True))
        )
        run.use_kv_allocator(cache._allocator, cache.capacity)
        output = run.array("hidden_out")
        cache._mats = [run.mat(name, shared=True) for name in self._outs]
        cache.offset += len(rows)
        return output
