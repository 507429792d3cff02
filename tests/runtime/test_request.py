"""What is asked for fits the package, or is refused in one line that says what would."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime.errors import ModeError, OptionError
from qwen3_tts_ncnn.runtime.generation import GenerationOptions
from qwen3_tts_ncnn.runtime.request import (
    check_cloning,
    check_mode,
    generation_options,
    language_id,
    speaker_name,
)
from qwen3_tts_ncnn.runtime.sampling import Sampling
from qwen3_tts_ncnn.runtime.voice import Voice
from tests.runtime.manifests import SAMPLING, base_manifest, manifest

PACKAGE, BASE = manifest(), base_manifest()
CHINESE, ENGLISH, SICHUAN = 2055, 2050, 2062


def options(**asked: Any) -> GenerationOptions:
    nothing = dict.fromkeys(
        (
            "temperature",
            "top_k",
            "top_p",
            "repetition_penalty",
            "predictor_temperature",
            "predictor_top_k",
            "predictor_top_p",
            "max_frames",
        )
    )
    defaults = asked.pop("defaults", SAMPLING)
    given: dict[str, Any] = {"greedy": False} | nothing | asked
    return generation_options(defaults, **given)


@pytest.mark.parametrize("written", ["Ryan", "ryan", "RYAN"])
def test_a_speaker_is_found_in_whatever_case(written: str) -> None:
    assert speaker_name(PACKAGE, written) == "Ryan"


@pytest.mark.parametrize(("speaker", "voice"), [(None, None), ("ryan", None), (None, Voice(np.ones(8, np.float32)))])
def test_a_custom_voice_package_without_speakers_says_that_nobody_can_speak(
    speaker: str | None, voice: Voice | None
) -> None:
    assert refusal(check_mode, manifest(speakers={}), speaker, voice, None) == (
        "little-fp32 is a custom_voice package whose checkpoint names no speakers (spk_id in its config.json), so "
        "nobody can speak: name one there and convert it again, or use another package"
    )


@pytest.mark.parametrize("unknown", ["nobody", "", "Ryan ", "uncle fu"])
def test_an_unknown_speaker_lists_the_valid_ones(unknown: str) -> None:
    with pytest.raises(ModeError) as caught:
        speaker_name(PACKAGE, unknown)
    assert str(caught.value) == f"little-fp32 has no speaker {unknown!r}: choose one of Ryan, Uncle_Fu, Eric"


def refusal(check: Callable[..., None], *asked: Any) -> str:
    with pytest.raises(ModeError) as caught:
        check(*asked)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def voice(width: int = 8, model: str = "little-base-fp32") -> Voice:
    return Voice(np.ones(width, dtype=np.float32), model=model)


def test_a_custom_voice_package_speaks_as_a_speaker_alone() -> None:
    check_mode(PACKAGE, "anyone", None, None)
    assert refusal(check_mode, PACKAGE, None, None, None) == (
        "little-fp32 needs a speaker: choose one of Ryan, Uncle_Fu, Eric"
    )
    for speaker in (None, "Ryan"):
        assert refusal(check_mode, PACKAGE, speaker, voice(), None) == (
            "little-fp32 is a custom_voice package, which speaks with its own speakers alone: "
            "leave the voice out and choose one of Ryan, Uncle_Fu, Eric, or use a base package"
        )


def test_a_base_package_speaks_with_a_voice_alone() -> None:
    check_mode(BASE, None, voice(), None)
    assert refusal(check_mode, BASE, None, None, None) == "little-fp32 needs a voice: clone one from a recording"
    for given in (None, voice()):
        assert refusal(check_mode, BASE, "Ryan", given, None) == (
            "little-fp32 is a base package, which has no speakers, but speaker 'Ryan' was given: "
            "leave it out and give a voice, or use a custom_voice package"
        )


def test_a_voice_of_another_width_says_both_widths_and_who_made_it() -> None:
    assert refusal(check_mode, BASE, None, voice(2048, "qwen3-tts-12hz-1.7b-base-fp32"), None) == (
        "the voice, made with qwen3-tts-12hz-1.7b-base-fp32, has an x-vector of 2048 values, little-fp32 takes 8: "
        "clone the recording again with this package"
    )
    assert refusal(check_mode, BASE, None, voice(7, ""), None).startswith("the voice has an x-vector of 7 values, ")


CALM = "A calm old man."


def test_an_instruction_is_followed_by_a_custom_voice_package_of_1_7b_and_refused_with_the_reason_by_0_6b() -> None:
    check_mode(manifest(size="1b7"), "Ryan", None, CALM)
    check_mode(manifest(size="1b7"), "Ryan", None, None)
    assert refusal(check_mode, PACKAGE, "Ryan", None, CALM) == (
        "little-fp32 follows no instruction, because its checkpoint's size was not trained to (upstream drops it "
        "without a word): leave it out, or use a custom_voice package of 1.7B"
    )
    assert refusal(check_mode, manifest(size="1b7"), None, None, CALM).startswith("little-fp32 needs a speaker: ")


@pytest.mark.parametrize("size", ["0b6", "1b7"])
@pytest.mark.parametrize("given", [None, voice()], ids=["", "voice"])
def test_a_base_package_follows_no_instruction_whatever_its_size(size: str, given: Voice | None) -> None:
    assert refusal(check_mode, base_manifest(size=size), None, given, CALM) == (
        "little-fp32 is a base package, which follows no instruction: leave it out, or use a voice_design or "
        "1.7B custom_voice package"
    )


DESIGN = manifest(type="voice_design", speakers={})


def test_a_voice_design_package_speaks_by_an_instruction_alone() -> None:
    check_mode(DESIGN, None, None, CALM)
    assert refusal(check_mode, DESIGN, None, None, None) == (
        "little-fp32 needs an instruction that describes the voice, such as 'a calm old man'"
    )


@pytest.mark.parametrize("instruct", [None, CALM])
@pytest.mark.parametrize(
    ("speaker", "given", "what"),
    [("Ryan", None, "speaker 'Ryan'"), (None, voice(), "a voice"), ("Ryan", voice(), "speaker 'Ryan'")],
    ids=["speaker", "voice", "both"],
)
def test_a_voice_design_package_has_no_speakers_and_takes_no_voice(
    instruct: str | None, speaker: str | None, given: Voice | None, what: str
) -> None:
    assert refusal(check_mode, DESIGN, speaker, given, instruct) == (
        f"little-fp32 is a voice_design package, which speaks as an instruction describes, but {what} was given: "
        "leave it out, or use a custom_voice or base package"
    )


def test_only_a_package_with_a_speaker_encoder_clones() -> None:
    check_cloning(BASE)
    for kind in ("custom_voice", "voice_design"):
        assert refusal(check_cloning, manifest(type=kind)) == (
            f"little-fp32 is a {kind} package, which takes no reference recording: clone with a base package"
        )


@pytest.mark.parametrize(
    ("language", "id"),
    [
        *(("chinese", CHINESE), ("english", ENGLISH), ("English", ENGLISH), ("zh-CN", CHINESE), ("EN_us", ENGLISH)),
        *(("auto", None), ("AUTO", None), ("", None), (None, None)),
    ],
)
def test_a_language_is_found_by_name_code_or_tag_in_whatever_case(language: str | None, id: int | None) -> None:
    assert language_id(PACKAGE, language, "Ryan") == id


@pytest.mark.parametrize(
    ("language", "id"),
    [
        *(("chinese", SICHUAN), ("Chinese", SICHUAN), ("zh", SICHUAN), ("zh-Hans-CN", SICHUAN)),
        *(("auto", SICHUAN), (None, SICHUAN), ("english", ENGLISH), ("en-GB", ENGLISH)),
    ],
)
def test_a_dialect_takes_the_place_of_chinese_and_auto_alone(language: str | None, id: int) -> None:
    assert language_id(PACKAGE, language, "Eric") == id


@pytest.mark.parametrize("speaker", ["Ryan", "Eric"])
@pytest.mark.parametrize("language", ["klingon", "sichuan_dialect", "Sichuan_Dialect", "chinese "])
def test_an_unknown_language_and_a_dialect_list_the_valid_ones(language: str, speaker: str) -> None:
    with pytest.raises(ModeError) as caught:
        language_id(PACKAGE, language, speaker)
    assert str(caught.value) == (
        f"little-fp32 has no language {language!r}: choose one of auto, chinese (zh), "
        "english (en), by name, code or BCP-47 tag"
    )


def test_what_is_not_asked_for_is_the_checkpoint_s_own() -> None:
    assert options() == GenerationOptions(
        talker=Sampling(greedy=False, temperature=0.9, top_k=50, top_p=1.0),
        predictor=Sampling(greedy=False, temperature=0.8, top_k=40, top_p=0.95),
        repetition_penalty=1.05,
        max_frames=8191,  # max_new_tokens counts selections, and N frames take N + 1
    )


def test_what_is_asked_for_counts() -> None:
    asked = options(
        temperature=0.5,
        top_k=0,
        top_p=0.7,
        repetition_penalty=1.0,
        predictor_temperature=0.4,
        predictor_top_k=3,
        predictor_top_p=0.6,
        max_frames=1,
    )
    assert asked == GenerationOptions(
        talker=Sampling(greedy=False, temperature=0.5, top_k=0, top_p=0.7),
        predictor=Sampling(greedy=False, temperature=0.4, top_k=3, top_p=0.6),
        repetition_penalty=1.0,
        max_frames=1,
    )


def test_greedy_is_asked_for_or_the_checkpoint_s_default_for_each_part() -> None:
    def greedy(**changes: Any) -> tuple[bool, bool]:
        given = options(greedy=changes.pop("greedy", False), defaults=replace(SAMPLING, **changes))
        return given.talker.greedy, given.predictor.greedy

    assert greedy(greedy=True) == (True, True)
    assert greedy() == (False, False)
    assert greedy(do_sample=False) == (True, False)
    assert greedy(predictor_do_sample=False) == (False, True)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"max_frames": 0}, "max_frames is 0, expected 1 or more (a frame is 80 ms)"),
        ({"max_frames": -1}, "max_frames is -1, expected 1 or more (a frame is 80 ms)"),
        ({"repetition_penalty": 0.0}, "repetition_penalty is 0.0, expected above 0"),
        ({"repetition_penalty": -1.0}, "repetition_penalty is -1.0, expected above 0"),
        ({"repetition_penalty": math.nan}, "repetition_penalty is nan, expected above 0"),
        ({"repetition_penalty": math.inf}, "repetition_penalty is inf, expected above 0"),
        ({"temperature": 0.0}, "temperature is 0.0, expected above 0"),
        ({"top_k": -1}, "top_k is -1, expected 0 (all) or more"),
        ({"top_p": 1.01}, "top_p is 1.01, expected above 0 and at most 1"),
        ({"predictor_temperature": 0.0}, "predictor_temperature is 0.0, expected above 0"),
        ({"predictor_top_k": -1}, "predictor_top_k is -1, expected 0 (all) or more"),
        ({"predictor_top_p": 0.0}, "predictor_top_p is 0.0, expected above 0 and at most 1"),
    ],
)
def test_a_value_out_of_range_is_refused_by_its_name(asked: dict[str, Any], message: str) -> None:
    for greedy in (True, False):
        with pytest.raises(OptionError) as caught:
            options(greedy=greedy, **asked)
        assert str(caught.value).startswith(message)
        assert "\n" not in str(caught.value)
