"""Options that several commands share, so that they are spelled and explained once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from qwen3_tts_ncnn.runtime.audio import SUBTYPES
from qwen3_tts_ncnn.runtime.reference_audio import LONGEST_SECONDS

Command = TypeVar("Command", bound=Callable[..., Any])

# What an encoder's attention takes grows with the square of the length: an hour would be 32 GB.
_MOST_SECONDS = 3600

threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="CPU threads; all physical cores if not given."
)

verbose_option = click.option("--verbose", is_flag=True, help="Let ncnn's own lines through to standard error.")

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Tell what was made as one JSON object on standard output."
)

max_reference_option = click.option(
    "--max-reference-seconds",
    type=click.FloatRange(min=0, max=_MOST_SECONDS, min_open=True),
    default=LONGEST_SECONDS,
    show_default=True,
    help="Refuse a longer recording.",
)


def backend_options(command: Command) -> Command:
    """Adds `backend`, what runs where, and `verbose`: keyword arguments of `TTS.load`."""
    backend = click.option(
        "--backend",
        default="cpu",
        show_default=True,
        help="Where graphs run: cpu, vulkan (all on a GPU), hybrid (codec and encoders on a GPU), auto (the fastest by "
        "`bench --devices`, else hybrid where there is a discrete GPU), or some graphs, such as codec_decoder=vulkan. "
        "vulkan:1 is the device of that index or name; `devices` lists them. vulkan-fp16 and "
        "hybrid-fp16 are in half precision.",
    )
    return backend(verbose_option(command))


def sound_output_options(command: Command) -> Command:
    """Adds `output`, `subtype` and `raw`, the sound file to write and how a sample is stored in it."""
    format_option = click.option(
        "--format",
        "subtype",
        type=click.Choice(list(SUBTYPES)),
        default="pcm16",
        show_default=True,
        help="How a sample is stored; FLAC takes no float.",
    )
    output_option = click.option(
        "-o",
        "--output",
        required=True,
        type=click.Path(path_type=Path),
        help="The .wav, .flac or .raw file to write; - writes WAV to standard output.",
    )
    raw_option = click.option(
        "--raw", is_flag=True, help="With -o -: the samples alone, mono and little-endian, without a header."
    )
    return output_option(format_option(raw_option(command)))


def transcript_options(command: Command) -> Command:
    """Adds `transcript` and `transcript_file`, what a recording says, and `max_reference_seconds`."""
    transcript = click.option(
        "--transcript", help="What the recording says, word for word: the voice is cloned in context, which is closer."
    )
    file = click.option(
        "--transcript-file", type=click.Path(path_type=Path), help="Read the transcript from this UTF-8 file."
    )
    return transcript(file(max_reference_option(command)))
