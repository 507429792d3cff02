"""`qwen3-tts-ncnn clone`: a recording to a voice."""

import time
from pathlib import Path
from typing import Any

import click

from qwen3_tts_ncnn.runtime.cli.file_output import check_file_output
from qwen3_tts_ncnn.runtime.cli.options import backend_options, json_option, threads_option, transcript_options
from qwen3_tts_ncnn.runtime.cli.output import print_json, tell
from qwen3_tts_ncnn.runtime.cli.progress import working
from qwen3_tts_ncnn.runtime.cli.recording import Recording
from qwen3_tts_ncnn.runtime.errors import ModeError
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.request import check_cloning
from qwen3_tts_ncnn.runtime.tts import TTS
from qwen3_tts_ncnn.runtime.voice import Voice

_ENDINGS = (".voice", ".spk", ".rvq")


@click.command(short_help="Clone a voice from a recording.")
@click.argument("package", type=click.Path(path_type=Path))
@click.argument("reference", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The .voice file to write; .spk for the x-vector alone, .rvq for the codes alone.",
)
@transcript_options
@backend_options
@threads_option
@json_option
def clone(
    package: Path,
    reference: Path,
    output: Path,
    transcript: str | None,
    transcript_file: Path | None,
    max_reference_seconds: float,
    backend: str,
    verbose: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Clone the voice of REFERENCE, a recording, with PACKAGE, a base one. `speak --voice` speaks with it.

    With the transcript of what the recording says, the voice is cloned in context, which is closer; without one by
    x-vector alone. 3 to 15 seconds of clear speech are best.

    \b
    Example:
      qwen3-tts-ncnn clone models/base me.wav --transcript "What I say in it." -o me.voice
    """
    check_file_output(output, _ENDINGS)
    recording = Recording.from_options(reference, transcript, transcript_file, max_reference_seconds)
    if output.suffix.lower() == ".rvq" and recording.transcript is None:
        raise ModeError(
            f"there are no codes for {output} without a transcript: give --transcript, write a .voice or .spk file, "
            "or use `codec encode`"
        )
    check_cloning(Package.open(package).speech)
    reference_seconds = recording.check()
    with working("loading the package"):
        tts = TTS.load(package, backend=backend, threads=threads, verbose=verbose)
    begun = time.perf_counter()
    with working("cloning the voice"):
        voice = recording.clone(tts)
    seconds = time.perf_counter() - begun
    voice.save(output)
    _tell(_record(voice, output, reference_seconds, seconds), as_json)


def _record(voice: Voice, output: Path, reference_seconds: float, seconds: float) -> dict[str, Any]:
    """What the file holds, which is the whole voice only in a .voice file."""
    kind = output.suffix.lower()
    codes = None if kind == ".spk" else voice.codes
    return {
        "output": str(output),
        "reference_seconds": reference_seconds,
        "in_context": kind == ".voice" and codes is not None,
        "frames": None if codes is None else len(codes),
        "width": None if kind == ".rvq" else voice.width,
        "model": voice.model,
        "compute_seconds": seconds,
    }


def _tell(record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(record)
        return
    frames, width = record["frames"], record["width"]
    if width is None:
        made = f"the codes alone, {frames} frames,"
    elif frames is None:
        made = f"a voice by x-vector alone, width {width},"
    else:
        made = f"a voice in context, {frames} frames and an x-vector of width {width},"
    tell(
        f"wrote {record['output']}: {made} from {record['reference_seconds']:.2f} s of reference with "
        f"{record['model']} in {record['compute_seconds']:.2f} s"
    )
