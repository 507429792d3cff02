"""`qwen3-tts-ncnn parity`: prove that a package is its checkpoint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qwen3_tts_ncnn.parity.cases import (
    MAX_FRAMES,
    Case,
    cloning_cases,
    default_cases,
    design_cases,
    instruction_cases,
)
from qwen3_tts_ncnn.parity.clips import read_clip, synthetic_references
from qwen3_tts_ncnn.parity.settings import SEEDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qwen3_tts_ncnn.parity.compare import CaseReport
    from qwen3_tts_ncnn.parity.oracle import Oracle

PLAIN_WIDTH = 160
"""Columns where the output is not a terminal, so that no row of the table is folded."""


@click.command(short_help="Compare a package with PyTorch, token by token.")
@click.argument("package", type=click.Path(path_type=Path))
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.option("--text", help="Compare this text only, instead of the suite of the checkpoint's type, 24 to 36 cases.")
@click.option("--speaker", help="Who speaks --text, on CustomVoice.")
@click.option("--reference", type=click.Path(path_type=Path), help="Recording of who speaks --text, on Base.")
@click.option("--transcript", help="What --reference says, to clone in context; by x-vector alone if not given.")
@click.option("--instruct", help="How to speak --text, with --speaker (1.7B); who speaks it, on VoiceDesign.")
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
@click.option(
    "--seed",
    "seeds",
    type=click.IntRange(*SEEDS),
    multiple=True,
    help="Sample every case with this seed, as torch does; give it again for more seeds. Greedy if not given.",
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
    instruct: str | None,
    language: str | None,
    streaming_text: bool | None,
    max_frames: int,
    seeds: tuple[int, ...],
    cases: int | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Compare PACKAGE with upstream's PyTorch model on CHECKPOINT, token by token.

    Both speak in fp32 on the CPU, greedily or, with a seed, drawing the same. Exit status: 0 all equal, 1 any
    difference, 2 the comparison cannot be made.

    \b
    Example:
      qwen3-tts-ncnn parity models/tiny-checkpoint-fp32 tiny-checkpoint --cases 4
    """
    if transcript is not None and reference is None:
        raise click.UsageError("--transcript needs --reference.")
    single = None
    if text is not None:
        _check_voice(speaker, reference, instruct)
        if cases is not None:
            raise click.UsageError("--cases goes with the suite, not with --text.")
        clip = None if reference is None else read_clip(reference, transcript)
        single = Case(text, speaker, language or "auto", streaming_text, max_frames, clip, instruct)
    elif (speaker, reference, instruct, language, streaming_text) != (None,) * 5:
        raise click.UsageError(
            "--speaker, --reference, --instruct, --language, --streaming-text and --whole-text go with --text."
        )
    reports = _compare_all(package, checkpoint, single, cases, max_frames, seeds, threads)
    _print(reports, as_json)
    context.exit(0 if all(report.ok for report in reports) else 1)


def _check_voice(speaker: str | None, reference: Path | None, instruct: str | None) -> None:
    """Raise `click.UsageError` unless the options name one voice for --text."""
    if speaker is not None and reference is not None:
        raise click.UsageError("--speaker (CustomVoice) and --reference (Base) exclude each other.")
    if reference is not None and instruct is not None:
        raise click.UsageError("--instruct goes with --speaker (CustomVoice) or alone (VoiceDesign).")
    if (speaker, reference, instruct) == (None, None, None):
        raise click.UsageError(
            "--text needs --speaker (CustomVoice), --reference (Base) or --instruct (VoiceDesign), to say who speaks."
        )


def _compare_all(
    package: Path,
    checkpoint: Path,
    single: Case | None,
    limit: int | None,
    max_frames: int,
    seeds: tuple[int, ...],
    threads: int | None,
) -> list[CaseReport]:
    """Load both sides and run `single`, or the first `limit` cases of the suite, greedily or with each of the seeds.

    Progress goes to stderr.
    """
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
        cases = (single,) if single else _suite(oracle, max_frames)[:limit]
        chosen = [replace(case, seed=seed) for case in cases for seed in seeds or (None,)]
        reports = []
        progress.update(task, total=len(chosen))
        for number, case in enumerate(chosen, 1):
            progress.update(task, description=f"case {number}: {case.who}, {case.language}, {case.layout}")
            reports.append(compare(case, trace_package(tts, case), oracle.speak(case)))
            progress.advance(task)
    return reports


def _suite(oracle: Oracle, max_frames: int) -> tuple[Case, ...]:
    """What fits the checkpoint's type."""
    if oracle.kind == "base":
        return cloning_cases(synthetic_references(), oracle.languages, max_frames)
    if oracle.kind == "voice_design":
        return design_cases(oracle.languages, max_frames)
    named = default_cases(oracle.speakers, oracle.languages, max_frames)
    if not oracle.takes_instructions:
        return named
    return named + instruction_cases(oracle.speakers, oracle.languages, max_frames)


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
