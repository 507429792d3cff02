"""Samples become the x-vector that upstream hears."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from qwen3_tts_ncnn.convert.mel_filters import mel_filters
from qwen3_tts_ncnn.parity.heard import COSINE_BOUND, cosine
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.runtime import TTS, PackageError
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.mel import MelSpectrogram
from qwen3_tts_ncnn.runtime.speaker_encoder import SpeakerEncoder, load_mel
from tests.runtime.recordings import RATE, recording


class FakeGraph:
    """Its x-vector is its input's shape and sum."""

    def run(self, inputs: dict[str, Floats], output: str) -> Floats:
        assert (list(inputs), output) == (["mel"], "x_vector")
        mel = inputs["mel"]
        assert mel.dtype == np.float32
        return np.array([[*mel.shape, mel.sum()]], dtype=np.float32)


def test_the_graph_hears_the_mel_of_the_samples() -> None:
    graph: Any = FakeGraph()
    mel = MelSpectrogram(mel_filters())
    samples = recording(5000)
    x_vector = SpeakerEncoder(graph, mel).encode(samples)
    assert x_vector.tolist() == [5000 // 256, 128, pytest.approx(mel(samples).sum())]


@pytest.mark.parametrize("samples", [4800, 5000, 2 * RATE, 11 * RATE + 7])
def test_the_x_vector_is_upstream_s(base: TTS, oracle: Oracle, samples: int) -> None:
    """From 0.2 s on; shorter recordings are refused."""
    wave = recording(samples)
    ours = base._loader.speaker_encoder().encode(wave)
    theirs = oracle._upstream.model.extract_speaker_embedding(wave, 24000).numpy()
    similarity = cosine(ours, theirs)
    assert similarity is not None
    assert similarity >= COSINE_BOUND
    assert np.abs(ours - theirs).max() <= 2e-5 * np.abs(theirs).max()


def test_the_filters_of_the_package_are_librosa_s(tiny_base_package: Path) -> None:
    tables = load_file(tiny_base_package / "mel_filters.safetensors")
    assert list(tables) == ["filters"]
    assert tables["filters"].dtype == np.float32
    assert np.array_equal(tables["filters"], mel_filters())


def test_filters_that_are_not_there_or_not_whole_are_one_line(tmp_path: Path) -> None:
    save_file({"filters": np.zeros((128, 512), np.float32)}, tmp_path / "narrow")
    save_file({"other": np.zeros((128, 513), np.float32)}, tmp_path / "other")
    (tmp_path / "cut").write_bytes((tmp_path / "other").read_bytes()[:-1])
    for name in ("narrow", "other", "cut", "missing"):
        with pytest.raises(PackageError) as caught:
            load_mel(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name} cannot be read (")
        assert str(caught.value).endswith("): verify the package")
        assert "\n" not in str(caught.value)
