"""Who is asked what, in which order: all loaded first, then one after another, another one first each round."""

from pathlib import Path
from typing import Any

import pytest

from qwen3_tts_ncnn.parity.bench.entries import UPSTREAM, Entry, entries_of
from qwen3_tts_ncnn.parity.bench.errors import BenchError
from qwen3_tts_ncnn.parity.bench.job import Job
from qwen3_tts_ncnn.parity.bench.rounds import Plan, compete
from tests.bench.workers import FakeWorker, asked

__all__ = ["asked"]


A, B, TORCH = "a", "b", UPSTREAM
ENTRIES = entries_of([Path("/p/a"), Path("/p/b")], Path("/p/ck"), "hybrid")
PLAN = Plan(ENTRIES, Job("Hi.", frames=30), rounds=2, positions=(50, 2000))


def test_all_are_loaded_upstream_first_and_packages_split_words_as_it_does(asked: list[Any]) -> None:
    compete(PLAN, lambda _: None)
    loads = [(name, arguments["path"], arguments["job"]["pretokenizer"]) for name, what, arguments in asked[:3]]
    assert loads == [(TORCH, "/p/ck", "hub"), (A, "/p/a", "directory"), (B, "/p/b", "directory")]


def test_rounds_are_in_turns_and_another_one_begins_each(asked: list[Any]) -> None:
    compete(PLAN, lambda _: None)
    runs = [(name, arguments["frames"]) for name, what, arguments in asked if what == "round"]
    first = [(A, 4), (B, 4), (TORCH, 4)]
    assert runs == [*first, (A, 30), (B, 30), (TORCH, 30), (B, 30), (TORCH, 30), (A, 30)]


def test_memory_is_asked_for_before_long_caches_are_filled(asked: list[Any]) -> None:
    compete(PLAN, lambda _: None)
    questions = [(name, what) for name, what, _ in asked]
    assert questions.index((B, "memory")) < questions.index((A, "fill"))
    assert questions[-3:] == [(TORCH, "end"), (B, "end"), (A, "end")]


def test_positions_are_the_packages_alone_and_become_a_ratio(asked: list[Any]) -> None:
    a, _, torch = compete(PLAN, lambda _: None)[0]
    assert {name for name, what, _ in asked if what in ("fill", "steps")} == {A, B}
    assert a.figures["frame_ms_at_50"].values == (12.5, 12.5)
    assert a.figures["position_ratio"].median == 2.0
    assert "position_ratio" not in torch.figures


def test_progress_is_told_as_many_steps_as_there_are(asked: list[Any]) -> None:
    told: list[str] = []
    compete(PLAN, told.append)
    assert len(told) == PLAN.steps
    assert told[0] == f"loading {TORCH}"
    assert told[-1] == "positions, round 2 of 2: a"


def test_the_result_is_what_the_rounds_told(asked: list[Any]) -> None:
    results, _ = compete(Plan([Entry("a", Path("/p/a"), "cpu")], Job("Hi."), rounds=3), lambda _: None)
    (result,) = results
    assert (result.name, result.path, result.upstream) == ("a", "/p/a", False)
    assert (result.frames, result.stops, result.prompt_rows) == ((10,) * 3, ("limit",) * 3, 20)
    assert result.figures["peak_gb"].median == 1.0
    assert result.figures["total_rtf"].values == (2.5,) * 3


def test_a_package_is_loaded_onto_its_backend_and_upstream_onto_none(asked: list[Any]) -> None:
    compete(PLAN, lambda _: None)
    assert [arguments.get("backend") for _, what, arguments in asked if what == "load"] == [None, "hybrid", "hybrid"]


@pytest.mark.parametrize("question", ["load", "round"])
def test_who_fails_before_the_rounds_ends_it_all_or_is_left_out(asked: list[Any], question: str) -> None:
    FakeWorker.failures = {(A, question): f"{A}: no memory"}
    with pytest.raises(BenchError, match=r"^a: no memory$"):
        compete(PLAN, lambda _: None)
    told: list[str] = []
    results, _ = compete(PLAN, lambda _: None, lambda error: told.append(str(error)))
    assert [result.name for result in results] == [B, TORCH]
    assert told == ["a: no memory"]
    with pytest.raises(BenchError, match=r"^nobody is left to measure$"):
        compete(Plan([Entry(A, Path("/p/a"), "cpu")], Job("Hi."), rounds=1), lambda _: None, lambda _: None)
