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
class PromptIds:
    """The ids of one prompt: the template's role, the text, the language (None: the model decides), the speaker."""

    role: Sequence[int]
    text: Sequence[int]
    language: int | None
    speaker: int | None


class PromptBuilder:
    """Builds prompts from ids with the talker's two embeddings."""

    def __init__(self, text_rows: Rows, codec_rows: Rows, text_ids: TextIds, codec_ids: CodecIds) -> None:
        self._text_rows = text_rows
        self._codec_rows = codec_rows
        self._text = text_ids
        self._codec = codec_ids

    def build(self, ids: PromptIds, *, streaming_text: bool) -> Prompt:
        """The prompt with the text as it comes, a token a frame, or with the whole text in front."""
        bos, eos, pad = np.split(self._text_rows([self._text.tts_bos, self._text.tts_eos, self._text.tts_pad]), 3)
        codec = self._codec_rows(self._codec_prefix(ids))
        codec_bos, codec_pad = np.split(self._codec_rows([self._codec.bos, self._codec.pad]), 2)
        text = self._text_rows(ids.text)
        head = [self._text_rows(ids.role), np.concatenate((np.repeat(pad, len(codec) - 1, axis=0), bos)) + codec]
        if streaming_text:
            rows = [*head, text[:1] + codec_bos]
            trailing = np.concatenate((text[1:], eos))
        else:
            rows = [*head, np.concatenate((text, eos)) + codec_pad, pad + codec_bos]
            trailing = pad
        return Prompt(np.concatenate(rows), trailing, pad)

    def _codec_prefix(self, ids: PromptIds) -> list[int]:
        """[think, think_bos, language, think_eos] or [nothink, think_bos, think_eos], the speaker, pad."""
        codec = self._codec
        if ids.language is None:
            prefix = [codec.nothink, codec.think_bos, codec.think_eos]
        else:
            prefix = [codec.think, codec.think_bos, ids.language, codec.think_eos]
        speaker = [] if ids.speaker is None else [ids.speaker]
        return [*prefix, *speaker, codec.pad]
