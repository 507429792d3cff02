"""One run from its first frame to its last sample: decode as it goes, and stop when it is speech no longer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.stopping import StopReason, Watchdog, level_dbfs

OnFrame = Callable[[int], None]

# Frames between two looks of the watchdog: 2 s, where the shortest thing that it stops takes 4.
_LOOK = 25


class Decoding(Protocol):
    """A signal that is decoded piece by piece: `CodecStream` or `ChunkedStream`."""

    def decode(self, codes: NDArray[np.int32]) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Utterance:
    """Frames (T, 16), their samples (1920 · T,), and why the watchdog stopped the run, if it did."""

    codes: NDArray[np.int32]
    samples: Floats
    stopped: StopReason | None


def utter(
    frames: Iterable[NDArray[np.int32]], decoding: Decoding, watchdog: Watchdog | None, on_frame: OnFrame | None
) -> Utterance:
    """Takes all frames of a run, or those until the watchdog stops it."""
    blocks: list[NDArray[np.int32]] = []
    samples: list[Floats] = []
    waiting: list[NDArray[np.int32]] = []
    for count, frame in enumerate(frames, start=1):
        waiting.append(frame)
        if on_frame is not None:
            on_frame(count)
        if watchdog is not None and len(waiting) == _LOOK:
            block, wave, reason = _look(np.stack(waiting), decoding, watchdog)
            blocks.append(block)
            samples.append(wave)
            waiting = []
            if reason is not None:
                return Utterance(np.concatenate(blocks), np.concatenate(samples), reason)
    if waiting:
        blocks.append(np.stack(waiting))
        samples.append(decoding.decode(blocks[-1]))
    return Utterance(np.concatenate(blocks), np.concatenate(samples), None)


def _look(
    block: NDArray[np.int32], decoding: Decoding, watchdog: Watchdog
) -> tuple[NDArray[np.int32], Floats, StopReason | None]:
    """Decodes a block and shows it to the watchdog; what comes after a reason to stop is dropped."""
    samples = decoding.decode(block)
    for number, (frame, wave) in enumerate(zip(block, np.split(samples, len(block)), strict=True), start=1):
        reason = watchdog.check(frame, level_dbfs(wave))
        if reason is not None:
            return block[:number], samples[: number * len(wave)], reason
    return block, samples, None
