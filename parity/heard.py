"""What both sides heard of a reference: x-vector and codes, and how they compare."""

from dataclasses import dataclass

import numpy as np

from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.trace import Heard

COSINE_BOUND = 0.999999
"""Least cosine of the two x-vectors."""


@dataclass(frozen=True)
class HeardReport:
    """The two x-vectors and the two encodings of one reference.

    Attributes:
        x_vector_cosine: None where the widths differ or a value is not a finite number.
        frames: of the package's codes; 0 by x-vector alone.
        oracle_frames: of upstream's.
        equal: codes that agree.
        total: codes that either side has: 16 · T where both have T frames.
        first: (frame, codebook, the package's code, upstream's) where they first differ in frames that both have.
    """

    x_vector_cosine: float | None
    frames: int
    oracle_frames: int
    equal: int
    total: int
    first: tuple[int, int, int, int] | None

    @property
    def x_vector_ok(self) -> bool:
        """Within the bound."""
        return self.x_vector_cosine is not None and self.x_vector_cosine >= COSINE_BOUND

    @property
    def codes_ok(self) -> bool:
        """As many frames, and every code equal."""
        return self.frames == self.oracle_frames and self.equal == self.total


def compare_heard(ours: Heard | None, oracle: Heard | None) -> HeardReport | None:
    """Compare what was heard of the same reference; None where there was none.

    Raises:
        ParityError: one side alone had a reference.
    """
    if ours is None and oracle is None:
        return None
    if ours is None or oracle is None:
        raise ParityError("only one side of the comparison was given the reference")
    mine, theirs = (np.zeros((0, 16), np.int64) if side.codes is None else side.codes for side in (ours, oracle))
    both = min(len(mine), len(theirs))
    differ = np.argwhere(mine[:both] != theirs[:both])
    total = max(mine.size, theirs.size)
    first = None
    if len(differ):
        frame, codebook = (int(index) for index in differ[0])
        first = (frame, codebook, int(mine[frame, codebook]), int(theirs[frame, codebook]))
    return HeardReport(
        x_vector_cosine=cosine(ours.x_vector, oracle.x_vector),
        frames=len(mine),
        oracle_frames=len(theirs),
        equal=mine[:both].size - len(differ),
        total=total,
        first=first,
    )


def cosine(ours: np.ndarray, oracle: np.ndarray) -> float | None:
    """Of two x-vectors (H,); None where it has no meaning."""
    if ours.shape != oracle.shape:
        return None
    mine, theirs = ours.astype(np.float64), oracle.astype(np.float64)
    lengths = float(np.sqrt((mine @ mine) * (theirs @ theirs)))
    value = float(mine @ theirs) / lengths if lengths else np.nan
    return value if np.isfinite(value) else None
