"""`qwen3-tts-ncnn speak`: a text to a sound file."""

import secrets
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from qwen3_tts_ncnn.runtime.audio import SUBTYPES, check_output, encode_audio
from qwen3_tts_ncnn.runtime.cli.output import print_json, standard_output, tell
from qwen3_tts_ncnn.runtime.cli.progress import SpeechProgress
from qwen3_tts_ncnn.runtime.cli.sampling_options import sampling_options
from qwen3_tts_ncnn.runtime.cli.text_input import read_text
from qwen3_tts_ncnn.runtime.manifest import Manifest
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.request import check_mode, generation_options, language_id, speaker_name
from qwen3_tts_ncnn.runtime.speech import Speech
from qwen3_tts_ncnn.runtime.tokenizer import check_text
from qwen3_tts_ncnn.runtime.tts import TTS

STANDARD_OUTPUT = Path("-")

# A seed that is drawn is short enough to be typed again.
_SEEDS = 2**32


@dataclass(frozen=True)
class _Request:
    """What to say and how; `options` are keyword arguments of `TTS.speak`."""

    text: str
    speaker: str | None
    language: str
    options: dict[str, Any]


@click.command(short_help="Speak a text into a sound file.")
@click.argument("package", type=click.Path(path_type=Path))
@click.argument("text", required=False)
@click.option(
    "--file", type=click.Path(path_type=Path), help="Read the text from this UTF-8 file; - is standard input."
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The .wav or .flac file to write; - writes WAV to standard output.",
)
@click.option("--speaker", help="Who speaks; `info` lists the names.")
@click.option("--language", default="auto", show_default=True, help="Language of the text; `info` lists the names.")
@sampling_options
@click.option(
    "--streaming-text/--whole-text",
    default=None,
    help="How the model hears the text, as it speaks or all before; the package's own way if not given.",
)
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads; all physical cores if not given.")
@click.option(
    "--format",
    "subtype",
    type=click.Choice(list(SUBTYPES)),
    default="pcm16",
    show_default=True,
    help="How a sample is stored; FLAC takes no float.",
)
@click.option("--json", "as_json", is_flag=True, help="Tell what was made as one JSON object on standard output.")
def speak(
    package: Path,
    text: str | None,
    file: Path | None,
    output: Path,
    speaker: str | None,
    language: str,
    threads: int | None,
    subtype: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Speak TEXT with PACKAGE into a sound file. Without TEXT, or with -, it is read from standard input.

    \b
    Example:
      qwen3-tts-ncnn speak models/tiny "Hello there." --speaker ryan --seed 7 -o hello.wav
    """
    _check_output(output, subtype, as_json)
    if options["seed"] is None:
        options["seed"] = secrets.randbelow(_SEEDS)
    request = _Request(read_text(text, file), speaker, language, options)
    manifest = _check_request(package, request)
    with SpeechProgress(manifest.codec) as progress:
        tts = TTS.load(package, threads=threads)
        progress.loaded()
        begun = time.perf_counter()
        speech = tts.speak(request.text, speaker=speaker, language=language, on_frame=progress.frame, **request.options)
        seconds = time.perf_counter() - begun
    _write(speech, output, subtype)
    _tell(speech, seconds, output, manifest, request, as_json)


def _check_output(output: Path, subtype: str, as_json: bool) -> None:
    """Refuses an output that could not be written, before anything is read or computed."""
    if output != STANDARD_OUTPUT:
        check_output(output, subtype)
    elif as_json:
        raise click.UsageError("-o - and --json both write to standard output: give -o a file, or leave out --json.")
    elif sys.stdout is None or sys.stdout.isatty():
        where = "the terminal" if sys.stdout else "a closed standard output"
        raise click.UsageError(f"-o - would write WAV to {where}: pipe it into a program, or give -o a file.")


def _check_request(package: Path, request: _Request) -> Manifest:
    """Refuses what the package cannot do, before its graphs are loaded, which takes a while for a large one."""
    check_text(request.text)
    manifest = Package.open(package).manifest
    check_mode(manifest, request.speaker)
    language_id(manifest, request.language, speaker_name(manifest, request.speaker or ""))
    choices = {name: value for name, value in request.options.items() if name not in ("seed", "streaming_text")}
    generation_options(manifest.sampling, **choices)
    return manifest


def _write(speech: Speech, output: Path, subtype: str) -> None:
    if output != STANDARD_OUTPUT:
        speech.save(output, subtype=subtype)
        return
    data = encode_audio(speech.samples, speech.sample_rate, subtype=subtype)
    with standard_output():
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _tell(speech: Speech, seconds: float, output: Path, manifest: Manifest, request: _Request, as_json: bool) -> None:
    factor = seconds / speech.duration
    seed = None if request.options["greedy"] else request.options["seed"]
    if speech.stop == "limit":
        tell(
            f"Warning: stopped at the limit of {len(speech.codes)} frames, so the speech may be cut off: "
            "raise --max-frames or try another --seed"
        )
    if not as_json:
        name = "WAV to standard output" if output == STANDARD_OUTPUT else output
        tell(
            f"wrote {name}: {speech.duration:.2f} s of speech in {seconds:.2f} s (real-time factor {factor:.2f}), "
            f"stopped by {speech.stop}" + ("" if seed is None else f", seed {seed}")
        )
        return
    print_json(
        {
            "output": str(output),
            "seconds": speech.duration,
            "sample_rate": speech.sample_rate,
            "frames": len(speech.codes),
            "stop": speech.stop,
            "compute_seconds": seconds,
            "real_time_factor": factor,
            "package": manifest.name,
            "speaker": speaker_name(manifest, request.speaker or ""),
            "language": request.language.lower(),
            "greedy": request.options["greedy"],
            "seed": seed,
        }
    )
