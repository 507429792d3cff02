"""How much memory a process and its children hold, from Linux's /proc."""

import threading
from pathlib import Path
from typing import NamedTuple

from qwen3_tts_ncnn.parity.bench.memory import resident

_SECONDS = 0.05


class Peak(NamedTuple):
    """Resident memory in bytes, mapped files included.

    Attributes:
        own: the most that the process held.
        child: the most that any one child held.
        together: the most that all of them held at one moment.
    """

    own: int
    child: int
    together: int


class Watch:
    """Looks at a process and its children every 50 ms, from the beginning of a `with` to its end."""

    def __init__(self, pid: int) -> None:
        self.peak = Peak(0, 0, 0)
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_SECONDS):
            self._look()

    def _look(self) -> None:
        own, children = resident(self._pid), [resident(pid) for pid in _children(self._pid)]
        seen = Peak(
            own.most, max((child.most for child in children), default=0), sum(each.now for each in (own, *children))
        )
        self.peak = Peak(*map(max, self.peak, seen))


def _children(pid: int) -> list[int]:
    """All that descend from a process."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found.extend(map(int, task.read_text().split()))
        except OSError:  # the thread is gone
            continue
    return found + [grandchild for child in found for grandchild in _children(child)]
