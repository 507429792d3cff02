"""`qwen3-tts-ncnn speak`: a text to a sound file."""

import secrets
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from qwen3_tts_ncnn.runtime.cli.options import backend_options, json_option, sound_output_options, threads_option
from qwen3_tts_ncnn.runtime.cli.output import print_json, tell
from qwen3_tts_ncnn.runtime.cli.progress import SpeechProgress
from qwen3_tts_ncnn.runtime.cli.sampling_options import sampling_options, stopping_options
from qwen3_tts_ncnn.runtime.cli.sound_output import SoundOutput
from qwen3_tts_ncnn.runtime.cli.speaking import Spoken, chunk_options, chunk_sizes, speak_whole, stream_sound
from qwen3_tts_ncnn.runtime.cli.text_input import read_text
from qwen3_tts_ncnn.runtime.cli.voice_input import VoiceInput, voice_options
from qwen3_tts_ncnn.runtime.cli.voice_keeping import VoiceKeeping, keeping_options
from qwen3_tts_ncnn.runtime.manifest import Manifest
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.request import generation_options, language_id, speaker_name
from qwen3_tts_ncnn.runtime.speech_options import CHOICES
from qwen3_tts_ncnn.runtime.speech_warning import STOPPED, SpeechWarning
from qwen3_tts_ncnn.runtime.tokenizer import check_text
from qwen3_tts_ncnn.runtime.tts import TTS
from qwen3_tts_ncnn.runtime.voice import Voice

# A seed that is drawn is short enough to be typed again.
_SEEDS = 2**32

_VOICE_OPTIONS = ("speaker", "instruct", "voice", "reference", "transcript", "transcript_file", "max_reference_seconds")

_REMEDIES = {
    "limit": "try another --seed, or --retry 2; --max-frames and --no-budget raise the limit",
    "repeat": "try another --seed, or --retry 2; --no-watchdog lets it go on",
    "silence": "try another --seed, or --retry 2; --no-watchdog lets it go on",
}


@dataclass(frozen=True)
class _Request:
    """What to say and how; `options` are keyword arguments of `TTS.speak`."""

    text: str
    voice: VoiceInput
    language: str
    options: dict[str, Any]

    def chosen(self, voice: Voice | None) -> dict[str, Any]:
        """The keyword arguments of `TTS.speak`, with a voice that was cloned or read."""
        who = {"speaker": self.voice.speaker, "instruct": self.voice.instruct, "voice": voice}
        return {**who, "language": self.language, **self.options}


