"""Both sides of the tiny Base checkpoint, loaded once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.runtime import TTS
from tests.conftest import THREADS


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """As the oracle has: with two the codec's last bits differ."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def base_oracle(tiny_base_checkpoint: Path) -> Oracle:
    return Oracle.load(tiny_base_checkpoint, threads=THREADS)


@pytest.fixture(scope="session")
def base_tts(tiny_base_package: Path, base_oracle: Oracle) -> TTS:
    return TTS.load(tiny_base_package, threads=THREADS, pretokenizer=base_oracle.pretokenizer)
