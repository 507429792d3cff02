"""The seeded source against PyTorch's own generator, bit for bit."""

import time
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.sampling import draw
from qwen3_tts_ncnn.runtime.torch_random import TorchSource

MILLION = 1_000_000
SEEDS = (0, 1, 2**31, 2**32 - 1, 2**32, 2**40 + 5, 2**63, 2**64 - 1, -1, -5, -(2**63))
FIRST_OF_SEED_0 = ["0x1.c110d60000000p+1", "0x1.3afa7e0000000p+0", "0x1.3ae7100000000p-1", "0x1.447ec40000000p+1"]


def generator_of(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def torch_draws(generator: torch.Generator, count: int) -> Floats:
    draws: Floats = torch.empty(count).exponential_(generator=generator).numpy()
    return draws


def bits(draws: Floats) -> NDArray[np.int32]:
    """What tells 0.0 from -0.0."""
    assert draws.dtype == np.float32
    return draws.view(np.int32)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_million_values_are_bit_equal_to_torch(seed: int) -> None:
    assert np.array_equal(bits(TorchSource(seed).exponential(MILLION)), bits(torch_draws(generator_of(seed), MILLION)))


def test_the_first_values_of_a_seed_are_these() -> None:
    """Of torch 2.13; what a machine without it must draw too."""
    assert [value.hex() for value in TorchSource(0).exponential(4).tolist()] == FIRST_OF_SEED_0


def test_the_stream_goes_on_from_call_to_call_as_torch_s() -> None:
    """torch has other loops for long and for short tensors, and keeps half a draw for other distributions."""
    source, generator = TorchSource(7), generator_of(7)
    for count in (1, 15, 16, 17, 1, 2048, 3072, 623, 624, 625, 1, 100_000, 3):
        assert np.array_equal(bits(source.exponential(count)), bits(torch_draws(generator, count))), count


def test_two_torch_threads_draw_the_same() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        theirs = torch_draws(generator_of(3), MILLION)
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(bits(TorchSource(3).exponential(MILLION)), bits(theirs))


def test_how_a_stream_is_cut_does_not_matter() -> None:
    whole, source = TorchSource(5).exponential(3000), TorchSource(5)
    assert source.exponential(0).shape == (0,)
    assert np.array_equal(np.concatenate([source.exponential(count) for count in (1, 0, 999, 2000)]), whole)


def test_a_uniform_of_zero_is_an_exponential_of_zero() -> None:
    """Seen once in 2^53 draws: both generators are put where every word is 0."""
    source, generator = TorchSource(0), generator_of(0)
    state: Any = source._bits.state
    state["state"]["key"][:] = 0
    source._bits.state = state
    words = generator.get_state()
    words[24 : 24 + 624 * 8] = 0  # behind seed, count, flag and position, in at::CPUGeneratorImplStateLegacy
    generator.set_state(words)
    assert bits(source.exponential(4)).tolist() == bits(torch_draws(generator, 4)).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("seed", [0, 2**31, 2**40 + 5])
def test_torch_s_multinomial_draws_the_same_ids(seed: int) -> None:
    """In upstream's order of sizes, with entries of no probability among them."""
    source, generator, rng = TorchSource(seed), generator_of(seed), np.random.default_rng(seed)
    for count in (3072, *[2048] * 15) * 4:
        logits = (rng.standard_normal(count) * 3).astype(np.float32)
        logits[rng.integers(0, count, count // 2)] = -np.inf
        probabilities = torch.from_numpy(logits)[None].softmax(-1)
        theirs = int(torch.multinomial(probabilities, 1, generator=generator))
        assert draw(probabilities[0].numpy(), source) == theirs


def test_a_frame_s_draws_take_less_than_3_milliseconds() -> None:
    source, seconds = TorchSource(0), []
    for _ in range(20):
        start = time.perf_counter()
        for count in (3072, *[2048] * 15):
            source.exponential(count)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.003  # 0.4 ms measured, 0.7 ms without AVX-512


def test_without_a_seed_every_source_is_another_and_tells_its_seed() -> None:
    one, other = TorchSource(None), TorchSource(None)
    draws = one.exponential(100)
    assert not np.array_equal(draws, other.exponential(100))
    assert np.array_equal(draws, TorchSource(one.seed).exponential(100))
    assert 0 <= one.seed < 2**32


def test_the_seed_is_kept_as_given() -> None:
    assert [TorchSource(seed).seed for seed in SEEDS] == list(SEEDS)
    assert TorchSource(np.int64(7)).seed == 7  # type: ignore[arg-type]


def test_numpy_s_own_chance_is_left_alone() -> None:
    before = np.random.get_state()[1]
    TorchSource(1).exponential(10)
    assert np.array_equal(before, np.random.get_state()[1])


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 10**30])
def test_a_seed_that_torch_refuses_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="Overflow"):
        generator_of(seed)
    with pytest.raises(OptionError) as caught:
        TorchSource(seed)
    assert str(caught.value) == f"seed is {seed}, expected a whole number from -2^63 to 2^64 - 1, as PyTorch takes"


@pytest.mark.parametrize("seed", [1.5, "7", [1]])
def test_a_seed_that_is_no_whole_number_is_refused(seed: Any) -> None:
    with pytest.raises(OptionError) as caught:
        TorchSource(seed)
    assert str(caught.value) == f"seed is {seed!r}, expected a whole number, or none for a new one every time"
