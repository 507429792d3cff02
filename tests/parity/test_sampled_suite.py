"""The claim for all modes, both sizes and chance: a seed makes the package say what upstream says with it."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import pytest

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.clips import synthetic_references
from qwen3_tts_ncnn.parity.compare import CaseReport, compare
from qwen3_tts_ncnn.parity.package_run import trace_package
from qwen3_tts_ncnn.parity.settings import SamplingSettings
from qwen3_tts_ncnn.parity.trace import Trace
from qwen3_tts_ncnn.runtime import ModeError
from tests.conftest import Sides

LIMIT = 20  # frames
CLIP = synthetic_references()[0]
TOLD = "Speak slowly, in a sad voice."

# Mode → the checkpoint's type, and who speaks how.
MODES: dict[str, tuple[str, dict[str, Any]]] = {
    "speaker": ("custom_voice", {"speaker": "eric"}),
    "speaker + instruction": ("custom_voice", {"speaker": "serena", "instruct": TOLD}),
    "design": ("voice_design", {"instruct": "A calm old man with a deep, warm voice."}),
    "x-vector": ("base", {"reference": CLIP.without_transcript()}),
    "in context": ("base", {"reference": CLIP}),
}
GROUPS = [
    (preset, mode, streaming)
    for preset in ("tiny", "tiny-1.7b")
    for mode in MODES
    for streaming in (False, True)
    if (preset, mode) != ("tiny", "speaker + instruction")  # upstream drops it
]

TEXTS = {False: ("english", "Hello there, how are you today?"), True: ("chinese", "今天天气很好，我们去公园吧。")}

# With these seeds no draw is close: its best two are at least 4e-4 of themselves apart, so that rounding decides none.
CHANCES = (
    (None, SamplingSettings()),
    (20, SamplingSettings()),
    (21, SamplingSettings(temperature=0.3, predictor_temperature=0.3)),
    (12, SamplingSettings(temperature=1.5, top_k=0, predictor_temperature=1.5, predictor_top_k=0)),
    (33, SamplingSettings(top_k=0, top_p=0.8, predictor_top_p=0.6, repetition_penalty=1.2)),
    (2**40 + 4, SamplingSettings(top_k=1)),
)


class Run(NamedTuple):
    """One comparison, and what the package did in it."""

    preset: str
    report: CaseReport
    ours: Trace


def cases() -> Iterator[tuple[str, str, Case]]:
    """(preset, type, case) of every run; those of a group follow each other."""
    for preset, mode, streaming in GROUPS:
        kind, who = MODES[mode]
        language, text = TEXTS[streaming]
        for seed, settings in CHANCES:
            case = Case(
                text,
                language=language,
                streaming_text=streaming,
                max_frames=LIMIT,
                seed=seed,
                settings=settings,
                **who,
            )
            assert case.mode == mode
            yield preset, kind, case


@pytest.fixture(scope="module")
def runs(sides: Sides) -> list[Run]:
    result = []
    for preset, kind, case in cases():
        tts, oracle = sides(preset, kind)
        ours = trace_package(tts, case)
        result.append(Run(preset, compare(case, ours, oracle.speak(case)), ours))
    return result


def group(run: Run) -> tuple[str, str, str]:
    """What the runs that only chance tells apart have in common."""
    return run.preset, run.report.case.mode, run.report.case.layout


def test_it_is_108_runs_of_every_mode_in_both_layouts_greedy_and_with_5_seeds(runs: list[Run]) -> None:
    assert len(runs) == 108
    assert Counter(map(group, runs)) == {
        (preset, mode, layout): 6
        for preset, modes in {
            "tiny": ("speaker", "design", "x-vector", "in context"),
            "tiny-1.7b": ("speaker", "speaker + instruction", "design", "x-vector", "in context"),
        }.items()
        for mode in modes
        for layout in ("whole", "streaming")
    }
    assert len({run.report.case.seed for run in runs}) == 6


def test_every_token_of_every_codebook_is_equal(runs: list[Run]) -> None:
    found = [(*group(run), run.report.case.seed, run.report.tokens.first) for run in runs]
    assert [run for run in found if run[-1]] == []
    assert all(run.report.tokens.equal == run.report.tokens.total > 0 for run in runs)


def test_every_run_stops_where_upstream_stops_and_most_stop_by_themselves(runs: list[Run]) -> None:
    stops = [run.report.stop for run in runs]
    ends = [(stop.frames, stop.reason) for stop in stops]
    assert ends == [(stop.oracle_frames, stop.oracle_reason) for stop in stops]
    assert Counter(reason for _, reason in ends)["eos"] > 54


def test_every_wave_is_upstreams_to_the_last_bit_of_a_pcm16(runs: list[Run]) -> None:
    waves = [run.report.wave for run in runs]
    assert all(wave.samples == wave.oracle_samples for wave in waves)
    assert max(wave.pcm16_lsb for wave in waves) <= 1
    assert min(wave.snr_db for wave in waves) >= 90


def test_every_report_says_equal(runs: list[Run]) -> None:
    assert [run.report.verdict for run in runs] == ["equal"] * 108


def test_chance_makes_other_runs_of_the_same_text(runs: list[Run]) -> None:
    for name, same in groupby(runs, group):
        said = {run.ours.grid().tobytes() for run in same}
        assert len(said) == 6, name


def test_an_instruction_that_upstream_drops_is_refused(sides: Sides) -> None:
    tts, _ = sides("tiny", "custom_voice")
    with pytest.raises(ModeError, match="follows no instruction"):
        trace_package(tts, Case("Hello.", "serena", instruct=TOLD))
