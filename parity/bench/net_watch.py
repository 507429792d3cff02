"""Every ncnn net of a runtime that knows nothing of it: seconds of each call, and inputs to run it on again."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ncnn

Call = tuple[str, float]
"""(graph, seconds) of one call."""


class NetWatch:
    """What the nets that are made inside `watching()` do from then on."""

    def __init__(self) -> None:
        self.extracts: list[Call] = []
        self.inputs: list[Call] = []
        self.recording = False
        self.replays: dict[str, Replay] = {}

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Nets made inside are watched as long as they live."""
        original = ncnn.Net
        ncnn.Net = self._net_class(original)
        try:
            yield
        finally:
            ncnn.Net = original

    def reset(self) -> None:
        """Forget the calls."""
        self.extracts.clear()
        self.inputs.clear()

    def _net_class(self, base: Any) -> Any:
        watch = self

        class WatchedNet(base):  # type: ignore[misc]  # a class of C++
            def load_param(self, path: str) -> Any:
                self.graph = Path(path).stem
                return super().load_param(path)

            def create_extractor(self) -> "_Extractor":
                return _Extractor(super().create_extractor, self.graph, watch)

        return WatchedNet


class Replay:
    """The inputs of one run of a graph, to run it on again, whole or up to a blob.

    A cached decoder appends to its caches in place, in memory beyond what these inputs show, so that running it again
    writes the same rows again.
    """

    def __init__(self, create_extractor: Any) -> None:
        self._create_extractor = create_extractor
        self.inputs: dict[str, ncnn.Mat] = {}
        self.cache_settings: list[tuple[str, Any]] = []

    def __del__(self) -> None:
        self.inputs.clear()  # before the allocator that the caches came from

    def keep(self, name: str, mat: ncnn.Mat) -> None:
        """Keep an input. A cache must not be cloned, another may borrow memory that does not last."""
        self.inputs[name] = mat if name.startswith("cache_") else mat.clone()

    def seconds(self, blob: str) -> float:
        """Of computing one blob and all that it needs."""
        extractor = self._create_extractor()
        for name, value in self.cache_settings:
            getattr(extractor, name)(value)
        for name, mat in self.inputs.items():
            extractor.input(name, mat)
        begun = time.perf_counter()
        extractor.extract(blob, 1)  # 1: as it is, neither cloned nor repacked
        return time.perf_counter() - begun


class _Extractor:
    """Stands in for an extractor."""

    def __init__(self, create_extractor: Any, graph: str, watch: NetWatch) -> None:
        self._extractor = create_extractor()
        self._graph, self._watch = graph, watch
        self._replay = Replay(create_extractor)
        if watch.recording:
            watch.replays[graph] = self._replay

    def input(self, name: str, mat: ncnn.Mat) -> Any:
        if self._watch.recording:
            self._replay.keep(name, mat)
        begun = time.perf_counter()
        code = self._extractor.input(name, mat)
        self._watch.inputs.append((self._graph, time.perf_counter() - begun))
        return code

    def extract(self, *arguments: Any, **options: Any) -> Any:
        begun = time.perf_counter()
        result = self._extractor.extract(*arguments, **options)
        self._watch.extracts.append((self._graph, time.perf_counter() - begun))
        return result

    def set_kvcache_allocator(self, allocator: Any) -> None:
        self._set("set_kvcache_allocator", allocator)

    def set_kvcache_max_seqlen_hint(self, rows: int) -> None:
        self._set("set_kvcache_max_seqlen_hint", rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._extractor, name)

    def _set(self, name: str, value: Any) -> None:
        self._replay.cache_settings.append((name, value))
        getattr(self._extractor, name)(value)
