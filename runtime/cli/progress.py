"""How far a run is, on standard error while that is a terminal, and gone when it is done."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.progress import Progress, SpinnerColumn, TextColumn

from qwen3_tts_ncnn.runtime.cli.output import console
from qwen3_tts_ncnn.runtime.manifest import CodecShape


class SpeechProgress:
    """Frames made, seconds of speech so far, and the real-time factor: compute seconds over seconds of speech."""

    def __init__(self, codec: CodecShape) -> None:
        self._seconds_per_frame = codec.samples_per_frame / codec.sample_rate
        screen = console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            console=screen,
            transient=True,
            disable=not screen.is_terminal,
        )
        self._task = self._progress.add_task("loading the package", total=None)
        self._begun = time.perf_counter()

    def cloning(self) -> None:
        """The package is loaded, the voice is being cloned."""
        self._progress.update(self._task, description="cloning the voice")

    def loaded(self) -> None:
        """Everything is loaded, the run begins."""
        self._begun = time.perf_counter()
        self._progress.update(self._task, description="reading the text")

    def frame(self, count: int) -> None:
        """`count` frames have been made."""
        speech = count * self._seconds_per_frame
        factor = (time.perf_counter() - self._begun) / speech
        text = f"{count} frames, {speech:.1f} s of speech, real-time factor {factor:.2f}"
        self._progress.update(self._task, description=text)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


@contextmanager
def working(on: str) -> Iterator[None]:
    """Says what is being worked on while a block runs, for blocks that count nothing."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield
        return
    with screen.status(on):
        yield
