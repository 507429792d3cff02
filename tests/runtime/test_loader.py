"""Parts whose numbers do not fit each other are refused before a graph is loaded."""

from dataclasses import replace
from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime.errors import DeviceError, PackageError
from qwen3_tts_ncnn.runtime.loader import Loader
from qwen3_tts_ncnn.runtime.manifest import Manifest
from qwen3_tts_ncnn.runtime.package import Package
from tests.runtime.gpus import LARGE, Gpus, gpus
from tests.runtime.manifests import CODEC_ENCODER, SPEAKER_ENCODER, base_manifest, write_package

__all__ = ["gpus"]


def loader(folder: Path, manifest: Manifest) -> Loader:
    return Loader(Package.open(write_package(folder, {}, manifest)), threads=1)


def test_a_graph_that_finds_no_memory_on_its_gpu_is_told_with_what_fits(
    tiny_package: Path, gpus: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(param: Path, weights: Path, option: object, device: object, **_: object) -> None:
        if param.stem == "predictor_decoder":
            raise DeviceError(f"device {device} has no memory left for the graph {param.stem}")

    gpus(LARGE)
    monkeypatch.setattr("qwen3_tts_ncnn.runtime.loader.Graph", full)
    placed = Loader.open(tiny_package, backend="codec=vulkan,predictor=vulkan-fp16", threads=1)
    line = "device 1 (GeForce RTX 4090) has no memory left for the graph predictor_decoder: what fits is backend "
    for loaded, fits in ((None, "cpu"), ("predictor_heads", "predictor_heads=vulkan-fp16:1")):
        if loaded is not None:
            placed.graph(loaded)
        with pytest.raises(DeviceError) as caught:
            placed.graph("predictor_decoder")
        assert str(caught.value) == line + fits


def test_encoders_that_hear_another_rate_are_refused(tmp_path: Path) -> None:
    low = base_manifest(
        codec_encoder=replace(CODEC_ENCODER, sample_rate=16000),
        speaker_encoder=replace(SPEAKER_ENCODER, sample_rate=16000),
    )
    loaded = loader(tmp_path / "low", low)
    for load in (loaded.codec_encoder, loaded.speaker_encoder):
        with pytest.raises(PackageError) as caught:
            load()
        assert str(caught.value) == (
            f"{tmp_path / 'low'} hears recordings at 16000 Hz, this version gives them at 24000 Hz: convert the "
            "checkpoint again"
        )


def test_x_vectors_of_another_width_than_the_talker_s_are_refused(tmp_path: Path) -> None:
    loaded = loader(tmp_path / "wide", base_manifest(speaker_encoder=replace(SPEAKER_ENCODER, width=12)))
    with pytest.raises(PackageError) as caught:
        loaded.speaker_encoder()
    assert str(caught.value) == (
        f"{tmp_path / 'wide'} makes x-vectors of 12 values for a talker of 8: convert the checkpoint again"
    )
