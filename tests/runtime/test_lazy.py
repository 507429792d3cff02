"""What is lazy is loaded once, when it is asked for, and once more after it was dropped."""

import weakref

from qwen3_tts_ncnn.runtime.lazy import Lazy


class Thing:
    pass


def test_it_is_loaded_when_it_is_asked_for_and_once() -> None:
    made: list[Thing] = []

    def load() -> Thing:
        made.append(Thing())
        return made[-1]

    lazy = Lazy(load)
    lazy.drop()
    assert made == []
    assert lazy.get() is lazy.get() is made[0]
    lazy.drop()
    assert len(made) == 1
    assert lazy.get() is made[1]


def test_what_is_dropped_is_freed_unless_somebody_holds_it() -> None:
    lazy = Lazy(Thing)
    held, freed = lazy.get(), weakref.ref(lazy.get())
    lazy.drop()
    assert freed() is held
    del held
    assert freed() is None
