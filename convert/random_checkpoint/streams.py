"""Random numbers that are the same bytes on every machine, in every run and with every numpy.

numpy keeps the raw output of its bit generators stable, but not what `Generator.standard_normal` makes of it, whose
tails also go through the C library's logarithm. So normals are sums of four 16-bit integers here: exact arithmetic, a
bell with an excess kurtosis of −0.3 that ends at ±3.46 standard deviations.
"""

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_BLOCK = 1 << 18  # 2 MB of raw numbers: the passes over a block stay in the cache
_LANES = np.uint64(0x0000FFFF0000FFFF)
_LOW = np.uint64(0xFFFFFFFF)
_MEAN = np.float32(4 * 65535 / 2)
_STD = math.sqrt(4 * (65536**2 - 1) / 12)


class Stream:
    """The random numbers of one tensor. They depend on `seed` and `name` alone, not on what was drawn before."""

    def __init__(self, seed: int, name: str) -> None:
        digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
        self._bits = np.random.PCG64(int.from_bytes(digest, "little"))

    def normal(self, count: int, std: float = 1.0) -> Floats:
        """`count` numbers of mean 0 and standard deviation `std`."""
        scale = np.float32(std / _STD)
        out = np.empty(count, np.float32)
        for start in range(0, count, _BLOCK):
            raw = self._raw(min(_BLOCK, count - start))
            pairs = (raw & _LANES) + ((raw >> np.uint64(16)) & _LANES)
            total = (pairs & _LOW) + (pairs >> np.uint64(32))
            block = out[start : start + _BLOCK]
            block[:] = total
            block -= _MEAN
            block *= scale
        return out

    def uniform(self, count: int, low: float, high: float) -> Floats:
        """`count` numbers from low to high."""
        unit = (self._raw(count) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
        return unit * np.float32(high - low) + np.float32(low)

    def _raw(self, count: int) -> NDArray[np.uint64]:
        return np.asarray(self._bits.random_raw(count), np.uint64)
