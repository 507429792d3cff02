"""The chance that PyTorch draws from: its CPU generator and its exponential distribution, in numpy.

With it, a seed gives the codes that upstream gives after `torch.manual_seed` of the same seed.
"""

import operator
import secrets

import numpy as np

from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.mat import Floats

LOWEST_SEED, HIGHEST_SEED = -(2**63), 2**64 - 1
"""What `torch.manual_seed` takes; a negative seed is the same as that seed plus 2⁶⁴."""

_WORD = 2**32
_LOW_53_BITS = np.uint64(2**53 - 1)


class TorchSource:
    """`torch.Tensor.exponential_` on the CPU, as an endless stream; see `exponential`.

    `seed` is the one it was made with, or, where that was None, the one it took by chance: given again, it gives the
    same stream. PyTorch's generator is a Mersenne twister that starts from the low 32 bits of the seed alone
    (at::mt19937), so seeds that differ by a multiple of 2³² are the same.

    Raises `OptionError` for a seed that PyTorch would not take either.
    """

    def __init__(self, seed: int | None) -> None:
        self.seed = secrets.randbelow(_WORD) if seed is None else _checked(seed)
        self._bits = np.random.MT19937()
        # The twister's own seeding is what PyTorch has too (init_genrand), and RandomState is numpy's way to it.
        np.random.RandomState(self._bits).seed(self.seed % _WORD)

    def exponential(self, count: int) -> Floats:
        """The next `count` draws (count,) from the exponential distribution of rate 1.

        Bit for bit what `torch.empty(count).exponential_(generator=…)` gives, and it leaves the generator where that
        leaves it: two 32-bit draws an element, the first on top, make a u of 53 bits in [0, 1), which becomes
        −log1p(−u) in float64, rounded to float32 (at::exponential_distribution; no path for long tensors differs).

        `log1p` may differ in its last bit from one machine to another. The float32 is another one only where 2⁻²⁹ of
        its own last place decides the rounding: once in some hundred million draws, and by one last place.
        """
        words = self._bits.random_raw(2 * count)
        uniform = ((words[0::2] << np.uint64(32) | words[1::2]) & _LOW_53_BITS) * 2.0**-53
        draws: Floats = (-np.log1p(-uniform)).astype(np.float32)
        return draws


def _checked(seed: int) -> int:
    try:
        number = operator.index(seed)
    except TypeError:
        raise OptionError(f"seed is {seed!r}, expected a whole number, or none for a new one every time") from None
    if not LOWEST_SEED <= number <= HIGHEST_SEED:
        raise OptionError(f"seed is {number}, expected a whole number from -2^63 to 2^64 - 1, as PyTorch takes")
    return number
