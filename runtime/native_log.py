"""What ncnn's C++ prints: lines of its own on the process's standard error, kept from the user's terminal."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from threading import RLock

_STDERR = 2

# The descriptor is the process's: whoever takes it has it alone.
_taken = RLock()


@dataclass
class NativeLog:
    """What was printed while it was kept, complete when the block has ended."""

    text: str = ""


@contextlib.contextmanager
def kept_log() -> Iterator[NativeLog]:
    """Keeps what anything writes to descriptor 2 while a block runs, other threads and Python included.

    Keep the block short, and `show` what was not ncnn's. Where the descriptor is closed, nothing is kept.
    """
    log = NativeLog()
    with _taken:
        _flush()
        try:
            stderr = os.dup(_STDERR)
        except OSError:
            yield log
            return
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), _STDERR)
            try:
                yield log
            finally:
                _flush()
                os.dup2(stderr, _STDERR)
                os.close(stderr)
                file.seek(0)
                log.text = file.read().decode(errors="replace")


def show(text: str) -> None:
    """Writes what was kept to where it would have gone; whatever does not take it, does without."""
    with contextlib.suppress(OSError):
        os.write(_STDERR, text.encode(errors="replace"))


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            sys.stderr.flush()
