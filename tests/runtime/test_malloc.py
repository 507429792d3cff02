"""Memory that is free goes back to the system, and where the C library cannot do that nothing happens."""

import ctypes

import pytest

from qwen3_tts_ncnn.runtime import malloc


def test_what_glibc_keeps_is_handed_back(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []

    class Library:
        malloc_trim = staticmethod(kept.append)

    monkeypatch.setattr(ctypes, "CDLL", lambda _name: Library)
    malloc._trim.cache_clear()
    malloc.hand_back()
    assert kept == [0]


@pytest.mark.parametrize("error", [OSError, TypeError])
def test_a_system_without_it_is_left_alone(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def missing(_name: object) -> object:
        raise error

    for library in (missing, lambda _name: object()):
        monkeypatch.setattr(ctypes, "CDLL", library)
        malloc._trim.cache_clear()
        malloc.hand_back()
        assert malloc._trim()(0) is None


@pytest.fixture(autouse=True)
def _forget_what_was_made_up() -> object:
    yield
    malloc._trim.cache_clear()
