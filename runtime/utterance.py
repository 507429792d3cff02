"""One run from its first frame to its last sample: decode as it goes, and stop when it is speech no longer."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.stopping import StopReason, Watchdog, level_dbfs

OnFrame = Callable[[int], None]

# Frames that are decoded at once where nobody waits for them: 2 s, where the shortest thing that the watchdog stops
# takes 4.
_BLOCK = 25


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
    blocks = list(decode_blocks(frames, decoding, repeat(_BLOCK), watchdog, on_frame))
    return Utterance(
        np.concatenate([block.codes for block in blocks]),
        np.concatenate([block.samples for block in blocks]),
        blocks[-1].stopped,
    )


def decode_blocks(
    frames: Iterable[NDArray[np.int32]],
    decoding: Decoding,
    sizes: Iterator[int],
    watchdog: Watchdog | None,
    on_frame: OnFrame | None,
) -> Iterator[Utterance]:
    """A run in pieces of so many frames, each decoded as soon as it is there; the last may be shorter.

    What comes after the watchdog's reason to stop is dropped, and that piece is the last.
    """
    waiting: list[NDArray[np.int32]] = []
    size = next(sizes)
    for count, frame in enumerate(frames, start=1):
        waiting.append(frame)
        if on_frame is not None:
            on_frame(count)
        if len(waiting) == size:
            block = _decode(np.stack(waiting), decoding, watchdog)
            yield block
            if block.stopped is not None:
                return
            waiting, size = [], next(sizes)
    if waiting:  # it has ended by itself: there is nothing to stop
        yield _decode(np.stack(waiting), decoding, None)


def _decode(codes: NDArray[np.int32], decoding: Decoding, watchdog: Watchdog | None) -> Utterance:
    """Decodes a piece and shows it to the watchdog."""
    samples = decoding.decode(codes)
    if watchdog is not None:
        for number, (frame, wave) in enumerate(zip(codes, np.split(samples, len(codes)), strict=True), start=1):
            reason = watchdog.check(frame, level_dbfs(wave))
            if reason is not None:
                return Utterance(codes[:number], samples[: number * len(wave)], reason)
    return Utterance(codes, samples, None)


def growing_sizes(first: int, most: int) -> Iterator[int]:
    """`first`, then twice as many each time, up to `most`: the first sound is there soon, the rest costs few calls.

    Raises `OptionError` for a size below one frame.
    """
    for name, size in (("first_chunk", first), ("chunk", most)):
        if size < 1:
            raise OptionError(f"{name} is {size}, expected 1 or more (a frame is 80 ms)")
    return _doubling(first, most)


def _doubling(size: int, most: int) -> Iterator[int]:
    yield size
    while size < most:
        size = min(2 * size, most)
        yield size
    yield from repeat(most)
