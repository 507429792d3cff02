"""A decoder with its memory outside the graph computes what the one with ncnn's caches does. On the CPU: no driver."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.export.check import relative_error
from qwen3_tts_ncnn.convert.plans import DECODER_BOUND
from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.kv_cache import CachedDecoder
from qwen3_tts_ncnn.runtime.manifest import read_manifest
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.param import read_param, write_param
from qwen3_tts_ncnn.runtime.vulkan_decoder import JOIN, HostCache, VulkanDecoder
from qwen3_tts_ncnn.runtime.vulkan_param import key_width, vulkan_param

Decoders = tuple[CachedDecoder, VulkanDecoder]


@pytest.fixture(scope="module")
def decoders(tiny_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Decoders:
    param, weights = tiny_package / "talker_decoder.param", tiny_package / "talker_decoder.bin"
    layers, shape = read_param(param.read_text()), read_manifest(tiny_package).talker
    rewritten = tmp_path_factory.mktemp("graph") / "talker_decoder.param"
    rewritten.write_text(write_param(vulkan_param(layers, JOIN)))
    graph = Graph(rewritten, weights, cpu_options(1))
    return (
        CachedDecoder(Graph(param, weights, cpu_options(1)), shape),
        VulkanDecoder(graph, shape, key_width(layers) // shape.head_dim),
    )


def rows(count: int, seed: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((count, 64)).astype(np.float32)


@pytest.mark.parametrize("capacity", [32, 1])
def test_prefill_and_steps_are_the_same(decoders: Decoders, capacity: int) -> None:
    """Also where the cache has to grow."""
    caches = [decoder.cache(capacity) for decoder in decoders]
    for seed, count in enumerate((5, 1, 1, 3, 1, 1, 8, 1)):
        expected, hidden = (
            decoder.forward(rows(count, seed), cache) for decoder, cache in zip(decoders, caches, strict=True)
        )
        assert hidden.shape == expected.shape
        assert relative_error(hidden, expected) <= DECODER_BOUND.limit
    assert [cache.offset for cache in caches] == [21, 21]


def test_a_cleared_cache_has_forgotten(decoders: Decoders) -> None:
    _, decoder = decoders
    cache = decoder.cache(8)
    first = decoder.forward(rows(3, 0), cache)
    cache.clear()
    assert cache.offset == 0
    np.testing.assert_array_equal(decoder.forward(rows(3, 0), cache), first)


def test_a_cache_keeps_its_rows_when_it_grows() -> None:
    cache = HostCache(heads=2, head_dim=3, capacity=1)
    for value in range(1, 6):
        cache.append(np.full((2, 1, 3), value, dtype=np.float32))
    assert cache.past[:, :, 0].tolist() == [[0, 1, 2, 3, 4, 5]] * 2
    assert (cache.offset, cache.capacity) == (5, 10)
