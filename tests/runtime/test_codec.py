"""The codec on its own, from any package: a recording to codes, codes to samples."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime import TTS, AudioError, Codec, ModeError, OptionError, PackageError
from qwen3_tts_ncnn.runtime.codec_encoder import CodecEncoder
from qwen3_tts_ncnn.runtime.loader import Loader
from qwen3_tts_ncnn.runtime.reference_audio import read_reference
from tests.conftest import THREADS
from tests.runtime.fakes import random_codes
from tests.runtime.recordings import RATE, recording, wav

PACKAGES = ["tiny_codec_package", "tiny_package", "tiny_base_package"]


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each graph that is loaded from now on."""
    names: list[str] = []
    graph = Loader.graph

    def counted(self: Loader, name: str, **named: Any) -> object:
        names.append(name)
        return graph(self, name, **named)

    monkeypatch.setattr(Loader, "graph", counted)
    return names


@pytest.fixture(scope="module")
def codec(tiny_codec_package: Path) -> Codec:
    return Codec.load(tiny_codec_package, threads=THREADS)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_codec_of_every_package_is_the_same(
    request: pytest.FixtureRequest, tts: TTS, package: str, loads: list[str]
) -> None:
    samples, codes = tts.codec.decode(random_codes(4)), tts.codec.encode_samples(recording())
    folder: Path = request.getfixturevalue(package)
    loads.clear()
    codec = Codec.load(str(folder), threads=THREADS)
    assert loads == ["codec_decoder"]
    assert np.array_equal(codec.decode(random_codes(4)), samples)
    assert np.array_equal(codec.encode_samples(recording()), codes)
    assert loads == ["codec_decoder", "mimi_encoder"]


def test_a_package_of_the_codec_alone_does_not_speak(tiny_codec_package: Path, loads: list[str]) -> None:
    with pytest.raises(ModeError) as caught:
        TTS.load(tiny_codec_package, threads=THREADS)
    assert str(caught.value) == (
        f"{tiny_codec_package} is a package of the codec alone, which does not speak: "
        "use it with `codec encode` and `codec decode`, or give the package of a model"
    )
    assert loads == []


def test_the_encoder_is_loaded_when_it_is_needed_and_once(
    tiny_codec_package: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    codec = Codec.load(tiny_codec_package, threads=THREADS)
    for _ in range(2):
        codec.encode_samples(recording(1920))
    assert loads == ["codec_decoder", "mimi_encoder"]

    def refused(*_: object) -> CodecEncoder:
        raise AssertionError("encoded")

    monkeypatch.setattr(CodecEncoder, "encode", refused)
    with pytest.raises(AudioError):
        codec.encode((recording(10), RATE))


def test_a_recording_is_encoded_in_whatever_form_it_comes(codec: Codec, tmp_path: Path) -> None:
    samples = recording(RATE // 2)
    (tmp_path / "a.wav").write_bytes(wav(samples))
    expected = codec.encode_samples(samples)
    assert expected.shape == (7, 16)
    for source in (
        *((samples, RATE), wav(samples), io.BytesIO(wav(samples)), tmp_path / "a.wav", str(tmp_path / "a.wav")),
    ):
        assert np.array_equal(codec.encode(source), expected)


def test_another_rate_and_more_channels_are_encoded_as_they_are_read(codec: Codec) -> None:
    stereo = wav(np.stack((recording(48000), recording(48000, seed=1)), axis=1), 48000, "PCM_16")
    codes = codec.encode(stereo)
    assert codes.shape == (13, 16)
    assert np.array_equal(codes, codec.encode_samples(read_reference(stereo).samples))


def test_a_recording_comes_back_as_long_as_it_was_up_to_whole_frames(codec: Codec) -> None:
    codes = codec.encode_samples(recording(5000))
    samples = codec.decode(codes)
    assert samples.shape == (3 * 1920,)
    assert np.isfinite(samples).all()
    assert 0 < np.abs(samples).max() <= 1


def test_what_cannot_be_encoded_is_refused(codec: Codec) -> None:
    with pytest.raises(AudioError, match=r"^the reference is longer than 0\.5 s: "):
        codec.encode((recording(RATE), RATE), max_seconds=0.5)
    with pytest.raises(OptionError, match=r"^the longest reference allowed is -1 s, "):
        codec.encode((recording(RATE), RATE), max_seconds=-1)
    with pytest.raises(AudioError, match=r"nowhere\.wav cannot be read "):
        codec.encode("nowhere.wav")


def test_what_cannot_be_loaded_is_refused(tiny_codec_package: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"^backend is 'quantum', expected cpu, vulkan, hybrid or auto, "):
        Codec.load(tiny_codec_package, backend="quantum", threads=THREADS)
    with pytest.raises(OptionError, match=r"^threads is 0, "):
        Codec.load(tiny_codec_package, threads=0)
    with pytest.raises(PackageError, match=r"^package .*nowhere does not exist: "):
        Codec.load(tmp_path / "nowhere", threads=THREADS)


def test_a_loader_names_what_a_package_does_not_have(tiny_codec_package: Path, tiny_package: Path) -> None:
    codec, custom_voice = (Loader.open(folder, threads=THREADS) for folder in (tiny_codec_package, tiny_package))
    with pytest.raises(PackageError, match=r" has no graph talker_decoder: it has mimi_encoder, codec_decoder$"):
        codec.graph("talker_decoder")
    for part in (codec.talker, codec.predictor, codec.speaker_encoder):
        with pytest.raises(ModeError, match=r"is a package of the codec alone, which does not speak: "):
            part()
    with pytest.raises(PackageError, match=r" has no graph speaker_encoder: it has talker_text_embed, "):
        custom_voice.graph("speaker_encoder")
