"""Figures are medians over the rounds, with the least and the greatest, of the seconds that a worker tells."""

import pytest

from qwen3_tts_ncnn.parity.bench.figures import (
    FIGURES,
    PEAK,
    Spread,
    position_figure,
    position_ratio,
    spreads,
)
from tests.bench.reports import result_of, round_of


def test_the_median_is_the_middle_value_or_the_mean_of_the_middle_two() -> None:
    odd, even = Spread((5.0, 1.0, 2.0)), Spread((4.0, 1.0, 2.0, 9.0))
    assert (odd.median, odd.low, odd.high) == (2.0, 1.0, 5.0)
    assert (even.median, even.low, even.high) == (3.0, 1.0, 9.0)


def test_a_round_gives_its_figures_per_frame_and_per_second_of_audio() -> None:
    found = {key: spread.median for key, spread in spreads(FIGURES, [round_of()]).items()}
    assert found == pytest.approx(
        {
            "prefill_seconds": 0.1,
            "talker_ms": 50.0,
            "predictor_ms": 100.0,
            "frame_ms": 150.0,
            "codec_rtf": 0.5,
            "total_rtf": 2.5,
            "cores_used": 1.5,
        }
    )


def test_a_stream_is_held_against_the_offline_run_and_against_what_it_must_wait_for() -> None:
    streamed = {"first_audio_seconds": 0.9, "stream_seconds": 2.1, "first_chunk_codec_seconds": 0.2}
    found = spreads(FIGURES, [round_of(**streamed)])
    assert found["stream_ratio"].median == pytest.approx(1.05)
    # 0.1 s of prefill, 4 frames of 0.15 s, 0.2 s of codec.
    assert found["first_audio_share"].median == pytest.approx(1.0)


def test_a_figure_that_one_round_lacks_is_left_out() -> None:
    rounds = [round_of(first_audio_seconds=0.5), round_of()]
    assert "first_audio_seconds" not in spreads(FIGURES, rounds)
    assert spreads([PEAK], [{"peak_bytes": None}]) == {}


def test_positions_are_compared_by_their_medians() -> None:
    record = {"frames": 8, "talker_seconds": 0.4, "predictor_seconds": 0.4}
    assert spreads([position_figure(50)], [record])["frame_ms_at_50"].median == pytest.approx(100.0)
    assert spreads([position_ratio(50, 2000)], [{"first": 100.0, "last": 130.0}])["position_ratio"].median == 1.3


def test_a_ratio_is_of_medians_and_ratios_have_none() -> None:
    fast, slow = result_of("fast", 0.25, 0.5, 4.0), result_of("slow", 1.0, 2.0, 3.0)
    by_key = {figure.key: fast.ratio(figure, slow) for figure in FIGURES}
    assert by_key["frame_ms"] == pytest.approx(0.25)
    assert by_key["total_rtf"] == pytest.approx(0.25)
    assert by_key["cores_used"] is None
    assert by_key["first_audio_seconds"] is None
    assert fast.ratio(FIGURES[0], None) is None
