"""What is compared: a text, spoken by somebody in a language, in one of the two text layouts."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

MAX_FRAMES = 96
"""Default limit of a run: 7.7 s of speech."""


@dataclass(frozen=True)
class Case:
    """One run to compare.

    Attributes:
        text: what is said.
        speaker: a name the checkpoint knows.
        language: "auto" or a name the checkpoint knows.
        streaming_text: text rows trail the prompt (True), stand in it (False), or as the checkpoint's type does (None).
        max_frames: where the run is cut if EOS has not come (80 ms each).
    """

    text: str
    speaker: str
    language: str = "auto"
    streaming_text: bool | None = None
    max_frames: int = MAX_FRAMES

    @property
    def layout(self) -> str:
        """Name of the text layout."""
        return {True: "streaming", False: "whole", None: "default"}[self.streaming_text]


TEXTS = (
    ("english", "Hello there, it's a fine day."),
    ("chinese", "今天天气很好，我们去公园吧。"),
    ("auto", "我买了一台 iPhone，it works 很好！"),
    ("", "3.14, 2024-05-06 (£9.99)… #7 — 50%?!"),
)
"""Language and text; "" takes a language that no other text of the suite uses."""


def default_cases(
    speakers: Mapping[str, str | None], languages: Collection[str], max_frames: int = MAX_FRAMES
) -> tuple[Case, ...]:
    """The suite: 2 text layouts × 3 speakers, one of them with a dialect, × 4 texts.

    The Chinese and the mixed text (chinese, auto) meet the speaker with a dialect, whose dialect then replaces the
    language; the other two leave it alone (upstream modeling_qwen3_tts.py:2118).

    Args:
        speakers: name → dialect or None, as the checkpoint has them. Fewer than three make a smaller suite.
        languages: names that may be asked for.
        max_frames: limit of each run, in frames.
    """
    named = {language for language, _ in TEXTS} | {"auto"}
    other = next((language for language in sorted(languages) if language not in named), "auto")
    return tuple(
        Case(text, speaker, _known(language or other, languages), streaming_text, max_frames)
        for streaming_text in (False, True)
        for speaker in _three_speakers(speakers)
        for language, text in TEXTS
    )


def _known(language: str, languages: Collection[str]) -> str:
    return language if language in languages else "auto"


def _three_speakers(speakers: Mapping[str, str | None]) -> list[str]:
    """Two speakers without a dialect and one with; others fill up where a checkpoint lacks either kind."""
    plain = [name for name, dialect in speakers.items() if not dialect]
    dialectal = [name for name, dialect in speakers.items() if dialect]
    return (plain[:2] + dialectal[:1] + plain[2:] + dialectal[1:])[:3]
