"""The package's side of a comparison."""

import warnings
from typing import Any

import numpy as np

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.clips import ReferenceClip
from qwen3_tts_ncnn.parity.trace import Heard, Trace, tokens
from qwen3_tts_ncnn.runtime import TTS, ReferenceWarning, Voice
from qwen3_tts_ncnn.runtime.speech_warning import SpeechWarning


def trace_package(tts: TTS, case: Case) -> Trace:
    """Speak a case with the converted package and tell what it did.

    Args:
        tts: loaded with the oracle's `pretokenizer`.
        case: what to say.

    Raises:
        ModeError: the package lacks the speaker or the language, or takes no reference or no instruction.
        OptionError: a setting is out of range.
        AudioError: no voice can be cloned from the reference.
        TextError: the text cannot be spoken.
        ParityError: the run broke its contract.
    """
    voice = None if case.reference is None else _clone(tts, case.reference)
    how: dict[str, Any] = {
        "speaker": case.speaker,
        "voice": voice,
        "language": case.language,
        "instruct": case.instruct,
        "streaming_text": case.streaming_text,
    }
    prompt = tts.prompt(case.text, **how)
    with warnings.catch_warnings():
        # A run that meets its limit is as good to compare as any.
        warnings.simplefilter("ignore", SpeechWarning)
        speech = tts.speak(
            case.text,
            **how,
            **case.settings.of_package(),
            greedy=case.greedy,
            seed=case.seed,
            max_frames=case.max_frames,
            # Upstream has none of these.
            split=False,
            budget=False,
            watchdog=False,
        )
    return Trace(
        prompt=np.asarray(prompt.rows, dtype=np.float32),
        trailing=np.asarray(prompt.trailing, dtype=np.float32),
        selections=tokens(speech.selections),
        codes=tokens(speech.codes),
        stop=speech.stop,
        samples=np.asarray(speech.samples, dtype=np.float32),
        heard=None if voice is None else _heard(voice),
    )


def _clone(tts: TTS, reference: ReferenceClip) -> Voice:
    with warnings.catch_warnings():
        # Whether the voice will be good is not what is compared.
        warnings.simplefilter("ignore", ReferenceWarning)
        return tts.clone((reference.samples, reference.rate), transcript=reference.transcript)


def _heard(voice: Voice) -> Heard:
    return Heard(np.asarray(voice.x_vector), None if voice.codes is None else tokens(voice.codes))
