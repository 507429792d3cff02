"""The predictor and the codec in official size on llvmpipe, within their bounds. Nothing is timed."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.export.check import relative_error, signal_to_noise
from qwen3_tts_ncnn.convert.plans import CODEC_BOUND, DECODER_BOUND
from qwen3_tts_ncnn.runtime.codec import Codec
from qwen3_tts_ncnn.runtime.devices import Device
from qwen3_tts_ncnn.runtime.loader import Loader
from qwen3_tts_ncnn.runtime.mat import Floats
from tests.full.command import command
from tests.vulkan.conftest import llvmpipe

__all__ = ["llvmpipe"]

pytestmark = pytest.mark.full

Loaders = tuple[Loader, Loader]


@pytest.fixture(scope="module")
def loaders(llvmpipe: Device, tmp_path_factory: pytest.TempPathFactory) -> Loaders:
    folder = tmp_path_factory.mktemp("vulkan")
    command("checkpoint", folder / "checkpoint", "--preset", "0.6b", "--type", "custom_voice")
    command("convert", folder / "checkpoint", "-o", folder / "fp32")
    return both(folder / "fp32")


def both(package: Path) -> Loaders:
    return Loader.open(package), Loader.open(package, backend="predictor=vulkan,codec=vulkan")


def test_the_predictor(loaders: Loaders) -> None:
    row, first = np.random.default_rng(0).standard_normal((2, 1, 1024)).astype(np.float32)
    logits: list[list[Floats]] = []
    for loader in loaders:
        seen: list[Floats] = []

        def choose(values: Floats, seen: list[Floats] = seen) -> int:
            seen.append(values)
            return int(values.argmax())

        loader.predictor().fill(row, first, choose)
        logits.append(seen)
    worst = max(relative_error(gpu, cpu) for cpu, gpu in zip(*logits, strict=True))
    print(f"relative error of the logits {worst:.1e}")
    assert worst <= DECODER_BOUND.limit


def test_the_codec(loaders: Loaders) -> None:
    codes = np.random.default_rng(0).integers(0, 2048, (5, 16))
    expected = Codec(loaders[0]).decode(codes)
    stream = Codec(loaders[1]).stream()
    snr = signal_to_noise(np.concatenate([stream.decode(codes[:1]), stream.decode(codes[1:])]), expected)
    print(f"SNR {snr:.1f} dB")
    assert snr >= CODEC_BOUND.limit
