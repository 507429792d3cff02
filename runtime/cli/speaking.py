"""Speech to where it is wanted: when all of it is there, or to standard output while it is made."""

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from qwen3_tts_ncnn.runtime.cli.sound_output import SoundOutput
from qwen3_tts_ncnn.runtime.speech import Speech
from qwen3_tts_ncnn.runtime.tts import TTS

Command = TypeVar("Command", bound=Callable[..., Any])

_DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(TTS.stream).parameters.items()}

_FRAMES = click.IntRange(min=1)
_FIRST_CHUNK = click.option(
    "--first-chunk",
    type=_FRAMES,
    help=f"With -o -: give the first samples after so many frames of 80 ms; {_DEFAULTS['first_chunk']} if not given.",
)
_CHUNK = click.option(
    "--chunk",
    type=_FRAMES,
    help=f"With -o -: then double up to so many frames at a time; {_DEFAULTS['chunk']} if not given.",
)


def chunk_options(command: Command) -> Command:
    """Adds `first_chunk` and `chunk`, keyword arguments of `TTS.stream`; None if not given."""
    return _FIRST_CHUNK(_CHUNK(command))


def chunk_sizes(streams: bool, **given: int | None) -> dict[str, int]:
    """The sizes that were given. Raises `UsageError` for any where the speech is not handed out as it is made."""
    sizes = {name: size for name, size in given.items() if size is not None}
    if sizes and not streams:
        raise click.UsageError(
            "--first-chunk and --chunk are for speech that is handed out as it is made: it is with -o -, and without "
            "--retry and --save-voice."
        )
    return sizes


@dataclass(frozen=True)
class Spoken:
    """What there is to tell of a speech: how long it is, what ended it, and how long it took to make.

    `whole` is the speech itself where it was made whole; where it was not, `first_sound` are the seconds until the
    first samples were there.
    """

    seconds: float
    sample_rate: int
    frames: int
    stop: str
    compute_seconds: float
    first_sound: float | None = None
    whole: Speech | None = None


def speak_whole(tts: TTS, text: str, sound: SoundOutput, options: Mapping[str, Any]) -> Spoken:
    """Writes a speech when all of it is there. `options` are keyword arguments of `TTS.speak`, which it raises as."""
    begun = time.perf_counter()
    speech = tts.speak(text, **options)
    seconds = time.perf_counter() - begun
    sound.write(speech.samples, speech.sample_rate)
    return Spoken(speech.duration, speech.sample_rate, len(speech.codes), speech.stop, seconds, whole=speech)


def stream_sound(tts: TTS, text: str, sound: SoundOutput, options: Mapping[str, Any]) -> Spoken:
    """Writes samples as they are made. `options` are keyword arguments of `TTS.stream`, which it raises as.

    The time that the reader takes, a player as long as it plays, is not the computer's and does not count.
    """
    begun, computed, first, count = time.perf_counter(), 0.0, 0.0, 0
    with tts.stream(text, **options) as stream:
        for samples in stream:
            computed += time.perf_counter() - begun
            if not count:
                first = computed
                sound.begin(stream.sample_rate)
            sound.go_on(samples, stream.sample_rate)
            count += len(samples)
            begun = time.perf_counter()
        computed += time.perf_counter() - begun
    assert stream.stop is not None  # it has come to its end
    return Spoken(count / stream.sample_rate, stream.sample_rate, len(stream.codes), stream.stop, computed, first)
