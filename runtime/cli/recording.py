"""A recording to clone a voice from, as the command line names it."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from qwen3_tts_ncnn.runtime.cli.output import tell
from qwen3_tts_ncnn.runtime.cli.text_input import read_transcript
from qwen3_tts_ncnn.runtime.reference_audio import Source, read_reference
from qwen3_tts_ncnn.runtime.tts import TTS, ReferenceWarning
from qwen3_tts_ncnn.runtime.voice import Voice


@dataclass(frozen=True)
class Recording:
    """Where the recording is, what it says, and how long it may be."""

    path: Path
    source: Source
    transcript: str | None
    max_seconds: float

    @classmethod
    def from_options(cls, path: Path, transcript: str | None, transcript_file: Path | None, max_seconds: float) -> Self:
        """The recording of the options. Its transcript is read and checked, its sound is not.

        Raises:
            UsageError: the transcript was given twice.
            TextError: a transcript that cannot be read, is blank or not valid Unicode.
        """
        text = read_transcript(transcript, transcript_file)
        # It is read twice, once to refuse it before anything is loaded, and a pipe can be read only once.
        source = path.read_bytes() if path.is_fifo() else path
        return cls(path, source, text, max_seconds)

    def check(self) -> float:
        """Reads the recording and returns its seconds. Raises `AudioError` where no voice can be cloned from it."""
        return read_reference(self.source, max_seconds=self.max_seconds).seconds

    def clone(self, tts: TTS) -> Voice:
        """Clones the voice, and tells on standard error what may make it worse. Raises as `TTS.clone`."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ReferenceWarning)
            voice = tts.clone(self.source, transcript=self.transcript, max_seconds=self.max_seconds)
        for warning in caught:
            tell(f"Warning: {' '.join(str(warning.message).split())}")
        return voice
