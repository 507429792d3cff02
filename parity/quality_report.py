"""What a teacher-forced run measured, for people, for programs and for the package's manifest."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.quality import ForcedRun, figures, per_codebook, total
from qwen3_tts_ncnn.parity.report import versions
from qwen3_tts_ncnn.runtime.manifest import Figures, Origin, Quality
from qwen3_tts_ncnn.runtime.package import file_sha256


def quality_of(runs: Sequence[ForcedRun], checkpoint: str) -> Quality:
    """The figures of all runs, at least one, against the checkpoint of that name."""
    seeds = dict.fromkeys(run.case.seed for run in runs if run.case.seed is not None)
    return Quality(
        checkpoint=checkpoint,
        # A case is counted once, however many seeds it was sampled with.
        cases=len(runs) // max(1, len(seeds)),
        frames=sum(run.frames for run in runs),
        seeds=tuple(seeds),
        total=total(runs),
        codebooks=per_codebook(runs),
        measured_with=versions(),
    )


def check_origin(origin: Origin, checkpoint: Path) -> None:
    """Raise `ParityError` unless every file that the package was made from is in this folder, the same to the byte.

    Raises `PackageError` where one cannot be read.
    """
    for name, sha256 in origin.files.items():
        path = checkpoint / name
        if not path.is_file():
            found = "is missing, and the package was made from it"
        elif file_sha256(path) != sha256:
            found = "is not the file that the package was made from"
        else:
            continue
        raise ParityError(f"{path} {found}: give the checkpoint {origin.name}, or leave --record out")


def print_quality(quality: Quality, runs: Sequence[ForcedRun], console: Console) -> None:
    """Print a table with a row a codebook and one of all, a line for each case, and the versions."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("codebook", "choices", "top-1 equal", "mean KL", "mean rank", "worst rank"):
        table.add_column(name, justify="right", no_wrap=True)
    for codebook, row in enumerate(quality.codebooks):
        table.add_row(str(codebook), *_cells(row))
    table.add_row("all", *_cells(quality.total), style="bold")
    console.print(table)
    note = ", ".join(f"{name} {version}" for name, version in quality.measured_with.items())
    for line in (*map(_case_line, runs), Text(_summary(quality)), Text(note, style="dim")):
        # The terminal may wrap a line; a file or a pipe gets it whole.
        console.print(line, soft_wrap=True)


def quality_json(quality: Quality, runs: Sequence[ForcedRun]) -> str:
    """The same as JSON text: what `--record` writes, and the figures of each case."""
    cases = [
        {
            "text": run.case.text,
            "mode": run.case.mode,
            "who": run.case.who,
            "language": run.case.language,
            "layout": run.case.layout,
            "seed": run.case.seed,
            "frames": run.frames,
            **asdict(figures(run.ranks, run.divergences)),
        }
        for run in runs
    ]
    document: dict[str, Any] = {"teacher_forced": asdict(quality), "cases": cases}
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


def _cells(row: Figures) -> tuple[str, ...]:
    return (
        str(row.choices),
        f"{row.agreement:.2%}",
        f"{row.kl:.1e}",
        f"{row.mean_rank:.3f}",
        str(row.worst_rank),
    )


def _case_line(run: ForcedRun) -> Text:
    row, case = figures(run.ranks, run.divergences), run.case
    how = "greedy" if case.greedy else f"seed {case.seed}"
    return Text(
        f"{case.mode}, {case.who}, {case.language}, {case.layout}, {how}: {run.frames} frames, "
        f"top-1 {row.agreement:.2%}, KL {row.kl:.1e}, worst rank {row.worst_rank}"
    )


def _summary(quality: Quality) -> str:
    return (
        f"teacher-forced by {quality.checkpoint}: {quality.cases} cases, {quality.frames} frames, {quality.how}; "
        f"top-1 {quality.total.agreement:.2%}, KL {quality.total.kl:.1e} nats"
    )
