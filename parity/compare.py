"""The package's run against upstream's: reference, prompt, tokens, stop, wave."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.heard import HeardReport, compare_heard
from qwen3_tts_ncnn.parity.trace import ABSENT, FloatArray, OracleTrace, Trace

PROMPT_BOUND = 1e-4
"""Largest prompt error, relative to the oracle's largest value."""
SNR_BOUND = 90.0
"""Least signal-to-noise ratio of the wave, dB."""
PCM16_BOUND = 1
"""Largest difference of the 16-bit waves, LSB."""
NEAR_TIE = 1e-3
"""Below this margin of the oracle's two best logits, fp32 rounding may turn one into the other."""


@dataclass(frozen=True)
class PromptReport:
    """Prompt rows on both sides, those that trail included, and their distance; None where the shapes differ.

    Attributes:
        rows: of the package, in its prefill.
        oracle_rows: of upstream.
        trailing: rows of text that the package adds to the first frames.
        oracle_trailing: of upstream.
        max_abs: largest absolute difference.
        relative: the same over the oracle's largest absolute value.
    """

    rows: int
    oracle_rows: int
    trailing: int
    oracle_trailing: int
    max_abs: float | None
    relative: float | None

    @property
    def ok(self) -> bool:
        """Equal shapes, and within the bound (NaN is not)."""
        return self.relative is not None and self.relative <= PROMPT_BOUND


@dataclass(frozen=True)
class TokenMismatch:
    """The first choice that differs, in the order choices are made: what follows it follows from it.

    Attributes:
        frame: 0-based; equal to the number of frames where it is the selection that ended a run.
        codebook: 0 to 15.
        ours: the package's token, None where it had stopped.
        oracle: upstream's token, None where it had stopped.
        runner_up: upstream's second choice.
        margin: upstream's top-1 minus top-2 logit.
        greedy: whether upstream took its first choice, or drew.
    """

    frame: int
    codebook: int
    ours: int | None
    oracle: int | None
    runner_up: int | None
    margin: float | None
    greedy: bool

    @property
    def near_tie(self) -> bool:
        """The package took upstream's second choice, and upstream hardly preferred its first; never where it drew."""
        if not self.greedy or self.ours is None or self.margin is None:
            return False
        return self.ours == self.runner_up and self.margin < NEAR_TIE


@dataclass(frozen=True)
class TokenReport:
    """Choices of all 16 codebooks, and the selection that ended the run.

    Attributes:
        equal: choices that agree.
        total: choices made by either side: 16 · T + 1 where both made T frames.
        first: the first that differs.
    """

    equal: int
    total: int
    first: TokenMismatch | None


@dataclass(frozen=True)
class StopReport:
    """Number of frames and reason of the end, on both sides."""

    frames: int
    oracle_frames: int
    reason: str
    oracle_reason: str

    @property
    def ok(self) -> bool:
        """Same step, same reason."""
        return (self.frames, self.reason) == (self.oracle_frames, self.oracle_reason)


@dataclass(frozen=True)
class WaveReport:
    """Samples on both sides and their distance; None where the lengths differ or a sample is not a finite number.

    Attributes:
        samples: of the package.
        oracle_samples: of upstream.
        snr_db: upstream's wave against the difference; inf where there is none.
        pcm16_lsb: largest difference after both went through soundfile as PCM_16.
    """

    samples: int
    oracle_samples: int
    snr_db: float | None
    pcm16_lsb: int | None


@dataclass(frozen=True)
class CaseReport:
    """All that was compared for one case; `heard` is None where there was no reference."""

    case: Case
    heard: HeardReport | None
    prompt: PromptReport
    tokens: TokenReport
    stop: StopReport
    wave: WaveReport

    @property
    def failures(self) -> tuple[str, ...]:
        """Names of what does not agree: x_vector, reference_codes, prompt, tokens, stop, length, snr, pcm16."""
        wave, heard = self.wave, self.heard
        checks = {
            "x_vector": heard is None or heard.x_vector_ok,
            "reference_codes": heard is None or heard.codes_ok,
            "prompt": self.prompt.ok,
            "tokens": self.tokens.first is None,
            "stop": self.stop.ok,
            "length": wave.samples == wave.oracle_samples,
            "snr": wave.snr_db is not None and wave.snr_db >= SNR_BOUND,
            "pcm16": wave.pcm16_lsb is not None and wave.pcm16_lsb <= PCM16_BOUND,
        }
        return tuple(name for name, ok in checks.items() if not ok)

    @property
    def verdict(self) -> str:
        """ "equal"; "near tie", where the prompt agrees and the runs part at one; or "different".

        A near tie is a mismatch all the same.
        """
        if not self.failures:
            return "equal"
        first = self.tokens.first
        return "near tie" if self.prompt.ok and first is not None and first.near_tie else "different"

    @property
    def ok(self) -> bool:
        """Nothing differs beyond its bound."""
        return not self.failures


