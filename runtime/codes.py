"""Frames of codes: the numbers that the codec is made of, checked before anything is done with them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qwen3_tts_ncnn.runtime.errors import FormatError

CODEBOOKS = 16
CODEBOOK_SIZE = 2048


def check_codes(
    codes: ArrayLike, *, codebooks: int = CODEBOOKS, codebook_size: int = CODEBOOK_SIZE, least: int = 0
) -> NDArray[np.int32]:
    """The codes as (frames, codebooks) int32, at least `least` frames of them.

    Raises:
        FormatError: another shape or type, too few frames, or a code outside the codebook.
    """
    frames = np.asarray(codes)
    if frames.ndim != 2 or frames.shape[1] != codebooks or frames.dtype.kind not in "iu":
        raise FormatError(
            f"codes are {frames.dtype} of shape {frames.shape}, expected integers of shape (frames, {codebooks})"
        )
    if len(frames) < least:
        raise FormatError(f"codes are of {len(frames)} frames, expected at least {least}")
    if frames.size and (frames.min() < 0 or frames.max() >= codebook_size):
        raise FormatError(f"codes reach from {frames.min()} to {frames.max()}, expected 0 to {codebook_size - 1}")
    return frames.astype(np.int32)
