"""Methods of one object are timed, their results and their class unchanged."""

import inspect

import pytest

from qwen3_tts_ncnn.parity.bench.stopwatch import Stopwatch


class Thing:
    def double(self, value: int, *, more: int = 0) -> int:
        return 2 * value + more


def test_every_call_is_a_lap_and_returns_what_it_did() -> None:
    stopwatch, thing = Stopwatch(), Thing()
    stopwatch.watch(thing, "double", keep=True)
    assert (thing.double(3), thing.double(4, more=1)) == (6, 9)
    assert len(stopwatch.laps["double"]) == 2
    assert all(seconds >= 0 for seconds in stopwatch.laps["double"])
    assert stopwatch.last == {"double": 9}
    assert "double" not in vars(Thing()).keys() | vars(Thing)["double"].__dict__.keys()


def test_reset_forgets_laps_and_results() -> None:
    stopwatch, thing = Stopwatch(), Thing()
    stopwatch.watch(thing, "double", keep=True)
    thing.double(1)
    stopwatch.reset()
    assert (stopwatch.laps, stopwatch.last) == ({"double": []}, {})
    thing.double(1)
    assert len(stopwatch.laps["double"]) == 1


def test_the_signature_stays_because_transformers_reads_it() -> None:
    stopwatch, thing = Stopwatch(), Thing()
    stopwatch.watch(thing, "double")
    assert inspect.signature(thing.double) == inspect.signature(Thing().double)


def test_a_call_that_fails_is_no_lap() -> None:
    stopwatch, thing = Stopwatch(), Thing()
    stopwatch.watch(thing, "double")
    with pytest.raises(TypeError):
        thing.double()  # type: ignore[call-arg]
    assert stopwatch.laps == {"double": []}
