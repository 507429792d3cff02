"""What the commands share in talking to people and to programs."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from qwen3_tts_ncnn.runtime.files import cannot_be_written

_PLAIN_WIDTH = 120  # columns where the output is no terminal, so that no row of a table is folded

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def console(*, stderr: bool = False, plain_width: int = _PLAIN_WIDTH) -> Console:
    """A console that prints text as it is: no markup, no colours guessed from the content.

    `plain_width` are its columns where it is no terminal.
    """
    made = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not made.is_terminal:
        made.width = plain_width
    return made


def tell(line: str) -> None:
    """Prints one line for people: on standard error, which leaves standard output to results."""
    click.echo(line, err=True)


@contextmanager
def standard_output() -> Iterator[None]:
    """Around whatever writes a result to standard output: raises `OutputError` where that takes no more."""
    try:
        yield
    except BrokenPipeError:
        raise  # no error: whoever reads the output has seen enough
    except OSError as error:
        raise cannot_be_written("standard output", error) from error


def print_line(line: str) -> None:
    """Prints one line on standard output."""
    with standard_output():
        click.echo(line)


def print_json(record: Mapping[str, Any]) -> None:
    """Prints one JSON object on standard output, in ASCII, so that any terminal or file takes it."""
    print_line(json.dumps(record, indent=2))


def size_text(size: int) -> str:
    """A number of bytes for people: 999 bytes, 1.2 kB, 34.5 MB."""
    value, unit = float(size), 0
    while value >= 999.95 and unit + 1 < len(_UNITS):
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size} {_UNITS[0]}"


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder and its sub-folders."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
