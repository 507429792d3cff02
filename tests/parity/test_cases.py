"""The suite covers what the issue asks: layouts, speakers, texts, languages, a dialect."""

from collections import Counter

from qwen3_tts_ncnn.parity.cases import Case, cloning_cases, default_cases
from qwen3_tts_ncnn.parity.clips import synthetic_references

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


def test_who_speaks_and_how_is_told_by_the_case() -> None:
    clip, _, _ = synthetic_references()
    cases = (
        Case("", "anna"),
        Case("", reference=clip),
        Case("", reference=clip.without_transcript()),
    )
    assert [(case.mode, case.who) for case in cases] == [
        ("speaker", "anna"),
        ("in context", "3 s"),
        ("x-vector", "3 s"),
    ]


def test_layout_names() -> None:
    assert [Case("", "", streaming_text=layout).layout for layout in (True, False, None)] == [
        "streaming",
        "whole",
        "default",
    ]
