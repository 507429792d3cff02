"""A thread that makes things ahead of whoever takes them, as few as are allowed to wait."""

import queue
import threading
from collections.abc import Generator, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")

# How long the thread waits for room before it looks whether it is still wanted.
_SECONDS = 0.05


def ahead(things: Iterable[T], waiting: int) -> Generator[T]:
    """The same things in the same order, made by a thread while the taker works on those before.

    At most `waiting` wait. Closing the generator stops the thread within one thing; an error in it is raised here.
    """
    thread = _Maker(things, waiting)
    thread.start()
    try:
        while (thing := thread.made.get()) is not thread:
            yield thing  # type: ignore[misc]  # the thread itself was the mark of the end
        if thread.error is not None:
            raise thread.error
    finally:
        thread.unwanted.set()
        thread.join()


class _Maker(threading.Thread, Generic[T]):
    """Puts things into `made`, and itself at the end."""

    def __init__(self, things: Iterable[T], waiting: int) -> None:
        super().__init__(daemon=True, name="frames")
        self._things = things
        self.made: queue.Queue[T | _Maker[T]] = queue.Queue(waiting)
        self.unwanted = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            for thing in self._things:
                if not self._put(thing):
                    break
        except BaseException as error:  # raised where the things are taken
            self.error = error
        finally:
            del self._things  # whatever a run holds goes now, in the thread that made it
            self._put(self)

    def _put(self, thing: "T | _Maker[T]") -> bool:
        """Whether it was still wanted."""
        while not self.unwanted.is_set():
            try:
                self.made.put(thing, timeout=_SECONDS)
                return True
            except queue.Full:
                continue
        return False
