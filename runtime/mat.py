"""numpy arrays in and out of ncnn, under one rule of lifetime: every Mat here owns its memory.

`ncnn.Mat(array)` borrows an array's memory and keeps nothing alive, so a temporary is read after it is freed, with
random results; and a numpy view of a Mat does not outlive it. Both directions copy, once.
"""

import ncnn
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def to_mat(array: Floats | NDArray[np.int32]) -> ncnn.Mat:
    """A Mat of the array's shape and its own copy of the memory. int32 keeps its bits: Embed reads ids that way."""
    if array.dtype not in (np.float32, np.int32):
        raise TypeError(f"ncnn takes float32 values or int32 ids, got {array.dtype}")
    held = np.ascontiguousarray(array).view(np.float32)  # named, so that it lives until clone() has copied it
    return ncnn.Mat(held).clone()


def from_mat(mat: ncnn.Mat) -> Floats:
    """A float32 array with its own copy of the Mat's values."""
    return np.array(mat, dtype=np.float32, copy=True)
