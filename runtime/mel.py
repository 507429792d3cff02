"""The log-mel spectrogram that the speaker encoder hears (upstream's modeling_qwen3_tts.py:396–459, 1941–1954)."""

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.mat import Floats

N_FFT = 1024  # also the window's length
HOP = 256
BINS = N_FFT // 2 + 1
PAD = (N_FFT - HOP) // 2  # reflected on both sides, so that n samples give n // HOP frames

# Frames transformed together: bounds the memory to some 25 MB whatever the recording's length.
_BLOCK = 1024


class MelSpectrogram:
    """Samples at 24 kHz to log-mel frames.

    Computed in float64 and rounded once. Upstream's float32 FFT leaves noise of about 1e-7 of a frame's strongest bin
    in all its bins, which no other FFT can repeat: in a bin 60 dB below the strongest its logarithm is off by 1e-4, and
    by more between the harmonics of a clean synthetic tone.
    """

    def __init__(self, filters: NDArray[np.floating]) -> None:
        """
        Args:
            filters: (mels, 513) weights of the power spectrum's bins, as `convert.mel_filters` makes them.
        """
        if filters.ndim != 2 or filters.shape[1] != BINS:
            raise ValueError(f"mel filters have the shape {filters.shape}, expected (mels, {BINS})")
        self._filters = np.ascontiguousarray(filters.T, dtype=np.float64)
        self._window = _hann().astype(np.float64)

    def __call__(self, samples: Floats) -> Floats:
        """Log-mel frames of mono samples in ±1 at 24 kHz: (n,) → (n // 256, mels) float32.

        Raises:
            ValueError: not one axis, or too few samples to be reflected (384); `read_reference` gives neither.
        """
        if samples.ndim != 1 or len(samples) <= PAD:
            raise ValueError(f"samples have the shape {samples.shape}, expected (n,) with n > {PAD}")
        padded = np.pad(samples, PAD, mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(padded, N_FFT)[::HOP]
        mel = np.empty((len(frames), self._filters.shape[1]), np.float32)
        for start in range(0, len(frames), _BLOCK):
            mel[start : start + _BLOCK] = self._log_mel(frames[start : start + _BLOCK])
        return mel

    def _log_mel(self, frames: Floats) -> NDArray[np.float64]:
        spectrum = np.fft.rfft(frames * self._window)
        magnitude = np.sqrt(spectrum.real**2 + spectrum.imag**2 + 1e-9)
        log_mel: NDArray[np.float64] = np.log(np.maximum(magnitude @ self._filters, 1e-5))
        return log_mel


def _hann() -> Floats:
    """The periodic Hann window in float32 arithmetic, as torch makes it.

    The float64 window would be the better one, but its difference leaks a strong tone into far bins, where it is the
    largest part of what a quiet bin holds.
    """
    angles = np.arange(N_FFT, dtype=np.float32) * np.float32(2 * np.pi / N_FFT)
    # The cosine alone in float64, rounded: nearer to torch's than numpy's float32 cosine.
    cosines = np.cos(angles.astype(np.float64)).astype(np.float32)
    return cosines * np.float32(-0.5) + np.float32(0.5)
