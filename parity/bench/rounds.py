"""All contestants loaded, each in a process of its own, and one computing at a time, in turns."""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from qwen3_tts_ncnn.parity.bench.busy import Load, LoadWatch
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

UPSTREAM = "PyTorch fp32"

POSITION_FRAMES = 8
"""Frames a round at each position of the KV cache."""

OnStep = Callable[[str], None]
"""Told what is about to be done, `steps_of` times in all."""


@dataclass(frozen=True)
class Plan:
    """Who competes, at what, and how often."""

    packages: Sequence[Path]
    checkpoint: Path | None
    job: Job
    rounds: int
    positions: tuple[int, ...] = ()

    @property
    def steps(self) -> int:
        """How often `OnStep` is called: loading, a first run, the rounds, and the positions."""
        everybody = len(self.packages) + (self.checkpoint is not None)
        return everybody * (2 + self.rounds) + len(self.packages) * (self.rounds + 1) * bool(self.positions)


@dataclass
class _Contestant:
    """One process and what it has told so far."""

    name: str
    path: Path
    upstream: bool
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
            name=self.name,
            path=str(self.path),
            upstream=self.upstream,
            graphs=self.loaded["graphs"],
            prompt_rows=(self.loaded | self.rounds[0])["prompt_rows"],
            frames=tuple(record["frames"] for record in self.rounds),
            stops=tuple(record["stop"] for record in self.rounds),
            figures=figures,
        )


def compete(plan: Plan, on_step: OnStep) -> tuple[list[Result], Load | None]:
    """Run the whole plan: the results, packages first and upstream last, and what others took of the machine.

    Raises:
        BenchError: a contestant cannot be loaded, refuses the text, or died.
    """
    with contextlib.ExitStack() as stack:
        contestants = _start(plan, stack)
        _load(contestants, plan.job, on_step)
        for contestant in contestants:
            # Memory is touched and kernels are chosen in the first run; nobody is measured by it.
            on_step(f"first run of {contestant.name}")
            contestant.worker.ask("round", frames=min(FIRST_CHUNK, plan.job.frames))
        watch = LoadWatch([contestant.worker.pid for contestant in contestants])
        for number in range(plan.rounds):
            for contestant in _in_turn(contestants, number):
                on_step(f"round {number + 1} of {plan.rounds}: {contestant.name}")
                contestant.rounds.append(contestant.worker.ask("round", frames=plan.job.frames))
        for contestant in contestants:
            contestant.memory = contestant.worker.ask("memory")  # before the long caches, which no speech has
        if plan.positions:
            _measure_positions([each for each in contestants if not each.upstream], plan, on_step)
        return [contestant.result() for contestant in contestants], watch.finish()


def _start(plan: Plan, stack: contextlib.ExitStack) -> list[_Contestant]:
    entries = [(name, path, False) for name, path in zip(names_of(plan.packages), plan.packages, strict=True)]
    if plan.checkpoint is not None:
        entries.append((UPSTREAM, plan.checkpoint, True))
    return [
        _Contestant(name, path, upstream, stack.enter_context(Worker(name, _command(upstream))))
        for name, path, upstream in entries
    ]


def _command(upstream: bool) -> list[str]:
    module = f"{__package__}.worker_{'upstream' if upstream else 'package'}"
    return [sys.executable, "-P", "-m", module]  # -P: nothing of the folder that the user is in is imported


def _load(contestants: Sequence[_Contestant], job: Job, on_step: OnStep) -> None:
    """Upstream first, because how its tokenizer splits words is how the packages' are to."""
    for contestant in sorted(contestants, key=lambda each: not each.upstream):
        on_step(f"loading {contestant.name}")
        contestant.loaded = contestant.worker.ask("load", path=str(contestant.path), job=job.to_json())
        job = replace(job, pretokenizer=contestant.loaded.get("pretokenizer", job.pretokenizer))


def _in_turn(contestants: Sequence[_Contestant], number: int) -> list[_Contestant]:
    """Another one begins each round, so that none is always the one after the slowest."""
    begin = number % len(contestants)
    return [*contestants[begin:], *contestants[:begin]]


def _measure_positions(packages: Sequence[_Contestant], plan: Plan, on_step: OnStep) -> None:
    for package in packages:
        on_step(f"filling the KV cache of {package.name}")
        package.worker.ask("fill", positions=plan.positions, frames=plan.rounds * POSITION_FRAMES)
    for number in range(plan.rounds):
        for package in _in_turn(packages, number):
            on_step(f"positions, round {number + 1} of {plan.rounds}: {package.name}")
            for position in plan.positions:
                answer = package.worker.ask("steps", position=position, frames=POSITION_FRAMES)
                package.positions.setdefault(position, []).append(answer)


def names_of(packages: Sequence[Path]) -> list[str]:
    """A name for each: its folder's, its path where two folders have one name, numbered where it competes twice."""
    folders = Counter(package.resolve().name for package in packages)
    names = [str(p) if folders[p.resolve().name] > 1 else p.resolve().name for p in packages]
    return [
        f"{name} ({names[: place + 1].count(name)})" if names[:place].count(name) else name
        for place, name in enumerate(names)
    ]
