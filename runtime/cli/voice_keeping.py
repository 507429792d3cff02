"""Keeping a voice that `speak` made up: what it said becomes the reference of a cloned voice."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import click

from qwen3_tts_ncnn.runtime.cli.file_output import check_file_output
from qwen3_tts_ncnn.runtime.cli.recording import Recording
from qwen3_tts_ncnn.runtime.errors import AudioError
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.reference_audio import LONGEST_SECONDS, least_seconds
from qwen3_tts_ncnn.runtime.request import check_cloning
from qwen3_tts_ncnn.runtime.speech import Speech
from qwen3_tts_ncnn.runtime.tts import TTS

Command = TypeVar("Command", bound=Callable[..., Any])

_SAVE_VOICE = click.option(
    "--save-voice",
    type=click.Path(path_type=Path),
    help="Keep the voice that spoke in this .voice file; needs --base. The speech must end by itself within "
    f"{LONGEST_SECONDS:g} s.",
)
_BASE = click.option(
    "--base", type=click.Path(path_type=Path), help="The base package that clones the voice for --save-voice."
)

_SHORTER = "keep that of a shorter text (3 to 15 s are best), and speak this one with --voice"


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

    def check(self, text: str) -> None:
        """Raises `AudioError` for a text that takes longer than the recording of a voice may be."""
        seconds = least_seconds(text)
        if seconds > LONGEST_SECONDS:
            raise AudioError(
                f"the text takes at least {seconds:.0f} s to say, and a voice is kept from {LONGEST_SECONDS:g} s at "
                f"most: {_SHORTER}"
            )

    def keep(self, speech: Speech, text: str, threads: int | None) -> None:
        """Clones the voice in context, with the text as the transcript of what it said.

        Raises `AudioError` for a speech that may not have said all of the text, or is too long.
        """
        if speech.stop != "eos":
            raise AudioError(
                f"the voice is not kept in {self.file}: its speech was stopped by {speech.stop}, so the text is not "
                "what it says; try another --seed, or --retry 2"
            )
        if speech.duration > LONGEST_SECONDS:
            raise AudioError(
                f"the voice is not kept in {self.file}: its speech is {speech.duration:.1f} s long, expected at most "
                f"{LONGEST_SECONDS:g} s; {_SHORTER}"
            )
        recording = Recording(self.file, (speech.samples, speech.sample_rate), text, LONGEST_SECONDS)
        recording.clone(TTS.load(self.base, threads=threads)).save(self.file)
