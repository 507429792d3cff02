"""How a package is asked to speak and to stream, and what it tells of it."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.bench import worker_package
from qwen3_tts_ncnn.parity.bench.job import Job
from qwen3_tts_ncnn.parity.bench.worker_package import PackageContestant

BOUNDS = {"greedy": True, "split": False, "budget": False, "watchdog": False}


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


def test_a_stream_is_timed_to_its_first_and_to_its_last_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, asked = Clock(), []
    monkeypatch.setattr(worker_package, "time", clock)

    def stream(text: str, **options: Any) -> Iterator[Any]:
        asked.append((text, options))
        for seconds in (0.5, 0.25, 0.25):
            clock.now += seconds
            yield np.zeros(1920, dtype=np.float32)

    contestant = PackageContestant()
    contestant._tts, contestant._job = SimpleNamespace(stream=stream), Job("Hi.", speaker="eric", language="chinese")  # type: ignore[assignment]
    assert contestant._stream(60) == {"first_audio_seconds": 0.5, "stream_seconds": 1.0}
    who = {"speaker": "eric", "voice": None, "language": "chinese", "instruct": None}
    assert asked == [("Hi.", {**who, **BOUNDS, "max_frames": 60, "first_chunk": 4})]
