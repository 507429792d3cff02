"""Memory that is taken inside the block, and no other, is moved to huge pages where Linux has them for the asking."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime import TTS, huge_pages
from qwen3_tts_ncnn.runtime.huge_pages import difference, on_huge_pages
from tests.conftest import THREADS


@pytest.mark.parametrize(
    ("now", "before", "new"),
    [
        ([], [(1, 2)], []),
        ([(10, 20)], [], [(10, 20)]),
        ([(10, 20)], [(10, 20)], []),
        ([(10, 30)], [(10, 20)], [(20, 30)]),
        ([(5, 30)], [(10, 20)], [(5, 10), (20, 30)]),
        ([(5, 30), (40, 50)], [(0, 7), (9, 10), (29, 45)], [(7, 9), (10, 29), (45, 50)]),
        ([(10, 20)], [(0, 100)], []),
    ],
)
def test_what_is_new_is_what_was_not_there_before(
    now: list[huge_pages.Range], before: list[huge_pages.Range], new: list[huge_pages.Range]
) -> None:
    assert difference(now, before) == new


def test_new_memory_is_asked_for_and_old_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[huge_pages.Range] = []
    states = iter([[(0, 8 << 20)], [(0, 8 << 20), (16 << 20, 32 << 20)]])
    monkeypatch.setattr(huge_pages, "_are_for_the_asking", lambda: True)
    monkeypatch.setattr(huge_pages, "_mappings", lambda: next(states))
    monkeypatch.setattr(huge_pages, "_ask", lambda start, end: asked.append((start, end)))
    with on_huge_pages():
        pass
    assert asked == [(16 << 20, 32 << 20)]


def test_where_nobody_can_ask_nothing_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looked: list[Path] = []
    (tmp_path / "always").write_text("[always] madvise never\n")
    for mode in (tmp_path / "missing", tmp_path / "always"):
        monkeypatch.setattr(huge_pages, "_MODE", mode)
        monkeypatch.setattr(huge_pages, "_mappings", lambda mode=mode: looked.append(mode) or [])
        with on_huge_pages():
            pass
    assert looked == []


@pytest.mark.skipif(not huge_pages._are_for_the_asking(), reason="the kernel has no huge pages for the asking")
def test_the_kernel_is_asked_for_real_memory() -> None:
    with on_huge_pages():
        taken = np.ones(48 << 20, dtype=np.uint8)
    address = taken.__array_interface__["data"][0]
    flags = _flags(address + (16 << 20))
    assert "hg" in flags, "the kernel's mark of memory that may have huge pages"


def _flags(address: int) -> list[str]:
    """What the kernel says of the mapping around an address, by <Documentation/filesystems/proc.rst>."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split()
        if "-" in first and not first.endswith(":"):
            start, end = (int(part, 16) for part in first.split("-"))
            inside = start <= address < end
        elif inside and first == "VmFlags:":
            return rest
    return []


def test_a_package_speaks_the_same_on_huge_pages(tts: TTS, tiny_package: Path) -> None:
    options = {"speaker": "ryan", "seed": 1, "max_frames": 3, "watchdog": False, "budget": False}
    with pytest.warns(UserWarning, match="limit"):
        one = tts.speak("Hello.", **options)  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="limit"):
        other = TTS.load(tiny_package, threads=THREADS, huge_pages=True).speak("Hello.", **options)  # type: ignore[arg-type]
    assert np.array_equal(one.samples, other.samples)
