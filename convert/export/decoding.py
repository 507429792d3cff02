"""A cached decoder run as the runtime runs it: all at once, and step by step."""

import numpy as np

from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.kv_cache import CachedDecoder
from qwen3_tts_ncnn.runtime.manifest import Decoder
from qwen3_tts_ncnn.runtime.mat import Floats

_STEPS = 3


def decode(graph: Graph, shape: Decoder, rows: Floats) -> Floats:
    """Hidden states (n, hidden_size) of rows (n, width): a prefill of all but the last three, then three steps."""
    decoder = CachedDecoder(graph, shape)
    cache = decoder.cache(len(rows))
    pieces = np.split(rows, range(len(rows) - _STEPS, len(rows)))
    return np.concatenate([decoder.forward(piece, cache) for piece in pieces])
