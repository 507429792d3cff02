"""The other end of `serve`: a process that is asked, and whose death is one clear line."""

import contextlib
import json
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from qwen3_tts_ncnn.parity.bench.errors import BenchError

_PATIENCE = 10.0  # seconds for a worker to leave by itself


class Worker:
    """A process that answers questions. Leaving its `with` ends it."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        """Start `command`, which ends in `serve`; `name` is for messages."""
        self.name = name
        # A file and not a pipe: nobody has to read it while the worker works.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed on leaving the worker's `with`
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            encoding="utf-8",
            errors="replace",
        )

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def ask(self, question: str, **arguments: Any) -> dict[str, Any]:
        """The answer, when it is there.

        Raises:
            BenchError: the worker was given something that it cannot serve, or died.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"ask": question, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise BenchError(f"{self.name}: its process {self._death()}")
        reply = json.loads(line)
        if "error" in reply:
            raise BenchError(f"{self.name}: {reply['error']}")
        answer: dict[str, Any] = reply["answer"]
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if kind is not None:
            self._process.kill()  # it may be in the middle of a run
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._stderr.close()

    def _death(self) -> str:
        """How it ended, and the last that it said."""
        status = self._process.wait()
        how = f"ended with status {status}"
        if status < 0:
            how = f"was killed by {signal.Signals(-status).name}"
        if status == -signal.SIGKILL:
            how += ", as Linux does when memory runs out: measure fewer contestants at once, or smaller ones"
        self._stderr.seek(0)
        words = self._stderr.read().decode("utf-8", errors="replace").strip().splitlines()
        return f"{how} ({words[-1]})" if words else how
