"""Things made ahead by a thread: all of them, in order, no more than may wait, and none once nobody wants them."""

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from itertools import count, islice

import pytest

from qwen3_tts_ncnn.runtime.ahead import ahead


class Maker:
    """Makes numbers, and remembers which, and in which threads."""

    def __init__(self, most: int | None = None) -> None:
        self.made: list[int] = []
        self.threads: set[threading.Thread] = set()
        self.closed = False
        self._most = most

    def numbers(self) -> Iterator[int]:
        try:
            for number in count() if self._most is None else range(self._most):
                self.threads.add(threading.current_thread())
                self.made.append(number)
                yield number
        finally:
            self.closed = True


def settled(state: Callable[[], object]) -> None:
    """Waits until something has not changed for a while."""
    before = object()
    while before != (before := state()):
        time.sleep(0.15)


@pytest.mark.parametrize("waiting", [1, 3, 100])
def test_the_same_things_come_in_the_same_order(waiting: int) -> None:
    maker = Maker(50)
    assert list(ahead(maker.numbers(), waiting)) == list(range(50))
    (thread,) = maker.threads
    assert thread is not threading.current_thread()
    assert not thread.is_alive()


def test_nothing_is_nothing() -> None:
    assert list(ahead([], 4)) == []


def test_nothing_is_made_before_the_first_is_asked_for() -> None:
    maker = Maker()
    things = ahead(maker.numbers(), 2)
    time.sleep(0.1)
    assert maker.made == []
    things.close()
    assert maker.made == []


@pytest.mark.parametrize("waiting", [1, 4])
def test_no_more_are_made_than_may_wait(waiting: int) -> None:
    maker = Maker()
    things = ahead(maker.numbers(), waiting)
    for taken in range(1, 6):
        assert next(things) == taken - 1
        settled(lambda: len(maker.made))
        # Those taken, those that wait, and the one that the thread holds until there is room.
        assert len(maker.made) == taken + waiting + 1
    things.close()


def test_the_next_is_made_while_the_taker_is_busy() -> None:
    maker = Maker()
    things = ahead(maker.numbers(), 1)
    next(things)
    settled(lambda: len(maker.made))
    assert len(maker.made) > 1
    things.close()


def test_closing_stops_within_one_thing_and_ends_thread_and_source() -> None:
    maker = Maker()
    things = ahead(maker.numbers(), 2)
    assert list(islice(things, 3)) == [0, 1, 2]
    settled(lambda: len(maker.made))
    made = len(maker.made)
    begun = time.perf_counter()
    things.close()
    assert time.perf_counter() - begun < 2
    assert not any(thread.is_alive() for thread in maker.threads)
    gc.collect()
    assert len(maker.made) == made
    assert maker.closed
    assert list(things) == []


def test_closing_while_a_thing_is_made_waits_for_that_one_alone() -> None:
    begun, may_go_on, made = threading.Event(), threading.Event(), []

    def slow() -> Iterator[int]:
        for number in count():
            if number == 1:
                begun.set()
                may_go_on.wait(5)
            made.append(number)
            yield number

    things = ahead(slow(), 3)
    assert next(things) == 0
    begun.wait(5)
    threading.Timer(0.1, may_go_on.set).start()
    things.close()
    assert made == [0, 1]


def test_leaving_the_generator_stops_the_thread_too() -> None:
    maker = Maker()
    things = ahead(maker.numbers(), 1)
    next(things)
    del things
    gc.collect()
    assert not any(thread.is_alive() for thread in maker.threads)


def test_an_error_comes_after_the_things_before_it() -> None:
    def breaks() -> Iterator[int]:
        yield from range(3)
        raise ValueError("no more of them")

    things = ahead(breaks(), 10)
    assert [next(things) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match=r"^no more of them$"):
        next(things)
    assert list(things) == []
    assert not any(thread.name == "frames" for thread in threading.enumerate())


def test_an_interrupt_of_the_source_is_raised_at_the_taker() -> None:
    def interrupted() -> Iterator[int]:
        raise KeyboardInterrupt
        yield 0

    with pytest.raises(KeyboardInterrupt):
        next(ahead(interrupted(), 1))


def test_an_exception_of_the_taker_stops_the_thread() -> None:
    maker = Maker()
    things = ahead(maker.numbers(), 1)
    next(things)
    with pytest.raises(RuntimeError, match="enough"):
        things.throw(RuntimeError("enough"))
    assert not any(thread.is_alive() for thread in maker.threads)


def test_what_the_source_holds_is_free_when_it_is_over() -> None:
    class Held:
        pass

    held = Held()
    freed = weakref.ref(held)

    def source(kept: Held) -> Iterator[bool]:
        for _ in range(5):
            yield kept is not None

    things = ahead(source(held), 2)
    del held
    next(things)
    assert freed() is not None
    things.close()
    gc.collect()
    assert freed() is None
