"""Samples to sound files."""

import io
import struct
from pathlib import Path

import numpy as np
import soundfile

from qwen3_tts_ncnn.runtime.errors import OptionError, OutputError
from qwen3_tts_ncnn.runtime.files import cannot_be_written, check_place, write_beside
from qwen3_tts_ncnn.runtime.mat import Floats

# Sample formats by the name users give them: libsndfile's subtype.
SUBTYPES = {"pcm16": "PCM_16", "pcm24": "PCM_24", "float": "FLOAT"}

# File formats by suffix: libsndfile's format, and the sample formats it takes. Raw is the samples alone, little-endian.
FORMATS = {
    ".wav": ("WAV", ("pcm16", "pcm24", "float")),
    ".flac": ("FLAC", ("pcm16", "pcm24")),
    ".raw": ("RAW", ("pcm16", "pcm24", "float")),
}

# What a WAV header needs to know of a sample format: the format tag, and the bytes of a sample.
_WAV_SAMPLES = {"pcm16": (1, 2), "pcm24": (1, 3), "float": (3, 4)}

# The size of what has not ended yet, as players and ffmpeg take it.
_UNKNOWN = 0xFFFFFFFF


def check_output(path: Path, subtype: str) -> None:
    """Raises `OptionError` or `OutputError` when such a file could not be written, before anything is computed."""
    if path.suffix.lower() not in FORMATS:
        raise OptionError(f"{path} does not end in {' or '.join(FORMATS)}: give the output one of these endings")
    format, subtypes = FORMATS[path.suffix.lower()]
    if subtype not in subtypes:
        raise OptionError(f"{format} has no sample format {subtype!r}: choose one of {', '.join(subtypes)}")
    try:
        check_place(path)
    except OSError as error:
        raise cannot_be_written(path, error) from None


def encode_audio(samples: Floats, sample_rate: int, *, format: str = "WAV", subtype: str = "pcm16") -> bytes:
    """The bytes of a sound file of mono samples in ±1.

    Raises `OutputError` for NaN or infinite samples: they would become silence.
    """
    if not np.isfinite(samples).all():
        raise OutputError("the samples hold NaN or infinite values: verify the package, and report it if it is whole")
    buffer = io.BytesIO()
    endian = "LITTLE" if format == "RAW" else "FILE"  # the machine's own if nothing is said
    soundfile.write(buffer, samples, sample_rate, format=format, subtype=SUBTYPES[subtype], endian=endian)
    return buffer.getvalue()


def wav_header(sample_rate: int, subtype: str = "pcm16") -> bytes:
    """What goes before the raw samples of a mono WAV whose length is not known yet. It says "to the end"."""
    tag, width = _WAV_SAMPLES[subtype]
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, tag, 1, sample_rate, sample_rate * width, width, 8 * width)
    return struct.pack("<4sI4s", b"RIFF", _UNKNOWN, b"WAVE") + form + struct.pack("<4sI", b"data", _UNKNOWN)


def save_audio(path: Path, samples: Floats, sample_rate: int, *, subtype: str = "pcm16") -> None:
    """Writes a WAV, FLAC or raw file, by its suffix: beside its place first, then renamed, so it is whole or not there.

    Raises `OptionError` and `OutputError` as `check_output` and `encode_audio` do.
    """
    check_output(path, subtype)
    data = encode_audio(samples, sample_rate, format=FORMATS[path.suffix.lower()][0], subtype=subtype)
    write_beside(path, data)
