"""Rank, divergence and their means, exactly, on logits made by hand."""

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.quality import compare_logits, divergence, figures, per_codebook, rank_of, total
from qwen3_tts_ncnn.parity.trace import ABSENT, CODEBOOKS, FloatArray, OracleTrace, RunLogits
from qwen3_tts_ncnn.runtime.errors import NumericalError
from qwen3_tts_ncnn.runtime.generation import GenerationOptions
from qwen3_tts_ncnn.runtime.manifest import Figures
from qwen3_tts_ncnn.runtime.sampling import Sampling
from tests.parity.synthetic_traces import CASE, EOS, forced_run, oracle_trace
from tests.runtime.manifests import CODEC_IDS

OPTIONS = GenerationOptions(
    Sampling(greedy=True), Sampling(greedy=True, temperature=2.0), repetition_penalty=1.0, max_frames=9
)
SAMPLED = replace(CASE, seed=1)


def logits(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float32)


def chosen(trace: OracleTrace) -> RunLogits:
    """Logits that are 10 for the token of the trace, 0 for any other."""
    talker = np.zeros((trace.frames + 1, 3072), np.float32)
    predictor = np.zeros((trace.frames, CODEBOOKS - 1, 2048), np.float32)
    np.put_along_axis(talker, trace.selections[:, None], 10, axis=1)
    np.put_along_axis(predictor, trace.codes[:, 1:, None], 10, axis=2)
    return RunLogits(talker, predictor)


@pytest.fixture
def oracle() -> OracleTrace:
    trace = oracle_trace(3)
    return replace(trace, logits=chosen(trace))


@pytest.fixture
def ours() -> RunLogits:
    return chosen(oracle_trace(3))


def compare(ours: RunLogits, oracle: OracleTrace, case: Case = CASE, **changes: Any) -> Any:
    return compare_logits(case, ours, oracle, CODEC_IDS, replace(OPTIONS, **changes))


def test_a_rank_counts_those_before_and_of_equals_the_lower_index_is_before() -> None:
    row = logits(1.0, 3.0, 2.0, 3.0, -np.inf)
    assert [rank_of(token, row) for token in range(5)] == [3, 0, 2, 1, 4]


def test_a_divergence_is_that_of_the_two_softmaxes() -> None:
    ours, theirs = logits(log(1), log(1)), logits(log(3), log(1))
    assert divergence(theirs, ours, 1.0) == pytest.approx(0.75 * log(1.5) + 0.25 * log(0.5), rel=1e-6)
    # At temperature 0.5 the odds are squared.
    assert divergence(theirs, ours, 0.5) == pytest.approx(0.9 * log(1.8) + 0.1 * log(0.2), rel=1e-6)


def test_a_divergence_knows_no_scale_is_never_negative_and_0_for_equals() -> None:
    row = np.random.default_rng(0).normal(0, 4, 2048).astype(np.float32)
    assert divergence(row, row, 0.9) == 0
    assert 0 <= divergence(row, row + np.float32(7), 0.9) < 1e-12


def test_what_upstream_may_never_choose_takes_no_part() -> None:
    assert divergence(logits(1, 2, -np.inf), logits(1, 2, 99), 1.0) == 0


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_a_package_s_logit_that_is_no_number_is_an_error(broken: float) -> None:
    with pytest.raises(NumericalError, match=r"not all finite numbers: check it with `qwen3-tts-ncnn verify`"):
        divergence(logits(1, 2), logits(1, broken), 1.0)


def test_equal_logits_are_of_rank_0_and_do_not_diverge(ours: RunLogits, oracle: OracleTrace) -> None:
    run = compare(ours, oracle)
    made = oracle.grid() != ABSENT
    assert (run.frames, run.case) == (3, CASE)
    assert np.array_equal(run.ranks, np.where(made, 0, ABSENT))
    assert np.array_equal(run.divergences, np.where(made, 0.0, np.nan), equal_nan=True)
    assert total([run]) == Figures(choices=3 * 16 + 1, agreement=1.0, kl=0.0, mean_rank=0.0, worst_rank=0)


