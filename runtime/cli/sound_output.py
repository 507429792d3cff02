"""Sound to where the command line wants it: a file, or standard output."""

import errno
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import click

from qwen3_tts_ncnn.runtime.audio import check_output, encode_audio, save_audio, wav_header
from qwen3_tts_ncnn.runtime.cli.output import standard_output
from qwen3_tts_ncnn.runtime.mat import Floats

_STANDARD_OUTPUT = Path("-")


@dataclass(frozen=True)
class SoundOutput:
    """A place for sound, and how a sample is stored there: `subtype`, and `is_raw` for samples without a header."""

    path: Path
    subtype: str
    is_raw: bool

    @classmethod
    def from_options(cls, output: Path, subtype: str, raw: bool, as_json: bool) -> Self:
        """Refuses an output that could not be written, before anything is read or computed.

        Raises:
            UsageError: standard output, where that is a terminal, closed, or taken by `--json`; `--raw` with a file.
            OptionError, OutputError: as `check_output`.
        """
        made = cls(output, subtype, raw)
        if not made.is_piped:
            if raw:
                raise click.UsageError("--raw goes with -o -: give a file the ending .raw instead.")
            check_output(output, subtype)
        elif as_json:
            raise click.UsageError(
                "-o - and --json both write to standard output: give -o a file, or leave out --json."
            )
        elif sys.stdout is None or sys.stdout.isatty():
            where = "the terminal" if sys.stdout else "a closed standard output"
            what = "raw samples" if raw else "WAV"
            raise click.UsageError(f"-o - would write {what} to {where}: pipe it into a program, or give -o a file.")
        return made

    @property
    def is_piped(self) -> bool:
        """Whether it is standard output, which takes sound as it is made."""
        return self.path == _STANDARD_OUTPUT

    def write(self, samples: Floats, sample_rate: int) -> None:
        """Writes mono samples in ±1, all there are. Raises `OutputError`."""
        if not self.is_piped:
            save_audio(self.path, samples, sample_rate, subtype=self.subtype)
        else:
            _write(encode_audio(samples, sample_rate, format="RAW" if self.is_raw else "WAV", subtype=self.subtype))

    def begin(self, sample_rate: int) -> None:
        """Writes to standard output what goes before the samples of a sound that is still being made."""
        if not self.is_raw:
            _write(wav_header(sample_rate, self.subtype))

    def go_on(self, samples: Floats, sample_rate: int) -> None:
        """Writes the next samples to standard output; they are there when it returns. Raises `OutputError`."""
        _write(encode_audio(samples, sample_rate, format="RAW", subtype=self.subtype))

    def __str__(self) -> str:
        """What the last line calls it."""
        if not self.is_piped:
            return str(self.path)
        return f"{'raw samples' if self.is_raw else 'WAV'} to standard output"


def _write(data: bytes) -> None:
    """Past Python's buffer: what an interrupt leaves in it would be waited for at exit, as long as nobody reads."""
    left = memoryview(data)
    with standard_output():
        sys.stdout.flush()
        unbuffered = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
        while left:
            written = unbuffered.write(left)
            if written is None:  # somebody made the pipe one that does not wait
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            left = left[written:]
