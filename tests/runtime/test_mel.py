"""The log-mel spectrogram is upstream's, as far as upstream's own float32 rounding lets it be."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.mel_filters import mel_filters
from qwen3_tts_ncnn.parity.upstream_stubs import import_upstream
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.mel import MelSpectrogram

RATE = 24000
Mel = Callable[[Floats], NDArray[np.floating]]


@pytest.fixture(scope="module")
def mel() -> MelSpectrogram:
    return MelSpectrogram(mel_filters())


@pytest.fixture(scope="module")
def upstream() -> Mel:
    import_upstream()
    from qwen_tts.core.models.modeling_qwen3_tts import mel_spectrogram

    def frames(samples: Floats) -> NDArray[np.float32]:
        torch.set_num_threads(1)
        mels = mel_spectrogram(torch.from_numpy(samples)[None], 1024, 128, RATE, 256, 1024, 0, 12000)
        return mels[0].T.numpy()  # type: ignore[no-any-return]

    return frames


def in_float64(samples: Floats) -> NDArray[np.float64]:
    """Upstream's formula (modeling_qwen3_tts.py:396–459) with its float32 window and filters, the rest in float64."""
    wave = torch.nn.functional.pad(torch.from_numpy(samples).double()[None, None], (384, 384), mode="reflect")[0]
    window = torch.hann_window(1024).double()
    spectrum = torch.stft(wave, 1024, 256, 1024, window=window, center=False, return_complex=True)[0]
    magnitude = torch.sqrt(spectrum.real**2 + spectrum.imag**2 + 1e-9)
    filters = torch.from_numpy(mel_filters()).double()
    return torch.log(torch.clamp(filters @ magnitude, min=1e-5)).T.numpy()  # type: ignore[no-any-return]


def noise(seconds: float, level: float, seed: int = 0) -> NDArray[np.float64]:
    return level * np.random.default_rng(seed).standard_normal(round(seconds * RATE))


def speech_like(seconds: float) -> NDArray[np.float64]:
    """Syllables of a gliding voice with 59 harmonics, and pauses between them."""
    time = np.arange(round(seconds * RATE)) / RATE
    phase = np.cumsum(2 * np.pi * (120 + 30 * np.sin(2 * np.pi * 1.3 * time)) / RATE)
    voice = np.sum([np.sin(k * phase) / k for k in range(1, 60)], axis=0)
    return 0.2 * voice * (np.sin(2 * np.pi * 2.1 * time) > -0.3) * (0.5 + 0.5 * np.sin(2 * np.pi * 3.3 * time))


def tone(hertz: float, level: float, seconds: float = 1.0) -> NDArray[np.float64]:
    return level * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)


def impulse() -> NDArray[np.float64]:
    samples = np.zeros(RATE)
    samples[5000] = 1
    return samples


ROOM = 10 ** (-55 / 20)  # the noise of a quiet room in a recording

RECORDINGS = {
    "loud noise": (noise(3, 0.2), 2e-5),
    "quiet noise": (noise(1, 1e-3), 2e-5),
    "the shortest": (noise(0.2, 0.1), 2e-5),
    "the shortest speech": (speech_like(0.2) + noise(0.2, ROOM), 2e-5),
    "speech in a room": (speech_like(4) + noise(4, ROOM), 2e-5),
    "half a minute of speech": (speech_like(30) + noise(30, ROOM), 5e-5),
    "tone in a room": (tone(440, 0.01) + noise(1, ROOM), 2e-5),
    "loud tone in noise": (tone(1000, 0.5) + noise(1, 0.01), 1e-4),
    "impulse": (impulse(), 2e-5),
    "silence": (np.zeros(RATE), 0),
    "not a whole number of hops": (noise(1, 0.1)[:12345], 2e-5),
}


@pytest.mark.parametrize("name", RECORDINGS)
def test_mel_is_upstreams(name: str, mel: MelSpectrogram, upstream: Mel) -> None:
    recording, tolerance = RECORDINGS[name]
    samples = recording.astype(np.float32)
    ours, theirs = mel(samples), upstream(samples)
    assert ours.dtype == np.float32
    assert ours.shape == theirs.shape == (len(samples) // 256, 128)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


CLEAN = {
    "tone": tone(440, 0.5),
    "loudest tone": tone(1000, 1.0),
    "chirp": 0.8 * np.sin(2 * np.pi * (50 + 700 * np.arange(RATE) / RATE) * np.arange(RATE) / RATE),
    "clean speech": speech_like(3),
}


@pytest.mark.parametrize("name", CLEAN)
def test_without_any_noise_mel_is_nearer_to_the_formula_than_upstream(
    name: str, mel: MelSpectrogram, upstream: Mel
) -> None:
    """Quiet bins beside loud ones hold upstream's own rounding: there the formula in float64 is the measure."""
    samples = CLEAN[name].astype(np.float32)
    exact, ours, theirs = in_float64(samples), mel(samples), upstream(samples)
    assert np.abs(ours - exact).max() < np.abs(theirs - exact).max() / 3
    # As energies, relative to the loudest, they differ by float32's last places: 2.4e-7 of a logarithm between 2 and 4,
    # and as much again for the transform.
    np.testing.assert_allclose(np.exp(ours), np.exp(theirs), rtol=0, atol=5e-7 * np.exp(theirs.max()))


def test_length_changes_no_frame_that_is_whole(mel: MelSpectrogram) -> None:
    samples = noise(20, 0.1).astype(np.float32)
    whole, part = mel(samples), mel(samples[: 10 * RATE])
    np.testing.assert_allclose(part[:-2], whole[: len(part) - 2], rtol=0, atol=1e-6)


def test_the_same_samples_give_the_same_bytes(mel: MelSpectrogram) -> None:
    samples = noise(5, 0.1).astype(np.float32)
    assert mel(samples).tobytes() == MelSpectrogram(mel_filters())(samples.copy()).tobytes()


def test_a_minute_takes_little_memory(mel: MelSpectrogram) -> None:
    samples = noise(60, 0.1).astype(np.float32)
    tracemalloc.start()
    mel(samples)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 48 << 20


@pytest.mark.parametrize("shape", [(384,), (0,), (2, 4800)])
def test_samples_that_give_no_frame_are_refused(shape: tuple[int, ...], mel: MelSpectrogram) -> None:
    with pytest.raises(ValueError, match="samples have the shape"):
        mel(np.zeros(shape, np.float32))


@pytest.mark.parametrize("shape", [(513, 128), (513,)])
def test_filters_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected \(mels, 513\)"):
        MelSpectrogram(np.zeros(shape, np.float32))