def test_a_disturbed_logit_is_seen_where_it_is(ours: RunLogits, oracle: OracleTrace) -> None:
    ours.predictor[1, 4, [7, 9]] = 12, 11  # codebook 5 of frame 1: two tokens stand before upstream's
    run = compare(ours, oracle)
    assert np.argwhere(run.ranks > 0).tolist() == np.argwhere(run.divergences > 0).tolist() == [[1, 5]]
    assert run.ranks[1, 5] == 2
    assert oracle.logits is not None
    # The predictor's temperature, 2.
    assert run.divergences[1, 5] == divergence(oracle.logits.predictor[1, 4], ours.predictor[1, 4], 2.0)


def test_codebook_0_is_compared_after_its_processors(ours: RunLogits, oracle: OracleTrace) -> None:
    ours.talker[:, 3000] = 99  # a control token is never chosen
    ours.talker[:2, EOS] = 99  # EOS is not among the first two selections
    assert total([compare(ours, oracle)]).agreement == 1


def test_the_history_of_the_repetition_penalty_is_upstream_s(ours: RunLogits, oracle: OracleTrace) -> None:
    ours.talker[1, 0] = 19  # what was said in frame 0: halved it is 9.5, and upstream's 10 stands first
    assert compare(ours, oracle, repetition_penalty=2.0).ranks[1, 0] == 0
    assert compare(ours, oracle, repetition_penalty=1.0).ranks[1, 0] == 1


def test_where_upstream_drew_its_likeliest_token_is_compared_not_the_drawn_one(
    ours: RunLogits, oracle: OracleTrace
) -> None:
    for side in (ours, oracle.logits):
        assert side is not None
        side.predictor[0, 0, 5] = 20
    assert compare(ours, oracle, SAMPLED).ranks[0, 1] == 0
    with pytest.raises(ParityError, match="upstream's run: frame 0, codebook 1 is 1, its logits say 5"):
        compare(ours, oracle)


def test_a_logit_that_is_no_number_names_frame_and_codebook(ours: RunLogits, oracle: OracleTrace) -> None:
    ours.predictor[2, 14] = np.nan
    with pytest.raises(NumericalError, match=r"^frame 2, codebook 15: the package's logits"):
        compare(ours, oracle)


def test_logits_of_another_shape_are_another_model_s(ours: RunLogits, oracle: OracleTrace) -> None:
    with pytest.raises(ParityError, match=r"the talker's logits have shape \(4, 100\) .* the checkpoint it was made"):
        compare(replace(ours, talker=ours.talker[:, :100]), oracle)


def test_a_run_without_logits_is_a_mistake_of_the_caller(ours: RunLogits) -> None:
    with pytest.raises(ValueError, match="without its logits"):
        compare(ours, oracle_trace(3))


def test_figures_are_means_over_the_choices_that_were_made() -> None:
    ranks = np.array([[0, 3], [1, ABSENT]])
    found = figures(ranks, np.array([[0.5, 1.0], [0.0, np.nan]]))
    assert found == Figures(choices=3, agreement=1 / 3, kl=0.5, mean_rank=4 / 3, worst_rank=3)


def test_codebook_0_has_one_choice_more_a_run_and_codebooks_are_told_apart() -> None:
    runs = [forced_run(CASE, 4, wrong=1), forced_run(SAMPLED, 2, wrong=2)]
    first, second, *rest = per_codebook(runs)
    assert first == Figures(choices=8, agreement=0.75, kl=1 / 8, mean_rank=0.5, worst_rank=2)
    assert second == Figures(choices=6, agreement=5 / 6, kl=0.5 / 6, mean_rank=2 / 6, worst_rank=2)
    assert rest == [Figures(choices=6, agreement=1.0, kl=0.0, mean_rank=0.0, worst_rank=0)] * 14
    assert total(runs) == Figures(choices=98, agreement=95 / 98, kl=1.5 / 98, mean_rank=6 / 98, worst_rank=2)
