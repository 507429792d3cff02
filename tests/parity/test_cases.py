"""The suite covers what the issue asks: layouts, speakers, texts, languages, a dialect."""

from collections import Counter

from qwen3_tts_ncnn.parity.cases import Case, cloning_cases, default_cases, design_cases, instruction_cases
from qwen3_tts_ncnn.parity.clips import synthetic_references
from qwen3_tts_ncnn.parity.settings import SamplingSettings

SPEAKERS = {"anna": None, "bo": "sichuan_dialect", "cem": None, "dora": None, "emil": "beijing_dialect"}
LANGUAGES = ["auto", "chinese", "english", "german", "french"]


def test_the_suite_is_24_cases_over_two_layouts_three_speakers_and_four_texts() -> None:
    cases = default_cases(SPEAKERS, LANGUAGES)
    assert len(set(cases)) == 24
    assert Counter(case.streaming_text for case in cases) == {True: 12, False: 12}
    assert Counter(case.speaker for case in cases) == {"anna": 8, "cem": 8, "bo": 8}
    assert set(Counter(case.text for case in cases).values()) == {6}


def test_the_dialect_speaker_meets_languages_that_override_and_some_that_do_not() -> None:
    asked = {case.language for case in default_cases(SPEAKERS, LANGUAGES) if case.speaker == "bo"}
    assert asked == {"auto", "chinese", "english", "french"}


def test_one_fine_tuned_speaker_makes_eight_cases() -> None:
    cases = default_cases({"me": None}, ["auto"])
    assert len(cases) == 8
    assert {(case.speaker, case.language) for case in cases} == {("me", "auto")}


def test_the_cloning_suite_is_36_cases_over_two_modes_two_layouts_three_references_and_three_texts() -> None:
    cases = cloning_cases(synthetic_references(), LANGUAGES)
    assert len(set(cases)) == 36
    assert Counter(case.mode for case in cases) == {"x-vector": 18, "in context": 18}
    assert Counter(case.streaming_text for case in cases) == {True: 18, False: 18}
    assert set(Counter(case.who for case in cases).values()) == {12}
    assert set(Counter(case.text for case in cases).values()) == {12}
    assert {case.speaker for case in cases} == {None}


def test_the_cloning_suite_begins_with_both_modes_and_varies_the_language() -> None:
    cases = cloning_cases(synthetic_references(), LANGUAGES)
    assert [case.mode for case in cases[:2]] == ["x-vector", "in context"]
    assert Counter(case.language for case in cases) == {
        "english": 12,
        "chinese": 12,
        "auto": 4,
        "french": 4,
        "german": 4,
    }


def test_a_base_checkpoint_without_languages_is_asked_in_auto() -> None:
    assert {case.language for case in cloning_cases(synthetic_references(), ["auto"])} == {"auto"}


def test_the_design_suite_is_24_cases_over_two_layouts_three_voices_and_four_texts() -> None:
    cases = design_cases(LANGUAGES)
    assert len({(case.text, case.instruct, case.layout) for case in cases}) == 24
    assert {case.mode for case in cases} == {"design"}
    assert Counter(case.streaming_text for case in cases) == {True: 12, False: 12}
    assert list(Counter(case.instruct for case in cases).values()) == [8, 8, 8]
    assert {case.language for case in cases} == {"english", "chinese", "auto", "french"}


def test_instructions_add_8_cases_in_which_no_text_has_a_speaker_or_an_instruction_twice() -> None:
    cases = instruction_cases(SPEAKERS, LANGUAGES)
    assert {case.mode for case in cases} == {"speaker + instruction"}
    assert Counter(case.streaming_text for case in cases) == {True: 4, False: 4}
    for whole, streaming in zip(cases[:4], cases[4:], strict=True):
        assert whole.text == streaming.text
        assert whole.speaker != streaming.speaker
        assert whole.instruct != streaming.instruct
    assert {case.speaker for case in cases} == {"anna", "cem", "bo"}


def test_one_speaker_takes_all_instructions() -> None:
    assert {case.speaker for case in instruction_cases({"me": None}, ["auto"])} == {"me"}


def test_who_speaks_and_how_is_told_by_the_case() -> None:
    clip, _, _ = synthetic_references()
    cases = (
        Case("", "anna"),
        Case("", reference=clip),
        Case("", reference=clip.without_transcript()),
        Case("", "anna", instruct="Slowly."),
        Case("", instruct="An old man."),
    )
    assert [(case.mode, case.who) for case in cases] == [
        ("speaker", "anna"),
        ("in context", "3 s"),
        ("x-vector", "3 s"),
        ("speaker + instruction", "anna"),
        ("design", "An old man."),
    ]


def test_a_seed_is_what_makes_a_case_sampled() -> None:
    assert [Case("", seed=seed).greedy for seed in (None, 0, -1)] == [True, False, False]


def test_each_side_is_told_the_settings_that_are_given_by_its_own_names() -> None:
    settings = SamplingSettings(temperature=0.3, top_k=0, predictor_top_p=0.5, repetition_penalty=1.2)
    assert settings.of_package() == {"temperature": 0.3, "top_k": 0, "repetition_penalty": 1.2, "predictor_top_p": 0.5}
    assert settings.of_upstream() == {"temperature": 0.3, "top_k": 0, "repetition_penalty": 1.2, "subtalker_top_p": 0.5}
    assert SamplingSettings().of_package() == SamplingSettings().of_upstream() == {}


def test_layout_names() -> None:
    assert [Case("", "", streaming_text=layout).layout for layout in (True, False, None)] == [
        "streaming",
        "whole",
        "default",
    ]
