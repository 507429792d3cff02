"""Speech that is heard while it is made."""

from collections.abc import Generator, Iterator
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.speech_warning import warn_of
from qwen3_tts_ncnn.runtime.utterance import Utterance


class SpeechStream(Iterator[Floats]):
    """Samples (n,) float32 in ±1 at `sample_rate` Hz, chunk by chunk; laid end to end they are the speech.

    `codes` (T, 16) are the frames so far, and `seed` repeats the speech. `stop` says what ended it, as that of
    `Speech`; None until then. Closing the stream, or leaving its `with` block, stops within a frame and frees all that
    the run held.
    """

    def __init__(self, blocks: Generator[Utterance, None, str], sample_rate: int, seed: int | None) -> None:
        self.sample_rate = sample_rate
        self.seed = seed
        self.stop: str | None = None
        self._blocks = blocks
        self._codes: list[NDArray[np.int32]] = []

    def __next__(self) -> Floats:
        try:
            block = next(self._blocks)
        except StopIteration as end:
            if self.stop is None and end.value is not None:
                self.stop = end.value
                warn_of(end.value)
            raise StopIteration from None
        self._codes.append(block.codes)
        return block.samples

    @property
    def codes(self) -> NDArray[np.int32]:
        """The frames (T, 16) whose samples have been taken."""
        return np.concatenate(self._codes) if self._codes else np.zeros((0, 0), dtype=np.int32)

    def close(self) -> None:
        """Stops the run. What was taken stays, `stop` too."""
        self._blocks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
