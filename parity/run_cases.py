"""Both sides loaded once, and every case of a suite run, with progress on standard error."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from qwen3_tts_ncnn.parity.cases import Case, cloning_cases, default_cases, design_cases, instruction_cases
from qwen3_tts_ncnn.parity.clips import synthetic_references
from qwen3_tts_ncnn.runtime.manifest import read_manifest
from qwen3_tts_ncnn.runtime.placement import Placement

if TYPE_CHECKING:
    from qwen3_tts_ncnn.parity.oracle import Oracle
    from qwen3_tts_ncnn.runtime import TTS

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """What the command line asked for.

    Attributes:
        package: its folder.
        checkpoint: its folder.
        single: the only case, instead of the suite of the checkpoint's type.
        limit: how many cases of the suite; None for all.
        spread: whether these are spread over the suite, instead of being its first.
        max_frames: limit of each run of the suite.
        seeds: every case is sampled with each of them; none is greedy.
        threads: of either side; None for the physical cores.
        backend: where the package's graphs run, as `TTS.load` has it.
    """

    package: Path
    checkpoint: Path
    single: Case | None
    limit: int | None
    spread: bool
    max_frames: int
    seeds: tuple[int, ...]
    threads: int | None
    backend: str = "cpu"


def run_cases(asked: Asked, run: Callable[["TTS", "Oracle", Case], T]) -> list[T]:
    """Load the package and upstream, and `run` each case with them."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("loading the package and upstream", total=None)
        # Imported here: torch takes seconds, and `--help` needs none of it.
        from qwen3_tts_ncnn.parity.oracle import Oracle
        from qwen3_tts_ncnn.runtime import TTS

        if asked.backend != "cpu":  # one that cannot be shows before upstream is loaded
            Placement.of(asked.backend, read_manifest(asked.package))
        oracle = Oracle.load(asked.checkpoint, threads=asked.threads)
        tts = TTS.load(asked.package, backend=asked.backend, threads=asked.threads, pretokenizer=oracle.pretokenizer)
        cases = (asked.single,) if asked.single else _some(suite(oracle, asked.max_frames), asked)
        chosen = [replace(case, seed=seed) for case in cases for seed in asked.seeds or (None,)]
        results = []
        progress.update(task, total=len(chosen))
        for number, case in enumerate(chosen, 1):
            progress.update(task, description=f"case {number}: {case.who}, {case.language}, {case.layout}")
            results.append(run(tts, oracle, case))
            progress.advance(task)
    return results


def suite(oracle: "Oracle", max_frames: int) -> tuple[Case, ...]:
    """What fits the checkpoint's type."""
    if oracle.kind == "base":
        return cloning_cases(synthetic_references(), oracle.languages, max_frames)
    if oracle.kind == "voice_design":
        return design_cases(oracle.languages, max_frames)
    named = default_cases(oracle.speakers, oracle.languages, max_frames)
    if not oracle.takes_instructions:
        return named
    return named + instruction_cases(oracle.speakers, oracle.languages, max_frames)


def spread(cases: Sequence[Case], count: int) -> tuple[Case, ...]:
    """`count` of the cases, at equal distances from the first on; all of them where there are no more."""
    count = min(count, len(cases))
    return tuple(cases[number * len(cases) // count] for number in range(count))


def _some(cases: tuple[Case, ...], asked: Asked) -> tuple[Case, ...]:
    return cases[: asked.limit] if asked.limit is None or not asked.spread else spread(cases, asked.limit)
