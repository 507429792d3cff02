"""Keeping a voice that `speak` made up: what it said becomes the reference of a cloned voice."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import click

from qwen3_tts_ncnn.runtime.cli.file_output import check_file_output
from qwen3_tts_ncnn.runtime.cli.recording import Recording
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.reference_audio import LONGEST_SECONDS
from qwen3_tts_ncnn.runtime.request import check_cloning
from qwen3_tts_ncnn.runtime.speech import Speech
from qwen3_tts_ncnn.runtime.tts import TTS

Command = TypeVar("Command", bound=Callable[..., Any])

_SAVE_VOICE = click.option(
    "--save-voice", type=click.Path(path_type=Path), help="Keep the voice that spoke in this .voice file; needs --base."
)
_BASE = click.option(
    "--base", type=click.Path(path_type=Path), help="The base package that clones the voice for --save-voice."
)


def keeping_options(command: Command) -> Command:
    """Adds the options; their values are the arguments of `VoiceKeeping.from_options`."""
    return _SAVE_VOICE(_BASE(command))


@dataclass(frozen=True)
class VoiceKeeping:
    """Where the voice goes, and the package that clones it."""

    file: Path
    base: Path

    @classmethod
    def from_options(cls, save_voice: Path | None, base: Path | None) -> Self | None:
        """None where no voice is to be kept. Raises, before anything is computed, what `keep` would fail at."""
        if save_voice is None and base is None:
            return None
        if save_voice is None or base is None:
            raise click.UsageError("--save-voice and --base go together: the base package clones the voice.")
        check_file_output(save_voice, (".voice",))
        check_cloning(Package.open(base).speech)
        return cls(save_voice, base)

    def keep(self, speech: Speech, text: str, threads: int | None) -> None:
        """Clones the voice in context, with the text as the transcript of what it said."""
        recording = Recording(self.file, (speech.samples, speech.sample_rate), text, LONGEST_SECONDS)
        recording.clone(TTS.load(self.base, threads=threads)).save(self.file)
