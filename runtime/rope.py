"""Rotary tables and attention masks, which the graphs take as inputs."""

import numpy as np

from qwen3_tts_ncnn.runtime.mat import Floats

# Low enough that softmax gives an exact 0, and finite: a row of −inf alone would become NaN.
HIDDEN = np.float32(-1e9)

_FIRST_POSITIONS = 64


def rope_tables(start: int, count: int, head_dim: int, theta: float) -> tuple[Floats, Floats]:
    """cos and sin (count, head_dim / 2) of the positions from `start` on, rounded where torch rounds.

    Source: M:558–612 (`Qwen3TTSRotaryEmbedding`): frequencies and angles are float32 there.
    """
    exponents = (np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)).astype(np.float64)
    frequencies = np.float32(1.0) / (theta**exponents).astype(np.float32)
    angles = np.arange(start, start + count, dtype=np.float32)[:, None] * frequencies
    return np.cos(angles), np.sin(angles)


class RopeTables:
    """`rope_tables` of one head, computed once for every position that is asked for."""

    def __init__(self, head_dim: int, theta: float) -> None:
        self._head_dim, self._theta = head_dim, theta
        self._cos, self._sin = rope_tables(0, _FIRST_POSITIONS, head_dim, theta)

    def at(self, start: int, count: int) -> tuple[Floats, Floats]:
        """cos and sin (count, head_dim / 2) of the positions from `start` on. Not to be written to."""
        if start + count > len(self._cos):
            self._cos, self._sin = rope_tables(0, 2 * (start + count), self._head_dim, self._theta)
        return self._cos[start : start + count], self._sin[start : start + count]


def causal_mask(past: int, rows: int) -> Floats:
    """Mask (rows, past + rows): a row sees all that is before it and itself."""
    if rows == 1:  # the usual step, in which all are seen
        return np.zeros((1, past + 1), dtype=np.float32)
    return np.triu(np.full((rows, past + rows), HIDDEN, dtype=np.float32), k=past + 1)


def window_mask(position: int, rows: int, window: int) -> Floats:
    """Mask (rows, window − 1 + rows) over the last window − 1 positions before `position` and the rows themselves.

    A row sees `window` positions, itself included, and nothing before position 0.
    """
    seen_by = np.arange(rows)[:, None]
    column = np.arange(window - 1 + rows)[None, :]
    visible = (column >= seen_by) & (column < seen_by + window) & (column + position >= window - 1)
    return np.where(visible, np.float32(0), HIDDEN)
