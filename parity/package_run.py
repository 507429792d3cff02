"""The package's side of a comparison."""

from typing import TYPE_CHECKING

import numpy as np

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.trace import Trace, tokens

if TYPE_CHECKING:
    from qwen3_tts_ncnn.runtime import TTS


def trace_package(tts: "TTS", case: Case) -> Trace:
    """Speak a case greedily with the converted package and tell what it did.

    Args:
        tts: loaded with the oracle's `pretokenizer`.
        case: what to say.

    Raises:
        ModeError: the package lacks the speaker or the language.
        TextError: the text cannot be spoken.
        ParityError: the run broke its contract.
    """
    prompt = tts.prompt(case.text, speaker=case.speaker, language=case.language, streaming_text=case.streaming_text)
    speech = tts.speak(
        case.text,
        speaker=case.speaker,
        language=case.language,
        greedy=True,
        streaming_text=case.streaming_text,
        max_frames=case.max_frames,
    )
    return Trace(
        prompt=np.asarray(prompt.rows, dtype=np.float32),
        trailing=np.asarray(prompt.trailing, dtype=np.float32),
        selections=tokens(speech.selections),
        codes=tokens(speech.codes),
        stop=speech.stop,
        samples=np.asarray(speech.samples, dtype=np.float32),
    )
