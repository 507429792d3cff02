"""`qwen3-tts-ncnn codec`: a recording to codes, and codes to sound."""

import time
from pathlib import Path

import click

from qwen3_tts_ncnn.runtime.cli.file_output import check_file_output
from qwen3_tts_ncnn.runtime.cli.options import (
    backend_options,
    json_option,
    max_reference_option,
    sound_output_options,
    threads_option,
)
from qwen3_tts_ncnn.runtime.cli.output import print_json, tell
from qwen3_tts_ncnn.runtime.cli.progress import working
from qwen3_tts_ncnn.runtime.cli.sound_output import SoundOutput
from qwen3_tts_ncnn.runtime.codec import Codec
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.reference_audio import read_reference
from qwen3_tts_ncnn.runtime.rvq_file import read_rvq, write_rvq


@click.group(short_help="Turn a recording into codes, and codes into sound.", invoke_without_command=True)
@click.pass_context
def codec(context: click.Context) -> None:
    """The codec of any package, also of the codec alone: 16 codes for each 80 ms of sound.

    \b
    Examples:
      qwen3-tts-ncnn codec encode models/tiny me.wav -o me.rvq
      qwen3-tts-ncnn codec decode models/tiny me.rvq -o again.wav
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@codec.command(short_help="Turn a recording into codes.")
@click.argument("package", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The .rvq file to write.")
@max_reference_option
@backend_options
@threads_option
@json_option
def encode(
    package: Path,
    file: Path,
    output: Path,
    max_reference_seconds: float,
    backend: str,
    verbose: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Encode FILE, a recording in any format and at any rate, into codes of 22 bytes a frame.

    \b
    Example:
      qwen3-tts-ncnn codec encode models/tiny me.wav -o me.rvq
    """
    check_file_output(output, (".rvq",))
    manifest = Package.open(package).manifest
    recording = read_reference(file, max_seconds=max_reference_seconds)
    with working("loading the codec"):
        loaded = Codec.load(package, backend=backend, threads=threads, verbose=verbose)
    begun = time.perf_counter()
    with working("encoding"):
        codes = loaded.encode_samples(recording.samples)
    seconds = time.perf_counter() - begun
    write_rvq(output, codes)
    if not as_json:
        tell(f"wrote {output}: {len(codes)} frames of {recording.seconds:.2f} s in {seconds:.2f} s")
        return
    print_json(
        {
            "output": str(output),
            "seconds": recording.seconds,
            "frames": len(codes),
            "package": manifest.name,
            "compute_seconds": seconds,
        }
    )


@codec.command(short_help="Turn codes into sound.")
@click.argument("package", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@sound_output_options
@backend_options
@threads_option
@json_option
def decode(
    package: Path,
    file: Path,
    output: Path,
    subtype: str,
    raw: bool,
    backend: str,
    verbose: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Decode FILE, codes in a .rvq file, into sound as upstream does.

    \b
    Example:
      qwen3-tts-ncnn codec decode models/tiny me.rvq -o again.wav
    """
    sound = SoundOutput.from_options(output, subtype, raw, as_json)
    manifest = Package.open(package).manifest
    codes = read_rvq(file)
    with working("loading the codec"):
        loaded = Codec.load(package, backend=backend, threads=threads, verbose=verbose)
    begun = time.perf_counter()
    with working("decoding"):
        samples = loaded.decode_chunked(codes)
    seconds = time.perf_counter() - begun
    rate = loaded.shape.sample_rate
    sound.write(samples, rate)
    duration = len(samples) / rate
    if not as_json:
        tell(f"wrote {sound}: {duration:.2f} s of {len(codes)} frames in {seconds:.2f} s")
        return
    print_json(
        {
            "output": str(output),
            "seconds": duration,
            "sample_rate": rate,
            "frames": len(codes),
            "package": manifest.name,
            "compute_seconds": seconds,
        }
    )
