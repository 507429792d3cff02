"""What one run did, in the same form for the package and for upstream."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.parity.errors import ParityError

CODEBOOKS = 16
SAMPLES_PER_FRAME = 1920
ABSENT = -1
"""Fills the places of a token grid where a run made no choice."""

FloatArray = NDArray[np.float32]
TokenArray = NDArray[np.int64]


def tokens(values: Any) -> TokenArray:
    """Token ids of any integer type as int64."""
    return np.asarray(values).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Heard:
    """What the encoders made of a reference.

    Attributes:
        x_vector: (H,).
        codes: (T, 16) int64; None where the voice is cloned by x-vector alone.
    """

    x_vector: FloatArray
    codes: TokenArray | None


@dataclass(frozen=True, eq=False)
class Trace:
    """One run.

    Attributes:
        prompt: (rows, H) the talker's prefill.
        trailing: (m, H) the text rows that the first m frames' inputs get; what later ones get is not recorded.
        selections: (T + 1,) every codebook-0 token chosen, in order, the last included: EOS, or the one that the
            frame limit dropped.
        codes: (T, 16) the frames.
        stop: "eos" or "limit".
        samples: (T · 1920,) the wave, 24 kHz, within ±1; one sample more where an in-context run is cut early
            (qwen3_tts_model.py:628).
        heard: what became of the reference; None without one.

    Raises:
        ParityError: the run broke its contract: T frames come from exactly T + 1 selections, whose first T are
            codebook 0 of the frames.
    """

    prompt: FloatArray
    trailing: FloatArray
    selections: TokenArray
    codes: TokenArray
    stop: str
    samples: FloatArray
    heard: Heard | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.shape[1] != CODEBOOKS:
            raise ParityError(f"{self.side} codes have shape {self.codes.shape}, expected (frames, {CODEBOOKS})")
        frames = len(self.codes)
        if self.selections.shape != (frames + 1,):
            raise ParityError(
                f"{self.side} made {self.selections.size} codebook-0 selections for {frames} frames, "
                f"expected {frames + 1}"
            )
        if not np.array_equal(self.selections[:-1], self.codes[:, 0]):
            raise ParityError(f"{self.side} frames hold other codebook-0 tokens than it selected")

    @property
    def side(self) -> str:
        """Whose run this is, for messages."""
        return "the package's run:"

    @property
    def frames(self) -> int:
        """T, the number of frames."""
        return len(self.codes)

    def grid(self) -> TokenArray:
        """(T + 1, 16) every choice in the order it was made: row-major; the last row has only codebook 0."""
        grid = np.full((self.frames + 1, CODEBOOKS), ABSENT, dtype=np.int64)
        grid[:-1] = self.codes
        grid[-1, 0] = self.selections[-1]
        return grid


@dataclass(frozen=True, eq=False)
class RunLogits:
    """The logits of one run, before any processor; 135 kB a frame.

    Attributes:
        talker: (T + 1, vocabulary) of every codebook-0 selection.
        predictor: (T, 15, codebook size) of codebooks 1 to 15.
    """

    talker: FloatArray
    predictor: FloatArray


@dataclass(frozen=True, eq=False)
class OracleTrace(Trace):
    """Upstream's run, with how sure it was of each choice.

    Attributes:
        margins: (T + 1, 16) top-1 minus top-2 logit after the run's processors (codebook 0: repetition penalty, minimum
            length, suppressed tokens; all, where sampled: temperature, top-k, top-p); NaN where nothing was chosen.
        runners_up: (T + 1, 16) the top-2 token; `ABSENT` where nothing was chosen, or nothing else could be.
        logits: what it chose from; None where they were not asked for.
    """

    margins: NDArray[np.float64]
    runners_up: TokenArray
    logits: RunLogits | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = (self.frames + 1, CODEBOOKS)
        if self.margins.shape != shape or self.runners_up.shape != shape:
            raise ParityError(
                f"{self.side} margins {self.margins.shape}, runners-up {self.runners_up.shape}; expected {shape} each"
            )

    @property
    def side(self) -> str:
        """Whose run this is, for messages."""
        return "upstream's run:"
