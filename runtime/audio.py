"""Samples to sound files."""

import io
import os
import tempfile
from pathlib import Path
from typing import BinaryIO

import numpy as np
import soundfile

from qwen3_tts_ncnn.runtime.errors import OptionError, OutputError
from qwen3_tts_ncnn.runtime.mat import Floats

# Sample formats by the name users give them: libsndfile's subtype.
SUBTYPES = {"pcm16": "PCM_16", "pcm24": "PCM_24", "float": "FLOAT"}

# File formats by suffix: libsndfile's format, and the sample formats it takes.
FORMATS = {".wav": ("WAV", ("pcm16", "pcm24", "float")), ".flac": ("FLAC", ("pcm16", "pcm24"))}


def check_output(path: Path, subtype: str) -> None:
    """Raises `OptionError` or `OutputError` when such a file could not be written, before anything is computed."""
    if path.suffix.lower() not in FORMATS:
        raise OptionError(f"{path} does not end in {' or '.join(FORMATS)}: give the output one of these endings")
    format, subtypes = FORMATS[path.suffix.lower()]
    if subtype not in subtypes:
        raise OptionError(f"{format} has no sample format {subtype!r}: choose one of {', '.join(subtypes)}")
    try:
        is_folder, has_folder = path.is_dir(), path.parent.is_dir()
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise _cannot_be_written(path, error) from None
    if is_folder:
        raise OutputError(f"{path} is a folder, expected the path of a file")
    if not has_folder:
        raise OutputError(f"{path.parent} is not a folder, so {path.name} cannot be written there: create it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path.parent} is a folder you may not write to: choose another place for {path.name}")


def encode_audio(samples: Floats, sample_rate: int, *, format: str = "WAV", subtype: str = "pcm16") -> bytes:
    """The bytes of a sound file of mono samples in ±1.

    Raises `OutputError` for NaN or infinite samples: they would become silence.
    """
    if not np.isfinite(samples).all():
        raise OutputError("the samples hold NaN or infinite values: verify the package, and report it if it is whole")
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, sample_rate, format=format, subtype=SUBTYPES[subtype])
    return buffer.getvalue()


def save_audio(path: Path, samples: Floats, sample_rate: int, *, subtype: str = "pcm16") -> None:
    """Writes a WAV or FLAC file, by its suffix: beside its place first, then renamed, so that it is whole or not there.

    Raises `OptionError` and `OutputError` as `check_output` and `encode_audio` do.
    """
    check_output(path, subtype)
    data = encode_audio(samples, sample_rate, format=FORMATS[path.suffix.lower()][0], subtype=subtype)
    write_beside(path, data)


def write_beside(path: Path, data: bytes) -> None:
    """Writes a file beside its place and renames it. Raises `OutputError`, leaving what was there."""
    temporary: Path | None = None
    try:
        # Not the whole name: with what is added to it, it could be longer than the file system takes.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:40]}-", delete=False) as file:
            temporary = Path(file.name)
            _write_all(file, data)  # type: ignore[arg-type]
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise _cannot_be_written(path, error) from None


def _cannot_be_written(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{path} cannot be written ({error.strerror}): free some space or choose another place")


def _write_all(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
