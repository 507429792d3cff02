"""Each processor against the class of transformers that upstream's generate() uses, bit for bit."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.generation import process_talker_logits
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.sampling import (
    Sampling,
    choose,
    draw,
    keep_top_k,
    keep_top_p,
    penalize_repetition,
    softmax,
    suppress,
    temper,
)
from qwen3_tts_ncnn.runtime.torch_random import TorchSource
from tests.runtime.manifests import CODEC_IDS

transformers = pytest.importorskip("transformers")

SEEDS = range(12)


KINDS = ("plain", "ties", "nan")
"""What random logits hold beside numbers; every third seed has impossible ones too."""

PENALTIES = (1.0, 1.05, 1.3, 0.7)
TEMPERATURES = (0.3, 0.9, 1.0, 1.5, 2.5)
TOP_PS = (0.01, 0.3, 0.5, 0.8, 0.95, 0.999)


def random_logits(seed: int, kind: str) -> Floats:
    """Logits of either vocabulary, some impossible in every third; with ties, a few distinct values."""
    rng = np.random.default_rng(seed)
    values = (rng.standard_normal((2048, 3072)[seed % 2]) * 4).astype(np.float32)
    if kind == "ties":
        values = np.round(values * 2) / 2
    if seed % 3 == 0:
        values[rng.integers(0, len(values), 900)] = -np.inf
    if kind == "nan":
        values[rng.integers(0, len(values), 7)] = np.nan
    return values


def processed(processor: object, logits: Floats, ids: NDArray[np.intp] | None = None) -> Floats:
    before = torch.zeros((1, 0), dtype=torch.long) if ids is None else torch.from_numpy(ids)[None]
    result: Floats = processor(before, torch.from_numpy(logits.copy())[None])[0].numpy()  # type: ignore[operator]
    return result


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


def same(ours: Floats, theirs: Floats) -> bool:
    assert ours.dtype == theirs.dtype == np.float32
    return np.array_equal(ours, theirs, equal_nan=True)


@pytest.mark.parametrize("kind", KINDS)
def test_repetition_penalty_is_transformers(seed: int, kind: str) -> None:
    logits, rng = random_logits(seed, kind), np.random.default_rng(seed)
    seen = rng.integers(0, len(logits), 60)
    for penalty in (*PENALTIES, float(rng.uniform(0.5, 2))):
        theirs = processed(transformers.RepetitionPenaltyLogitsProcessor(penalty), logits, seen)
        assert same(penalize_repetition(logits, seen.tolist(), penalty), theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_suppressed_ids_are_transformers(seed: int, kind: str) -> None:
    logits = random_logits(seed, kind)
    ids = np.random.default_rng(seed).permutation(len(logits))[:1000]
    theirs = processed(transformers.SuppressTokensLogitsProcessor(ids.tolist()), logits)
    assert same(suppress(logits, ids), theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_temperature_is_transformers(seed: int, kind: str) -> None:
    logits = random_logits(seed, kind)
    for temperature in TEMPERATURES:
        theirs = processed(transformers.TemperatureLogitsWarper(temperature), logits)
        assert same(temper(logits, temperature), theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_top_k_is_transformers(seed: int, kind: str) -> None:
    logits = random_logits(seed, kind)
    for k in (1, 2, 6, 50, 1500, len(logits) - 1, len(logits), 5000):
        assert same(keep_top_k(logits, k), processed(transformers.TopKLogitsWarper(k), logits))


@pytest.mark.parametrize("kind", ["plain", "nan"])
def test_top_p_is_transformers(seed: int, kind: str) -> None:
    logits = random_logits(seed, kind)
    for p in TOP_PS:
        assert same(keep_top_p(logits, p), processed(transformers.TopPLogitsWarper(p), logits))


def test_top_p_with_ties_is_transformers_but_for_which_of_the_equals_at_the_boundary(seed: int) -> None:
    """As many stay, but which of them is chance there: torch.sort is not stable from 17 elements on."""
    logits = random_logits(seed, "ties")
    for p in TOP_PS:
        ours, theirs = keep_top_p(logits, p), processed(transformers.TopPLogitsWarper(p), logits)
        boundary = ours[np.isfinite(ours)].min()
        assert same(ours[logits != boundary], theirs[logits != boundary])
        assert np.count_nonzero(ours == boundary) == np.count_nonzero(theirs == boundary)


@pytest.mark.parametrize("kind", ["plain", "ties"])
def test_softmax_is_torch_s_but_for_the_last_places(seed: int, kind: str) -> None:
    """torch sums in float32, in an order of its machine, so that one factor near 1 is common to all; it decides no
    arg max. The rest of the difference is two last places at most."""
    logits = random_logits(seed, kind)
    theirs = torch.from_numpy(logits)[None].softmax(-1)[0].numpy()
    ours = softmax(logits)
    assert np.array_equal(ours == 0, theirs == 0)
    there = theirs > np.finfo(np.float32).tiny
    ratio = ours[there].astype(np.float64) / theirs[there]
    assert abs(np.median(ratio) - 1) < 32 * 2**-24
    assert np.abs(ratio / np.median(ratio) - 1).max() <= 4 * 2**-24


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


CHAINS = (
    Sampling(greedy=False, temperature=0.9, top_k=50),
    Sampling(greedy=False, temperature=0.3, top_k=20, top_p=0.8),
    Sampling(greedy=False, temperature=1.5, top_k=0, top_p=0.95),
    Sampling(greedy=False, temperature=2.5, top_k=200, top_p=0.5),
    Sampling(greedy=False, temperature=1.0, top_k=1),
    Sampling(greedy=False, temperature=1.0, top_k=0),
)


def their_choice(logits: Floats, sampling: Sampling, generator: torch.Generator) -> int:
    """What transformers' `_sample` does with its warpers' scores (generation/utils.py:2829)."""
    chain = [transformers.TemperatureLogitsWarper(sampling.temperature)]
    chain += [transformers.TopKLogitsWarper(sampling.top_k)] if sampling.top_k else []
    chain += [transformers.TopPLogitsWarper(sampling.top_p)] if sampling.top_p < 1 else []
    scores = torch.from_numpy(logits.copy())[None]
    for warper in chain:
        scores = warper(None, scores)
    return int(torch.multinomial(scores.softmax(-1), 1, generator=generator))


@pytest.mark.parametrize("kind", ["plain", "ties"])
def test_a_seeded_choice_is_torch_s_after_temperature_top_k_and_top_p_in_this_order(seed: int, kind: str) -> None:
    source, generator = TorchSource(seed), torch.Generator().manual_seed(seed)
    for number in range(30):
        logits = random_logits(seed + 100 * number, kind)
        for sampling in CHAINS:
            if kind == "ties" and sampling.top_p < 1:
                continue  # which of the equals at the boundary stay is chance there
            assert choose(logits, sampling, source) == their_choice(logits, sampling, generator)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_an_error_here_is_one_in_torch(bad: float) -> None:
    logits = np.full(2048, bad, dtype=np.float32)
    with pytest.raises(RuntimeError, match="probability tensor contains"):
        their_choice(logits, CHAINS[0], torch.Generator())


def test_a_chance_of_zero_is_taken_as_torch_takes_it() -> None:
    """Arg max of p / q with 1 / 0 and 0 / 0 in it, as ATen/native/Distributions.cpp has it in multinomial_out."""

    class Given:
        def __init__(self, chances: NDArray[np.float32]) -> None:
            self.chances = chances

        def exponential(self, count: int) -> NDArray[np.float32]:
            return self.chances[:count]

    rng = np.random.default_rng(0)
    for _ in range(50):
        probabilities = rng.choice(np.array([0, 0.25, 0.5], dtype=np.float32), 20)
        chances = rng.choice(np.array([0, 1, 2], dtype=np.float32), 20)
        theirs = int((torch.from_numpy(probabilities) / torch.from_numpy(chances)).argmax())
        assert draw(probabilities, Given(chances)) == theirs
