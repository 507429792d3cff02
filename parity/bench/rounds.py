"""All contestants loaded, each in a process of its own, and one computing at a time, in turns."""

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from qwen3_tts_ncnn.parity.bench.busy import Load, LoadWatch
from qwen3_tts_ncnn.parity.bench.entries import Entry
from qwen3_tts_ncnn.parity.bench.errors import BenchError
from qwen3_tts_ncnn.parity.bench.figures import (
    FIGURES,
    LOAD,
    PEAK,
    Result,
    position_figure,
    position_ratio,
    spreads,
)
from qwen3_tts_ncnn.parity.bench.job import FIRST_CHUNK, Job
from qwen3_tts_ncnn.parity.bench.worker import Worker

POSITION_FRAMES = 8
"""Frames a round at each position of the KV cache."""

OnStep = Callable[[str], None]
"""Told what is about to be done, `Plan.steps` times in all."""

OnFailure = Callable[[BenchError], None]
"""Told of a contestant that cannot be loaded or does not speak."""


@dataclass(frozen=True)
class Plan:
    """Who competes, at what, and how often."""

    entries: Sequence[Entry]
    job: Job
    rounds: int
    positions: tuple[int, ...] = ()

    @property
    def steps(self) -> int:
        """How often `OnStep` is called where nobody fails: loading, a first run, the rounds, and the positions."""
        packages = sum(not entry.is_upstream for entry in self.entries)
        return len(self.entries) * (2 + self.rounds) + packages * (self.rounds + 1) * bool(self.positions)


@dataclass
class _Contestant:
    """One process and what it has told so far."""

    entry: Entry
    worker: Worker
    loaded: dict[str, Any] = field(default_factory=dict)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)
    positions: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def result(self) -> Result:
        figures = spreads([LOAD], [self.loaded]) | spreads(FIGURES, self.rounds) | spreads([PEAK], [self.memory])
        for position, steps in self.positions.items():
            figures |= spreads([position_figure(position)], steps)
        if len(self.positions) > 1:
            first, last = min(self.positions), max(self.positions)
            medians = {
                "first": figures[position_figure(first).key].median,
                "last": figures[position_figure(last).key].median,
            }
            figures |= spreads([position_ratio(first, last)], [medians])
        return Result(
            name=self.entry.name,
            path=str(self.entry.path),
            backend=self.entry.backend,
            graphs=self.loaded["graphs"],
            prompt_rows=(self.loaded | self.rounds[0])["prompt_rows"],
            frames=tuple(record["frames"] for record in self.rounds),
            stops=tuple(record["stop"] for record in self.rounds),
            figures=figures,
        )


def compete(plan: Plan, on_step: OnStep, on_failure: OnFailure | None = None) -> tuple[list[Result], Load | None]:
    """Run the whole plan: the results in the order of the entries, and what others took of the machine.

    With `on_failure`, who fails before the rounds is left out.

    Raises:
        BenchError: a contestant cannot be loaded, refuses the text, or died.
    """
    on_failure = on_failure or _fail
    with contextlib.ExitStack() as stack:
        contestants = _load(_start(plan, stack), plan.job, on_step, on_failure)
        contestants = _first_runs(contestants, plan.job, on_step, on_failure)
        if not contestants:
            raise BenchError("nobody is left to measure")
        watch = LoadWatch([contestant.worker.pid for contestant in contestants])
        for number in range(plan.rounds):
            for contestant in _in_turn(contestants, number):
                on_step(f"round {number + 1} of {plan.rounds}: {contestant.entry.name}")
                contestant.rounds.append(contestant.worker.ask("round", frames=plan.job.frames))
        for contestant in contestants:
            contestant.memory = contestant.worker.ask("memory")  # before the long caches, which no speech has
        if plan.positions:
            _measure_positions([each for each in contestants if not each.entry.is_upstream], plan, on_step)
        return [contestant.result() for contestant in contestants], watch.finish()


def _start(plan: Plan, stack: contextlib.ExitStack) -> list[_Contestant]:
    return [
        _Contestant(entry, stack.enter_context(Worker(entry.name, _command(entry.is_upstream))))
        for entry in plan.entries
    ]


def _command(upstream: bool) -> list[str]:
    module = f"{__package__}.worker_{'upstream' if upstream else 'package'}"
    return [sys.executable, "-P", "-m", module]  # -P: nothing of the folder that the user is in is imported


def _load(contestants: Sequence[_Contestant], job: Job, on_step: OnStep, on_failure: OnFailure) -> list[_Contestant]:
    """Upstream first, because how its tokenizer splits words is how the packages' are to."""
    for contestant in sorted(contestants, key=lambda each: not each.entry.is_upstream):
        entry = contestant.entry
        on_step(f"loading {entry.name}")
        where = {} if entry.backend is None else {"backend": entry.backend}
        try:
            contestant.loaded = contestant.worker.ask("load", path=str(entry.path), job=job.to_json(), **where)
        except BenchError as error:
            on_failure(error)
        job = replace(job, pretokenizer=contestant.loaded.get("pretokenizer", job.pretokenizer))
    return [contestant for contestant in contestants if contestant.loaded]


def _first_runs(
    contestants: Sequence[_Contestant], job: Job, on_step: OnStep, on_failure: OnFailure
) -> list[_Contestant]:
    """Memory is touched and kernels are chosen in the first run; nobody is measured by it."""
    ready = []
    for contestant in contestants:
        on_step(f"first run of {contestant.entry.name}")
        try:
            contestant.worker.ask("round", frames=min(FIRST_CHUNK, job.frames))
        except BenchError as error:
            on_failure(error)
        else:
            ready.append(contestant)
    return ready


def _in_turn(contestants: Sequence[_Contestant], number: int) -> list[_Contestant]:
    """Another one begins each round, so that none is always the one after the slowest."""
    begin = number % len(contestants)
    return [*contestants[begin:], *contestants[:begin]]


def _measure_positions(packages: Sequence[_Contestant], plan: Plan, on_step: OnStep) -> None:
    for package in packages:
        on_step(f"filling the KV cache of {package.entry.name}")
        package.worker.ask("fill", positions=plan.positions, frames=plan.rounds * POSITION_FRAMES)
    for number in range(plan.rounds):
        for package in _in_turn(packages, number):
            on_step(f"positions, round {number + 1} of {plan.rounds}: {package.entry.name}")
            for position in plan.positions:
                answer = package.worker.ask("steps", position=position, frames=POSITION_FRAMES)
                package.positions.setdefault(position, []).append(answer)


def _fail(error: BenchError) -> None:
    raise error
