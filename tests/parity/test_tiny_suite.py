"""The claim itself: the package of a tiny checkpoint says what upstream says, token by token, in every case."""

from collections import Counter

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.cases import default_cases
from qwen3_tts_ncnn.parity.compare import CaseReport, compare, snr_db
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.parity.package_run import trace_package
from qwen3_tts_ncnn.runtime import TTS
from tests.conftest import Sides


@pytest.fixture(scope="module")
def both(sides: Sides) -> tuple[TTS, Oracle]:
    return sides("tiny", "custom_voice")


@pytest.fixture(scope="module")
def reports(both: tuple[TTS, Oracle]) -> list[CaseReport]:
    tts, oracle = both
    cases = default_cases(oracle.speakers, oracle.languages)
    return [compare(case, trace_package(tts, case), oracle.speak(case)) for case in cases]


def test_the_suite_is_two_layouts_by_three_speakers_by_four_texts(reports: list[CaseReport]) -> None:
    cases = [report.case for report in reports]
    assert Counter(case.streaming_text for case in cases) == {True: 12, False: 12}
    assert sorted(Counter(case.speaker for case in cases).values()) == [8, 8, 8]
    assert sorted(Counter(case.text for case in cases).values()) == [6, 6, 6, 6]


def test_every_token_of_every_codebook_is_equal(reports: list[CaseReport]) -> None:
    assert [(report.case, report.tokens.first) for report in reports if report.tokens.first] == []
    assert all(report.tokens.equal == report.tokens.total > 0 for report in reports)


def test_every_run_stops_where_upstream_stops_and_most_stop_by_themselves(reports: list[CaseReport]) -> None:
    assert [(report.stop.frames, report.stop.reason) for report in reports] == [
        (report.stop.oracle_frames, report.stop.oracle_reason) for report in reports
    ]
    assert Counter(report.stop.reason for report in reports)["eos"] > 18


def test_every_wave_is_upstreams_to_the_last_bit_of_a_pcm16(reports: list[CaseReport]) -> None:
    assert max(report.wave.pcm16_lsb for report in reports) <= 1
    assert min(report.wave.snr_db for report in reports) >= 90


def test_every_report_says_equal(reports: list[CaseReport]) -> None:
    assert [report.verdict for report in reports] == ["equal"] * 24


def test_340_frames_decode_as_upstream_chunks_them(both: tuple[TTS, Oracle]) -> None:
    tts, oracle = both
    codes = np.random.default_rng(0).integers(0, 2048, (340, 16))
    theirs = oracle.decode(codes)
    assert snr_db(tts.codec.decode_chunked(codes), theirs) >= 90
    # Not the same thing: the second chunk begins from 25 frames of context, not from all that came before.
    assert snr_db(tts.codec.decode(codes), theirs) < 60
