"""The package's side is asked for a greedy run with the case's options, and held to N + 1 selections."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.package_run import trace_package
from tests.parity.synthetic_traces import oracle_trace


class FakeTTS:
    """Answers like a loaded package, and remembers what it was asked."""

    def __init__(self, **changes: Any) -> None:
        run = oracle_trace(3)
        self.rows = run.prompt
        self.speech = SimpleNamespace(
            **{"samples": run.samples, "codes": run.codes, "stop": "eos", "selections": run.selections, **changes}
        )
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def prompt(self, text: str, **options: Any) -> SimpleNamespace:
        self.asked.append((text, options))
        return SimpleNamespace(rows=self.rows, trailing=self.rows[:2])

    def speak(self, text: str, **options: Any) -> SimpleNamespace:
        self.asked.append((text, options))
        return self.speech


def test_the_case_s_options_reach_the_package() -> None:
    tts: Any = FakeTTS()
    trace = trace_package(tts, Case("Hi.", "eric", "chinese", True, 7))
    voice = {"speaker": "eric", "language": "chinese", "streaming_text": True}
    assert tts.asked == [("Hi.", voice), ("Hi.", {**voice, "greedy": True, "max_frames": 7})]
    assert (trace.frames, len(trace.prompt), len(trace.trailing)) == (3, 6, 2)
    assert trace.selections.tolist() == [0, 100, 200, 2150]


def test_a_package_that_hides_its_last_selection_is_refused() -> None:
    tts: Any = FakeTTS(selections=np.array([0, 100, 200]))
    with pytest.raises(ParityError, match="made 3 codebook-0 selections for 3 frames, expected 4"):
        trace_package(tts, Case("Hi.", "eric"))
