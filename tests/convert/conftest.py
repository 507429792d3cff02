"""What the conversion's tests share: upstream's model of the tiny checkpoint, and one torch thread."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.plans import GraphPlan
from tests.conftest import Oracles
from tests.convert.graph_plans import plans_of


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> Iterator[None]:
    """More threads than free cores make these small models a hundred times slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def checkpoint(tiny_checkpoint: Path) -> Checkpoint:
    """The tiny checkpoint, opened."""
    return Checkpoint.open(tiny_checkpoint)


@pytest.fixture(scope="session")
def upstream(oracle_of: Oracles) -> Any:
    """Upstream's model of the tiny checkpoint, in fp32. Read it, never change it."""
    return oracle_of("tiny", "custom_voice")._upstream.model


@pytest.fixture(scope="session")
def base_checkpoint(tiny_base_checkpoint: Path) -> Checkpoint:
    """The tiny Base checkpoint, opened."""
    return Checkpoint.open(tiny_base_checkpoint)


@pytest.fixture(scope="session")
def upstream_base(oracle_of: Oracles) -> Any:
    """Upstream's model of the tiny Base checkpoint, in fp32. Read it, never change it."""
    return oracle_of("tiny", "base")._upstream.model


@pytest.fixture(scope="session")
def plans(checkpoint: Checkpoint) -> dict[str, GraphPlan]:
    """The plans of the tiny checkpoint's graphs by name."""
    return plans_of(checkpoint)


@pytest.fixture(scope="session")
def base_plans(base_checkpoint: Checkpoint) -> dict[str, GraphPlan]:
    """The plans of the tiny Base checkpoint's graphs by name: all ten."""
    return plans_of(base_checkpoint)
