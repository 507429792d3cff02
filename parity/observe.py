"""Look over upstream's shoulder: what it feeds, what it chooses and how sure it is, without changing what it does."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.trace import ABSENT, CODEBOOKS, FloatArray, Heard, OracleTrace, RunLogits, TokenArray, tokens

Function = Callable[..., Any]


class Observation:
    """What upstream did inside one `with observed(model, greedy) as observation`; its logits only if asked."""

    def __init__(self, greedy: bool, logits: bool = False) -> None:
        self._greedy = greedy
        # Keeping scores and logits only adds them to the result: no choice depends on it.
        self._kept = {"output_scores": True} | ({"output_logits": True} if logits else {})
        self.talker_logits: FloatArray | None = None
        self.predictor_logits: list[FloatArray] = []
        self.prompt: FloatArray | None = None
        self.trailing: FloatArray | None = None
        self.selections: TokenArray | None = None
        self.codes: TokenArray | None = None
        self.codec_head_calls = 0
        self.talker_choices: list[tuple[float, int]] = []
        self.predictor_choices: list[list[tuple[float, int]]] = []
        self.predictor_codes: list[TokenArray] = []

    def talker_generate(self, original: Function) -> Function:
        """Record the prompt's rows, the codebook-0 selections and their margins (modeling_qwen3_tts.py:2268)."""

        def generate(*args: Any, **kwargs: Any) -> Any:
            self.prompt = np.array(kwargs["inputs_embeds"][0].numpy())
            self.trailing = np.array(kwargs["trailing_text_hidden"][0].numpy())
            result = original(*args, **kwargs, **self._kept)
            if result.logits is not None:
                self.talker_logits = rows_of(result.logits)
            self.selections = tokens(result.sequences[0])
            self.talker_choices = choices(result.scores, self.selections, "codebook 0", self._greedy)
            return result

        return generate

    def predictor_generate(self, original: Function) -> Function:
        """Record the 15 codes of a frame and their margins (modeling_qwen3_tts.py:1669)."""

        def generate(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs, **self._kept)
            if result.logits is not None:
                self.predictor_logits.append(rows_of(result.logits))
            codes = tokens(result.sequences[0])
            self.predictor_codes.append(codes)
            self.predictor_choices.append(choices(result.scores, codes, "the predictor's codebooks", self._greedy))
            return result

        return generate

    def model_generate(self, original: Function) -> Function:
        """Record the frames as upstream hands them to its codec (modeling_qwen3_tts.py:2287)."""

        def generate(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self.codes = tokens(result[0][0])
            return result

        return generate

    def count_codec_head(self, *_: Any) -> None:
        """Forward hook: one call of the head is one codebook-0 selection."""
        self.codec_head_calls += 1

    def trace(self, eos: int, samples: FloatArray, heard: Heard | None = None) -> OracleTrace:
        """The run as a trace.

        Args:
            eos: the codec's end-of-speech id.
            samples: what upstream returned, float32.
            heard: what it made of the reference, if there was one.

        Raises:
            ParityError: the parts seen do not belong to one run.
        """
        if self.prompt is None or self.trailing is None or self.selections is None or self.codes is None:
            raise ParityError("upstream's run: the hooks saw no generation; is this qwen-tts 0.1.1, unmodified?")
        if self.codec_head_calls != len(self.selections):
            raise ParityError(
                f"upstream's run: {self.codec_head_calls} codec head calls for {len(self.selections)} selections"
            )
        frames = len(self.codes)
        if len(self.predictor_codes) != frames or not np.array_equal(self.codes[:, 1:], self.predictor_codes):
            raise ParityError("upstream's run: its frames are not the codes that its predictor chose")
        margins = np.full((frames + 1, CODEBOOKS), np.nan)
        runners_up = np.full((frames + 1, CODEBOOKS), ABSENT, dtype=np.int64)
        if len(self.talker_choices) == frames + 1:  # OracleTrace raises where it is not
            margins[:, 0], runners_up[:, 0] = zip(*self.talker_choices, strict=True)
        for frame, row in enumerate(self.predictor_choices):
            margins[frame, 1:], runners_up[frame, 1:] = zip(*row, strict=True)
        return OracleTrace(
            prompt=self.prompt,
            trailing=self.trailing,
            selections=self.selections,
            codes=self.codes,
            stop="eos" if self.selections[-1] == eos else "limit",
            samples=samples,
            margins=margins,
            runners_up=runners_up,
            heard=heard,
            logits=None
            if self.talker_logits is None
            else RunLogits(self.talker_logits, np.stack(self.predictor_logits)),
        )


@contextlib.contextmanager
def observed(model: Any, greedy: bool, logits: bool = False) -> Iterator[Observation]:
    """Watch upstream's `Qwen3TTSForConditionalGeneration`; everything is put back on leaving.

    `greedy` says what to hold its choices to, `logits` whether to keep what it chose from.
    """
    observation = Observation(greedy, logits)
    talker = model.talker
    with contextlib.ExitStack() as stack:
        stack.enter_context(_wrapped(model, "generate", observation.model_generate))
        stack.enter_context(_wrapped(talker, "generate", observation.talker_generate))
        stack.enter_context(_wrapped(talker.code_predictor, "generate", observation.predictor_generate))
        stack.callback(talker.codec_head.register_forward_hook(observation.count_codec_head).remove)
        yield observation


@contextlib.contextmanager
def _wrapped(owner: Any, name: str, wrap: Callable[[Function], Function]) -> Iterator[None]:
    """Shadow the method `name` of one object, its class untouched."""
    shadow = vars(owner).get(name)
    setattr(owner, name, wrap(getattr(owner, name)))
    try:
        yield
    finally:
        if shadow is None:
            delattr(owner, name)
        else:
            setattr(owner, name, shadow)


def rows_of(logits: tuple[torch.Tensor, ...]) -> FloatArray:
    """One (1, vocabulary) a selection → (selections, vocabulary) float32, a copy."""
    return np.array(torch.cat(logits).float().numpy())


def choices(scores: tuple[torch.Tensor, ...], chosen: TokenArray, what: str, greedy: bool) -> list[tuple[float, int]]:
    """(margin, runner-up) of each selection: of the two best scores, whichever token was drawn.

    Args:
        scores: one (1, vocabulary) a selection, after the logits processors.
        chosen: (selections,) the tokens taken.
        what: named in the error.
        greedy: each token must be the best of its scores; else it need only be possible.

    Raises:
        ParityError: a token taken is not: the run was not of that kind, or the scores are others'.
    """
    if len(scores) != len(chosen):
        raise ParityError(f"upstream's run: {len(scores)} rows of scores for {len(chosen)} selections of {what}")
    result = []
    for step, (row, token) in enumerate(zip(scores, chosen, strict=True)):
        best, runner_up, margin = top_two(row[0])
        if greedy and best != token:
            raise ParityError(f"upstream's run: selection {step} of {what} is {token}, its scores say {best}")
        if row[0, token] == -torch.inf:
            raise ParityError(f"upstream's run: selection {step} of {what} is {token}, which its scores rule out")
        result.append((margin, runner_up))
    return result


def top_two(scores: torch.Tensor) -> tuple[int, int, float]:
    """(best, runner-up, their distance) of scores (vocabulary,). Ties go to the lowest index, as in arg max.

    Where one token alone is possible, as with a top-k of 1, the runner-up is `ABSENT`, infinitely far away.
    """
    best = int(scores.argmax())
    rest = scores.clone()
    rest[best] = -torch.inf
    runner_up = int(rest.argmax())
    if rest[runner_up] == -torch.inf:
        return best, ABSENT, float("inf")
    return best, runner_up, float(scores[best].double() - scores[runner_up].double())
