"""The computed references are speech-like enough, the same everywhere, and awkward on purpose."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from qwen3_tts_ncnn.parity.clips import ReferenceClip, read_clip, speech_like, synthetic_references
from qwen3_tts_ncnn.runtime.errors import AudioError


def test_the_references_are_three_lengths_one_at_another_rate_and_one_in_stereo() -> None:
    clips = synthetic_references()
    assert [round(clip.seconds, 1) for clip in clips] == [3.0, 11.0, 0.9]
    assert [clip.rate for clip in clips] == [24_000, 16_000, 24_000]
    assert [clip.samples.ndim for clip in clips] == [1, 1, 2]
    assert all(clip.transcript for clip in clips)


def test_no_reference_is_a_whole_number_of_frames() -> None:
    assert all(len(clip.samples) * 24_000 / clip.rate % 1920 for clip in synthetic_references())


def test_the_same_arguments_give_the_same_samples_and_others_do_not() -> None:
    samples = speech_like(9_601, 24_000, seed=5)
    assert (samples.shape, samples.dtype) == ((9_601,), np.float32)
    assert np.array_equal(samples, speech_like(9_601, 24_000, seed=5))
    assert not np.array_equal(samples, speech_like(9_601, 24_000, seed=6))


@pytest.mark.parametrize("count", [1, 2400, 72_011])
@pytest.mark.parametrize("rate", [8000, 24_000, 96_000])
def test_a_clip_peaks_at_minus_6_dbfs_and_nothing_in_it_is_broken(count: int, rate: int) -> None:
    samples = speech_like(count, rate, seed=0)
    assert np.isfinite(samples).all()
    assert np.abs(samples).max() == 0.5


def test_a_voice_is_louder_below_4_khz_and_has_pauses() -> None:
    samples = speech_like(72_000, 24_000, seed=0)
    spectrum = np.abs(np.fft.rfft(samples)) ** 2
    assert spectrum[:12_000].sum() > 100 * spectrum[12_000:].sum()
    levels = np.sqrt(np.square(samples.reshape(-1, 480)).mean(axis=1))
    assert levels.max() > 30 * levels.min()


def test_mono_is_the_mean_of_the_channels() -> None:
    stereo = np.array([[0.5, 0.25], [-1, 1]], dtype=np.float32)
    mono = ReferenceClip("two", stereo, 24_000).mono
    assert mono.tolist() == [0.375, 0]
    assert ReferenceClip("one", mono, 24_000).mono is mono


def test_a_sound_file_becomes_a_clip(tmp_path: Path) -> None:
    samples = np.array([[0.5, -0.5], [0.25, 0]], dtype=np.float32)
    soundfile.write(tmp_path / "me.wav", samples, 16_000, subtype="FLOAT")
    clip = read_clip(tmp_path / "me.wav", "Hello.")
    assert (clip.name, clip.rate, clip.transcript) == ("me.wav", 16_000, "Hello.")
    assert np.array_equal(clip.samples, samples)
    assert clip.without_transcript().transcript is None
    assert clip.without_transcript().samples is clip.samples


def test_what_is_no_sound_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "me.wav"
    path.write_bytes(b"no sound")
    with pytest.raises(AudioError, match=r"me\.wav cannot be read \(Format not recogni.*\): give the path") as caught:
        read_clip(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.wav", tmp_path):
        with pytest.raises(AudioError, match=r" is not there: give the path of a sound file$"):
            read_clip(path)
