"""What the tests share: tiny checkpoints, their packages, and upstream's models of them, each made once a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from qwen3_tts_ncnn.parity.oracle import Oracle
    from qwen3_tts_ncnn.runtime import TTS

THREADS = 1  # a tiny graph gains nothing from a second thread, and loses much where another process has the core

Folder = Callable[[str, str], Path]
"""(preset, type) → a checkpoint or the package of one. Read it, never change it."""

Oracles = Callable[[str, str], "Oracle"]
"""(preset, type) → upstream's model of the checkpoint. It is left as it was found."""

Sides = Callable[[str, str], "tuple[TTS, Oracle]"]
"""(preset, type) → package and upstream, loaded."""


@pytest.fixture(scope="session", autouse=True)
def own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps what a load remembers out of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def checkpoint_of(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A random checkpoint of a preset and a type."""
    from qwen3_tts_ncnn.convert.random_checkpoint import write_random_checkpoint

    @cache
    def write(preset: str, kind: str) -> Path:
        return write_random_checkpoint(tmp_path_factory.mktemp("checkpoint") / _name(preset, kind), preset, kind)

    return write


@pytest.fixture(scope="session")
def package_of(checkpoint_of: Folder, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The package of a random checkpoint. That of CustomVoice converts the codec, the others take it from there."""
    from qwen3_tts_ncnn.convert.checkpoint import open_checkpoint
    from qwen3_tts_ncnn.convert.conversion import convert_checkpoint

    @cache
    def convert(preset: str, kind: str) -> Path:
        donor = None if kind == "custom_voice" else convert(preset, "custom_voice")
        package = tmp_path_factory.mktemp("package") / f"{_name(preset, kind)}-fp32"
        convert_checkpoint(open_checkpoint(checkpoint_of(preset, kind)), package, codec_from=donor)
        return package

    return convert


def _name(preset: str, kind: str) -> str:
    """As the released checkpoints are named."""
    return f"{preset}-{kind.removeprefix('voice_').replace('_', '')}"


@pytest.fixture(scope="session")
def oracle_of(checkpoint_of: Folder) -> Oracles:
    """Upstream's model of a random checkpoint, loaded."""
    from qwen3_tts_ncnn.parity.oracle import Oracle

    @cache
    def load(preset: str, kind: str) -> Oracle:
        return Oracle.load(checkpoint_of(preset, kind), threads=THREADS)

    return load


@pytest.fixture(scope="session")
def sides(package_of: Folder, oracle_of: Oracles) -> Sides:
    """Both sides of a comparison; they tokenize alike."""
    from qwen3_tts_ncnn.runtime import TTS

    @cache
    def load(preset: str, kind: str) -> tuple[TTS, Oracle]:
        oracle = oracle_of(preset, kind)
        return TTS.load(package_of(preset, kind), threads=THREADS, pretokenizer=oracle.pretokenizer), oracle

    return load


@pytest.fixture(scope="session")
def tiny_checkpoint(checkpoint_of: Folder) -> Path:
    """A tiny random CustomVoice checkpoint. Read it, never change it."""
    return checkpoint_of("tiny", "custom_voice")


@pytest.fixture(scope="session")
def tiny_package(package_of: Folder) -> Path:
    """The package of the tiny checkpoint. Read it, never change it."""
    return package_of("tiny", "custom_voice")


@pytest.fixture(scope="session")
def tiny_int8_package(tiny_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny package in int8, its other files shared with that. Read it, never change it."""
    from qwen3_tts_ncnn.convert.precision.change import convert_package
    from qwen3_tts_ncnn.convert.precision.formats import parse_formats

    package = tmp_path_factory.mktemp("package") / "tiny-customvoice-int8"
    convert_package(tiny_package, package, *parse_formats(["int8"]))
    return package


@pytest.fixture(scope="session")
def tiny_base_checkpoint(checkpoint_of: Folder) -> Path:
    """A tiny random Base checkpoint. Read it, never change it."""
    return checkpoint_of("tiny", "base")


@pytest.fixture(scope="session")
def tiny_base_package(package_of: Folder) -> Path:
    """The package of the tiny Base checkpoint, with the codec of the other one. Read it, never change it."""
    return package_of("tiny", "base")


@pytest.fixture(scope="session")
def tiny_design_package(package_of: Folder) -> Path:
    """The package of a tiny random VoiceDesign checkpoint, with the others' codec. Read it, never change it."""
    return package_of("tiny", "voice_design")
