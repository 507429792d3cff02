"""The report for people: a row a figure, a column a contestant."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from qwen3_tts_ncnn.parity.bench.figures import Figure, Result
from qwen3_tts_ncnn.parity.bench.report import Report

NOTHING = "—"


def print_report(report: Report, console: Console) -> None:
    """Print the table, what its figures are, the machine, and whether that was busy."""
    console.print(_table(report))
    lines = [*map(Text, _notes(report)), Text(report.machine.sentence(report.plan.job.threads), style="dim")]
    warning = busy_line(report)
    if warning is not None:
        lines.append(Text(warning, style="yellow"))
    for line in lines:
        # The terminal may wrap a line; a file or a pipe gets it whole.
        console.print(line, soft_wrap=True)


def rounds_text(rounds: int) -> str:
    """How often was measured."""
    return "one round" if rounds == 1 else f"medians of {rounds} rounds in turns"


def busy_line(report: Report) -> str | None:
    """A warning, where others took so much of the machine that the figures are doubtful."""
    if report.load is None or not report.load.is_busy:
        return None
    return f"The machine was busy: {report.load.sentence()}. Measure again when it is not."


def _table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for result in report.results:
        table.add_column(result.name, justify="right")
        table.add_column("", style="dim")
        if report.upstream is not None and not result.upstream:
            table.add_column("×", justify="right", style="bold", no_wrap=True)
    rows = [("frames", _frames), ("prompt, rows", lambda result: str(result.prompt_rows))]
    for title, cell in rows:
        table.add_row(title, *(text for result in report.results for text in _padded(report, result, cell(result))))
    for figure in report.figures:
        cells = [text for result in report.results for text in _cells(report, result, figure)]
        table.add_row(figure.title, *cells)
    return table


def _cells(report: Report, result: Result, figure: Figure) -> Iterator[str]:
    """Median, spread, and the ratio to PyTorch where there is one."""
    spread = result.figures.get(figure.key)
    if spread is None:
        yield from _padded(report, result, NOTHING)
        return
    yield f"{spread.median:.{figure.digits}f}"
    yield f"{spread.low:.{figure.digits}f}–{spread.high:.{figure.digits}f}" if len(spread.values) > 1 else ""
    if report.upstream is not None and not result.upstream:
        ratio = result.ratio(figure, report.upstream)
        yield "" if ratio is None else f"{ratio:.2f}"


def _padded(report: Report, result: Result, text: str) -> Iterator[str]:
    """A text in the columns of one contestant."""
    yield text
    yield from [""] if report.upstream is None or result.upstream else ["", ""]


def _frames(result: Result) -> str:
    least, most = min(result.frames), max(result.frames)
    return str(most) if least == most else f"{least}–{most}"


def _notes(report: Report) -> Iterator[str]:
    yield (
        f"{rounds_text(report.plan.rounds).capitalize()}, beside them the least and the greatest."
        + (" × is a median over PyTorch's." if report.upstream else "")
    )
    yield "Total RTF is compute seconds ÷ audio seconds of a whole run, from the text to the last sample, not streamed."
    yield "Load is from a warm page cache, without imports; peak memory is a process's, mapped files included."
    if report.upstream is not None:
        yield "PyTorch does not stream: its first audio comes with its last."
