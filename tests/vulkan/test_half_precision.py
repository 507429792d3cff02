"""Half precision on a GPU: near, not equal, and for the graphs alone that are asked for."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.export.check import relative_error, signal_to_noise
from qwen3_tts_ncnn.convert.plans import CODEC_BOUND, DECODER_BOUND
from qwen3_tts_ncnn.runtime import TTS
from qwen3_tts_ncnn.runtime.devices import Device
from qwen3_tts_ncnn.runtime.loader import Loader
from qwen3_tts_ncnn.runtime.mat import Floats
from tests.conftest import THREADS
from tests.vulkan.conftest import Pair

# fp16 has 11 bits, 5e-4 of a value; the sums of three layers gather some of that.
DECODER_LIMIT = 5e-3
CODEC_LIMIT = 40.0

ROWS = np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32)


@pytest.fixture(scope="module")
def half(llvmpipe: Device, tiny_base_package: Path) -> TTS:
    return TTS.load(tiny_base_package, backend="vulkan-fp16", threads=THREADS)


def test_the_decoders_are_near_and_not_those_of_float32(half: TTS, pair: Pair) -> None:
    cpu = pair("base")[0]
    hidden, expected = (tts._talker.start(ROWS, 8)[0] for tts in (half, cpu))
    error = relative_error(half._talker.logits(hidden), cpu._talker.logits(expected))
    assert DECODER_BOUND.limit < error < DECODER_LIMIT
    logits: list[list[Floats]] = [[], []]
    for tts, seen in zip((half, cpu), logits, strict=True):

        def choose(values: Floats, seen: list[Floats] = seen) -> int:
            seen.append(values)
            return len(seen)

        tts._predictor.fill(ROWS[:1], ROWS[1:2], choose)
    assert DECODER_BOUND.limit < relative_error(np.stack(logits[0]), np.stack(logits[1])) < DECODER_LIMIT


def test_the_codec_reads_ids_as_they_are_and_decodes_near(half: TTS, pair: Pair) -> None:
    codes = np.random.default_rng(0).integers(0, 2048, (5, 16))
    stream = half.codec.stream()
    samples = np.concatenate([stream.decode(codes[:2]), stream.decode(codes[2:])])
    assert CODEC_LIMIT < signal_to_noise(samples, pair("base")[0].codec.decode(codes)) < CODEC_BOUND.limit


def test_one_graph_in_half_precision_leaves_the_others_alone(llvmpipe: Device, tiny_base_package: Path) -> None:
    loader = Loader.open(tiny_base_package, backend="talker=vulkan,codec=vulkan-fp16", threads=THREADS)
    cpu = Loader.open(tiny_base_package, threads=THREADS)
    error = relative_error(loader.talker().start(ROWS, 8)[0], cpu.talker().start(ROWS, 8)[0])
    assert error < DECODER_BOUND.limit


def test_int8_weights_in_it_are_as_far_from_float32_as_they_are_on_the_cpu(
    llvmpipe: Device, tiny_int8_package: Path, tiny_package: Path
) -> None:
    """Not nearer to each other than that: a signal that is rounded before falls into another step of its int8."""
    half, cpu, exact = (
        Loader.open(package, backend=where, threads=THREADS).talker().start(ROWS, 8)[0]
        for package, where in ((tiny_int8_package, "vulkan-fp16"), (tiny_int8_package, "cpu"), (tiny_package, "cpu"))
    )
    assert np.linalg.norm(half - exact) < 1.25 * np.linalg.norm(cpu - exact)
