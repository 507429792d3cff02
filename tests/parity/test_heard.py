"""What both sides heard of a reference is compared: the x-vector's direction, and every code."""

from dataclasses import replace

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.compare import compare
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.heard import compare_heard, cosine
from qwen3_tts_ncnn.parity.trace import Heard
from tests.parity.synthetic_traces import CLONING, heard, oracle_trace, package_trace


def failures(ours: Heard, oracle: Heard) -> tuple[str, ...]:
    run = replace(oracle_trace(), heard=oracle)
    return compare(CLONING, package_trace(run, heard=ours), run).failures


def test_the_same_reference_has_no_failure() -> None:
    report = compare_heard(heard(2), heard(2))
    assert (report.frames, report.oracle_frames, report.equal, report.total, report.first) == (2, 2, 32, 32, None)
    assert report.x_vector_cosine == pytest.approx(1, abs=1e-12)
    assert failures(heard(2), heard(2)) == ()


def test_by_x_vector_alone_there_are_no_codes_to_compare() -> None:
    report = compare_heard(heard(None), heard(None))
    assert (report.frames, report.total, report.codes_ok) == (0, 0, True)
    assert failures(heard(None), heard(None)) == ()


def test_a_run_without_a_reference_has_nothing_to_report() -> None:
    assert compare_heard(None, None) is None
    with pytest.raises(ParityError, match="only one side"):
        compare_heard(heard(), None)


def test_one_other_code_is_found_and_fails() -> None:
    codes = heard(2).codes.copy()
    codes[1, 9] = 7
    ours = replace(heard(2), codes=codes)
    report = compare_heard(ours, heard(2))
    assert (report.equal, report.total, report.first) == (31, 32, (1, 9, 7, 59))
    assert failures(ours, heard(2)) == ("reference_codes",)


@pytest.mark.parametrize(("ours", "oracle"), [(1, 2), (2, 1), (None, 2)])
def test_a_frame_too_few_or_too_many_fails(ours: int | None, oracle: int) -> None:
    report = compare_heard(heard(ours), heard(oracle))
    assert (report.frames, report.oracle_frames) == (ours or 0, oracle)
    assert (report.equal, report.total) == (16 * min(ours or 0, oracle), 16 * max(ours or 0, oracle))
    assert failures(heard(ours), heard(oracle)) == ("reference_codes",)


def test_an_x_vector_just_outside_the_bound_fails() -> None:
    x_vector = heard().x_vector
    aside = np.array([1, -1] * 4, dtype=np.float32)  # as long, at right angles
    inside = replace(heard(), x_vector=x_vector + np.float32(0.0013) * aside)  # cosine 1 − 0.0013² / 2
    outside = replace(heard(), x_vector=x_vector + np.float32(0.0016) * aside)
    assert failures(inside, heard()) == ()
    assert failures(outside, heard()) == ("x_vector",)


def test_an_x_vector_of_another_width_or_with_nan_fails() -> None:
    short = replace(heard(), x_vector=heard().x_vector[:-1])
    broken = replace(heard(), x_vector=heard().x_vector * np.nan)
    assert cosine(short.x_vector, heard().x_vector) is None
    assert failures(short, heard()) == failures(broken, heard()) == ("x_vector",)


def test_the_cosine_of_known_vectors() -> None:
    assert cosine(np.array([1.0, 0.0]), np.array([1.0, 1.0])) == pytest.approx(np.sqrt(0.5))
    assert cosine(np.array([2.0, 0.0]), np.array([-1.0, 0.0])) == -1
    assert cosine(np.zeros(2), np.ones(2)) is None
