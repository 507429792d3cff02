"""Sound to where the command line wants it: a file, or standard output."""

import sys
from pathlib import Path

import click

from qwen3_tts_ncnn.runtime.audio import check_output, encode_audio, save_audio
from qwen3_tts_ncnn.runtime.cli.output import standard_output
from qwen3_tts_ncnn.runtime.mat import Floats

STANDARD_OUTPUT = Path("-")


def check_sound_output(output: Path, subtype: str, as_json: bool) -> None:
    """Refuses an output that could not be written, before anything is read or computed.

    Raises:
        UsageError: standard output, where that is a terminal, closed, or taken by `--json`.
        OptionError, OutputError: as `check_output`.
    """
    if output != STANDARD_OUTPUT:
        check_output(output, subtype)
    elif as_json:
        raise click.UsageError("-o - and --json both write to standard output: give -o a file, or leave out --json.")
    elif sys.stdout is None or sys.stdout.isatty():
        where = "the terminal" if sys.stdout else "a closed standard output"
        raise click.UsageError(f"-o - would write WAV to {where}: pipe it into a program, or give -o a file.")


def write_sound(samples: Floats, sample_rate: int, output: Path, subtype: str) -> None:
    """Writes mono samples in ±1. Raises `OutputError`."""
    if output != STANDARD_OUTPUT:
        save_audio(output, samples, sample_rate, subtype=subtype)
        return
    data = encode_audio(samples, sample_rate, subtype=subtype)
    with standard_output():
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def output_name(output: Path) -> str:
    """What the last line calls the output."""
    return "WAV to standard output" if output == STANDARD_OUTPUT else str(output)
