"""What upstream speaks unobserved, for the clock, is what it speaks when it is observed."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.oracle import Oracle


@pytest.fixture(scope="module")
def oracle(tiny_checkpoint: Path) -> Oracle:
    return Oracle.load(tiny_checkpoint, threads=1)


def test_it_speaks_the_same_as_often_as_it_is_called(oracle: Oracle) -> None:
    case = Case("Good evening.", "serena", "english", max_frames=4)
    speak = oracle.ready(case)
    expected = oracle.speak(case).samples
    for _ in range(2):
        samples, rate = speak()
        assert rate == 24_000
        assert np.array_equal(samples, expected)


def test_a_case_that_does_not_fit_is_refused_before_it_is_called(oracle: Oracle) -> None:
    with pytest.raises(ParityError, match="speaker 'nobody' is not in the checkpoint"):
        oracle.ready(Case("Hi.", "nobody"))
