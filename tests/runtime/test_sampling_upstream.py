"""Each processor against the class of transformers that upstream's generate() uses, bit for bit."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.generation import process_talker_logits
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.sampling import Sampling, choose, keep_top_k, keep_top_p, penalize_repetition
from tests.runtime.manifests import CODEC_IDS

transformers = pytest.importorskip("transformers")

SEEDS = range(12)


def random_logits(seed: int, *, ties: bool) -> Floats:
    """Logits of either vocabulary, some impossible in every third; with ties, a few distinct values."""
    rng = np.random.default_rng(seed)
    values = (rng.standard_normal((2048, 3072)[seed % 2]) * 4).astype(np.float32)
    if ties:
        values = np.round(values * 2) / 2
    if seed % 3 == 0:
        values[rng.integers(0, len(values), 900)] = -np.inf
    return values


def processed(processor: object, logits: Floats, ids: NDArray[np.intp] | None = None) -> Floats:
    before = torch.zeros((1, 0), dtype=torch.long) if ids is None else torch.from_numpy(ids)[None]
    result: Floats = processor(before, torch.from_numpy(logits.copy())[None])[0].numpy()  # type: ignore[operator]
    return result


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.mark.parametrize("ties", [False, True], ids=["no-ties", "ties"])
def test_repetition_penalty_is_transformers(seed: int, ties: bool) -> None:
    logits, rng = random_logits(seed, ties=ties), np.random.default_rng(seed)
    seen, penalty = rng.integers(0, len(logits), 60), float(rng.uniform(0.5, 2))
    theirs = processed(transformers.RepetitionPenaltyLogitsProcessor(penalty), logits, seen)
    assert np.array_equal(penalize_repetition(logits, seen.tolist(), penalty), theirs)


@pytest.mark.parametrize("ties", [False, True], ids=["no-ties", "ties"])
def test_top_k_is_transformers(seed: int, ties: bool) -> None:
    logits = random_logits(seed, ties=ties)
    for k in (1, 2, 50, 1500, len(logits) - 1, len(logits), 5000):
        assert np.array_equal(keep_top_k(logits, k), processed(transformers.TopKLogitsWarper(k), logits))


def test_top_p_is_transformers(seed: int) -> None:
    logits = random_logits(seed, ties=False)
    for p in (0.01, 0.3, 0.5, 0.8, 0.95, 0.999):
        assert np.array_equal(keep_top_p(logits, p), processed(transformers.TopPLogitsWarper(p), logits))


def test_top_p_with_ties_keeps_as_many_as_transformers(seed: int) -> None:
    """Which of the equals stay is chance there: torch.sort is not stable from 17 elements on."""
    logits = random_logits(seed, ties=True)
    for p in (0.01, 0.3, 0.5, 0.8, 0.95, 0.999):
        theirs = processed(transformers.TopPLogitsWarper(p), logits)
        assert np.array_equal(np.sort(keep_top_p(logits, p)), np.sort(theirs))


def test_the_talker_s_logits_go_through_upstream_s_chain(seed: int) -> None:
    """The order of M:2255-2275 as transformers builds it: penalty, no EOS before 2 tokens, suppressed ids."""
    rng = np.random.default_rng(seed)
    logits = (rng.standard_normal(3072) * 4).astype(np.float32)
    logits[CODEC_IDS.eos] = 20
    suppressed = [id for id in range(2048, 3072) if id != CODEC_IDS.eos]
    for count in (0, 1, 2, 3, 40):
        selections = rng.integers(0, 2048, count)
        # Upstream generates from embeddings, so that transformers sees the generated ids alone.
        chain = transformers.LogitsProcessorList(
            [
                transformers.RepetitionPenaltyLogitsProcessor(1.05),
                transformers.MinNewTokensLengthLogitsProcessor(0, 2, torch.tensor([CODEC_IDS.eos])),
                transformers.SuppressTokensLogitsProcessor(suppressed),
            ]
        )
        theirs = processed(chain, logits, selections)
        ours = process_talker_logits(logits, selections.tolist(), CODEC_IDS, 1.05)
        assert np.array_equal(ours, theirs)
        assert np.isfinite(ours[CODEC_IDS.eos]) == (count >= 2)


def test_a_draw_goes_through_temperature_top_k_and_top_p_in_this_order(seed: int) -> None:
    logits, rng = random_logits(seed, ties=False), np.random.default_rng(seed)
    draws = rng.standard_exponential(len(logits)).astype(np.float32)

    class Given:
        def exponential(self, count: int) -> NDArray[np.floating]:
            assert count == len(draws)
            return draws

    for temperature, k, p in ((0.9, 50, 1.0), (0.3, 20, 0.8), (1.7, 0, 0.95), (2.5, 200, 0.5)):
        scores = torch.from_numpy(logits.copy())[None]
        chain = [transformers.TemperatureLogitsWarper(temperature)]
        chain += [transformers.TopKLogitsWarper(k)] if k else []
        chain += [transformers.TopPLogitsWarper(p)] if p < 1 else []
        for warper in chain:
            scores = warper(None, scores)
        theirs = int((scores.softmax(-1)[0] / torch.from_numpy(draws)).argmax())
        sampling = Sampling(greedy=False, temperature=temperature, top_k=k, top_p=p)
        assert choose(logits, sampling, Given()) == theirs
