"""What the conversion's tests share: upstream's model of the tiny checkpoint, and one torch thread."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.plans import GraphPlan
from qwen3_tts_ncnn.parity.quiet import quiet
from qwen3_tts_ncnn.parity.upstream_stubs import import_upstream
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
def upstream(tiny_checkpoint: Path) -> Any:
    """Upstream's model of the tiny checkpoint, in fp32. Read it, never change it."""
    return load_upstream(tiny_checkpoint)


@pytest.fixture(scope="session")
def base_checkpoint(tiny_base_checkpoint: Path) -> Checkpoint:
    """The tiny Base checkpoint, opened."""
    return Checkpoint.open(tiny_base_checkpoint)


@pytest.fixture(scope="session")
def upstream_base(tiny_base_checkpoint: Path) -> Any:
    """Upstream's model of the tiny Base checkpoint, in fp32. Read it, never change it."""
    return load_upstream(tiny_base_checkpoint)


def load_upstream(checkpoint: Path) -> Any:
    model_class = import_upstream()
    with quiet():
        return model_class.from_pretrained(str(checkpoint), dtype=torch.float32).model


@pytest.fixture(scope="session")
def plans(checkpoint: Checkpoint) -> dict[str, GraphPlan]:
    """The plans of the tiny checkpoint's graphs by name."""
    return plans_of(checkpoint)


@pytest.fixture(scope="session")
def base_plans(base_checkpoint: Checkpoint) -> dict[str, GraphPlan]:
    """The plans of the tiny Base checkpoint's graphs by name: all ten."""
    return plans_of(base_checkpoint)
