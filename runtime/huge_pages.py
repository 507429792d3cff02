"""Weights on huge pages, where Linux has them for the asking.

A step reads every weight once, so that with pages of 4 kB it also looks up hundreds of thousands of them. Where the
kernel gives large pages to all who take memory ("always"), this changes nothing; where it gives them to those who ask
("madvise"), it asks; anywhere else it does nothing.
"""

import contextlib
import ctypes
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

Range = tuple[int, int]
"""Addresses from, and up to but not including."""

_MAPS = Path("/proc/self/maps")
_MODE = Path("/sys/kernel/mm/transparent_hugepage/enabled")

# <linux/mman.h>. Collapsing (Linux 6.1) moves what is there already; asking alone is for what comes.
_MADV_HUGEPAGE, _MADV_COLLAPSE = 14, 25
_HUGE = 2 << 20


@contextlib.contextmanager
def on_huge_pages() -> Iterator[None]:
    """Moves the memory that a block takes and keeps to huge pages, where that is possible; fails never."""
    if not _are_for_the_asking():
        yield
        return
    before = _mappings()
    yield
    for start, end in difference(_mappings(), before):
        _ask(start, end)


def difference(now: Iterable[Range], before: Iterable[Range]) -> list[Range]:
    """What of `now` was not in `before`, both in order and without overlap."""
    found = []
    earlier = list(before)
    for start, end in now:
        at = start
        for other_start, other_end in earlier:
            if other_end <= at or other_start >= end:
                continue
            if at < other_start:
                found.append((at, other_start))
            at = max(at, other_end)
        if at < end:
            found.append((at, end))
    return found


def _are_for_the_asking() -> bool:
    try:
        return sys.platform == "linux" and "[madvise]" in _MODE.read_text()
    except OSError:
        return False


def _mappings() -> list[Range]:
    """Private anonymous memory that may be written: what malloc hands out."""
    try:
        lines = _MAPS.read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        addresses, rights, _, _, inode, *name = line.split(maxsplit=5)
        if rights == "rw-p" and inode == "0" and (not name or name[0] == "[heap]"):
            start, end = (int(address, 16) for address in addresses.split("-"))
            found.append((start, end))
    return found


def _ask(start: int, end: int) -> None:
    """For the whole huge pages within; a kernel that says no is left alone."""
    start, end = -(-start // _HUGE) * _HUGE, end // _HUGE * _HUGE
    if start >= end:
        return
    madvise = ctypes.CDLL(None, use_errno=True).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for advice in (_MADV_HUGEPAGE, _MADV_COLLAPSE):
        madvise(start, end - start, advice)
