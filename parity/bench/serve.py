"""The worker's side: answer questions, one JSON object a line, on standard input and output, until they end."""

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from qwen3_tts_ncnn.parity.bench.memory import resident
from qwen3_tts_ncnn.runtime.errors import TTSError

Handler = Callable[..., dict[str, Any]]

_BLOCK = 1 << 24


def serve(handlers: Mapping[str, Handler]) -> None:
    """Answer `{"ask": name, …}` with `{"answer": …}`, or with `{"error": line}` for what a user can cause.

    Anything else ends the process with a traceback on standard error, which the other side has kept.
    """
    answers = _take_standard_output()
    warnings.simplefilter("ignore")  # a run that meets its limit is as good to time as any
    for line in sys.stdin:
        question = json.loads(line)
        try:
            reply: dict[str, Any] = {"answer": handlers[question.pop("ask")](**question)}
        except TTSError as error:
            reply = {"error": str(error)}
        except ModuleNotFoundError as error:
            reply = {"error": f"{error.name} is not installed: pip install 'qwen3-tts-ncnn[parity]'"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


def _take_standard_output() -> TextIO:
    """Standard output for the answers alone: whatever else is printed, also by C code, goes to standard error."""
    sys.stdout.flush()
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


def read_through(folder: Path) -> None:
    """Read every file of a folder, so that what is loaded next comes from the page cache."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                while file.read(_BLOCK):
                    pass


def peak_memory() -> dict[str, Any]:
    """The most memory that this process has held, bytes, mapped files included; None where no /proc tells it."""
    return {"peak_bytes": resident(os.getpid()).most or None}
