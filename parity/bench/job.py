"""What every contestant is asked to speak, in a form that travels to its process."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.clips import read_clip
from qwen3_tts_ncnn.runtime.tokenizer import Pretokenizer

TEXT = "Good evening, and welcome to the night train: it will stop at every station, so please be patient, and enjoy."
"""25 tokens."""

FRAMES = 60
"""Default length of a run: 4.8 s of speech."""

FIRST_CHUNK = 4
"""Frames (80 ms each) that a stream waits for before its first samples."""


@dataclass(frozen=True)
class Job:
    """One text, who speaks it, and how long.

    Attributes:
        speaker, language, instruct, transcript: as `Case` has them.
        reference: path of the recording to clone.
        frames: how many everybody makes, for EOS is held off.
        threads: CPU threads of every contestant.
        huge_pages: whether packages put their weights on huge pages.
        pretokenizer: how words are split, so that packages read what upstream reads.
    """

    text: str
    speaker: str | None = None
    language: str = "auto"
    reference: str | None = None
    transcript: str | None = None
    instruct: str | None = None
    frames: int = FRAMES
    threads: int = 1
    huge_pages: bool = False
    pretokenizer: Pretokenizer = "hub"

    def case(self, frames: int) -> Case:
        """The run as parity has it: greedy, in the text layout of the checkpoint's type.

        Raises:
            AudioError: the recording cannot be read.
        """
        clip = None if self.reference is None else read_clip(Path(self.reference), self.transcript)
        return Case(self.text, self.speaker, self.language, None, frames, clip, self.instruct)

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Self:
        """The job that `to_json` wrote."""
        return cls(**record)
