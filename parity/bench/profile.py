"""Where a frame's time goes in a package: `python -m qwen3_tts_ncnn.parity.bench.profile PACKAGE`."""

import cProfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from qwen3_tts_ncnn import runtime
from qwen3_tts_ncnn.parity.bench import net_watch
from qwen3_tts_ncnn.parity.bench.attribution import OUTSIDE, seconds_by_module
from qwen3_tts_ncnn.parity.bench.cuts import Stage, codec_stages, decoder_stages
from qwen3_tts_ncnn.parity.bench.job import TEXT
from qwen3_tts_ncnn.parity.bench.net_watch import NetWatch, Replay
from qwen3_tts_ncnn.runtime import TTS, TTSError
from qwen3_tts_ncnn.runtime.cli.main import Refusal
from qwen3_tts_ncnn.runtime.cli.output import console
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.param import ParamGraph, read_param

REPEATS = 9
"""Runs up to each cut, to take the least of."""

LEAST_MS = 0.005
"""Python's modules below this are not listed."""

NETS = "ncnn"
"""Module of the calls into ncnn, which are listed by graph instead."""

Row = tuple[str, str, float]
"""Name, calls a frame, milliseconds a frame."""


@click.command()
@click.argument("package", type=click.Path(path_type=Path))
@click.option("--text", default=TEXT, help="What is spoken.")
@click.option("--speaker", help="Who speaks, on CustomVoice; the package's first speaker if not given.")
@click.option("--instruct", help="Who speaks, on VoiceDesign.")
@click.option("--language", default="auto", show_default=True, help="Language of the text.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads; physical cores if not given.")
@click.option("--frames", type=click.IntRange(min=3), default=40, show_default=True, help="Frames to speak.")
def main(
    package: Path,
    text: str,
    speaker: str | None,
    instruct: str | None,
    language: str,
    threads: int | None,
    frames: int,
) -> None:
    """Say where a frame's time goes in PACKAGE: by graph, in Python, and by stage inside the three large graphs."""
    warnings.simplefilter("ignore")
    try:
        watch = NetWatch()
        with watch.watching():
            tts = TTS.load(package, threads=threads)
        who = speaker or next(iter(tts.speakers), None)
        how = {"speaker": who, "instruct": instruct, "language": language}
        screen = console()
        _print_frame(screen, *_frame_rows(tts, watch, text, how, frames))
        watch.recording = True
        _speak(tts, text, how, frames)
        _print_stages(screen, Package.open(package), watch.replays)
    except TTSError as error:
        raise Refusal(str(error)) from error


def _speak(tts: TTS, text: str, how: dict[str, Any], frames: int, begin: "_Begin | None" = None) -> None:
    tts.speak(text, **how, greedy=True, split=False, budget=False, watchdog=False, max_frames=frames, on_frame=begin)


class _Begin:
    """Begins to count with the second frame: what is before it is the prompt's."""

    def __init__(self, watch: NetWatch, profile: cProfile.Profile | None) -> None:
        self._watch, self._profile = watch, profile
        self.clock = 0.0
        self.frames = 0

    def __call__(self, count: int) -> None:
        self.frames = count - 1
        if count == 1:
            self._watch.reset()
            self.clock = time.perf_counter()
            if self._profile is not None:
                self._profile.enable()


def _frame_rows(
    tts: TTS, watch: NetWatch, text: str, how: dict[str, Any], frames: int
) -> tuple[list[Row], float, float]:
    """Where the time of a frame goes, and its milliseconds without and with the profiler."""
    _speak(tts, text, how, 3)  # touches memory
    plain = _Begin(watch, None)
    _speak(tts, text, how, frames, plain)
    without = 1000 * (time.perf_counter() - plain.clock) / plain.frames
    rows = [
        *_call_rows(watch.extracts, plain.frames, "{}"),
        *_call_rows([("inputs", seconds) for _, seconds in watch.inputs], plain.frames, "handing {} to ncnn"),
    ]
    profile = cProfile.Profile()
    profiled = _Begin(watch, profile)
    _speak(tts, text, how, frames, profiled)
    profile.disable()
    spent = 1000 * (time.perf_counter() - profiled.clock) / profiled.frames
    modules = seconds_by_module(profile, _module_of)
    for name, seconds in sorted(modules.items(), key=lambda pair: -pair[1]):
        milliseconds = 1000 * seconds / profiled.frames
        if name not in (NETS, OUTSIDE) and milliseconds >= LEAST_MS:
            rows.append((f"Python: {name}", "", milliseconds))
    return rows, without, spent


