"""Time the methods of objects that know nothing of it."""

import functools
import time
from typing import Any


class Stopwatch:
    """Seconds of every call of the methods that it watches, by the method's name."""

    def __init__(self) -> None:
        self.laps: dict[str, list[float]] = {}
        self.last: dict[str, Any] = {}

    def watch(self, owner: Any, method: str, *, keep: bool = False) -> None:
        """Time `method` of one object from now on, its class untouched; `keep` its last result in `last`."""
        original = getattr(owner, method)
        laps = self.laps.setdefault(method, [])

        # Wrapped with its signature, because transformers' generate() looks at the signature of forward().
        @functools.wraps(original)
        def timed(*args: Any, **kwargs: Any) -> Any:
            begun = time.perf_counter()
            result = original(*args, **kwargs)
            laps.append(time.perf_counter() - begun)
            if keep:
                self.last[method] = result
            return result

        setattr(owner, method, timed)

    def reset(self) -> None:
        """Forget all laps."""
        for laps in self.laps.values():
            laps.clear()
        self.last.clear()
