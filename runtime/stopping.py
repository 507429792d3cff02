"""When speech should stop though the model does not say so: a budget of frames, a watchdog, seeds for another try.

The usual failure of the trained models is that EOS never comes, or that a phrase repeats. Everything here is arithmetic
on frames, so that it holds for made-up ones. Seconds are at 12.5 frames a second, as all 12 Hz checkpoints run.
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import OptionError


class StopReason(StrEnum):
    """What ended a run. Each is a string: `speech.stop == "eos"`."""

    EOS = "eos"
    """The model said so."""
    LIMIT = "limit"
    """As many frames as the user, the checkpoint's max_new_tokens or the budget allows."""
    REPEAT = "repeat"
    """The same frames over and over."""
    SILENCE = "silence"
    """Near-silence, long after speech began."""


BUDGET_FRAMES = 125
BUDGET_FRAMES_PER_TOKEN = 20


def frame_budget(
    text_tokens: int, *, frames: int = BUDGET_FRAMES, frames_per_token: int = BUDGET_FRAMES_PER_TOKEN
) -> int:
    """More frames than a text of so many tokens takes, however slowly it is spoken.

    Read at the average pace of its language, a token of Qwen's tokenizer takes 1.7 (French) to 3.6 (Chinese) frames:
    the first article of the Declaration of Human Rights in the ten languages, at 5.2 to 7.8 syllables a second. What is
    short to write and long to say takes 7 to 10: large numbers, WWW, FBI, example.org. 20 a token is the latter at half
    the pace, the former at a fifth, pauses included; 125 more (10 s) let a single word be drawn out.
    Raises `OptionError` for a budget that is no frame at all.
    """
    for name, value in (("budget frames", frames), ("budget frames per token", frames_per_token)):
        if value < 0:
            raise OptionError(f"{name} is {value}, expected 0 or more")
    budget = frames + frames_per_token * text_tokens
    if budget < 1:
        raise OptionError(f"the budget of {text_tokens} text tokens is {budget} frames, expected 1 or more")
    return budget


REPEAT_FRAMES = 50
REPEAT_CODES = 100
LONGEST_CYCLE = 50
CYCLE_ROUNDS = 3
SILENCE_FRAMES = 75
SILENCE_LEVEL = -50.0


class Watchdog:
    """Watches the frames of one run, and tells when they are no longer speech.

    - *repeat*: a cycle of at most `longest_cycle` frames (4 s) goes round, code for code: for `repeat_frames` (4 s) in
      all 16 codebooks, or for `repeat_codes` (8 s) in codebook 0 alone; and, in either case, for three rounds after the
      first. A cycle of one is a frame that stands still. Speech that says a thing twice never says it in the same codes
      for so long, and neither a pause nor a held vowel lasts so long.
    - *silence*: `silence_frames` (6 s) in a row are below `silence_level`, after one that was not. A pause is 2 or 3 s.
      A run that is quiet from the start, as a clone of a faint recording may be, is no silence: the budget bounds it.

    None turns off what it is given for. A phrase repeated in other codes passes: the budget bounds it.
    """

    def __init__(
        self,
        *,
        repeat_frames: int | None = REPEAT_FRAMES,
        repeat_codes: int | None = REPEAT_CODES,
        longest_cycle: int = LONGEST_CYCLE,
        silence_frames: int | None = SILENCE_FRAMES,
        silence_level: float = SILENCE_LEVEL,
    ) -> None:
        """Raises `OptionError` for a length below one frame."""
        _check_frames("longest_cycle", longest_cycle)
        self._frames = _cycles("repeat_frames", repeat_frames, longest_cycle)
        self._codes = _cycles("repeat_codes", repeat_codes, longest_cycle)
        self._silence_frames = None if silence_frames is None else _check_frames("silence_frames", silence_frames)
        self._silence_level = silence_level
        self._spoke = False
        self._quiet = 0

    def check(self, frame: Sequence[int] | NDArray[np.integer], level: float | None = None) -> StopReason | None:
        """The reason to stop after this frame of 16 codes; None to go on.

        `level` is the frame's level in dBFS (see `level_dbfs`); None where its sound is not known, which is neither
        speech nor silence.
        """
        codes = tuple(int(code) for code in frame)
        stuck = self._frames is not None and self._frames.add(codes)
        if (self._codes is not None and self._codes.add(codes[:1])) or stuck:
            return StopReason.REPEAT
        return StopReason.SILENCE if level is not None and self._is_silent(level) else None

    def _is_silent(self, level: float) -> bool:
        loud = not level < self._silence_level
        self._spoke |= loud
        self._quiet = 0 if loud or not self._spoke else self._quiet + 1
        return self._silence_frames is not None and self._quiet >= self._silence_frames


class _Cycles:
    """Tells when the last things that came are a cycle that has gone round for `length` things and three rounds."""

    def __init__(self, length: int, longest: int) -> None:
        self._seen: list[int] = []  # hashes, newest first, as many as the longest cycle
        self._longest = longest
        periods = np.arange(1, longest + 1)
        self._enough = np.maximum(length, CYCLE_ROUNDS * periods)
        self._runs = np.zeros(longest, dtype=np.int64)  # by period: so many equalled the one a period before

    def add(self, thing: tuple[int, ...]) -> bool:
        key = hash(thing)
        equal = np.zeros(self._longest, dtype=np.bool_)
        equal[: len(self._seen)] = np.array(self._seen, dtype=np.int64) == key
        self._runs = np.where(equal, self._runs + 1, 0)
        self._seen = [key, *self._seen[: self._longest - 1]]
        return bool((self._runs >= self._enough).any())


def _cycles(name: str, length: int | None, longest: int) -> _Cycles | None:
    return None if length is None else _Cycles(_check_frames(name, length), longest)


def level_dbfs(samples: NDArray[np.floating]) -> float:
    """The RMS level of samples in dBFS: 0 for a square wave of ±1, −∞ for zeros or no samples at all."""
    power = float(np.mean(np.square(samples, dtype=np.float64))) if len(samples) else 0.0
    return 10 * float(np.log10(power)) if power > 0 else -np.inf


def piece_seed(seed: int, piece: int) -> int:
    """The seed of the piece-th part of a split text: the seed itself for part 0, 32 bits for the others.

    So a text that needs no splitting is spoken the same whether it might have been split or not.
    """
    return _derived(seed, "piece", piece)


def retry_seed(seed: int, attempt: int) -> int:
    """The seed of another try: the seed itself for attempt 0, which is the first, 32 bits for the others."""
    return _derived(seed, "retry", attempt)


def _derived(seed: int, purpose: str, number: int) -> int:
    """A hash, so that seeds in a row and parts in a row never meet; the same on every machine and version."""
    if number < 0:
        raise ValueError(f"{purpose} {number}: counting starts at 0")
    if number == 0:
        return seed
    digest = hashlib.sha256(f"qwen3-tts {purpose} {seed} {number}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def _check_frames(name: str, value: int) -> int:
    if value < 1:
        raise OptionError(f"{name} is {value}, expected 1 or more (a frame is 80 ms)")
    return value
