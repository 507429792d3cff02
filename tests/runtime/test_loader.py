"""Parts whose numbers do not fit each other are refused before a graph is loaded."""

from dataclasses import replace
from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.loader import Loader
from qwen3_tts_ncnn.runtime.manifest import Manifest
from qwen3_tts_ncnn.runtime.package import Package
from tests.runtime.manifests import CODEC_ENCODER, SPEAKER_ENCODER, base_manifest, write_package


def loader(folder: Path, manifest: Manifest) -> Loader:
    return Loader(Package.open(write_package(folder, {}, manifest)), threads=1)


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
