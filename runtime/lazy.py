"""What is large and seldom needed: loaded when it is asked for, and dropped to make room."""

from collections.abc import Callable
from typing import Generic, TypeVar

from qwen3_tts_ncnn.runtime.malloc import hand_back

T = TypeVar("T")


class Lazy(Generic[T]):
    """One such thing. Whoever still holds it when it is dropped may go on using it."""

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._loaded: T | None = None

    def get(self) -> T:
        """The thing, loaded now if it is not there. Raises what loading it raises."""
        loaded = self._loaded
        if loaded is None:
            loaded = self._loaded = self._load()
        return loaded

    def drop(self) -> None:
        """Frees its memory; the next `get` loads it again."""
        if self._loaded is not None:
            self._loaded = None
            hand_back()
