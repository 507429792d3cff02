"""What the runtime's tests share: one loaded package."""

from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime import TTS
from tests.conftest import THREADS


@pytest.fixture(scope="session")
def tts(tiny_package: Path) -> TTS:
    """The tiny CustomVoice package, loaded."""
    return TTS.load(tiny_package, threads=THREADS)
