"""What is compared: a text, spoken by somebody in a language, in one of the two text layouts."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from qwen3_tts_ncnn.parity.clips import ReferenceClip

MAX_FRAMES = 96
"""Default limit of a run: 7.7 s of speech."""


@dataclass(frozen=True)
class Case:
    """One run to compare. Who speaks is either a speaker (CustomVoice) or a reference to clone (Base).

    Attributes:
        text: what is said.
        speaker: a name the checkpoint knows.
        language: "auto" or a name the checkpoint knows.
        streaming_text: text rows trail the prompt (True), stand in it (False), or as the checkpoint's type does (None).
        max_frames: where the run is cut if EOS has not come (80 ms each).
        reference: whom to clone: in context where it has a transcript, by x-vector alone where it has none.
    """

    text: str
    speaker: str | None = None
    language: str = "auto"
    streaming_text: bool | None = None
    max_frames: int = MAX_FRAMES
    reference: ReferenceClip | None = None

    @property
    def layout(self) -> str:
        """Name of the text layout."""
        return {True: "streaming", False: "whole", None: "default"}[self.streaming_text]

    @property
    def mode(self) -> str:
        """Where the voice comes from: "speaker", "x-vector" or "in context"."""
        if self.reference is None:
            return "speaker"
        return "x-vector" if self.reference.transcript is None else "in context"

    @property
    def who(self) -> str:
        """Who speaks: the speaker's or the reference's name."""
        return self.reference.name if self.reference else self.speaker or ""


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
    """The suite of a CustomVoice checkpoint: 2 text layouts × 3 speakers, one of them with a dialect, × 4 texts.

    The Chinese and the mixed text (chinese, auto) meet the speaker with a dialect, whose dialect then replaces the
    language; the other two leave it alone (upstream modeling_qwen3_tts.py:2118).

    Args:
        speakers: name → dialect or None, as the checkpoint has them. Fewer than three make a smaller suite.
        languages: names that may be asked for.
        max_frames: limit of each run, in frames.
    """
    other = next(iter(_unnamed(languages)), "auto")
    return tuple(
        Case(text, speaker, _known(language or other, languages), streaming_text, max_frames)
        for streaming_text in (False, True)
        for speaker in _three_speakers(speakers)
        for language, text in TEXTS
    )


def cloning_cases(
    references: Collection[ReferenceClip], languages: Collection[str], max_frames: int = MAX_FRAMES
) -> tuple[Case, ...]:
    """The suite of a Base checkpoint: 2 text layouts × references × 3 texts × x-vector alone and in context.

    The texts are the first two of the suite and the last; that one is asked for in another language by each reference,
    the first time in "auto".

    Args:
        references: whom to clone, each with its transcript.
        languages: names that may be asked for.
        max_frames: limit of each run, in frames.
    """
    others = ["auto", *_unnamed(languages)]
    return tuple(
        Case(
            text,
            language=_known(language or others[number % len(others)], languages),
            streaming_text=streaming_text,
            max_frames=max_frames,
            reference=reference if in_context else reference.without_transcript(),
        )
        for streaming_text in (False, True)
        for number, reference in enumerate(references)
        for language, text in (*TEXTS[:2], TEXTS[-1])
        for in_context in (False, True)
    )


def _unnamed(languages: Collection[str]) -> list[str]:
    """The languages that no text of the suite names, sorted."""
    return sorted(set(languages) - {language for language, _ in TEXTS} - {"auto"})


def _known(language: str, languages: Collection[str]) -> str:
    return language if language in languages else "auto"


def _three_speakers(speakers: Mapping[str, str | None]) -> list[str]:
    """Two speakers without a dialect and one with; others fill up where a checkpoint lacks either kind."""
    plain = [name for name, dialect in speakers.items() if not dialect]
    dialectal = [name for name, dialect in speakers.items() if dialect]
    return (plain[:2] + dialectal[:1] + plain[2:] + dialectal[1:])[:3]