def compare(case: Case, ours: Trace, oracle: OracleTrace) -> CaseReport:
    """Compare the package's run with upstream's run of the same case."""
    return CaseReport(
        case=case,
        heard=compare_heard(ours.heard, oracle.heard),
        prompt=_compare_prompts(ours, oracle),
        tokens=_compare_tokens(ours, oracle, case.greedy),
        stop=StopReport(ours.frames, oracle.frames, ours.stop, oracle.stop),
        wave=_compare_waves(ours.samples, oracle.samples),
    )


def snr_db(samples: FloatArray, reference: FloatArray) -> float:
    """Signal-to-noise ratio of `samples` against `reference` of the same length, dB; inf where they are identical."""
    signal = np.sum(np.square(reference, dtype=np.float64))
    noise = np.sum(np.square(samples.astype(np.float64) - reference))
    if noise == 0:
        return float("inf")
    return float(10 * np.log10(signal / noise)) if signal else float("-inf")


def pcm16(samples: FloatArray) -> NDArray[np.int16]:
    """What a 16-bit WAV of these samples holds, by soundfile's own rounding and clipping."""
    with io.BytesIO() as wav:
        soundfile.write(wav, samples, 24000, format="WAV", subtype="PCM_16")
        wav.seek(0)
        read: Any = soundfile.read(wav, dtype="int16")[0]
    return np.asarray(read, dtype=np.int16)


def _compare_prompts(ours: Trace, oracle: OracleTrace) -> PromptReport:
    rows = (len(ours.prompt), len(oracle.prompt), len(ours.trailing), len(oracle.trailing))
    if ours.prompt.shape != oracle.prompt.shape or ours.trailing.shape != oracle.trailing.shape:
        return PromptReport(*rows, None, None)
    mine = np.concatenate((ours.prompt, ours.trailing))
    theirs = np.concatenate((oracle.prompt, oracle.trailing))
    max_abs = float(np.max(np.abs(mine - theirs), initial=0.0))
    scale = float(np.max(np.abs(theirs), initial=0.0))
    return PromptReport(*rows, max_abs, max_abs / scale if scale else max_abs)


def _compare_tokens(ours: Trace, oracle: OracleTrace, greedy: bool) -> TokenReport:
    rows = max(ours.frames, oracle.frames) + 1
    mine, theirs = _padded(ours.grid(), rows), _padded(oracle.grid(), rows)
    made = (mine != ABSENT) | (theirs != ABSENT)
    differ = made & (mine != theirs)
    total, wrong = int(made.sum()), int(differ.sum())
    if not wrong:
        return TokenReport(total, total, None)
    frame, codebook = (int(index) for index in np.argwhere(differ)[0])
    chose = theirs[frame, codebook] != ABSENT
    first = TokenMismatch(
        frame=frame,
        codebook=codebook,
        ours=_token(mine[frame, codebook]),
        oracle=_token(theirs[frame, codebook]),
        runner_up=_token(oracle.runners_up[frame, codebook]) if chose else None,
        margin=float(oracle.margins[frame, codebook]) if chose else None,
        greedy=greedy,
    )
    return TokenReport(total - wrong, total, first)


def _padded(grid: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    return np.pad(grid, ((0, rows - len(grid)), (0, 0)), constant_values=ABSENT)


def _token(value: np.int64) -> int | None:
    return None if value == ABSENT else int(value)


def _compare_waves(ours: FloatArray, oracle: FloatArray) -> WaveReport:
    comparable = ours.shape == oracle.shape and bool(np.isfinite(ours).all() and np.isfinite(oracle).all())
    if not comparable:
        return WaveReport(len(ours), len(oracle), None, None)
    difference = pcm16(ours).astype(np.int32) - pcm16(oracle)
    lsb = int(np.max(np.abs(difference), initial=0))
    return WaveReport(len(ours), len(oracle), snr_db(ours, oracle), lsb)
