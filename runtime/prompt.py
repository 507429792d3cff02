"""The prompt: rows that are each the sum of a text row and a codec row (M:2090–2232)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from qwen3_tts_ncnn.runtime.manifest import CodecIds, TextIds
from qwen3_tts_ncnn.runtime.mat import Floats

Rows = Callable[[Sequence[int]], Floats]


@dataclass(frozen=True)
class Prompt:
    """What the talker reads before its first frame, and what it hears of the text while it speaks.

    `rows` (n, H) are prefilled. Frame g's input gets `trailing[g]`, after its end `pad` (1, H).
    """

    rows: Floats
    trailing: Floats
    pad: Floats

    def text_row(self, frame: int) -> Floats:
        """The text row (1, H) that is added to the embeddings of a frame's codes."""
        return self.trailing[frame : frame + 1] if frame < len(self.trailing) else self.pad


@dataclass(frozen=True)
class Reference:
    """What a voice cloned in context has said: the ids of its transcript, and a row of summed codes a frame (T, H)."""

    text: Sequence[int]
    frames: Floats


@dataclass(frozen=True)
class PromptParts:
    """What a prompt is made of.

    Ids of the template's role and of the text, the language's id (None: the model decides), the speaker's row (1, H),
    which is E(speaker id) or an x-vector, the reference of a voice cloned in context, and the ids of an instruction.
    """

    role: Sequence[int]
    text: Sequence[int]
    language: int | None = None
    speaker: Floats | None = None
    reference: Reference | None = None
    instruction: Sequence[int] = ()


class PromptBuilder:
    """Builds prompts with the talker's two embeddings."""

    def __init__(self, text_rows: Rows, codec_rows: Rows, text_ids: TextIds, codec_ids: CodecIds) -> None:
        self._text_rows = text_rows
        self._codec_rows = codec_rows
        self._text = text_ids
        self._codec = codec_ids

    def build(self, parts: PromptParts, *, streaming_text: bool) -> Prompt:
        """The prompt with the text as it comes, a token a frame, or with the whole text in front."""
        bos, eos, pad = np.split(self._text_rows([self._text.tts_bos, self._text.tts_eos, self._text.tts_pad]), 3)
        codec = self._codec_prefix(parts)
        head = [self._text_rows(parts.role), np.concatenate((np.repeat(pad, len(codec) - 1, axis=0), bos)) + codec]
        reference = parts.reference
        ids = parts.text if reference is None else [*reference.text, *parts.text]
        text = np.concatenate((self._text_rows(ids), eos))
        spoken = self._codec_rows([self._codec.bos])
        if reference is not None:
            spoken = np.concatenate((spoken, reference.frames))
        if streaming_text:
            body, trailing = overlay(text, spoken, pad)
        else:
            silent = self._codec_rows([self._codec.pad])
            body, trailing = np.concatenate((text + silent, spoken + pad)), pad
        # The one part without a codec row (M:2098).
        instruction = [self._text_rows(parts.instruction)] if parts.instruction else []
        return Prompt(np.concatenate((*instruction, *head, body)), trailing, pad)

    def _codec_prefix(self, parts: PromptParts) -> Floats:
        """Rows of [think, think_bos, language, think_eos] or [nothink, think_bos, think_eos], the speaker, pad."""
        codec = self._codec
        if parts.language is None:
            ids = [codec.nothink, codec.think_bos, codec.think_eos]
        else:
            ids = [codec.think, codec.think_bos, parts.language, codec.think_eos]
        rows = self._codec_rows([*ids, codec.pad])
        return rows if parts.speaker is None else np.concatenate((rows[:-1], parts.speaker, rows[-1:]))


def overlay(text: Floats, spoken: Floats, pad: Floats) -> tuple[Floats, Floats]:
    """Text rows on codec rows, position by position: the sums, and the text rows that are left to trail.

    Missing text is `pad`, and so is what trails where no text is left (M:2010–2020; without a reference there is one
    codec row, M:2199–2232).
    """
    if len(text) > len(spoken):
        return text[: len(spoken)] + spoken, text[len(spoken) :]
    filler = np.repeat(pad, len(spoken) - len(text), axis=0)
    return np.concatenate((text, filler)) + spoken, pad
