"""The text to speak: an argument, a file, or standard input. And what a recording says: an argument or a file."""

import sys
from pathlib import Path

import click

from qwen3_tts_ncnn.runtime.errors import TextError
from qwen3_tts_ncnn.runtime.tokenizer import check_text

STANDARD_INPUT = "-"


def read_text(argument: str | None, file: Path | None) -> str:
    """The text given as argument, in a file, or ("-", or none of both) on standard input.

    Line ends at the very end of a file are left off: they come from the editor or `echo` and are not for the voice.

    Raises:
        UsageError: both were given, or neither while standard input is a terminal.
        TextError: the text cannot be read, or is not UTF-8.
    """
    if argument is not None and file is not None:
        raise click.UsageError("The text was given twice, as an argument and with --file: give one of them.")
    if file is not None and str(file) != STANDARD_INPUT:
        return _decode(_read_file(file), str(file))
    if argument is not None and argument != STANDARD_INPUT:
        return argument
    asked = argument is not None or file is not None
    if sys.stdin is None or (sys.stdin.isatty() and not asked):
        raise click.UsageError("There is no text: give it as an argument, with --file, or on standard input.")
    return _decode(sys.stdin.buffer.read(), "standard input")


def read_transcript(argument: str | None, file: Path | None) -> str | None:
    """The transcript given as argument or in a file, None for none of both.

    Raises:
        UsageError: both were given.
        TextError: the transcript cannot be read, is not UTF-8, or says nothing.
    """
    if argument is not None and file is not None:
        raise click.UsageError(
            "The transcript was given twice, with --transcript and --transcript-file: give one of them."
        )
    transcript = argument if file is None else _decode(_read_file(file), str(file))
    if transcript is not None:
        check_text(transcript, "transcript")
    return transcript


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TextError(f"{path} cannot be read ({error.strerror}): give the path of a UTF-8 text file") from None


def _decode(content: bytes, where: str) -> str:
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")  # some editors begin files with a mark
    except UnicodeDecodeError as error:
        raise TextError(
            f"{where} is not UTF-8 (byte 0x{content[error.start]:02X} at offset {error.start}): save it as UTF-8"
        ) from None
    return text.rstrip("\r\n")
