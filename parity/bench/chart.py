"""The report as a picture: what a frame of speech costs, and when and in how much memory it begins."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwen3_tts_ncnn.parity.bench.errors import BenchError
from qwen3_tts_ncnn.parity.bench.table import rounds_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qwen3_tts_ncnn.parity.bench.report import Report

FRAME_SECONDS = 0.08

WIDTH, DPI = 12.0, 100
"""Inches, and dots an inch."""

INK, PALE = "#333333", "#dddddd"
COLOURS = {"talker": "#3b6fb6", "predictor": "#e0883a", "codec": "#5aa36a"}
PANEL_COLOUR = "#8a8f98"


def check_chart(path: Path) -> None:
    """Raise `BenchError` where no chart can be drawn, or not of that name: before anything is measured."""
    if path.suffix.lower() != ".png":
        raise BenchError(f"{path} is not a .png file: a chart is a PNG picture, give it a name that ends in .png")
    if importlib.util.find_spec("matplotlib") is None:
        raise BenchError("matplotlib is not installed, a chart needs it: pip install 'qwen3-tts-ncnn[bench]'")


def draw_chart(report: Report) -> bytes:
    """The report as a PNG picture, `WIDTH` × `height_of` inches of `DPI` dots."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height_of(len(report.results))), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(1, 4)
    frame, audio, memory = (figure.add_subplot(part) for part in (grid[0, :2], grid[0, 2], grid[0, 3]))
    _draw_frame(frame, report)
    _draw_panel(audio, report, "first_audio_seconds", "first audio, s", "{:.2f}")
    _draw_panel(memory, report, "peak_gb", "peak memory, GB", "{:.2f}")
    _title(figure, report)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def height_of(contestants: int) -> float:
    """Inches."""
    return 2.0 + 0.7 * contestants


def _title(figure: Figure, report: Report) -> None:
    machine, plan = report.machine, report.plan
    busy = "; the machine was busy" if report.load is not None and report.load.is_busy else ""
    late = "" if report.upstream is None else "; PyTorch does not stream, its first audio comes with its last"
    figure.suptitle("What a frame of speech costs (80 ms)", x=0.01, ha="left", fontsize=13, color=INK)
    figure.supxlabel(
        f"{machine.processor}, {machine.cores} cores, {plan.job.threads} used; "
        f"{rounds_text(plan.rounds)}, thin lines from the least to the greatest{busy}{late}",
        x=0.01,
        ha="left",
        fontsize=8,
        color=PANEL_COLOUR,
    )


def _draw_frame(axes: Axes, report: Report) -> None:
    """Stacked bars of ms a frame, with the sum, and its ratio to PyTorch's."""
    rows = range(len(report.results))
    left = [0.0] * len(report.results)
    for part, colour in COLOURS.items():
        widths = [_milliseconds(result.figures)[part] for result in report.results]
        axes.barh(rows, widths, left=left, color=colour, label=part, height=0.55)
        left = [begin + width for begin, width in zip(left, widths, strict=True)]
    whole = next((total for total, result in zip(left, report.results, strict=True) if result.upstream), None)
    for row, (total, result) in enumerate(zip(left, report.results, strict=True)):
        ratio = "" if whole is None or result.upstream else f"  ({total / whole:.2f} × PyTorch)"
        _label(axes, total, row, f"{total:.0f} ms{ratio}")
    _dress(axes, "ms a frame", [result.name for result in report.results])
    axes.set_xlim(0, max([1000 * FRAME_SECONDS, *left]) * 1.35)
    axes.axvline(1000 * FRAME_SECONDS, color=INK, linewidth=0.8, linestyle=":")
    axes.text(1000 * FRAME_SECONDS, -0.5, " real time", fontsize=8, color=INK, va="top")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(COLOURS), fontsize=8, frameon=False)


def _draw_panel(axes: Axes, report: Report, key: str, title: str, form: str) -> None:
    """Bars of one figure."""
    spreads = [result.figures.get(key) for result in report.results]
    for row, spread in enumerate(spreads):
        if spread is None:
            _label(axes, 0, row, "—")
            continue
        axes.barh(row, spread.median, color=PANEL_COLOUR, height=0.55)
        axes.plot([spread.low, spread.high], [row, row], color=INK, linewidth=1)
        _label(axes, spread.high, row, form.format(spread.median))
    _dress(axes, title, [""] * len(spreads))
    axes.set_xlim(0, max([spread.high for spread in spreads if spread] or [1.0]) * 1.4)


def _label(axes: Axes, x: float, row: int, text: str) -> None:
    """A text to the right of a bar's end, on a ground of its own, so that no line runs through it."""
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    axes.annotate(
        text, (x, row), xytext=(7, 0), textcoords="offset points", va="center", fontsize=9, color=INK, bbox=ground
    )


def _dress(axes: Axes, title: str, names: list[str]) -> None:
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="both", length=0, labelcolor=INK)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _milliseconds(figures: dict[str, Any]) -> dict[str, float]:
    """A frame's milliseconds by part."""
    return {
        "talker": figures["talker_ms"].median,
        "predictor": figures["predictor_ms"].median,
        "codec": 1000 * FRAME_SECONDS * figures["codec_rtf"].median,
    }
