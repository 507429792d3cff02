"""The options of `TTS.speak` and all that speak by it, listed once."""

from typing import TypedDict

from qwen3_tts_ncnn.runtime.utterance import OnFrame
from qwen3_tts_ncnn.runtime.voice import Voice


class SpeechOptions(TypedDict, total=False):
    """Keyword arguments; what is left out, or None, is as the checkpoint's own defaults have it."""

    speaker: str | None
    """Who speaks, on a CustomVoice package: one of `TTS.speakers`, in any case."""
    voice: Voice | None
    """Who speaks, on a Base package: what `TTS.clone` gave."""
    instruct: str | None
    """How to speak (CustomVoice 1.7B); who speaks (VoiceDesign)."""
    language: str | None
    """A name, a code or a tag: "english", "en", "en-US". "auto" and None let the model decide."""
    streaming_text: bool | None
    """Whether the model hears the text as it speaks, or all of it before."""
    greedy: bool
    """Take the likeliest code at every step, instead of drawing one."""
    seed: int | None
    """Repeats a draw: the speech that upstream gives after `torch.manual_seed` of the same."""
    temperature: float | None
    top_k: int | None
    top_p: float | None
    repetition_penalty: float | None
    predictor_temperature: float | None
    predictor_top_k: int | None
    predictor_top_p: float | None
    max_frames: int | None
    """The most frames of a piece; a frame is 80 ms."""
    split: bool
    """Speak a long text piece by piece, each with a seed of its own. On if left out."""
    budget: bool
    """End a run at more frames than its text could need. On if left out."""
    watchdog: bool
    """End a run at endless repetition or silence. On if left out."""
    on_frame: OnFrame | None
    """Called with the number of frames made so far."""


CHOICES = (
    "temperature",
    "top_k",
    "top_p",
    "repetition_penalty",
    "predictor_temperature",
    "predictor_top_k",
    "predictor_top_p",
    "max_frames",
)
"""Those of them that shape a choice, or bound a run: what `request.generation_options` takes beside `greedy`."""


def check_names(options: SpeechOptions) -> None:
    """Raises `TypeError` for an option that there is not, as Python does for a parameter."""
    for name in options:
        if name not in SpeechOptions.__annotations__:
            raise TypeError(f"there is no option {name!r}: {', '.join(SpeechOptions.__annotations__)} can be given")
