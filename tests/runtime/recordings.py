"""Recordings to clone from, computed: the same samples everywhere."""

import io
from typing import Any

import numpy as np
import soundfile

from qwen3_tts_ncnn.runtime.mat import Floats

RATE = 24000
SAID = "a e i o u, and again."


def recording(samples: int = 2 * RATE, seed: int = 0) -> Floats:
    """Mono samples (n,) at 24 kHz of a gliding voice with some breath in it; another seed is another voice."""
    random, time = np.random.default_rng(seed), np.arange(samples) / RATE
    phase = np.cumsum(2 * np.pi * (110 + 40 * seed + 30 * np.sin(2 * np.pi * (1.3 + seed) * time)) / RATE)
    voice = np.sum([np.sin(k * phase + k) / k for k in range(1, 20)], axis=0)
    loudness = 0.55 + 0.45 * np.sin(2 * np.pi * 3.3 * time + seed)
    wave: Floats = (0.1 * voice * loudness + 0.02 * random.standard_normal(samples)).astype(np.float32)
    return wave


def wav(samples: Any, rate: int = RATE, subtype: str = "FLOAT") -> bytes:
    """A WAV file's bytes; float samples are kept as they are."""
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format="WAV", subtype=subtype)
    return buffer.getvalue()