def _call_rows(calls: Sequence[net_watch.Call], frames: int, form: str) -> Iterator[Row]:
    counts = Counter(name for name, _ in calls)
    totals = {name: sum(seconds for which, seconds in calls if which == name) for name in counts}
    for name, seconds in sorted(totals.items(), key=lambda pair: -pair[1]):
        yield form.format(name), f"{counts[name] / frames:.1f}", 1000 * seconds / frames


def _module_of(file: str) -> str | None:
    """The runtime's modules by their names; all else counts for whoever called it."""
    path = Path(file)
    if file == net_watch.__file__:
        return NETS
    root = Path(runtime.__file__).parent
    return path.relative_to(root).with_suffix("").as_posix() if path.is_relative_to(root) else None


def _print_frame(screen: Console, rows: Sequence[Row], without: float, spent: float) -> None:
    table = Table("a frame", box=None, pad_edge=False, header_style="bold")
    for name in ("calls", "ms", "share"):
        table.add_column(name, justify="right")
    for name, calls, milliseconds in rows:
        table.add_row(name, calls, f"{milliseconds:.2f}", f"{milliseconds / without:.1%}")
    table.add_row("all, by the clock", "", f"{without:.2f}", "")
    screen.print(table)
    screen.print(f"Python's lines are of a second run under cProfile, which took {spent:.2f} ms a frame.\n")


def _print_stages(screen: Console, package: Package, replays: dict[str, Replay]) -> None:
    """The three large graphs, stage by stage."""
    codec = package.manifest.codec
    for name in ("talker_decoder", "predictor_decoder", "codec_decoder"):
        graph = read_param(package.graph_files(name)[0].read_text(encoding="utf-8"))
        is_codec = name == "codec_decoder"
        stages = codec_stages(graph, codec.states) if is_codec else decoder_stages(graph)
        frames = replays[name].inputs["ids"].w // codec.codebooks if is_codec else 1
        _print_graph(screen, f"{name}, {frames} frames at once" if is_codec else f"{name}, one step", graph)
        _print_times(screen, stages, [1000 * seconds / frames for seconds in cumulated(replays[name], stages)])


def cumulated(replay: Replay, stages: Sequence[Stage]) -> list[float]:
    """Seconds up to the end of each stage: the least of several runs, in turns, because whatever disturbs one adds."""
    runs = [[replay.seconds(stage.end) for stage in stages] for _ in range(REPEATS)]
    return [min(column) for column in zip(*runs, strict=True)]


def _print_graph(screen: Console, title: str, graph: ParamGraph) -> None:
    types = Counter(layer.type for layer in graph.layers)
    counted = ", ".join(f"{count} {name}" for name, count in types.most_common())
    screen.print(f"{title}: {len(graph.layers)} layers ({counted})", soft_wrap=True)


def _print_times(screen: Console, stages: Sequence[Stage], times: Sequence[float]) -> None:
    """A row a stage; what a stage adds may be below zero where it costs less than the clock is sure of."""
    table = Table("stage", box=None, pad_edge=False, header_style="bold")
    for name in ("ms a frame", "up to here"):
        table.add_column(name, justify="right")
    for stage, time_before, time_here in zip(stages, [0.0, *times], times, strict=False):
        table.add_row(stage.name, f"{time_here - time_before:.2f}", f"{time_here:.2f}")
    screen.print(table)
    screen.print()


if __name__ == "__main__":
    main(prog_name="python -m qwen3_tts_ncnn.parity.bench.profile")
