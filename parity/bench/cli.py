"""`qwen3-tts-ncnn bench`: packages and PyTorch, measured side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qwen3_tts_ncnn.parity.bench.entries import backends_of, entries_of
from qwen3_tts_ncnn.parity.bench.job import FRAMES, TEXT, Job
from qwen3_tts_ncnn.runtime.cli.output import console, print_line, standard_output, tell
from qwen3_tts_ncnn.runtime.cpu import thread_count
from qwen3_tts_ncnn.runtime.devices import find_devices
from qwen3_tts_ncnn.runtime.files import check_place, write_beside
from qwen3_tts_ncnn.runtime.measured_backends import keep_fastest
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.placement import Placement

if TYPE_CHECKING:
    from qwen3_tts_ncnn.parity.bench.report import Report
    from qwen3_tts_ncnn.parity.bench.rounds import OnFailure, Plan
    from qwen3_tts_ncnn.runtime.devices import Device
    from qwen3_tts_ncnn.runtime.manifest import Manifest

STDOUT = "-"

PLAIN_WIDTH = 240
"""Columns where the output is not a terminal, so that no row of the table is folded."""

DESIGN = "A calm old man with a deep, warm voice."


class Positions(click.ParamType[tuple[int, ...]]):
    """Rows of a KV cache, such as 50,2000."""

    name = "n,n"

    def convert(
        self, value: str | tuple[int, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The distinct numbers, least first."""
        if isinstance(value, tuple):
            return value
        numbers = [number.strip() for number in value.split(",")]
        if not all(number.isdecimal() and int(number) > 0 for number in numbers):
            self.fail(f"{value!r} is not a list of positions of 1 or more, such as 50,2000", param, ctx)
        return tuple(sorted({int(number) for number in numbers}))


@click.command(short_help="Measure packages beside PyTorch.")
@click.argument("packages", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--checkpoint", type=click.Path(path_type=Path), help="Measure upstream's PyTorch model on it too.")
@click.option("--text", default=TEXT, help="What is spoken; a sentence of 25 tokens if not given.")
@click.option("--speaker", help="Who speaks, on CustomVoice; the package's first speaker if not given.")
@click.option("--language", default="auto", show_default=True, help="Language of the text.")
@click.option("--reference", type=click.Path(path_type=Path), help="Recording of who speaks, on Base.")
@click.option("--transcript", help="What --reference says, to clone in context; by x-vector alone if not given.")
@click.option("--instruct", help="How to speak (CustomVoice 1.7B), or who speaks (VoiceDesign).")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads of everybody; physical cores if not given.")
@click.option("--backend", default="cpu", show_default=True, help="Where the packages' graphs run; as in `speak`.")
@click.option(
    "--devices",
    is_flag=True,
    help="Measure one package on the CPU and on every GPU, and keep which was the fastest for --backend auto.",
)
@click.option("--huge-pages", is_flag=True, help="Packages put their weights on huge pages, where the system has them.")
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True, help="Rounds to take medians of.")
@click.option(
    "--frames",
    type=click.IntRange(min=1),
    default=FRAMES,
    show_default=True,
    help="Frames of 80 ms that everybody makes; EOS is held off.",
)
@click.option("--positions", type=Positions(), default=(), help="Time a frame at these rows of the KV cache too.")
@click.option(
    "--json",
    "json_file",
    is_flag=False,
    flag_value=STDOUT,
    metavar="[FILE]",
    help="Write the figures as JSON into a file; last and without one, to standard output instead of the table.",
)
@click.option("--chart", type=click.Path(path_type=Path), help="Draw the figures into this .png file.")
def bench(
    packages: tuple[Path, ...],
    checkpoint: Path | None,
    text: str,
    speaker: str | None,
    language: str,
    reference: Path | None,
    transcript: str | None,
    instruct: str | None,
    threads: int | None,
    backend: str,
    devices: bool,
    huge_pages: bool,
    rounds: int,
    frames: int,
    positions: tuple[int, ...],
    json_file: str | None,
    chart: Path | None,
) -> None:
    """Measure PACKAGES, and PyTorch on the checkpoint that they were made of, in one run.

    Each is loaded in a process of its own, and they speak the same text in turns, one at a time, so that the machine's
    moods hit all alike. Nothing is compared with a fixed number.

    \b
    Examples:
      qwen3-tts-ncnn bench models/mine-int8 models/mine-fp32 --checkpoint mine --chart bench.png
      qwen3-tts-ncnn bench models/mine-int8 --devices
    """
    from qwen3_tts_ncnn.parity.bench.rounds import Plan

    if devices and (len(packages) > 1 or checkpoint is not None or backend != "cpu"):
        raise click.UsageError("--devices takes one package, and neither --checkpoint nor --backend.")
    _check_outputs(json_file, chart)
    opened = [Package.open(package).speech for package in packages]
    speaker, instruct = _voice(opened[0], speaker, reference, transcript, instruct)
    found = find_devices() if devices else ()
    for manifest in opened:
        Placement.of(backend, manifest)  # one that cannot be shows before anything is loaded
    job = Job(
        text=text,
        speaker=speaker,
        language=language,
        reference=None if reference is None else str(reference),
        transcript=transcript,
        instruct=instruct,
        frames=frames,
        threads=thread_count(threads),
        huge_pages=huge_pages,
    )
    if reference is not None:
        job.case(frames)  # one that cannot be read shows before anything is loaded
    if not devices:
        _hand_out(_measure(Plan(entries_of(packages, checkpoint, backend), job, rounds, positions)), json_file, chart)
        return
    entries = backends_of(packages[0], opened[0], found, tell)
    report = _measure(Plan(entries, job, rounds, positions), lambda error: tell(f"{error}: it is left out"))
    _hand_out(report, json_file, chart)
    _keep_fastest(report, opened[0], found)


