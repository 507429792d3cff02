"""`qwen3-tts-ncnn parity`: prove that a package is its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from qwen3_tts_ncnn.parity.cases import MAX_FRAMES, Case, cloning_cases, default_cases
from qwen3_tts_ncnn.parity.clips import read_clip, synthetic_references

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qwen3_tts_ncnn.parity.compare import CaseReport
    from qwen3_tts_ncnn.parity.oracle import Oracle

PLAIN_WIDTH = 160
"""Columns where the output is not a terminal, so that no row of the table is folded."""


@click.command(short_help="Compare a package with PyTorch, token by token.")
@click.argument("package", type=click.Path(path_type=Path))
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.option("--text", help="Compare this text only, instead of the suite of 24 cases, or 36 of a Base package.")
@click.option("--speaker", help="Who speaks --text.")
@click.option("--reference", type=click.Path(path_type=Path), help="Recording of who speaks --text, on Base.")
@click.option("--transcript", help="What --reference says, to clone in context; by x-vector alone if not given.")
@click.option("--language", help="Language of --text; auto if not given.")
@click.option(
    "--streaming-text/--whole-text",
    default=None,
    help="Layout of --text: its rows trail the prompt, or stand in it; the checkpoint's own if not given.",
)
@click.option(
    "--max-frames",
    type=click.IntRange(min=1),
    default=MAX_FRAMES,
    show_default=True,
    help="Cut a run after this many frames of 80 ms.",
)
@click.option("--cases", type=click.IntRange(min=1), help="Only the first N cases of the suite.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads of either side; physical cores if not given.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON instead of a table.")
@click.pass_context
def parity(
    context: click.Context,
    package: Path,
    checkpoint: Path,
    text: str | None,
    speaker: str | None,
    reference: Path | None,
    transcript: str | None,
    language: str | None,
    streaming_text: bool | None,
    max_frames: int,
    cases: int | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Compare PACKAGE with upstream's PyTorch model on CHECKPOINT, token by token.

    Both speak greedily in fp32 on the CPU. Exit status: 0 all equal, 1 any difference, 2 the comparison cannot be made.

    \b
    Example:
      qwen3-tts-ncnn parity models/tiny-checkpoint-fp32 tiny-checkpoint --cases 4
    """
    if transcript is not None and reference is None:
        raise click.UsageError("--transcript needs --reference.")
    single = None
    if text is not None:
        if (speaker is None) == (reference is None):
            raise click.UsageError("--text needs --speaker (CustomVoice) or --reference (Base), one of them.")
        if cases is not None:
            raise click.UsageError("--cases goes with the suite, not with --text.")
        clip = None if reference is None else read_clip(reference, transcript)
        single = Case(text, speaker, language or "auto", streaming_text, max_frames, clip)
    elif (speaker, reference, language, streaming_text) != (None, None, None, None):
        raise click.UsageError("--speaker, --reference, --language, --streaming-text and --whole-text go with --text.")
    reports = _compare_all(package, checkpoint, single, cases, max_frames, threads)
    _print(reports, as_json)
    context.exit(0 if all(report.ok for report in reports) else 1)


def _compare_all(
    package: Path,
    checkpoint: Path,
    single: Case | None,
    limit: int | None,
    max_frames: int,
    threads: int | None,
) -> list[CaseReport]:
    """Load both sides and run `single`, or the first `limit` cases of the suite; progress goes to stderr."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("loading the package and upstream", total=None)
        # Imported here: torch takes seconds, and `--help` needs none of it.
        from qwen3_tts_ncnn.parity.compare import compare
        from qwen3_tts_ncnn.parity.oracle import Oracle
        from qwen3_tts_ncnn.parity.package_run import trace_package
        from qwen3_tts_ncnn.runtime import TTS

        oracle = Oracle.load(checkpoint, threads=threads)
        tts = TTS.load(package, threads=threads, pretokenizer=oracle.pretokenizer)
        chosen = (single,) if single else _suite(oracle, max_frames)[:limit]
        reports = []
        progress.update(task, total=len(chosen))
        for number, case in enumerate(chosen, 1):
            progress.update(task, description=f"case {number}: {case.who}, {case.language}, {case.layout}")
            reports.append(compare(case, trace_package(tts, case), oracle.speak(case)))
            progress.advance(task)
    return reports


def _suite(oracle: Oracle, max_frames: int) -> tuple[Case, ...]:
    if oracle.kind == "base":
        return cloning_cases(synthetic_references(), oracle.languages, max_frames)
    return default_cases(oracle.speakers, oracle.languages, max_frames)


def _print(reports: Sequence[CaseReport], as_json: bool) -> None:
    from qwen3_tts_ncnn.parity.report import print_table, to_json

    if as_json:
        click.echo(to_json(reports))
        return
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    print_table(reports, console)
