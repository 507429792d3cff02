"""The suite covers what the issue asks: layouts, speakers, texts, languages, a dialect."""

from collections import Counter

from qwen3_tts_ncnn.parity.cases import Case, default_cases

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


def test_layout_names() -> None:
    assert [Case("", "", streaming_text=layout).layout for layout in (True, False, None)] == [
        "streaming",
        "whole",
        "default",
    ]