@click.command(short_help="Speak a text into a sound file.")
@click.argument("package", type=click.Path(path_type=Path))
@click.argument("text", required=False)
@click.option(
    "--file", type=click.Path(path_type=Path), help="Read the text from this UTF-8 file; - is standard input."
)
@sound_output_options
@chunk_options
@voice_options
@click.option("--language", default="auto", show_default=True, help="Language of the text; `info` lists the names.")
@sampling_options
@click.option(
    "--streaming-text/--whole-text",
    default=None,
    help="How the model hears the text, as it speaks or all before; the package's own way if not given.",
)
@stopping_options
@keeping_options
@backend_options
@threads_option
@json_option
def speak(
    package: Path,
    text: str | None,
    file: Path | None,
    output: Path,
    subtype: str,
    raw: bool,
    first_chunk: int | None,
    chunk: int | None,
    language: str,
    backend: str,
    verbose: bool,
    threads: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Speak TEXT with PACKAGE into a sound file. Without TEXT, or with -, it is read from standard input.

    A custom_voice package speaks as one of its speakers, a base package with the voice of a file that `clone` made,
    or of a recording, a voice_design package as --instruct describes. A long text is spoken sentence by sentence.

    With -o - the samples are there as they are made, for a player to play. Not with --retry, for what was heard cannot
    be tried again, and --save-voice: these make the speech whole first.

    \b
    Examples:
      qwen3-tts-ncnn speak models/tiny "Hello there." --speaker ryan --seed 7 -o hello.wav
      qwen3-tts-ncnn speak models/tiny "Hello there." --speaker ryan -o - | aplay
      qwen3-tts-ncnn speak models/base "Hello there." --voice me.voice -o hello.wav
      qwen3-tts-ncnn speak models/design "Hello there." --instruct "A calm old man." -o hello.wav
    """
    sound = SoundOutput.from_options(output, subtype, raw, as_json)
    keeping = VoiceKeeping.from_options(options.pop("save_voice"), options.pop("base"))
    streams = sound.is_piped and not options["retry"] and keeping is None
    sizes = chunk_sizes(streams, first_chunk=first_chunk, chunk=chunk)
    if options["seed"] is None:
        options["seed"] = secrets.randbelow(_SEEDS)
    given = VoiceInput.from_options(**{name: options.pop(name) for name in _VOICE_OPTIONS})
    request = _Request(read_text(text, file), given, language, options)
    manifest, voice = _check_request(package, request)
    if keeping is not None:
        keeping.check(request.text)
    with SpeechProgress(manifest.codec) as progress:
        tts = TTS.load(package, backend=backend, threads=threads, verbose=verbose)
        if given.recording is not None:
            progress.cloning()
            voice = given.recording.clone(tts)
            tts.drop_encoders()
        progress.loaded()
        chosen = request.chosen(voice) | {"on_frame": progress.frame}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpeechWarning)  # told below, with what to do about it
            if streams:
                del chosen["retry"]
                spoken = stream_sound(tts, request.text, sound, chosen | sizes)
            else:
                spoken = speak_whole(tts, request.text, sound, chosen)
    _tell(spoken, sound, _record(manifest, request, voice), as_json)
    if keeping is not None and spoken.whole is not None:
        keeping.keep(spoken.whole, request.text, threads)


def _check_request(package: Path, request: _Request) -> tuple[Manifest, Voice | None]:
    """Refuses what the package cannot do, before its graphs are loaded, which takes a while for a large one."""
    check_text(request.text)
    manifest = Package.open(package).speech
    voice = request.voice.check(manifest)
    language_id(manifest, request.language, _speaker(manifest, request.voice))
    generation_options(manifest.sampling, **{name: request.options[name] for name in ("greedy", *CHOICES)})
    return manifest, voice


def _speaker(manifest: Manifest, given: VoiceInput) -> str | None:
    return None if given.speaker is None else speaker_name(manifest, given.speaker)


def _record(manifest: Manifest, request: _Request, voice: Voice | None) -> dict[str, Any]:
    """What was asked for, as `--json` tells it."""
    given = request.voice
    return {
        "package": manifest.name,
        "speaker": _speaker(manifest, given),
        "voice": None if given.file is None else str(given.file),
        "reference": None if given.recording is None else str(given.recording.path),
        "instruct": given.instruct,
        "in_context": voice is not None and voice.codes is not None,
        "language": request.language.lower(),
        "greedy": request.options["greedy"],
        "seed": None if request.options["greedy"] else request.options["seed"],
    }


def _tell(spoken: Spoken, sound: SoundOutput, record: dict[str, Any], as_json: bool) -> None:
    factor = spoken.compute_seconds / spoken.seconds
    if spoken.stop != "eos":
        tell(f"Warning: {STOPPED[spoken.stop]}: {_REMEDIES[spoken.stop]}")
    if not as_json:
        seed = record["seed"]
        first = "" if spoken.first_sound is None else f", first sound after {spoken.first_sound:.2f} s"
        tell(
            f"wrote {sound}: {spoken.seconds:.2f} s of speech in {spoken.compute_seconds:.2f} s "
            f"(real-time factor {factor:.2f}{first}), stopped by {spoken.stop}"
            + ("" if seed is None else f", seed {seed}")
        )
        return
    print_json(
        {
            "output": str(sound.path),
            "seconds": spoken.seconds,
            "sample_rate": spoken.sample_rate,
            "frames": spoken.frames,
            "stop": spoken.stop,
            "compute_seconds": spoken.compute_seconds,
            "real_time_factor": factor,
            **record,
        }
    )