def _check_outputs(json_file: str | None, chart: Path | None) -> None:
    """Refuse now what could not be written later."""
    if json_file is not None and json_file != STDOUT:
        if Path(json_file).is_dir():
            raise click.UsageError(f"--json took {json_file} for the file to write: put it last, or write --json=-.")
        check_place(Path(json_file))
    if chart is not None:
        from qwen3_tts_ncnn.parity.bench.chart import check_chart

        check_chart(chart)
        check_place(chart)


def _voice(
    manifest: Manifest, speaker: str | None, reference: Path | None, transcript: str | None, instruct: str | None
) -> tuple[str | None, str | None]:
    """Speaker and instruction: what was asked for, else what the first package can do without being told."""
    if transcript is not None and reference is None:
        raise click.UsageError("--transcript needs --reference.")
    if (speaker, reference, instruct) == (None, None, None):
        if manifest.type == "base":
            raise click.UsageError(f"{manifest.name} is a base package: --reference says who speaks.")
        if manifest.type == "voice_design":
            instruct = DESIGN
    if speaker is None and manifest.type == "custom_voice":
        speaker = next(iter(manifest.speakers), None)
    return speaker, instruct


def _measure(plan: Plan, on_failure: OnFailure | None = None) -> Report:
    """Run the plan. Progress goes to stderr, and is drawn between the steps alone: it is not to cost anybody time.

    A contestant that fails ends it all where there is no `on_failure`.
    """
    from rich.progress import Progress

    from qwen3_tts_ncnn.parity.bench.machine import Machine
    from qwen3_tts_ncnn.parity.bench.report import Report
    from qwen3_tts_ncnn.parity.bench.rounds import compete

    screen = console(stderr=True)
    with Progress(console=screen, transient=True, auto_refresh=False, disable=not screen.is_terminal) as progress:
        task = progress.add_task("starting", total=plan.steps)

        def on_step(what: str) -> None:
            progress.update(task, advance=1, description=what, refresh=True)

        results, load = compete(plan, on_step, on_failure)
    return Report(plan, results, Machine.this(), load)


def _hand_out(report: Report, json_file: str | None, chart: Path | None) -> None:
    from qwen3_tts_ncnn.parity.bench.report import to_json
    from qwen3_tts_ncnn.parity.bench.table import busy_line, print_report

    if chart is not None:
        from qwen3_tts_ncnn.parity.bench.chart import draw_chart

        write_beside(chart, draw_chart(report))
        tell(f"wrote {chart}")
    if json_file == STDOUT:
        print_line(to_json(report))
        warning = busy_line(report)
        if warning is not None:
            tell(warning)
        return
    if json_file is not None:
        write_beside(Path(json_file), (to_json(report) + "\n").encode())
        tell(f"wrote {json_file}")
    with standard_output():
        print_report(report, console(plain_width=PLAIN_WIDTH))


def _keep_fastest(report: Report, manifest: Manifest, devices: Sequence[Device]) -> None:
    """Keep the backend of the least total RTF, and say so."""
    factors = {result.name: result.figures["total_rtf"].median for result in report.results}
    file = keep_fastest(manifest, devices, factors)
    told = ", ".join(f"{backend} {factor:.2f}" for backend, factor in sorted(factors.items(), key=lambda item: item[1]))
    tell(f"total RTF: {told}; --backend auto runs such a package on the first here, as {file} says")
