"""What the tests share: tiny checkpoints and the packages made of them, once a session."""

from collections.abc import Iterator
from pathlib import Path

import pytest

THREADS = 1  # a tiny graph gains nothing from a second thread, and loses much where another process has the core


@pytest.fixture(scope="session", autouse=True)
def own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps what a load remembers out of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random CustomVoice checkpoint. Read it, never change it."""
    from qwen3_tts_ncnn.convert.random_checkpoint import write_random_checkpoint

    return write_random_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny-customvoice", "tiny", "custom_voice")


@pytest.fixture(scope="session")
def tiny_package(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the tiny checkpoint. Read it, never change it."""
    from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
    from qwen3_tts_ncnn.convert.conversion import convert_checkpoint

    package = tmp_path_factory.mktemp("package") / "tiny-customvoice-fp32"
    convert_checkpoint(Checkpoint.open(tiny_checkpoint), package)
    return package


@pytest.fixture(scope="session")
def tiny_int8_package(tiny_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny package in int8, its other files shared with that. Read it, never change it."""
    from qwen3_tts_ncnn.convert.precision.change import convert_package
    from qwen3_tts_ncnn.convert.precision.formats import parse_formats

    package = tmp_path_factory.mktemp("package") / "tiny-customvoice-int8"
    convert_package(tiny_package, package, *parse_formats(["int8"]))
    return package


@pytest.fixture(scope="session")
def tiny_base_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random Base checkpoint. Read it, never change it."""
    from qwen3_tts_ncnn.convert.random_checkpoint import write_random_checkpoint

    return write_random_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny-base", "tiny", "base")


@pytest.fixture(scope="session")
def tiny_base_package(tiny_base_checkpoint: Path, tiny_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the tiny Base checkpoint, with the codec of the other one. Read it, never change it."""
    from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
    from qwen3_tts_ncnn.convert.conversion import convert_checkpoint

    package = tmp_path_factory.mktemp("package") / "tiny-base-fp32"
    convert_checkpoint(Checkpoint.open(tiny_base_checkpoint), package, codec_from=tiny_package)
    return package


@pytest.fixture(scope="session")
def tiny_design_package(tiny_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of a tiny random VoiceDesign checkpoint, with the others' codec. Read it, never change it."""
    from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
    from qwen3_tts_ncnn.convert.conversion import convert_checkpoint
    from qwen3_tts_ncnn.convert.random_checkpoint import write_random_checkpoint

    folder = tmp_path_factory.mktemp("design")
    checkpoint = write_random_checkpoint(folder / "tiny-design", "tiny", "voice_design")
    convert_checkpoint(Checkpoint.open(checkpoint), folder / "tiny-design-fp32", codec_from=tiny_package)
    return folder / "tiny-design-fp32"
