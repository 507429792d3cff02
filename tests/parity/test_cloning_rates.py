"""A reference of any rate and of two channels is heard as upstream hears it, and is the same voice."""

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

from qwen3_tts_ncnn.parity.clips import ReferenceClip, speech_like
from qwen3_tts_ncnn.parity.heard import cosine
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.parity.trace import Heard
from qwen3_tts_ncnn.runtime import TTS, ReferenceWarning, Voice

RATES = (8000, 16_000, 22_050, 24_000, 44_100, 48_000, 96_000)
SECONDS = 3
TRANSCRIPT = "This is how I usually sound."


def recording(rate: int) -> NDArray[np.float32]:
    """One recording that an 8 kHz telephone line let through, at any rate: its spectrum, with zeros above."""
    master = speech_like(SECONDS * RATES[0], RATES[0], seed=0)
    spectrum = np.fft.rfft(master)
    samples = np.fft.irfft(np.pad(spectrum, (0, SECONDS * rate // 2 + 1 - len(spectrum))), SECONDS * rate)
    return (samples * (rate / RATES[0])).astype(np.float32)


def clone(tts: TTS, samples: NDArray[np.float32], rate: int) -> Voice:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReferenceWarning)
        return tts.clone((samples, rate), transcript=TRANSCRIPT)


def upstream_hears(oracle: Oracle, samples: NDArray[np.float32], rate: int) -> Heard:
    return oracle.hear(ReferenceClip("clip", samples, rate, TRANSCRIPT))


@pytest.mark.parametrize("rate", RATES)
def test_a_recording_of_any_rate_is_heard_as_upstream_hears_it(base_tts: TTS, base_oracle: Oracle, rate: int) -> None:
    voice, heard = clone(base_tts, recording(rate), rate), upstream_hears(base_oracle, recording(rate), rate)
    assert cosine(voice.x_vector, heard.x_vector) >= 0.999999
    assert np.array_equal(voice.codes, heard.codes)


@pytest.mark.parametrize("rate", RATES)
def test_the_same_recording_at_another_rate_is_the_same_voice(base_tts: TTS, rate: int) -> None:
    at_8_khz = clone(base_tts, recording(RATES[0]), RATES[0]).x_vector
    assert cosine(clone(base_tts, recording(rate), rate).x_vector, at_8_khz) >= 0.99


@pytest.mark.parametrize("rate", [16_000, 24_000, 44_100])
def test_a_stereo_recording_is_the_mean_of_its_channels(base_tts: TTS, base_oracle: Oracle, rate: int) -> None:
    left, right = recording(rate), speech_like(SECONDS * rate, rate, seed=1)
    stereo = np.stack((left, right), axis=1)
    voice, heard = clone(base_tts, stereo, rate), upstream_hears(base_oracle, stereo, rate)
    assert cosine(voice.x_vector, heard.x_vector) >= 0.999999
    assert np.array_equal(voice.codes, heard.codes)
    assert voice.to_bytes() == clone(base_tts, (left + right) / 2, rate).to_bytes()


def test_a_rate_told_wrongly_is_another_voice(base_tts: TTS) -> None:
    """What 0.99 tells apart: the same samples at twice the speed."""
    at_8_khz = clone(base_tts, recording(RATES[0]), RATES[0]).x_vector
    assert cosine(clone(base_tts, recording(RATES[0]), 2 * RATES[0]).x_vector, at_8_khz) < 0.99
