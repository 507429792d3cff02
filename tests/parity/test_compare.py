"""The comparison finds what differs, where, and whether it was a near tie."""

from dataclasses import replace

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.compare import compare, pcm16, snr_db
from tests.parity.synthetic_traces import CASE, EOS, oracle_trace, package_trace, with_token


def test_an_equal_run_has_no_failure() -> None:
    oracle = oracle_trace(4)
    report = compare(CASE, package_trace(oracle), oracle)
    assert (report.verdict, report.failures, report.ok) == ("equal", (), True)
    assert (report.tokens.equal, report.tokens.total, report.tokens.first) == (65, 65, None)
    assert (report.prompt.max_abs, report.wave.snr_db, report.wave.pcm16_lsb) == (0.0, float("inf"), 0)


@pytest.mark.parametrize(("frame", "codebook"), [(0, 0), (2, 0), (2, 7), (3, 15)])
def test_one_other_token_is_found_at_its_frame_and_codebook(frame: int, codebook: int) -> None:
    oracle = oracle_trace(4)
    theirs = int(oracle.codes[frame, codebook])
    report = compare(CASE, with_token(oracle, frame, codebook, theirs + 5), oracle)
    first = report.tokens.first
    assert first is not None
    assert (first.frame, first.codebook, first.ours, first.oracle) == (frame, codebook, theirs + 5, theirs)
    assert (first.runner_up, first.margin, first.near_tie) == (theirs + 1, 0.5, False)
    assert (report.tokens.equal, report.tokens.total) == (64, 65)
    assert (report.verdict, report.failures) == ("different", ("tokens",))


def test_the_first_mismatch_is_the_first_in_time_not_in_codebook_order() -> None:
    oracle = oracle_trace(4)
    ours = with_token(oracle, 1, 9, 7)
    codes, selections = ours.codes.copy(), ours.selections.copy()
    codes[2, 0] = selections[2] = 7
    first = compare(CASE, package_trace(oracle, codes=codes, selections=selections), oracle).tokens.first
    assert first is not None
    assert (first.frame, first.codebook) == (1, 9)


@pytest.mark.parametrize(
    ("margin", "offset", "verdict"),
    [
        (5e-4, 1, "near tie"),  # the runner-up, and hardly behind
        (5e-4, 2, "different"),  # hardly ahead, but not of the package's token
        (2e-3, 1, "different"),  # the runner-up, but clearly behind
        (1e-3, 1, "different"),  # the bound itself is outside
    ],
)
def test_only_a_narrow_runner_up_is_a_near_tie_and_it_fails_all_the_same(
    margin: float, offset: int, verdict: str
) -> None:
    oracle = oracle_trace(4, margin=margin)
    report = compare(CASE, with_token(oracle, 2, 3, int(oracle.codes[2, 3]) + offset), oracle)
    assert (report.verdict, report.ok) == (verdict, False)


def test_a_drawn_token_is_never_a_near_tie() -> None:
    """Between two draws there is no margin of logits: chance had its part."""
    oracle = oracle_trace(4, margin=5e-4)
    report = compare(replace(CASE, seed=7), with_token(oracle, 2, 3, int(oracle.codes[2, 3]) + 1), oracle)
    assert (report.verdict, report.tokens.first.near_tie) == ("different", False)


def test_a_near_tie_after_a_wrong_prompt_is_a_bug() -> None:
    oracle = oracle_trace(4, margin=5e-4)
    ours = with_token(oracle, 2, 3, int(oracle.codes[2, 3]) + 1)
    ours = package_trace(oracle, codes=ours.codes, prompt=oracle.prompt + 1)
    assert compare(CASE, ours, oracle).verdict == "different"


def test_a_run_that_ends_early_differs_at_the_selection_that_ended_it() -> None:
    oracle = oracle_trace(4)
    selections = np.append(oracle.selections[:2], EOS)
    ours = package_trace(oracle, codes=oracle.codes[:2], selections=selections, samples=oracle.samples[: 2 * 1920])
    report = compare(CASE, ours, oracle)
    first = report.tokens.first
    assert first is not None
    assert (first.frame, first.codebook, first.ours, first.oracle, first.margin) == (2, 0, EOS, 200, 0.5)
    assert (report.tokens.equal, report.tokens.total) == (32, 65)
    assert (report.stop.frames, report.stop.oracle_frames, report.stop.ok) == (2, 4, False)
    assert (report.wave.samples, report.wave.oracle_samples, report.wave.snr_db) == (3840, 7680, None)
    assert report.failures == ("tokens", "stop", "length", "snr", "pcm16")


def test_a_run_that_goes_on_differs_at_the_oracle_s_end() -> None:
    longer, oracle = oracle_trace(5), oracle_trace(4)
    first = compare(CASE, package_trace(longer), oracle).tokens.first
    assert first is not None
    assert (first.frame, first.codebook, first.ours, first.oracle, first.runner_up) == (4, 0, 400, EOS, EOS + 1)


