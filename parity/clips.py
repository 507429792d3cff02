"""Recordings to clone from: one of the user's, or speech-like ones that are computed and need no file."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from qwen3_tts_ncnn.parity.trace import FloatArray
from qwen3_tts_ncnn.runtime.errors import AudioError

# Centres (Hz) of the first three formants of five vowels, as the textbooks have them for a male voice.
VOWELS = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410))
BANDWIDTHS = (90, 110, 170)

_SYLLABLE_SECONDS = 0.21


@dataclass(frozen=True, eq=False)
class ReferenceClip:
    """A recording, and what is said in it.

    Attributes:
        name: for reports.
        samples: (n,) or (n, channels) float32, within ±1.
        rate: samples a second.
        transcript: for cloning in context; None clones by x-vector alone.
    """

    name: str
    samples: FloatArray
    rate: int
    transcript: str | None = None

    @property
    def mono(self) -> FloatArray:
        """(n,) the mean of the channels.

        Upstream is given this, because it raises TypeError for a stereo array (qwen3_tts_model.py:262).
        """
        if self.samples.ndim == 1:
            return self.samples
        mean: FloatArray = self.samples.T.mean(axis=0, dtype=np.float32)
        return mean

    @property
    def seconds(self) -> float:
        """How long it is."""
        return len(self.samples) / self.rate

    def without_transcript(self) -> "ReferenceClip":
        """The same recording, to clone by x-vector alone."""
        return replace(self, transcript=None)


def read_clip(path: Path, transcript: str | None = None) -> ReferenceClip:
    """A sound file as a clip. Raises `AudioError` where it cannot be read."""
    if not path.is_file():
        raise AudioError(f"{path} is not there: give the path of a sound file")
    try:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    except (OSError, soundfile.SoundFileError) as error:
        reason = getattr(error, "error_string", None) or getattr(error, "strerror", None) or error
        raise AudioError(f"{path} cannot be read ({reason}): give the path of a sound file") from None
    return ReferenceClip(path.name, samples, rate, transcript)


def synthetic_references() -> tuple[ReferenceClip, ...]:
    """The suite's three references: 3 s, 11 s at another rate, 0.9 s in stereo. None is a whole number of frames.

    The seeds are those with which no choice of the default tiny model, in codes or in tokens, is nearly a tie.
    """
    left, right = (speech_like(21_613, 24_000, seed) for seed in (2, 1002))
    return (
        ReferenceClip("3 s", speech_like(72_011, 24_000, seed=3), 24_000, "This is how I usually sound."),
        ReferenceClip("11 s, 16 kHz", speech_like(176_003, 16_000, seed=2), 16_000, "一个人的声音，就像他的指纹一样。"),
        ReferenceClip("0.9 s, stereo", np.stack((left, right), axis=1), 24_000, "Good morning to you all, my friends!"),
    )


def speech_like(count: int, rate: int, seed: int) -> FloatArray:
    """Samples (count,) that an encoder takes for somebody talking: voiced syllables of moving pitch, and breath.

    Not speech, but like it in what matters here: harmonics under formants, silence between words, a noise floor. The
    same arguments give the same samples, up to what numpy's sine differs in from machine to machine.
    """
    random = np.random.default_rng(seed)
    time = np.arange(count) / rate
    syllables = int(time[-1] / _SYLLABLE_SECONDS) + 2
    pitch = _glide(random.uniform(0.85, 1.2, syllables) * random.uniform(95, 210), time)
    formants = [_glide(centres, time) for centres in random.permutation(np.resize(VOWELS, (syllables, 3))).T]
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    voice = np.zeros(count)
    for harmonic in range(1, int(min(4000, 0.45 * rate) / pitch.min())):
        frequency = harmonic * pitch
        envelope = sum(
            1 / (1 + ((frequency - centre) / width) ** 2) for centre, width in zip(formants, BANDWIDTHS, strict=True)
        )
        # A glottal pulse falls by 12 dB an octave, and lips radiate 6 dB an octave more of the high ones.
        voice += np.where(frequency < 0.45 * rate, envelope / harmonic, 0) * np.sin(harmonic * phase)
    breath = random.standard_normal(count)
    loudness = _syllable_loudness(random, syllables, time)
    samples = voice / np.abs(voice).max() * loudness + breath * (0.02 * loudness + 0.0005)
    scaled: FloatArray = (0.5 * samples / np.abs(samples).max()).astype(np.float32)
    return scaled


def _glide(values: NDArray[np.float64], time: NDArray[np.float64]) -> NDArray[np.float64]:
    """One value a syllable, joined by straight lines."""
    return np.interp(time / _SYLLABLE_SECONDS, np.arange(len(values)), values)


def _syllable_loudness(random: np.random.Generator, syllables: int, time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rises and falls with each syllable; one in five is a pause."""
    peaks = random.uniform(0.4, 1.0, syllables) * (random.random(syllables) > 0.2)
    peaks[0] = 1.0  # the shortest clip is not to be silent
    place = time / _SYLLABLE_SECONDS
    shape: NDArray[np.float64] = np.sin(np.pi * (place % 1)) ** 2
    return np.asarray(peaks[place.astype(int)] * shape)
