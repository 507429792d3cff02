"""The package is fed upstream's codes, so that at every choice both have the same history."""

from collections.abc import Iterable
from dataclasses import asdict

import numpy as np

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.parity.quality import ForcedRun, compare_logits
from qwen3_tts_ncnn.parity.trace import FloatArray, Heard, OracleTrace, RunLogits, TokenArray
from qwen3_tts_ncnn.runtime import TTS, Voice
from qwen3_tts_ncnn.runtime.predictor import Predictor
from qwen3_tts_ncnn.runtime.prompt import Prompt
from qwen3_tts_ncnn.runtime.request import generation_options
from qwen3_tts_ncnn.runtime.talker import Talker


def force(tts: TTS, oracle: Oracle, case: Case) -> ForcedRun:
    """Let upstream speak a case, feed the package what it said, and compare their logits.

    Args:
        tts: loaded with the oracle's `pretokenizer`.
        oracle: the checkpoint.
        case: what to say.

    Raises:
        ModeError: the package lacks the speaker or the language, or takes no reference or no instruction.
        NumericalError: a logit of the package is no number.
        ParityError: the package is not of that checkpoint, or upstream's run broke its contract.
    """
    theirs = oracle.speak(case, logits=True)
    prompt = _prompt(tts, case, theirs)
    ours = forced_logits(tts._talker, tts._predictor, prompt, theirs.codes)
    # What shapes the logits: the case's settings, else the checkpoint's own.
    options = generation_options(
        tts.manifest.sampling, greedy=case.greedy, max_frames=case.max_frames, **asdict(case.settings)
    )
    return compare_logits(case, ours, theirs, tts.manifest.codec_ids, options)


def forced_logits(talker: Talker, predictor: Predictor, prompt: Prompt, codes: TokenArray) -> RunLogits:
    """The logits of a run that says codes (T, 16), whatever it would have said itself.

    The frame loop of `runtime.generation`, with the choices made beforehand.
    """
    hidden, cache = talker.start(prompt.rows, capacity=len(prompt.rows) + len(codes))
    selections, frames = [np.array(talker.logits(hidden))], []
    for frame, (first, *rest) in enumerate(codes.tolist()):
        lesson = _Lesson(rest)
        _, embedded = predictor.fill(hidden, talker.codec_rows([first]), lesson)
        frames.append(lesson.seen)
        hidden = talker.step(embedded + prompt.text_row(frame), cache)
        selections.append(np.array(talker.logits(hidden)))
    return RunLogits(np.stack(selections), np.array(frames))


class _Lesson:
    """Chooses the codes of one frame as told, and keeps the logits that it did not heed."""

    def __init__(self, codes: Iterable[int]) -> None:
        self._codes = iter(codes)
        self.seen: list[FloatArray] = []

    def __call__(self, logits: FloatArray) -> int:
        self.seen.append(np.array(logits))
        return next(self._codes)


def _prompt(tts: TTS, case: Case, oracle: OracleTrace) -> Prompt:
    """The package's own prompt, as long as upstream's; a cloned voice is as upstream heard it."""
    prompt = tts.prompt(
        case.text,
        speaker=case.speaker,
        voice=None if oracle.heard is None else _voice(tts, case, oracle.heard),
        language=case.language,
        instruct=case.instruct,
        streaming_text=case.streaming_text,
    )
    if prompt.rows.shape != oracle.prompt.shape:
        raise ParityError(
            f"the package's prompt has shape {prompt.rows.shape}, upstream's {oracle.prompt.shape}: "
            "compare a package with the checkpoint it was made from"
        )
    return prompt


def _voice(tts: TTS, case: Case, heard: Heard) -> Voice:
    # The reference is history too: with other codes of it, the two sides would not have the same one.
    transcript = None if case.reference is None else case.reference.transcript
    codes = None if heard.codes is None else heard.codes.astype(np.int32)
    return Voice(x_vector=heard.x_vector, codes=codes, transcript=transcript, model=tts.manifest.name)