def test_a_frame_cut_by_the_package_s_own_limit_is_missing_from_codebook_1_on() -> None:
    oracle = oracle_trace(4)
    ours = package_trace(
        oracle, codes=oracle.codes[:2], selections=oracle.selections[:3], samples=oracle.samples[:3840], stop="limit"
    )
    first = compare(CASE, ours, oracle).tokens.first
    assert first is not None
    assert (first.frame, first.codebook, first.ours, first.oracle, first.near_tie) == (2, 1, None, 201, False)


def test_a_choice_the_oracle_never_made_has_no_margin() -> None:
    oracle = oracle_trace(2)
    longer = oracle_trace(3)
    codes = longer.codes.copy()
    selections = longer.selections.copy()
    codes[2, 0] = selections[2] = EOS  # the same selection, but the package made a frame of it
    first = compare(CASE, package_trace(longer, codes=codes, selections=selections), oracle).tokens.first
    assert first is not None
    assert (first.frame, first.codebook, first.oracle, first.runner_up, first.margin) == (2, 1, None, None, None)


def test_the_same_frames_for_another_reason_is_a_failure() -> None:
    oracle = oracle_trace(4)
    assert compare(CASE, package_trace(oracle, stop="limit"), oracle).failures == ("stop",)


def test_prompt_error_is_relative_to_the_oracle_s_largest_value() -> None:
    oracle = oracle_trace(4)  # its prompt reaches ±2
    prompt = oracle.prompt.astype(np.float64)
    prompt[3, 4] += 1.5e-4
    inside = compare(CASE, package_trace(oracle, prompt=prompt), oracle)
    assert inside.prompt.max_abs == pytest.approx(1.5e-4)
    assert inside.prompt.relative == pytest.approx(0.75e-4)
    assert inside.ok
    prompt[3, 4] += 1e-4
    assert compare(CASE, package_trace(oracle, prompt=prompt), oracle).failures == ("prompt",)


def test_a_prompt_row_too_few_is_a_failure_without_an_error_figure() -> None:
    oracle = oracle_trace(4)
    report = compare(CASE, package_trace(oracle, prompt=oracle.prompt[:-1]), oracle)
    assert (report.prompt.rows, report.prompt.oracle_rows, report.prompt.relative) == (5, 6, None)
    assert report.failures == ("prompt",)


def test_a_text_row_that_trails_wrongly_is_a_failure_of_the_prompt() -> None:
    oracle = oracle_trace(4)
    trailing = oracle.trailing.copy()
    trailing[1, 2] += 0.1
    report = compare(CASE, package_trace(oracle, trailing=trailing), oracle)
    assert report.failures == ("prompt",)
    assert report.prompt.max_abs == pytest.approx(0.1)
    short = compare(CASE, package_trace(oracle, trailing=oracle.trailing[:2]), oracle)
    assert (short.prompt.trailing, short.prompt.oracle_trailing, short.prompt.max_abs) == (2, 3, None)
    assert short.failures == ("prompt",)


def test_nan_in_prompt_or_wave_is_a_failure() -> None:
    oracle = oracle_trace(4)
    prompt, samples = oracle.prompt.copy(), oracle.samples.copy()
    prompt[0, 0] = samples[5] = np.nan
    report = compare(CASE, package_trace(oracle, prompt=prompt, samples=samples), oracle)
    assert report.failures == ("prompt", "snr", "pcm16")
    assert (report.wave.snr_db, report.wave.pcm16_lsb) == (None, None)


def test_one_lsb_is_allowed_and_two_are_not() -> None:
    oracle = oracle_trace(4)
    samples = oracle.samples.copy()
    samples[100] += np.float32(1 / 32768)
    one = compare(CASE, package_trace(oracle, samples=samples), oracle)
    assert (one.wave.pcm16_lsb, one.ok) == (1, True)
    samples[100] += np.float32(1 / 32768)
    two = compare(CASE, package_trace(oracle, samples=samples), oracle)
    assert (two.wave.pcm16_lsb, two.failures) == (2, ("pcm16",))


def test_snr_below_90_db_fails_though_no_sample_moves_an_lsb() -> None:
    oracle = oracle_trace(4)
    samples = oracle.samples * np.float32(1 + 10**-4.4)  # 88 dB
    report = compare(CASE, package_trace(oracle, samples=samples), oracle)
    assert report.wave.snr_db == pytest.approx(88, abs=0.05)
    assert report.failures == ("snr",)


def test_snr_of_a_known_error() -> None:
    reference = np.ones(1000, dtype=np.float32)
    assert snr_db(np.full(1000, 0.5, dtype=np.float32), reference) == pytest.approx(6.0206, abs=1e-4)
    assert snr_db(reference, reference) == float("inf")
    assert snr_db(reference, np.zeros(1000, dtype=np.float32)) == float("-inf")


def test_pcm16_rounds_down_and_clips_as_libsndfile_does() -> None:
    samples = np.array([0, 0.99 / 32768, -0.01 / 32768, 1, -1, 2], dtype=np.float32)
    assert pcm16(samples).tolist() == [0, 0, -1, 32767, -32768, 32767]
