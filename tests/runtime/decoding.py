"""Codes to samples exactly as a speech is decoded: in another number of frames at a time, rounding would be another."""

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime import TTS
from qwen3_tts_ncnn.runtime.mat import Floats

BLOCK = 25


def decode_as_spoken(tts: TTS, codes: NDArray[np.int32]) -> Floats:
    """The samples of a speech's codes (T, 16)."""
    stream = tts.codec.chunked_stream()
    return np.concatenate([stream.decode(codes[start : start + BLOCK]) for start in range(0, len(codes), BLOCK)])
