"""`qwen3-tts-ncnn parity`: prove that a package is its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from qwen3_tts_ncnn.parity.cases import MAX_FRAMES, Case
from qwen3_tts_ncnn.parity.clips import read_clip
from qwen3_tts_ncnn.parity.run_cases import Asked, run_cases
from qwen3_tts_ncnn.parity.settings import SEEDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from qwen3_tts_ncnn.parity.compare import CaseReport
    from qwen3_tts_ncnn.parity.quality import ForcedRun
    from qwen3_tts_ncnn.runtime.manifest import Quality

PLAIN_WIDTH = 160
"""Columns where the output is not a terminal, so that no row of the table is folded."""
FEW_CASES = 7
"""How many cases a measurement takes of the suite; coprime to the lengths of the lists that a suite is a product of."""


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
@click.option(
    "--teacher-forced",
    is_flag=True,
    help="Measure instead of judge: feed PACKAGE the codes that upstream says, and compare each choice's logits. "
    f"--cases are spread over the suite, {FEW_CASES} if not given.",
)
@click.option("--record", is_flag=True, help="Write what --teacher-forced measured into PACKAGE's model.json.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads of either side; physical cores if not given.")
@click.option("--backend", default="cpu", show_default=True, help="Where the package's graphs run; as in `speak`.")
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
    teacher_forced: bool,
    record: bool,
    threads: int | None,
    backend: str,
    as_json: bool,
) -> None:
    """Compare PACKAGE with upstream's PyTorch model on CHECKPOINT, token by token.

    Upstream speaks on the CPU in fp32, PACKAGE there too or where --backend says; greedily or, with a seed, drawing the
    same. Exit status: 0 all equal, 1 any difference, 2 the comparison cannot be made. With --teacher-forced it is 0
    where the measurement could be made.

    \b
    Examples:
      qwen3-tts-ncnn parity models/tiny-checkpoint-fp32 tiny-checkpoint --cases 4
      qwen3-tts-ncnn parity models/tiny-checkpoint-int8 tiny-checkpoint --teacher-forced --record
    """
    if record and not teacher_forced:
        raise click.UsageError("--record goes with --teacher-forced: it writes what that measured.")
    if record and backend != "cpu":
        raise click.UsageError("--record goes without --backend: a package carries the figures of its CPU graphs.")
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
    limit = cases or (FEW_CASES if teacher_forced else None)
    asked = Asked(package, checkpoint, single, limit, teacher_forced, max_frames, seeds, threads, backend)
    if teacher_forced:
        _print_quality(*_measure_all(asked, record), as_json)
        if record:
            click.echo(f"recorded in the model.json of {package}", err=True)
        return
    reports = _compare_all(asked)
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


def _compare_all(asked: Asked) -> list[CaseReport]:
    """Let both sides speak every case, and compare."""
    from qwen3_tts_ncnn.parity.compare import compare
    from qwen3_tts_ncnn.parity.package_run import trace_package

    return run_cases(asked, lambda tts, oracle, case: compare(case, trace_package(tts, case), oracle.speak(case)))


def _measure_all(asked: Asked, record: bool) -> tuple[Quality, list[ForcedRun]]:
    """Feed the package what upstream says of every case, and write the figures into its manifest if asked."""
    from qwen3_tts_ncnn.parity.quality_report import check_origin, quality_of
    from qwen3_tts_ncnn.parity.teacher_forced import force
    from qwen3_tts_ncnn.runtime.files import check_place
    from qwen3_tts_ncnn.runtime.manifest import MANIFEST, read_manifest, record_quality

    origin = read_manifest(asked.package).origin
    if record:
        # Before the minutes that the measuring takes.
        check_place(asked.package / MANIFEST)
        check_origin(origin, asked.checkpoint)
    runs = run_cases(asked, force)
    quality = quality_of(runs, origin.name if record else asked.checkpoint.resolve().name)
    if record:
        record_quality(asked.package, quality)
    return quality, runs


def _print(reports: Sequence[CaseReport], as_json: bool) -> None:
    from qwen3_tts_ncnn.parity.report import print_table, to_json

    if as_json:
        click.echo(to_json(reports))
    else:
        print_table(reports, _console())


def _print_quality(quality: Quality, runs: Sequence[ForcedRun], as_json: bool) -> None:
    from qwen3_tts_ncnn.parity.quality_report import print_quality, quality_json

    if as_json:
        click.echo(quality_json(quality, runs))
    else:
        print_quality(quality, runs, _console())


def _console() -> Console:
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    return console
