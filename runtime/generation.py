"""The frame loop: prompt in, frames of 16 codes out, until EOS or the limit."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import NumericalError
from qwen3_tts_ncnn.runtime.manifest import CodecIds
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.predictor import Predictor
from qwen3_tts_ncnn.runtime.prompt import Prompt
from qwen3_tts_ncnn.runtime.sampling import (
    NEVER,
    ExponentialSource,
    Sampling,
    choose,
    penalize_repetition,
    suppress,
)
from qwen3_tts_ncnn.runtime.talker import Talker

# EOS is impossible for this many selections (upstream's min_new_tokens, M:2259).
_MIN_SELECTIONS = 2


@dataclass(frozen=True)
class GenerationOptions:
    """How one run chooses, and how many frames it may have."""

    talker: Sampling
    predictor: Sampling
    repetition_penalty: float
    max_frames: int

    @property
    def is_greedy(self) -> bool:
        """Whether nothing is drawn, so that a seed changes nothing."""
        return self.talker.greedy and self.predictor.greedy


class Generation:
    """One run, as an iterable of frames (16,) int; `selections` and `stop` tell what happened.

    It runs once: a second iteration is a `RuntimeError`.
    N frames take N + 1 selections of codebook 0: the last one is EOS, or is dropped at the limit.
    Raises `NumericalError`, naming frame and codebook, where the logits are no numbers.
    """

    def __init__(
        self,
        talker: Talker,
        predictor: Predictor,
        prompt: Prompt,
        ids: CodecIds,
        options: GenerationOptions,
        source: ExponentialSource | None,
    ) -> None:
        self._talker, self._predictor, self._prompt = talker, predictor, prompt
        self._ids, self._options, self._source = ids, options, source
        self._codebook = 0
        self.selections: list[int] = []
        self.stop: str | None = None

    def __iter__(self) -> Generator[NDArray[np.int32]]:
        if self.selections:
            raise RuntimeError("this run was begun before: make another Generation")
        rows = self._prompt.rows
        hidden, cache = self._talker.start(rows, capacity=len(rows) + min(self._options.max_frames, _CACHE_FRAMES))
        for frame in range(self._options.max_frames + 1):
            code = self._select(self._talker.logits(hidden))
            self.selections.append(code)
            if code == self._ids.eos:
                self.stop = "eos"
                return
            if frame == self._options.max_frames:
                break
            first = self._talker.codec_rows([code])
            codes, embedded = self._predictor.fill(hidden, first, self._choose_rest)
            yield np.array([code, *codes], dtype=np.int32)
            hidden = self._talker.step(embedded + self._prompt.text_row(frame), cache)
        self.stop = "limit"

    def _select(self, logits: Floats) -> int:
        self._codebook = 0
        scores = process_talker_logits(logits, self.selections, self._ids, self._options.repetition_penalty)
        return self._choose(scores, self._options.talker)

    def _choose_rest(self, logits: Floats) -> int:
        self._codebook += 1
        return self._choose(logits, self._options.predictor)

    def _choose(self, logits: Floats, sampling: Sampling) -> int:
        try:
            return choose(logits, sampling, self._source)
        except NumericalError as error:
            frame = len(self.selections) - (self._codebook > 0)
            raise NumericalError(f"frame {frame}, codebook {self._codebook}: {error}") from None


# The KV cache is sized once for a run of this many frames; a longer one grows it.
_CACHE_FRAMES = 512


def process_talker_logits(logits: Floats, selections: Sequence[int], ids: CodecIds, penalty: float) -> Floats:
    """Codebook-0 logits after repetition penalty, the ban on an early EOS, and the ban on control tokens."""
    scores = penalize_repetition(logits, selections, penalty)
    eos = scores[ids.eos]
    scores = suppress(scores, np.arange(ids.first_control, len(scores)))
    scores[ids.eos] = NEVER if len(selections) < _MIN_SELECTIONS else eos
    return scores
