"""Whose voice `speak` is to use, and how: a speaker, a voice's file, a recording to clone, an instruction."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import click

from qwen3_tts_ncnn.runtime.cli.options import transcript_options
from qwen3_tts_ncnn.runtime.cli.recording import Recording
from qwen3_tts_ncnn.runtime.manifest import Manifest
from qwen3_tts_ncnn.runtime.request import check_cloning, check_mode
from qwen3_tts_ncnn.runtime.tokenizer import check_text
from qwen3_tts_ncnn.runtime.voice import Voice

Command = TypeVar("Command", bound=Callable[..., Any])

_SPEAKER = click.option("--speaker", help="Who speaks; `info` lists the names.")
_VOICE = click.option(
    "--voice", type=click.Path(path_type=Path), help="The .voice or .spk file to speak with; `clone` makes it."
)
_REFERENCE = click.option(
    "--reference", type=click.Path(path_type=Path), help="A recording to clone the voice from, for this once."
)
_INSTRUCT = click.option(
    "--instruct", help="How to speak, in words: the voice of a voice_design package, the manner of a 1.7B custom_voice."
)


def voice_options(command: Command) -> Command:
    """Adds the options that say whose voice it is; their values are the arguments of `VoiceInput.from_options`."""
    return _SPEAKER(_INSTRUCT(_VOICE(_REFERENCE(transcript_options(command)))))


@dataclass(frozen=True)
class VoiceInput:
    """What was given, before it is known whether the package takes it."""

    speaker: str | None
    file: Path | None
    recording: Recording | None
    instruct: str | None

    @classmethod
    def from_options(
        cls,
        *,
        speaker: str | None,
        instruct: str | None,
        voice: Path | None,
        reference: Path | None,
        transcript: str | None,
        transcript_file: Path | None,
        max_reference_seconds: float,
    ) -> Self:
        """Raises `UsageError` for options that contradict each other, and as `Recording.from_options`."""
        if voice is not None and reference is not None:
            raise click.UsageError("The voice was given twice, with --voice and --reference: give one of them.")
        if reference is not None:
            recording = Recording.from_options(reference, transcript, transcript_file, max_reference_seconds)
            return cls(speaker, None, recording, instruct)
        if transcript is not None or transcript_file is not None:
            raise click.UsageError(
                "There is a transcript but no --reference, the recording that it is of: give both, or leave it out."
            )
        return cls(speaker, voice, None, instruct)

    def check(self, manifest: Manifest) -> Voice | None:
        """Checks all that can be before anything is loaded, and returns the voice of the file, if one was given.

        Raises `ModeError` for what the package does not take, `TextError` for an instruction that says nothing,
        `FormatError` for a file that holds no voice, and `AudioError` for a recording that none can be cloned from.
        """
        if self.recording is None:
            voice = None if self.file is None else Voice.load(self.file)
            check_mode(manifest, self.speaker, voice, self.instruct)
            if self.instruct is not None:
                check_text(self.instruct, "instruction")
            return voice
        check_cloning(manifest)
        if self.speaker is not None or self.instruct is not None:
            check_mode(manifest, self.speaker, None, self.instruct)  # refuses: what clones has neither
        self.recording.check()
        return None
