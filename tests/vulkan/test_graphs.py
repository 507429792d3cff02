"""Each graph on a GPU within its float32 bound against the CPU."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.export.check import relative_error, signal_to_noise
from qwen3_tts_ncnn.convert.plans import CODEC_BOUND, DECODER_BOUND, ENCODER_BOUND, SMALL_BOUND
from qwen3_tts_ncnn.runtime.devices import Device
from qwen3_tts_ncnn.runtime.graph import layers_on_cpu
from qwen3_tts_ncnn.runtime.loader import Loader
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.predictor import Choose
from tests.conftest import THREADS
from tests.runtime.recordings import recording
from tests.vulkan.conftest import Pair

WIDTH = 64


def rows(count: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((count, WIDTH)).astype(np.float32)


def test_talker(pair: Pair) -> None:
    cpu, gpu = (tts._talker for tts in pair("base"))
    ids = [1, 151644, 77]
    assert relative_error(gpu.text_rows(ids), cpu.text_rows(ids)) <= SMALL_BOUND.limit
    (expected, past), (hidden, gpu_past) = cpu.start(rows(5), 32), gpu.start(rows(5), 32)
    for step in range(12):
        assert relative_error(hidden, expected) <= DECODER_BOUND.limit
        assert relative_error(gpu.logits(expected), cpu.logits(expected)) <= SMALL_BOUND.limit
        row = rows(1, seed=step + 1)
        expected, hidden = cpu.step(row, past), gpu.step(row, gpu_past)
    assert past.offset == gpu_past.offset == 17


def test_predictor(pair: Pair) -> None:
    """Two frames: the second begins with the memory of the first."""
    cpu, gpu = (tts._predictor for tts in pair("base"))
    for frame in range(2):
        hidden, first = rows(1, seed=frame), rows(1, seed=frame + 2)
        expected: list[Floats] = []
        seen: list[Floats] = []
        assert gpu.fill(hidden, first, keeping(seen))[0] == cpu.fill(hidden, first, keeping(expected))[0]
        assert len(seen) == len(expected) == 15
        for logits, wanted in zip(seen, expected, strict=True):
            assert relative_error(logits, wanted) <= DECODER_BOUND.limit


def keeping(seen: list[Floats]) -> Choose:
    """Chooses the likeliest, and keeps the logits."""

    def choose(logits: Floats) -> int:
        seen.append(logits)
        return int(logits.argmax())

    return choose


def test_codec_decoder_in_chunks_of_any_size(pair: Pair) -> None:
    cpu, gpu = (tts.codec for tts in pair("base"))
    codes = np.random.default_rng(0).integers(0, 2048, (7, 16))
    expected, stream = cpu.decode(codes), gpu.stream()
    samples = np.concatenate([stream.decode(piece) for piece in (codes[:1], codes[1:5], codes[5:])])
    assert signal_to_noise(samples, expected) >= CODEC_BOUND.limit


def test_codec_encoder(pair: Pair) -> None:
    cpu, gpu = (tts.codec for tts in pair("base"))
    samples = recording(1920 * 5 - 100)
    np.testing.assert_array_equal(gpu.encode_samples(samples), cpu.encode_samples(samples))


def test_speaker_encoder(pair: Pair) -> None:
    cpu, gpu = (tts._speaker_encoder.get() for tts in pair("base"))
    samples = recording(12000)
    assert relative_error(gpu.encode(samples), cpu.encode(samples)) <= ENCODER_BOUND.limit


def test_only_the_codec_s_lookup_is_left_to_the_cpu(llvmpipe: Device, tiny_base_package: Path) -> None:
    loader = Loader.open(tiny_base_package, backend="vulkan", threads=THREADS)
    left = {name: dict(layers_on_cpu(loader.graph(name)._net)) for name in loader.placement.places}
    assert {name: layers for name, layers in left.items() if layers} == {"codec_decoder": {"Embed": 1}}
    assert len(left) == 8


@pytest.mark.parametrize("name", ["talker_decoder", "predictor_decoder"])
def test_int8_weights_are_left_to_the_cpu(llvmpipe: Device, tiny_int8_package: Path, name: str) -> None:
    cpu, gpu = (Loader.open(tiny_int8_package, backend=where, threads=THREADS) for where in ("cpu", "vulkan"))
    param = tiny_int8_package / f"{name}.param"
    gemms = param.read_text().count("\nGemm ")
    assert dict(layers_on_cpu(gpu.graph(name)._net)) == {"Gemm": gemms}
    if name == "talker_decoder":
        (expected, _), (hidden, _) = (loader.talker().start(rows(5), 8) for loader in (cpu, gpu))
        assert relative_error(hidden, expected) <= DECODER_BOUND.limit
