"""What the runtime's tests share: loaded packages, and upstream's models of the same checkpoints."""

from pathlib import Path

import pytest

from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.runtime import TTS
from tests.conftest import THREADS, Oracles


@pytest.fixture(scope="session")
def tts(tiny_package: Path) -> TTS:
    """The tiny CustomVoice package, loaded."""
    return TTS.load(tiny_package, threads=THREADS)


@pytest.fixture(scope="session")
def base(tiny_base_package: Path) -> TTS:
    """The tiny Base package, loaded."""
    return TTS.load(tiny_base_package, threads=THREADS)


@pytest.fixture(scope="session")
def design(tiny_design_package: Path) -> TTS:
    """The tiny VoiceDesign package, loaded."""
    return TTS.load(tiny_design_package, threads=THREADS)


@pytest.fixture(scope="session")
def tiny_codec_package(tiny_checkpoint: Path, tiny_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the tiny checkpoint's codec alone. Read it, never change it."""
    from qwen3_tts_ncnn.convert.checkpoint import open_checkpoint
    from qwen3_tts_ncnn.convert.conversion import convert_checkpoint

    package = tmp_path_factory.mktemp("package") / "tiny-codec-fp32"
    convert_checkpoint(open_checkpoint(tiny_checkpoint / "speech_tokenizer"), package, codec_from=tiny_package)
    return package


@pytest.fixture(scope="session")
def oracle(oracle_of: Oracles) -> Oracle:
    """Upstream's model of the tiny Base checkpoint, whose codec the CustomVoice one shares."""
    return oracle_of("tiny", "base")
