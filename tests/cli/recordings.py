"""Recordings to clone from: noise with a tone, which any speaker encoder has an opinion of, and some that are wrong."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

FITTING = "Some nine syllables are said in this."
"""A transcript that three seconds have room for."""


def recording(seconds: float, rate: int = 24000, channels: int = 1) -> NDArray[np.float64]:
    """(n, channels) of noise at −20 dBFS with a tone, other noise in each channel."""
    count = round(seconds * rate)
    tone = 0.2 * np.sin(2 * np.pi * 330 * np.arange(count) / rate)
    return tone[:, None] + 0.1 * np.random.default_rng(0).standard_normal((count, channels))


def write_recording(path: Path, seconds: float, rate: int = 24000, channels: int = 1) -> Path:
    """A PCM16 file by the path's suffix."""
    soundfile.write(path, recording(seconds, rate, channels), rate)
    return path


def _constant(value: float) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        soundfile.write(path, np.full(24000, float(value)), 24000, subtype="FLOAT")

    return write


def _one_sample(value: float) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        samples = recording(1.0)
        samples[5000] = value
        soundfile.write(path, samples, 24000, subtype="FLOAT")

    return write


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.touch(), "{path} is empty (0 bytes), expected a sound file"),
    "no samples": (lambda path: write_recording(path, 0), "{path} holds no samples, expected at least 0.2 s"),
    "too short": (
        lambda path: write_recording(path, 0.199),
        "{path} is 0.199 s long, expected at least 0.2 s: record 3 to 15 s of speech",
    ),
    "silent": (
        _constant(0),
        "{path} is silent: its peak is -inf dBFS, expected at least -60 dBFS: record it louder",
    ),
    "too quiet": (
        lambda path: soundfile.write(path, 1e-4 * np.sin(np.arange(24000)), 24000, subtype="FLOAT"),
        "{path} is silent: its peak is -80.0 dBFS, expected at least -60 dBFS: record it louder",
    ),
    "NaN": (_one_sample(np.nan), "{path} holds NaN or infinite samples: export the recording again"),
    "infinite": (_one_sample(np.inf), "{path} holds NaN or infinite samples: export the recording again"),
    "another unit": (
        lambda path: soundfile.write(path, 3000 * recording(1.0), 24000, subtype="FLOAT"),
        "expected samples within ±1: divide them by the full scale of their unit",
    ),
    "no sound file": (
        lambda path: path.write_text("Some text."),
        "; convert it to WAV or FLAC; formats that can be read: AIFF, AU, AVR, CAF, FLAC, ",
    ),
    "missing": (lambda path: None, "{path} cannot be read (No such file or directory): give the path of a sound file"),
    "a folder": (lambda path: path.mkdir(), "{path} cannot be read (Is a directory): give the path of a sound file"),
    "too long": (
        lambda path: write_recording(path, 60.5, 8000),
        "{path} is longer than 60 s: cut it (3 to 15 s of clear speech are best), or allow more with "
        "--max-reference-seconds (max_seconds in Python)",
    ),
    "a rate of no recording": (
        lambda path: write_recording(path, 1.0, 4000),
        "{path} has 4000 samples a second, expected 8000 to 192000: resample it, or correct the rate",
    ),
}
"""What makes a recording that none can be cloned from, and what the line that refuses it says."""
