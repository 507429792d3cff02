"""Half precision on a GPU: near float32, and not equal to it."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.export.check import relative_error, signal_to_noise
from qwen3_tts_ncnn.convert.plans import CODEC_BOUND, DECODER_BOUND
from qwen3_tts_ncnn.runtime.codec import Codec
from qwen3_tts_ncnn.runtime.devices import Device
from qwen3_tts_ncnn.runtime.loader import Loader
from tests.conftest import THREADS

# fp16 has 11 bits, 5e-4 of a value; the sums of three layers gather some of that.
DECODER_LIMIT = 5e-3
CODEC_LIMIT = 40.0

ROWS = np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32)


@pytest.fixture(scope="module")
def loaders(llvmpipe: Device, tiny_package: Path) -> tuple[Loader, Loader]:
    """In half precision on the GPU, and in float32 on the CPU."""
    half, cpu = (Loader.open(tiny_package, backend=backend, threads=THREADS) for backend in ("vulkan-fp16", "cpu"))
    return half, cpu


def test_the_talker_is_near_and_not_that_of_float32(loaders: tuple[Loader, Loader]) -> None:
    half, cpu = (talker.logits(talker.start(ROWS, 8)[0]) for talker in (loader.talker() for loader in loaders))
    assert DECODER_BOUND.limit < relative_error(half, cpu) < DECODER_LIMIT


def test_the_codec_reads_ids_as_they_are_and_decodes_near(loaders: tuple[Loader, Loader]) -> None:
    codes = np.random.default_rng(0).integers(0, 2048, (4, 16))
    streams = [Codec(loader).stream() for loader in loaders]
    half, cpu = (np.concatenate([stream.decode(codes[:2]), stream.decode(codes[2:])]) for stream in streams)
    assert CODEC_LIMIT < signal_to_noise(half, cpu) < CODEC_BOUND.limit


def test_int8_weights_in_it_are_as_far_from_float32_as_they_are_on_the_cpu(
    llvmpipe: Device, tiny_int8_package: Path, tiny_package: Path
) -> None:
    """Not nearer to each other than that: a signal that is rounded before falls into another step of its int8."""
    half, cpu, exact = (
        Loader.open(package, backend=where, threads=THREADS).talker().start(ROWS, 8)[0]
        for package, where in ((tiny_int8_package, "vulkan-fp16"), (tiny_int8_package, "cpu"), (tiny_package, "cpu"))
    )
    assert np.linalg.norm(half - exact) < 1.25 * np.linalg.norm(cpu - exact)
