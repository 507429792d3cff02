"""What is compared: a text, spoken by somebody in a language, in one of the two text layouts, greedily or sampled."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from qwen3_tts_ncnn.parity.clips import ReferenceClip
from qwen3_tts_ncnn.parity.settings import SamplingSettings

MAX_FRAMES = 96
"""Default limit of a run: 7.7 s of speech."""


@dataclass(frozen=True)
class Case:
    """One run to compare.

    Who speaks is a speaker (CustomVoice), a reference to clone (Base), or whom an instruction describes (VoiceDesign).

    Attributes:
        text: what is said.
        speaker: a name the checkpoint knows.
        language: "auto" or a name the checkpoint knows.
        streaming_text: text rows trail the prompt (True), stand in it (False), or as the checkpoint's type does (None).
        max_frames: where the run is cut if EOS has not come (80 ms each).
        reference: whom to clone: in context where it has a transcript, by x-vector alone where it has none.
        instruct: how to speak, where there is a speaker; else who speaks.
        seed: what both sides draw from; None is greedy.
        settings: what shapes the draws.
    """

    text: str
    speaker: str | None = None
    language: str = "auto"
    streaming_text: bool | None = None
    max_frames: int = MAX_FRAMES
    reference: ReferenceClip | None = None
    instruct: str | None = None
    seed: int | None = None
    settings: SamplingSettings = field(default_factory=SamplingSettings)

    @property
    def greedy(self) -> bool:
        """Whether either side takes the likeliest token at every step."""
        return self.seed is None

    @property
    def layout(self) -> str:
        """Name of the text layout."""
        return {True: "streaming", False: "whole", None: "default"}[self.streaming_text]

    @property
    def mode(self) -> str:
        """Where the voice comes from: "speaker", "speaker + instruction", "design", "x-vector" or "in context"."""
        if self.reference is not None:
            return "x-vector" if self.reference.transcript is None else "in context"
        if self.speaker is None:
            return "design"
        return "speaker" if self.instruct is None else "speaker + instruction"

    @property
    def who(self) -> str:
        """Who speaks: the speaker's or the reference's name, or the description of the designed voice."""
        if self.reference is not None:
            return self.reference.name
        return self.speaker or self.instruct or ""


TEXTS = (
    ("english", "Hello there, it's a fine day."),
    ("chinese", "今天天气很好，我们去公园吧。"),
    ("auto", "我买了一台 iPhone，it works 很好！"),
    ("", "3.14, 2024-05-06 (£9.99)… #7 — 50%?!"),
)
"""Language and text; "" takes a language that no other text of the suite uses."""

INSTRUCTIONS = (
    "Speak slowly, in a sad voice.",
    "请用着急的语气说。",
    "Whisper; then, by “and”, get LOUDER — 3 times!",
)
"""How to speak."""

DESIGNS = (
    "A calm old man with a deep, warm voice.",
    "一位中年女老师，声音温和，语速不快，吐字清楚。",
    "Female, 25–30; 语速偏快，very bright, a bit out of breath…",
)
"""Who speaks."""


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
    return tuple(
        Case(text, speaker, _known(language or _other(languages), languages), streaming_text, max_frames)
        for streaming_text in (False, True)
        for speaker in _three_speakers(speakers)
        for language, text in TEXTS
    )


def instruction_cases(
    speakers: Mapping[str, str | None], languages: Collection[str], max_frames: int = MAX_FRAMES
) -> tuple[Case, ...]:
    """What a CustomVoice checkpoint that takes instructions adds: 2 text layouts × 4 texts.

    The speakers of the suite take turns, and so do the instructions, so that every text meets two pairs of them.
    """
    who = _three_speakers(speakers)
    return tuple(
        Case(
            text,
            who[number % len(who)],
            _known(language or _other(languages), languages),
            streaming_text,
            max_frames,
            instruct=INSTRUCTIONS[(number + streaming_text) % len(INSTRUCTIONS)],
        )
        for streaming_text in (False, True)
        for number, (language, text) in enumerate(TEXTS, start=streaming_text)
    )


def design_cases(languages: Collection[str], max_frames: int = MAX_FRAMES) -> tuple[Case, ...]:
    """The suite of a VoiceDesign checkpoint: 2 text layouts × 3 described voices × 4 texts.

    Args:
        languages: names that may be asked for.
        max_frames: limit of each run, in frames.
    """
    return tuple(
        Case(
            text,
            language=_known(language or _other(languages), languages),
            streaming_text=streaming_text,
            max_frames=max_frames,
            instruct=design,
        )
        for streaming_text in (False, True)
        for design in DESIGNS
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


def _other(languages: Collection[str]) -> str:
    return next(iter(_unnamed(languages)), "auto")


def _known(language: str, languages: Collection[str]) -> str:
    return language if language in languages else "auto"


def _three_speakers(speakers: Mapping[str, str | None]) -> list[str]:
    """Two speakers without a dialect and one with; others fill up where a checkpoint lacks either kind."""
    plain = [name for name, dialect in speakers.items() if not dialect]
    dialectal = [name for name, dialect in speakers.items() if dialect]
    return (plain[:2] + dialectal[:1] + plain[2:] + dialectal[1:])[:3]
