"""What the comparisons share: one torch thread, and both sides of the tiny Base checkpoint."""

from collections.abc import Iterator

import pytest
import torch

from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.runtime import TTS
from tests.conftest import Oracles, Sides


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """As the oracle has: with two the codec's last bits differ."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def base_oracle(oracle_of: Oracles) -> Oracle:
    return oracle_of("tiny", "base")


@pytest.fixture(scope="session")
def base_tts(sides: Sides) -> TTS:
    return sides("tiny", "base")[0]
