"""Both sides of the tiny checkpoints of both sizes and all types, each made and loaded once, when it is asked for."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import torch

from qwen3_tts_ncnn.convert.checkpoint import open_checkpoint
from qwen3_tts_ncnn.convert.conversion import convert_checkpoint
from qwen3_tts_ncnn.convert.random_checkpoint import write_random_checkpoint
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.runtime import TTS
from tests.conftest import THREADS

Folders = Callable[[str, str], tuple[Path, Path]]
"""(preset, type) → the folders of a checkpoint and of its package. Read them, never change them."""

Sides = Callable[[str, str], tuple[TTS, Oracle]]
"""(preset, type) → package and upstream, loaded."""


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """As the oracle has: with two the codec's last bits differ."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def folders(
    tiny_checkpoint: Path,
    tiny_package: Path,
    tiny_base_checkpoint: Path,
    tiny_base_package: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Folders:
    """The first package of a size converts the codec, the others take it from there."""
    made = {
        ("tiny", "custom_voice"): (tiny_checkpoint, tiny_package),
        ("tiny", "base"): (tiny_base_checkpoint, tiny_base_package),
    }

    def make(preset: str, kind: str) -> tuple[Path, Path]:
        if (preset, kind) not in made:
            donors = [package for (size, _), (_, package) in made.items() if size == preset]
            name = f"{preset}-{kind}"
            checkpoint = write_random_checkpoint(tmp_path_factory.mktemp("checkpoint") / name, preset, kind)
            package = tmp_path_factory.mktemp("package") / f"{name}-fp32"
            convert_checkpoint(open_checkpoint(checkpoint), package, codec_from=donors[0] if donors else None)
            made[preset, kind] = checkpoint, package
        return made[preset, kind]

    return make


@pytest.fixture(scope="session")
def sides(folders: Folders) -> Sides:
    @cache
    def load(preset: str, kind: str) -> tuple[TTS, Oracle]:
        checkpoint, package = folders(preset, kind)
        oracle = Oracle.load(checkpoint, threads=THREADS)
        return TTS.load(package, threads=THREADS, pretokenizer=oracle.pretokenizer), oracle

    return load


@pytest.fixture(scope="session")
def base_oracle(sides: Sides) -> Oracle:
    return sides("tiny", "base")[1]


@pytest.fixture(scope="session")
def base_tts(sides: Sides) -> TTS:
    return sides("tiny", "base")[0]
