"""Small runs made by hand: what the package and upstream might have done."""

from dataclasses import replace
from typing import Any

import numpy as np

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.clips import ReferenceClip
from qwen3_tts_ncnn.parity.quality import ForcedRun
from qwen3_tts_ncnn.parity.trace import ABSENT, CODEBOOKS, Heard, OracleTrace, Trace

EOS = 2150
CASE = Case("Hi.", "serena")
CLIP = ReferenceClip("me.wav", np.zeros(36_000, dtype=np.float32), 24_000, "Hello.")
CLONING = Case("Hi.", reference=CLIP)


def oracle_trace(frames: int = 4, *, margin: float = 0.5) -> OracleTrace:
    """Code `codebook` of frame `frame` is 100 · frame + codebook; every runner-up is the code plus 1."""
    codes = 100 * np.arange(frames)[:, None] + np.arange(CODEBOOKS)
    grid = np.vstack([codes, [EOS] + [-1] * (CODEBOOKS - 1)])
    made = grid != -1
    time = np.arange(frames * 1920) / 24000
    return OracleTrace(
        prompt=np.linspace(-2, 2, 6 * 8, dtype=np.float32).reshape(6, 8),
        trailing=np.linspace(-1, 1, 3 * 8, dtype=np.float32).reshape(3, 8),
        selections=grid[:, 0].copy(),
        codes=codes,
        stop="eos",
        samples=(0.5 * np.sin(2 * np.pi * 440 * time)).astype(np.float32),
        margins=np.where(made, margin, np.nan),
        runners_up=np.where(made, grid + 1, -1),
    )


def heard(frames: int | None = 2) -> Heard:
    """An x-vector of eight ones, and codes of which that of `codebook` in `frame` is 50 · frame + codebook."""
    codes = None if frames is None else 50 * np.arange(frames)[:, None] + np.arange(CODEBOOKS)
    return Heard(np.ones(8, dtype=np.float32), codes)


def package_trace(oracle: OracleTrace, **changes: Any) -> Trace:
    """The package's run: the oracle's but for `changes`."""
    same = Trace(
        oracle.prompt,
        oracle.trailing,
        oracle.selections,
        oracle.codes,
        oracle.stop,
        oracle.samples,
        heard=oracle.heard,
    )
    return replace(same, **changes)


def with_token(oracle: OracleTrace, frame: int, codebook: int, token: int) -> Trace:
    """The package's run with one other token in its frames."""
    codes, selections = oracle.codes.copy(), oracle.selections.copy()
    codes[frame, codebook] = token
    if codebook == 0:
        selections[frame] = token
    return package_trace(oracle, codes=codes, selections=selections)


def forced_run(case: Case, frames: int = 4, *, wrong: int = 0) -> ForcedRun:
    """The first `wrong` choices are of rank 2 and diverge by 0.5, all others are upstream's."""
    made = oracle_trace(frames).grid() != ABSENT
    ranks, divergences = np.full(made.shape, ABSENT), np.full(made.shape, np.nan)
    which = np.arange(made.sum()) < wrong
    ranks[made], divergences[made] = np.where(which, 2, 0), np.where(which, 0.5, 0.0)
    return ForcedRun(case, ranks, divergences)
