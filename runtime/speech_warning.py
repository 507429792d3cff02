"""What a program and a person are told of speech that did not end by itself."""

from qwen3_tts_ncnn.runtime.caller import warn_caller


class SpeechWarning(UserWarning):
    """A speech that did not end by itself."""


STOPPED = {
    "limit": "the speech was stopped at its limit of frames, so it may be cut off or have gone astray",
    "repeat": "the speech was stopped because it repeated itself without end",
    "silence": "the speech was stopped because it had fallen silent",
}
"""What a warning says, by what stopped the speech."""


def warn_of(stop: str) -> None:
    """Issues a `SpeechWarning` unless the speech ended by itself."""
    if stop != "eos":
        warn_caller(STOPPED[stop], SpeechWarning)
