"""The mel filters of the speaker encoder, computed once at conversion and kept in the package."""

import librosa
import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.checkpoint.refusals import MEL_BINS, SAMPLE_RATE

N_FFT = 1024
LOWEST_HZ, HIGHEST_HZ = 0, 12000


def mel_filters() -> NDArray[np.float32]:
    """(128, 513): slaney mels with slaney norm over 0–12000 Hz (upstream's modeling_qwen3_tts.py:436, 1943–1951)."""
    filters: NDArray[np.float32] = librosa.filters.mel(
        sr=SAMPLE_RATE, n_fft=N_FFT, n_mels=MEL_BINS, fmin=LOWEST_HZ, fmax=HIGHEST_HZ
    )
    return filters
