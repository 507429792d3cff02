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

# Half precision has no bound to keep, but one beyond which something other than rounding is wrong.
HALF_LIMIT, HALF_DECIBELS = 2e-2, 40.0


@pytest.fixture(scope="module")
def package(llvmpipe: Device, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vulkan")
    command("checkpoint", folder / "checkpoint", "--preset", "0.6b", "--type", "custom_voice")
    command("convert", folder / "checkpoint", "-o", folder / "fp32")
    return folder / "fp32"


def logits(loader: Loader) -> Floats:
    """Of one frame: (15, vocabulary)."""
    row, first = np.random.default_rng(0).standard_normal((2, 1, 1024)).astype(np.float32)
    seen: list[Floats] = []

    def choose(values: Floats) -> int:
        seen.append(values)
        return len(seen)

    loader.predictor().fill(row, first, choose)
    return np.stack(seen)


@pytest.mark.parametrize(("place", "limit"), [("vulkan", DECODER_BOUND.limit), ("vulkan-fp16", HALF_LIMIT)])
def test_the_predictor(package: Path, place: str, limit: float) -> None:
    expected, found = (logits(Loader.open(package, backend=where)) for where in ("cpu", f"predictor={place}"))
    worst = max(relative_error(gpu, cpu) for cpu, gpu in zip(expected, found, strict=True))
    print(f"{place}: relative error of the logits {worst:.1e}")
    assert worst <= limit


@pytest.mark.parametrize(("place", "decibels"), [("vulkan", CODEC_BOUND.limit), ("vulkan-fp16", HALF_DECIBELS)])
def test_the_codec(package: Path, place: str, decibels: float) -> None:
    codes = np.random.default_rng(0).integers(0, 2048, (5, 16))
    expected = Codec(Loader.open(package)).decode(codes)
    stream = Codec(Loader.open(package, backend=f"codec={place}")).stream()
    snr = signal_to_noise(np.concatenate([stream.decode(codes[:1]), stream.decode(codes[1:])]), expected)
    print(f"{place}: SNR {snr:.1f} dB")
    assert snr >= decibels
