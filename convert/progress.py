"""How far a conversion is, on standard error: a bar on a terminal, otherwise one line for each finished graph."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

from qwen3_tts_ncnn.runtime.cli.output import console, size_text, tell

if TYPE_CHECKING:
    from qwen3_tts_ncnn.convert.report import Step


class _Bar:
    """A bar that is there while a block runs, on a terminal only."""

    def __init__(self, description: str, *columns: ProgressColumn) -> None:
        screen = console(stderr=True)
        self._visible = screen.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            *columns,
            TimeElapsedColumn(),
            console=screen,
            transient=True,
            disable=not self._visible,
        )
        self._task = self._progress.add_task(description, total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


class ConversionProgress(_Bar):
    """The graph that is being made, and how many are done."""

    def __init__(self) -> None:
        super().__init__("reading the checkpoint", MofNCompleteColumn())

    def graph(self, number: int, total: int, step: Step, measured: float | None) -> None:
        """Graph `number` of `total` begins, or is finished with the worst value that its check measured."""
        if measured is None:
            self._progress.update(self._task, description=step.name, completed=number - 1, total=total)
            return
        self._progress.update(self._task, description="writing the manifest", completed=number, total=total)
        if not self._visible:
            bound = step.bound
            side = "at least" if bound.at_least else "at most"
            tell(f"[{number}/{total}] {step.name}: {bound.measure} {measured:.3g} ({side} {bound.limit:g})")


class WritingProgress(_Bar):
    """The file that is being written, and its bytes."""

    def __init__(self) -> None:
        super().__init__("drawing random weights", TextColumn("{task.fields[sizes]}"))
        self._progress.update(self._task, sizes="")

    def written(self, name: str, done: int, total: int) -> None:
        """`done` of `total` bytes of a file are written."""
        sizes = f"{size_text(done)} of {size_text(total)}"
        self._progress.update(self._task, description=name, completed=done, total=total, sizes=sizes)
