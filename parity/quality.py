"""How near the package's logits are to upstream's where both have the same history: rank, divergence, their means."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.trace import ABSENT, CODEBOOKS, FloatArray, OracleTrace, RunLogits
from qwen3_tts_ncnn.runtime.errors import NumericalError
from qwen3_tts_ncnn.runtime.generation import GenerationOptions, process_talker_logits
from qwen3_tts_ncnn.runtime.manifest import CodecIds, Figures


@dataclass(frozen=True, eq=False)
class ForcedRun:
    """A case in which the package was fed upstream's codes.

    Attributes:
        case: what was said.
        ranks: (T + 1, 16) where upstream's first choice stands among the package's, 0 being first; `ABSENT` where
            nothing was chosen: the last row has codebook 0 alone.
        divergences: (T + 1, 16) KL(upstream ‖ package) in nats; NaN where nothing was chosen.
    """

    case: Case
    ranks: NDArray[np.int64]
    divergences: NDArray[np.float64]

    @property
    def frames(self) -> int:
        """T, the number of frames."""
        return len(self.ranks) - 1


def rank_of(token: int, logits: FloatArray) -> int:
    """How many tokens stand before this one in logits (vocabulary,); of equals the lowest index stands first.

    So it is 0 for the arg max, and for no other token.
    """
    return int(np.sum(logits > logits[token]) + np.sum(logits[:token] == logits[token]))


def divergence(oracle: FloatArray, ours: FloatArray, temperature: float) -> float:
    """KL(upstream ‖ package) in nats of softmax(logits / temperature), over the tokens that upstream may choose at all.

    Before top-k and top-p, though what is drawn from has gone through them: where the two sides' 50th and 51st token
    change places, the divergence of the cut distributions is infinite, and over upstream's candidates alone it would
    not see what the package gives to others. Without the cut it is finite, sees both, and is 0 for equal logits. It is
    at least the divergence over the candidates, times their probability.

    Raises:
        NumericalError: a logit of the package is not a finite number where upstream's is.
    """
    possible = np.isfinite(oracle)
    if not np.isfinite(ours[possible]).all():
        raise NumericalError(
            "the package's logits are not all finite numbers: check it with `qwen3-tts-ncnn verify`; "
            "where it is whole, it was converted wrongly"
        )
    theirs, mine = (_log_softmax(side[possible].astype(np.float64) / temperature) for side in (oracle, ours))
    # Rounding can take a sum of almost nothing below 0.
    return max(0.0, float(np.sum(np.exp(theirs) * (theirs - mine))))


def compare_logits(
    case: Case, ours: RunLogits, oracle: OracleTrace, ids: CodecIds, options: GenerationOptions
) -> ForcedRun:
    """Hold the package's logits to upstream's, choice by choice, each with upstream's choices before it.

    Both go through the processors of codebook 0: repetition penalty, no early EOS, no control tokens. What is compared
    is always upstream's likeliest token: where it drew, the one drawn says more about chance than about the package.

    Args:
        case: as it was said.
        ours: of the package, fed upstream's codes.
        oracle: upstream's run, with logits.
        ids: of the codec vocabulary.
        options: of the run; its temperatures shape the divergence, its penalty the logits.

    Raises:
        ParityError: the logits are of other shapes, or a greedy choice of upstream's is not the best of its logits.
        NumericalError: a logit of the package is not a finite number; the line names frame and codebook.
    """
    if oracle.logits is None:
        raise ValueError("upstream's run was recorded without its logits")
    _check_shapes(ours, oracle.logits)
    shape = (oracle.frames + 1, CODEBOOKS)
    ranks, divergences = np.full(shape, ABSENT, dtype=np.int64), np.full(shape, np.nan)
    grid = oracle.grid()
    for frame, codebook in np.argwhere(grid != ABSENT).tolist():
        if codebook == 0:
            before = oracle.selections[:frame].tolist()
            theirs, mine = (
                process_talker_logits(side.talker[frame], before, ids, options.repetition_penalty)
                for side in (oracle.logits, ours)
            )
            temperature = options.talker.temperature
        else:
            theirs, mine = (side.predictor[frame, codebook - 1] for side in (oracle.logits, ours))
            temperature = options.predictor.temperature
        place, best = f"frame {frame}, codebook {codebook}", int(np.argmax(theirs))
        if case.greedy and best != grid[frame, codebook]:
            raise ParityError(f"upstream's run: {place} is {grid[frame, codebook]}, its logits say {best}")
        try:
            divergences[frame, codebook] = divergence(theirs, mine, temperature)
        except NumericalError as error:
            raise NumericalError(f"{place}: {error}") from None
        ranks[frame, codebook] = rank_of(best, mine)
    return ForcedRun(case, ranks, divergences)


def figures(ranks: NDArray[np.int64], divergences: NDArray[np.float64]) -> Figures:
    """Means and worst over all choices made, of arrays of any equal shape. Raises `ValueError` where there is none."""
    made = ranks != ABSENT
    if not made.any():
        raise ValueError("there is no choice to take the mean of")
    return Figures(
        choices=int(made.sum()),
        # The arg max is of rank 0, and nothing else is.
        agreement=float(np.mean(ranks[made] == 0)),
        kl=float(np.mean(divergences[made])),
        mean_rank=float(np.mean(ranks[made])),
        worst_rank=int(np.max(ranks[made])),
    )


def per_codebook(runs: Sequence[ForcedRun]) -> tuple[Figures, ...]:
    """The figures of each of the 16 codebooks over all runs. Raises `ValueError` where none of the runs has a frame."""
    ranks, divergences = _joined(runs)
    return tuple(figures(ranks[:, codebook], divergences[:, codebook]) for codebook in range(CODEBOOKS))


def total(runs: Sequence[ForcedRun]) -> Figures:
    """The figures over all choices of all runs."""
    return figures(*_joined(runs))


def _joined(runs: Sequence[ForcedRun]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    return np.concatenate([run.ranks for run in runs]), np.concatenate([run.divergences for run in runs])


def _log_softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = logits - logits.max()
    result: NDArray[np.float64] = shifted - np.log(np.sum(np.exp(shifted)))
    return result


def _check_shapes(ours: RunLogits, oracle: RunLogits) -> None:
    for what, mine, theirs in (
        ("the talker's", ours.talker, oracle.talker),
        ("the predictor's", ours.predictor, oracle.predictor),
    ):
        if mine.shape != theirs.shape:
            raise ParityError(
                f"{what} logits have shape {mine.shape} in the package, {theirs.shape} upstream: "
                "compare a package with the checkpoint it was made from"
            )
