"""Does what is asked for fit the package? Answered before any compute, in one line when it does not."""

import math
from collections.abc import Iterable
from typing import TypeVar

from qwen3_tts_ncnn.runtime.errors import ModeError, OptionError
from qwen3_tts_ncnn.runtime.generation import GenerationOptions
from qwen3_tts_ncnn.runtime.languages import find_language
from qwen3_tts_ncnn.runtime.manifest import Manifest, SamplingDefaults
from qwen3_tts_ncnn.runtime.sampling import Sampling
from qwen3_tts_ncnn.runtime.voice import Voice, check_width

# Sizes of CustomVoice whose instructions upstream drops (Q:799).
_DEAF_SIZES = ("0b6",)

T = TypeVar("T")


def check_cloning(manifest: Manifest) -> None:
    """Raises `ModeError` unless the package clones voices."""
    if manifest.speaker_encoder is None:
        raise ModeError(
            f"{manifest.name} is a {manifest.type} package, which takes no reference recording: "
            "clone with a base package"
        )


def check_mode(manifest: Manifest, speaker: str | None, voice: Voice | None, instruct: str | None) -> None:
    """Raises `ModeError` unless the package speaks so.

    custom_voice: as a speaker, with an instruction if it likes; base: with a voice; voice_design: by an instruction.
    """
    name = manifest.name
    match manifest.type:
        case "custom_voice":
            if not manifest.speakers:
                raise ModeError(
                    f"{name} is a custom_voice package whose checkpoint names no speakers (spk_id in its config.json), "
                    "so nobody can speak: name one there and convert it again, or use another package"
                )
            if voice is not None:
                raise ModeError(
                    f"{name} is a custom_voice package, which speaks with its own speakers alone: "
                    f"leave the voice out and choose one of {_list(manifest.speakers)}, or use a base package"
                )
            if speaker is None:
                raise ModeError(f"{name} needs a speaker: choose one of {_list(manifest.speakers)}")
            if instruct is not None and manifest.size in _DEAF_SIZES:
                raise ModeError(
                    f"{name} follows no instruction, because its checkpoint's size was not trained to (upstream drops "
                    "it without a word): leave it out, or use a custom_voice package of 1.7B"
                )
        case "base":
            if speaker is not None:
                raise ModeError(
                    f"{name} is a base package, which has no speakers, but speaker {speaker!r} was given: "
                    "leave it out and give a voice, or use a custom_voice package"
                )
            if instruct is not None:
                raise ModeError(
                    f"{name} is a base package, which follows no instruction: leave it out, or use a voice_design or "
                    "1.7B custom_voice package"
                )
            if voice is None:
                raise ModeError(f"{name} needs a voice: clone one from a recording")
            check_width(voice, manifest.talker.hidden_size, name)
        case _:
            if speaker is not None or voice is not None:
                given = "a voice" if speaker is None else f"speaker {speaker!r}"
                raise ModeError(
                    f"{name} is a voice_design package, which speaks as an instruction describes, but {given} was "
                    "given: leave it out, or use a custom_voice or base package"
                )
            if instruct is None:
                raise ModeError(f"{name} needs an instruction that describes the voice, such as 'a calm old man'")


def speaker_name(manifest: Manifest, speaker: str) -> str:
    """The manifest's name of a speaker, in whatever case it was written. Raises `ModeError`, listing all."""
    for name in manifest.speakers:
        if name.lower() == speaker.lower():
            return name
    raise ModeError(f"{manifest.name} has no speaker {speaker!r}: choose one of {_list(manifest.speakers)}")


def language_id(manifest: Manifest, language: str | None, speaker: str | None) -> int | None:
    """The codec id of a language by name, code or tag; None lets the model decide.

    A speaker with a dialect speaks it in place of Chinese and of an unnamed language (M:2118).
    Raises `ModeError`, listing all, for a language the package does not have; a dialect is no language to ask for.
    """
    name = find_language(language, manifest.languages, package=manifest.name)
    dialect = None if speaker is None else manifest.speakers[speaker].dialect
    if dialect is not None and (name is None or name.lower() == "chinese"):
        return manifest.dialects[dialect]
    return None if name is None else manifest.languages[name]


def generation_options(
    defaults: SamplingDefaults,
    *,
    greedy: bool,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    repetition_penalty: float | None,
    predictor_temperature: float | None,
    predictor_top_k: int | None,
    predictor_top_p: float | None,
    max_frames: int | None,
) -> GenerationOptions:
    """The options of one run: what was asked for, else the checkpoint's own. Raises `OptionError`."""
    penalty = _or(repetition_penalty, defaults.repetition_penalty)
    if not 0 < penalty < math.inf:
        raise OptionError(f"repetition_penalty is {penalty}, expected above 0 (1 changes nothing)")
    # max_new_tokens counts selections, and N frames take N + 1.
    frames = _or(max_frames, defaults.max_new_tokens - 1)
    if frames < 1:
        raise OptionError(f"max_frames is {frames}, expected 1 or more (a frame is 80 ms)")
    return GenerationOptions(
        talker=_sampling(
            "",
            greedy=greedy or not defaults.do_sample,
            temperature=_or(temperature, defaults.temperature),
            top_k=_or(top_k, defaults.top_k),
            top_p=_or(top_p, defaults.top_p),
        ),
        predictor=_sampling(
            "predictor_",
            greedy=greedy or not defaults.predictor_do_sample,
            temperature=_or(predictor_temperature, defaults.predictor_temperature),
            top_k=_or(predictor_top_k, defaults.predictor_top_k),
            top_p=_or(predictor_top_p, defaults.predictor_top_p),
        ),
        repetition_penalty=penalty,
        max_frames=frames,
    )


def _sampling(prefix: str, *, greedy: bool, temperature: float, top_k: int, top_p: float) -> Sampling:
    """A `Sampling` whose errors name the option as the user did, with its prefix."""
    try:
        return Sampling(greedy=greedy, temperature=temperature, top_k=top_k, top_p=top_p)
    except OptionError as error:
        raise OptionError(f"{prefix}{error}") from None


def _or(given: T | None, default: T) -> T:
    return default if given is None else given


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
