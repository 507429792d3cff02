"""The decoder that remembers: rows one by one are the rows all at once."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.kv_cache import CachedDecoder, KVCache
from qwen3_tts_ncnn.runtime.manifest import read_manifest
from qwen3_tts_ncnn.runtime.mat import Floats

# Two orders of float32 rounding over three layers; measured 1e-6.
TOLERANCE = 5e-6


@pytest.fixture(scope="module")
def decoder(tiny_package: Path) -> CachedDecoder:
    param, weights = (tiny_package / f"talker_decoder.{suffix}" for suffix in ("param", "bin"))
    return CachedDecoder(Graph(param, weights, cpu_options(1)), read_manifest(tiny_package).talker)


def rows(count: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((count, 64), dtype=np.float32)


def feed(decoder: CachedDecoder, cache: KVCache, hidden: Floats, *pieces: int) -> Floats:
    """The outputs of the rows, fed in pieces of these sizes."""
    assert sum(pieces) == len(hidden)
    return np.concatenate([decoder.forward(part, cache) for part in np.split(hidden, np.cumsum(pieces)[:-1])])


def error(ours: Floats, theirs: Floats) -> float:
    assert ours.shape == theirs.shape
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


@pytest.mark.parametrize(
    "pieces",
    [(37, *[1] * 20), (1, *[1] * 56), (1, 56), (20, 17, 20), (15, 1, 1, 16, 8, 16), (56, 1)],
    ids=["prefill-and-steps", "steps-alone", "1-56", "thirds", "around-panels", "one-step"],
)
def test_pieces_give_what_the_whole_gives(decoder: CachedDecoder, pieces: tuple[int, ...]) -> None:
    hidden = rows(57)
    whole = feed(decoder, decoder.cache(57), hidden, 57)
    cache = decoder.cache(57)
    assert error(feed(decoder, cache, hidden, *pieces), whole) < TOLERANCE
    assert cache.offset == 57


@pytest.mark.parametrize("capacity", [1, 7, 16, 40, 1000])
def test_a_cache_grows_beyond_its_capacity(decoder: CachedDecoder, capacity: int) -> None:
    hidden = rows(70)
    whole = feed(decoder, decoder.cache(70), hidden, 70)
    assert error(feed(decoder, decoder.cache(capacity), hidden, 30, *[1] * 40), whole) < TOLERANCE


def test_the_past_is_heard(decoder: CachedDecoder) -> None:
    """A row after another past is another row: the tests above would pass on a decoder that remembers nothing."""
    last = rows(1, seed=1)
    outputs = []
    for seed in (2, 3):
        cache = decoder.cache(8)
        decoder.forward(rows(5, seed=seed), cache)
        outputs.append(decoder.forward(last, cache))
    assert error(outputs[0], outputs[1]) > 0.01


def test_a_cleared_cache_has_forgotten(decoder: CachedDecoder) -> None:
    hidden = rows(9)
    fresh = feed(decoder, decoder.cache(9), hidden, 6, 1, 1, 1)
    cache = decoder.cache(9)
    for seed in range(5):
        feed(decoder, cache, rows(13, seed=seed + 7), 10, 1, 1, 1)
        cache.clear()
        assert cache.offset == 0
        assert np.array_equal(feed(decoder, cache, hidden, 6, 1, 1, 1), fresh)
        cache.clear()


def test_two_caches_of_one_decoder_do_not_mix(decoder: CachedDecoder) -> None:
    one, other = rows(20, seed=1), rows(20, seed=2)
    alone = [feed(decoder, decoder.cache(20), hidden, 10, *[1] * 10) for hidden in (one, other)]
    caches = [decoder.cache(20) for _ in range(2)]
    outputs = [[decoder.forward(hidden[:10], cache)] for hidden, cache in zip((one, other), caches, strict=True)]
    for step in range(10, 20):
        for n, hidden in enumerate((one, other)):
            outputs[n].append(decoder.forward(hidden[step : step + 1], caches[n]))
    for n in range(2):
        assert np.array_equal(np.concatenate(outputs[n]), alone[n])


def test_rows_that_are_a_view_or_float64_are_taken(decoder: CachedDecoder) -> None:
    hidden = rows(12)
    expected = decoder.forward(hidden[::2].copy(), decoder.cache(6))
    assert np.array_equal(decoder.forward(hidden[::2], decoder.cache(6)), expected)
    assert np.array_equal(decoder.forward(hidden[::2].astype(np.float64), decoder.cache(6)), expected)


DROPPED = """
import sys
from pathlib import Path
import numpy as np
from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.kv_cache import CachedDecoder
from qwen3_tts_ncnn.runtime.manifest import read_manifest

package = Path(sys.argv[1])
graph = Graph(package / "talker_decoder.param", package / "talker_decoder.bin", cpu_options(1))
decoder = CachedDecoder(graph, read_manifest(package).talker)
for _ in range(20):
    # Nobody holds this cache but the call: it goes while the run, whose blobs lie in its memory, is still there.
    decoder.forward(np.ones((5, 64), dtype=np.float32), decoder.cache(6))
held = decoder.cache(6)
decoder.forward(np.ones((5, 64), dtype=np.float32), held)  # and this one goes at exit
print("whole")
"""


def test_a_cache_may_go_at_any_time(tiny_package: Path) -> None:
    """In a process of its own, because what it guards against is a crash."""
    command = [sys.executable, "-c", DROPPED, str(tiny_package)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "whole\n"), run.stderr
