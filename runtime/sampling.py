"""From logits to a code: processors as pure functions, in upstream's order, and the two ways to choose.

The order (transformers' `GenerationMixin._get_logits_processor` with upstream's arguments, M:2255–2275): repetition
penalty, no EOS too early, suppressed ids, then, for sampling only, temperature, top-k, top-p.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.mat import Floats

NEVER = np.float32(-np.inf)


class ExponentialSource(Protocol):
    """Where chance comes from: one generator serves a whole run, talker and predictor drawing in turn."""

    def exponential(self, count: int) -> NDArray[np.floating]:
        """`count` draws from the exponential distribution of rate 1."""
        ...


class NumpySource:
    """numpy's default generator. The same seed gives the same speech; it is not the speech torch's seed gives."""

    def __init__(self, seed: int | None) -> None:
        self._generator = np.random.default_rng(seed)

    def exponential(self, count: int) -> NDArray[np.floating]:
        return self._generator.standard_exponential(count)


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


def keep_top_k(logits: Floats, k: int) -> Floats:
    """Makes everything below the k-th highest impossible; ties with it stay. 0 keeps all."""
    if k == 0 or k >= len(logits):
        return logits
    threshold = np.partition(logits, -k)[-k]
    return np.where(logits < threshold, NEVER, logits)


def keep_top_p(logits: Floats, p: float) -> Floats:
    """Keeps the fewest highest whose probabilities reach p, at least one. 1 keeps all."""
    if p >= 1.0:
        return logits
    ascending = np.argsort(logits, kind="stable")
    drop = np.cumsum(softmax(logits[ascending]), dtype=np.float32) <= np.float32(1.0 - p)
    drop[-1] = False
    changed = logits.copy()
    changed[ascending[drop]] = NEVER
    return changed


def softmax(logits: Floats) -> Floats:
    """Probabilities in float32."""
    weights = np.exp(logits - logits.max())
    probabilities: Floats = weights / weights.sum(dtype=np.float32)
    return probabilities


def choose(logits: Floats, sampling: Sampling, source: ExponentialSource | None) -> int:
    """The chosen id: arg max when greedy (ties go to the lowest id), else one draw.

    A draw is arg max(p / q) with q exponential, which is what torch's CPU `multinomial` does for one sample.
    """
    if sampling.greedy:
        return int(np.argmax(logits))
    if source is None:
        raise ValueError("sampling needs a source of chance")
    scores = logits if sampling.temperature == 1.0 else logits / np.float32(sampling.temperature)
    probabilities = softmax(keep_top_p(keep_top_k(scores, sampling.top_k), sampling.top_p))
    return int(np.argmax(probabilities / source.exponential(len(probabilities)).astype(np.float32)))
