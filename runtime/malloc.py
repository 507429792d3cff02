"""What the C library's malloc keeps of memory that is free, handed back to the system."""

import ctypes
import functools
from collections.abc import Callable


def hand_back() -> None:
    """Hands free memory back, where the C library is glibc; does nothing elsewhere.

    Loading a graph frees about as much as it keeps, the weights as they were read, and glibc holds on to a tenth of it:
    113 of 1190 MB, for the int8 package of the official 0.6B size. A run frees its KV cache and its signals, and no two
    runs are of one length: a stream held 1.59 GB after two minutes and 1.62 after ten, and 1.46 after two where every
    piece of it handed back what it had freed.
    """
    _trim()(0)


@functools.cache
def _trim() -> Callable[[int], object]:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return lambda _keep: None
