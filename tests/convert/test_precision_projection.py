"""The 1.7B's predictor, which begins with a projection: the only Linear with a bias in a graph that may change."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.precision.change import convert_package
from qwen3_tts_ncnn.convert.precision.check import COSINE_BOUND
from qwen3_tts_ncnn.convert.precision.formats import parse_formats
from qwen3_tts_ncnn.convert.precision.model_bin import GEMM_C_KIND, GEMM_N, read_weights
from qwen3_tts_ncnn.runtime import TTS
from qwen3_tts_ncnn.runtime.param import read_param
from tests.conftest import THREADS, Folder


@pytest.fixture(scope="module")
def large_package(package_of: Folder) -> Path:
    """The package of a tiny checkpoint whose talker is wider than its predictor. Read it, never change it."""
    return package_of("tiny-1.7b", "custom_voice")


def test_the_projection_alone_has_a_bias(large_package: Path) -> None:
    graph = read_param((large_package / "predictor_decoder.param").read_text())
    found = list(read_weights(graph, large_package / "predictor_decoder.bin"))
    gemms = [(layer, weights) for layer, weights in found if layer.type == "Gemm"]
    (projection, (_, bias)), *others = gemms
    assert (projection.params[GEMM_C_KIND], projection.params[GEMM_N]) == (4, len(bias.values))
    assert np.any(bias.values)
    assert {layer.params[GEMM_C_KIND] for layer, _ in others} == {-1}


@pytest.mark.filterwarnings("ignore::qwen3_tts_ncnn.runtime.SpeechWarning")
@pytest.mark.parametrize("word", ["int8", "int8/32", "int8/row", "bf16"])
def test_a_package_with_a_projection_computes_what_it_did_and_speaks(
    large_package: Path, tmp_path: Path, word: str
) -> None:
    reports = convert_package(large_package, tmp_path / "package", *parse_formats([word]))
    assert [report.name for report in reports].count("predictor_decoder") == 1
    assert all(COSINE_BOUND.limit < 0.99 < report.measured <= 1 for report in reports)
    tts = TTS.load(tmp_path / "package", threads=THREADS)
    with tts.stream("Hello.", speaker="ryan", greedy=True, max_frames=4) as stream:
        samples = np.concatenate(list(stream))
    assert len(samples) in range(1920, 4 * 1920 + 1, 1920)
    assert np.isfinite(samples).all()
    assert 0 < np.abs(samples).max() <= 1
