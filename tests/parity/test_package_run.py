"""The package's side is asked for a run with the case's options, and held to N + 1 selections."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.package_run import trace_package
from qwen3_tts_ncnn.parity.settings import SamplingSettings
from qwen3_tts_ncnn.runtime import ReferenceWarning, Voice
from qwen3_tts_ncnn.runtime.speech_warning import SpeechWarning
from tests.parity.synthetic_traces import CLIP, heard, oracle_trace

AS_UPSTREAM = {"split": False, "budget": False, "watchdog": False}


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

    def clone(self, source: tuple[Any, int], *, transcript: str | None) -> Voice:
        warnings.warn("is only 0.90 s long", ReferenceWarning, stacklevel=1)
        self.asked.append(("clone", {"source": source, "transcript": transcript}))
        codes = None if transcript is None else heard().codes.astype(np.int32)
        return Voice(heard().x_vector, codes, transcript)

    def speak(self, text: str, **options: Any) -> SimpleNamespace:
        self.asked.append((text, options))
        if self.speech.stop == "limit":
            warnings.warn("was stopped at its limit", SpeechWarning, stacklevel=1)
        return self.speech


def test_the_case_s_options_reach_the_package() -> None:
    tts: Any = FakeTTS()
    trace = trace_package(tts, Case("Hi.", "eric", "chinese", True, 7))
    how = {"speaker": "eric", "voice": None, "language": "chinese", "instruct": None, "streaming_text": True}
    assert tts.asked == [
        ("Hi.", how),
        ("Hi.", {**how, "greedy": True, "seed": None, "max_frames": 7, **AS_UPSTREAM}),
    ]
    assert trace.heard is None
    assert (trace.frames, len(trace.prompt), len(trace.trailing)) == (3, 6, 2)
    assert trace.selections.tolist() == [0, 100, 200, 2150]


def test_instruction_seed_and_settings_reach_the_package() -> None:
    tts: Any = FakeTTS()
    settings = SamplingSettings(temperature=0.3, predictor_top_k=1)
    trace_package(tts, Case("Hi.", instruct="Slowly.", seed=0, settings=settings))
    (_, prompted), (_, spoken) = tts.asked
    assert prompted["instruct"] == "Slowly."
    assert spoken == {
        **prompted,
        **AS_UPSTREAM,
        "greedy": False,
        "seed": 0,
        "max_frames": 96,
        "temperature": 0.3,
        "predictor_top_k": 1,
    }


def test_a_run_that_meets_its_limit_is_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    tts: Any = FakeTTS(stop="limit")
    assert trace_package(tts, Case("Hi.", "eric")).stop == "limit"
    assert list(recwarn) == []


def test_the_case_s_reference_is_cloned_once_and_spoken_with_without_a_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    tts: Any = FakeTTS()
    trace = trace_package(tts, Case("Hi.", language="chinese", reference=CLIP))
    (_, cloned), (_, prompted), (_, spoken) = tts.asked
    assert cloned == {"source": (CLIP.samples, 24_000), "transcript": "Hello."}
    assert prompted["voice"] is spoken["voice"]
    assert (prompted["speaker"], prompted["voice"].transcript) == (None, "Hello.")
    assert np.array_equal(trace.heard.codes, heard().codes)
    assert np.array_equal(trace.heard.x_vector, heard().x_vector)
    assert list(recwarn) == []


def test_a_reference_without_a_transcript_has_no_codes() -> None:
    tts: Any = FakeTTS()
    trace = trace_package(tts, Case("Hi.", reference=CLIP.without_transcript()))
    assert tts.asked[0][1]["transcript"] is None
    assert trace.heard.codes is None


def test_a_package_that_hides_its_last_selection_is_refused() -> None:
    tts: Any = FakeTTS(selections=np.array([0, 100, 200]))
    with pytest.raises(ParityError, match="made 3 codebook-0 selections for 3 frames, expected 4"):
        trace_package(tts, Case("Hi.", "eric"))
