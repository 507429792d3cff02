"""From logits to a code: processors as pure functions, in upstream's order, and the two ways to choose.

The order (transformers' `GenerationMixin._get_logits_processor` with upstream's arguments, M:2255–2275): repetition
penalty, no EOS too early, suppressed ids, then, for sampling only, temperature, top-k, top-p.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import NumericalError, OptionError
from qwen3_tts_ncnn.runtime.mat import Floats

NEVER = np.float32(-np.inf)
LOWEST_TEMPERATURE = 1e-6
"""Below it a draw is as good as the arg max, and float32 logits divided by it soon leave float32."""


class ExponentialSource(Protocol):
    """Where chance comes from: one generator serves a whole run, talker and predictor drawing in turn.

    `torch_random.TorchSource` makes a seed's run the one that PyTorch makes of it.
    """

    def exponential(self, count: int) -> NDArray[np.floating]:
        """`count` draws from the exponential distribution of rate 1."""
        ...


@dataclass(frozen=True)
class Sampling:
    """How to choose among logits. `greedy` takes the highest; the rest shapes a draw."""

    greedy: bool
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not self.temperature > 0 or not np.isfinite(self.temperature):
            raise OptionError(f"temperature is {self.temperature}, expected above 0; for no chance at all use greedy")
        if self.temperature < LOWEST_TEMPERATURE:
            raise OptionError(
                f"temperature is {self.temperature}, expected {LOWEST_TEMPERATURE} or more; "
                "for no chance at all use greedy"
            )
        if self.top_k < 0:
            raise OptionError(f"top_k is {self.top_k}, expected 0 (all) or more")
        if not 0 < self.top_p <= 1:
            raise OptionError(f"top_p is {self.top_p}, expected above 0 and at most 1")


def penalize_repetition(logits: Floats, seen: Sequence[int], penalty: float) -> Floats:
    """Divides the logits of ids already chosen by the penalty where positive, multiplies where negative."""
    if penalty == 1.0 or not seen:
        return logits
    ids = np.unique(np.asarray(seen))
    scores = logits[ids]
    changed = logits.copy()
    changed[ids] = np.where(scores < 0, scores * np.float32(penalty), scores / np.float32(penalty))
    return changed


def suppress(logits: Floats, ids: NDArray[np.intp]) -> Floats:
    """The logits with these ids made impossible."""
    changed = logits.copy()
    changed[ids] = NEVER
    return changed


def temper(logits: Floats, temperature: float) -> Floats:
    """Divides by the temperature: below 1 the high gain, above 1 the low do."""
    return logits if temperature == 1.0 else logits / np.float32(temperature)


def keep_top_k(logits: Floats, k: int) -> Floats:
    """Makes everything below the k-th highest impossible; ties with it stay. 0 keeps all."""
    if k == 0 or k >= len(logits):
        return logits
    threshold = np.partition(logits, -k)[-k]
    return np.where(logits < threshold, NEVER, logits)


def keep_top_p(logits: Floats, p: float) -> Floats:
    """Keeps the fewest highest whose probabilities reach p, at least one. 1 keeps all.

    Of exact equals at the boundary the highest ids stay. Which stay in PyTorch is the accident of a sort that is not
    stable (from 17 elements on); as many do.
    """
    if p >= 1.0:
        return logits
    ascending = np.argsort(logits, kind="stable")
    # As PyTorch sums: in float64, with every partial sum rounded.
    reached = np.cumsum(softmax(logits[ascending]), dtype=np.float64).astype(np.float32)
    drop = reached <= np.float32(1.0 - p)
    drop[-1] = False
    changed = logits.copy()
    changed[ascending[drop]] = NEVER
    return changed


def softmax(logits: Floats) -> Floats:
    """Probabilities in float32, as near to PyTorch's as its own kernels are to each other.

    Those differ in the last bit from one instruction set to the next, and so does numpy's `exp` of float32. That of
    float64, rounded, is the same everywhere.
    """
    weights = np.exp((logits - logits.max()).astype(np.float64)).astype(np.float32)
    probabilities: Floats = weights * (np.float32(1) / weights.sum(dtype=np.float64).astype(np.float32))
    return probabilities


def draw(probabilities: Floats, source: ExponentialSource) -> int:
    """One id, by chance: arg max(p / q) with q exponential.

    It is what torch's CPU `multinomial` does for one sample. It draws for every entry, the impossible ones too: they
    take their share of the stream.
    """
    chances = source.exponential(len(probabilities)).astype(np.float32, copy=False)
    # A chance of exactly 0 comes once in 2^53 draws, and does here what it does there.
    with np.errstate(divide="ignore", invalid="ignore"):
        return int(np.argmax(probabilities / chances))


def choose(logits: Floats, sampling: Sampling, source: ExponentialSource | None) -> int:
    """The chosen id: arg max when greedy (ties go to the lowest id), else one draw.

    Raises `NumericalError` where the highest logit is not a finite number.
    """
    _check(logits)
    if sampling.greedy:
        return int(np.argmax(logits))
    if source is None:
        raise ValueError("sampling needs a source of chance")
    scores = keep_top_k(temper(logits, sampling.temperature), sampling.top_k)
    return draw(softmax(keep_top_p(scores, sampling.top_p)), source)


def _check(logits: Floats) -> None:
    """NaN anywhere is the maximum; infinity is, where it is positive; minus infinity is, where nothing is possible."""
    highest = logits.max()
    if not np.isfinite(highest):
        raise NumericalError(
            f"the highest of {len(logits)} logits is {highest}, expected a finite number: check the package with "
            "`qwen3-tts-ncnn verify`; where it is whole, the checkpoint is broken or was converted wrongly"
        )
