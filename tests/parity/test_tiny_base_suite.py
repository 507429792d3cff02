"""The claim for cloning: the package of a tiny Base checkpoint clones and says what upstream does, in every case."""

from collections import Counter

import pytest

from qwen3_tts_ncnn.parity.cases import cloning_cases
from qwen3_tts_ncnn.parity.clips import synthetic_references
from qwen3_tts_ncnn.parity.compare import CaseReport, compare
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.parity.package_run import trace_package
from qwen3_tts_ncnn.runtime import TTS


@pytest.fixture(scope="module")
def reports(base_tts: TTS, base_oracle: Oracle) -> list[CaseReport]:
    cases = cloning_cases(synthetic_references(), base_oracle.languages)
    return [compare(case, trace_package(base_tts, case), base_oracle.speak(case)) for case in cases]


def test_the_suite_is_two_modes_by_two_layouts_by_three_references_by_three_texts(reports: list[CaseReport]) -> None:
    cases = [report.case for report in reports]
    assert Counter((case.mode, case.layout) for case in cases) == {
        (mode, layout): 9 for mode in ("x-vector", "in context") for layout in ("streaming", "whole")
    }
    assert list(Counter(case.who for case in cases).values()) == [12, 12, 12]
    assert list(Counter(case.text for case in cases).values()) == [12, 12, 12]
    assert len({case.language for case in cases}) == 5


def test_every_x_vector_is_upstreams(reports: list[CaseReport]) -> None:
    assert min(report.heard.x_vector_cosine for report in reports) >= 0.999999


def test_every_code_of_every_reference_is_equal(reports: list[CaseReport]) -> None:
    found = [(report.case.mode, report.heard.equal, report.heard.oracle_frames) for report in reports]
    in_context = [frames for mode, _, frames in found if mode == "in context"]
    assert Counter(in_context) == {38: 6, 138: 6, 12: 6}
    assert all(equal == 16 * frames for _, equal, frames in found)
    assert all(frames == 0 for mode, _, frames in found if mode == "x-vector")


def test_every_prompt_has_upstreams_rows(reports: list[CaseReport]) -> None:
    assert all(
        (report.prompt.rows, report.prompt.trailing) == (report.prompt.oracle_rows, report.prompt.oracle_trailing)
        for report in reports
    )
    assert max(report.prompt.relative for report in reports) <= 1e-4


def test_a_text_longer_than_its_reference_trails_and_a_shorter_one_is_padded(reports: list[CaseReport]) -> None:
    """Both branches of the streaming layout in context (modeling_qwen3_tts.py:2014–2018)."""
    trailing = {
        report.prompt.trailing
        for report in reports
        if (report.case.mode, report.case.layout) == ("in context", "streaming")
    }
    assert 1 in trailing
    assert max(trailing) > 1


def test_every_token_of_every_codebook_is_equal(reports: list[CaseReport]) -> None:
    assert [(report.case, report.tokens.first) for report in reports if report.tokens.first] == []
    assert all(report.tokens.equal == report.tokens.total > 0 for report in reports)


def test_every_run_stops_where_upstream_stops_and_most_stop_by_themselves(reports: list[CaseReport]) -> None:
    assert [(report.stop.frames, report.stop.reason) for report in reports] == [
        (report.stop.oracle_frames, report.stop.oracle_reason) for report in reports
    ]
    assert Counter(report.stop.reason for report in reports)["eos"] > 27


def test_every_wave_is_upstreams_after_its_cut_to_the_last_bit_of_a_pcm16(reports: list[CaseReport]) -> None:
    assert all(report.wave.samples == report.wave.oracle_samples for report in reports)
    assert max(report.wave.pcm16_lsb for report in reports) <= 1
    assert min(report.wave.snr_db for report in reports) >= 90


def test_every_report_says_equal(reports: list[CaseReport]) -> None:
    assert [report.verdict for report in reports] == ["equal"] * 36
