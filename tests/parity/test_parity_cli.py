"""`qwen3-tts-ncnn parity` exits with 0, 1 or 2 for equal, different and cannot be compared."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner, Result

from qwen3_tts_ncnn.parity import cli
from qwen3_tts_ncnn.parity.cases import Case, default_cases
from qwen3_tts_ncnn.parity.compare import compare
from qwen3_tts_ncnn.parity.quality_report import quality_of
from qwen3_tts_ncnn.parity.run_cases import Asked, spread, suite
from qwen3_tts_ncnn.runtime.errors import AudioError
from tests.parity.synthetic_traces import CASE, forced_run, oracle_trace, package_trace, with_token

EQUAL = compare(CASE, package_trace(oracle_trace()), oracle_trace())
DIFFERENT = compare(CASE, with_token(oracle_trace(), 1, 1, 9), oracle_trace())


def run(monkeypatch: pytest.MonkeyPatch, found: list[Any], *options: str) -> tuple[Result, list[Any]]:
    asked: list[Any] = []

    def compare_all(what: Asked) -> list[Any]:
        asked.append(what)
        return found

    monkeypatch.setattr(cli, "_compare_all", compare_all)
    return CliRunner().invoke(cli.parity, ["package", "checkpoint", *options]), asked


def test_equal_exits_with_0_and_the_suite_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    result, asked = run(monkeypatch, [EQUAL])
    assert result.exit_code == 0
    assert "1 of 1 cases equal" in result.stdout
    assert asked == [Asked(Path("package"), Path("checkpoint"), None, None, False, 96, (), None)]


def test_one_mismatch_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, [EQUAL, DIFFERENT])[0].exit_code == 1


def test_json_is_all_there_is_on_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = run(monkeypatch, [DIFFERENT], "--json")
    assert json.loads(result.stdout)["cases"][0]["tokens"]["first_mismatch"]["codebook"] == 1


def test_a_text_becomes_the_only_case(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--text", "Hi.", "--speaker", "eric", "--language", "chinese", "--streaming-text", "--max-frames", "9")
    _, asked = run(monkeypatch, [EQUAL], *options)
    assert asked[0].single == Case("Hi.", "eric", "chinese", True, 9)


@pytest.mark.parametrize("transcript", [None, "Hello."])
def test_a_text_with_a_reference_becomes_the_only_case(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, transcript: str | None
) -> None:
    path = tmp_path / "me.wav"
    soundfile.write(path, np.full(24_000, 0.5, dtype=np.float32), 16_000)
    options = ("--text", "Hi.", "--reference", str(path), *(("--transcript", transcript) if transcript else ()))
    _, asked = run(monkeypatch, [EQUAL], *options)
    case = asked[0].single
    assert (case.speaker, case.language, case.streaming_text) == (None, "auto", None)
    assert (case.reference.name, case.reference.seconds, case.reference.transcript) == ("me.wav", 1.5, transcript)
    assert case.mode == ("in context" if transcript else "x-vector")


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        (("--speaker", "eric", "--instruct", "Slowly."), "speaker + instruction"),
        (("--instruct", "Slowly."), "design"),
    ],
)
def test_an_instruction_tells_a_speaker_how_or_who_speaks(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], mode: str
) -> None:
    _, asked = run(monkeypatch, [EQUAL], "--text", "Hi.", *options)
    assert (asked[0].single.mode, asked[0].single.instruct) == (mode, "Slowly.")


@pytest.mark.parametrize("of", [(), ("--text", "Hi.", "--speaker", "eric")])
def test_seeds_go_with_the_suite_and_with_a_text(monkeypatch: pytest.MonkeyPatch, of: tuple[str, ...]) -> None:
    _, asked = run(monkeypatch, [EQUAL], *of, "--seed", "7", "--seed", str(2**64 - 1), "--seed=-1")
    assert asked[0].seeds == (7, 2**64 - 1, -1)


def test_a_reference_that_cannot_be_read_stops_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result, asked = run(monkeypatch, [EQUAL], "--text", "Hi.", "--reference", str(tmp_path / "nowhere.wav"))
    assert asked == []
    assert isinstance(result.exception, AudioError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--text", "Hi."), "--text needs --speaker (CustomVoice), --reference (Base) or --instruct (VoiceDesign)"),
        (("--text", "Hi.", "--speaker", "eric", "--reference", "me.wav"), "exclude each other"),
        (("--text", "Hi.", "--instruct", "Slowly.", "--reference", "me.wav"), "--instruct goes with --speaker"),
        (("--instruct", "Slowly."), "go with --text"),
        (("--seed", str(2**64)), "--seed"),
        (("--seed", "one"), "--seed"),
        (("--text", "Hi.", "--speaker", "eric", "--transcript", "Hello."), "--transcript needs --reference"),
        (("--reference", "me.wav"), "go with --text"),
        (("--speaker", "eric"), "go with --text"),
        (("--whole-text",), "go with --text"),
        (("--text", "Hi.", "--speaker", "eric", "--cases", "2"), "--cases goes with the suite"),
        (("--max-frames", "0"), "--max-frames"),
        (("--record",), "--record goes with --teacher-forced"),
        (("--teacher-forced", "--record", "--backend", "vulkan"), "--record goes without --backend"),
    ],
)
def test_options_that_do_not_belong_together_exit_with_2(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    result, asked = run(monkeypatch, [EQUAL], *options)
    assert (result.exit_code, asked) == (2, [])
    assert message in result.stderr


@pytest.mark.parametrize(
    ("kind", "instructions", "modes"),
    [
        ("custom_voice", False, {"speaker": 24}),
        ("custom_voice", True, {"speaker": 24, "speaker + instruction": 8}),
        ("base", False, {"x-vector": 18, "in context": 18}),
        ("voice_design", True, {"design": 24}),
    ],
)
def test_the_suite_is_that_of_the_checkpoint_s_type(kind: str, instructions: bool, modes: dict[str, int]) -> None:
    oracle: Any = SimpleNamespace(
        kind=kind,
        takes_instructions=instructions,
        speakers={"anna": None, "bo": "sichuan_dialect", "cem": None},
        languages=["auto", "chinese", "english", "german"],
    )
    cases = suite(oracle, 9)
    assert Counter(case.mode for case in cases) == modes
    assert {(case.max_frames, case.seed) for case in cases} == {(9, None)}


@pytest.mark.parametrize(
    ("options", "limit"), [((), 7), (("--cases", "3"), 3), (("--text", "Hi.", "--speaker", "eric"), 7)]
)
def test_teacher_forced_takes_a_few_cases_from_all_over_the_suite_and_exits_with_0(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], limit: int
) -> None:
    asked: list[Any] = []

    def measure_all(*arguments: Any) -> tuple[Any, list[Any]]:
        asked.extend(arguments)
        runs = [forced_run(CASE, wrong=5)]
        return quality_of(runs, "tiny"), runs

    monkeypatch.setattr(cli, "_measure_all", measure_all)
    result, compared = run(monkeypatch, [EQUAL], "--teacher-forced", *options)
    assert (result.exit_code, result.stderr, compared) == (0, "", [])
    what, record = asked
    assert (what.limit, what.spread, record) == (limit, True, False)
    assert "teacher-forced by tiny: 1 cases, 4 frames, greedy; top-1 92.31%" in result.stdout


def test_cases_that_are_spread_meet_every_part_of_a_suite() -> None:
    speakers = {"anna": None, "bo": "sichuan_dialect", "cem": None}
    cases = spread(default_cases(speakers, ["auto", "chinese", "english", "german"]), cli.FEW_CASES)
    assert len(cases) == 7
    assert {case.speaker for case in cases} == set(speakers)
    assert len({case.text for case in cases}) == 4
    assert {case.streaming_text for case in cases} == {True, False}
    assert spread(cases, 99) == cases


def test_help_imports_no_torch() -> None:
    program = (
        "import sys; from qwen3_tts_ncnn.parity.cli import parity\n"
        "parity(['--help'], standalone_mode=False)\n"
        "assert not {'torch', 'transformers', 'qwen_tts', 'librosa'} & set(sys.modules), 'heavy import'"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--streaming-text / --whole-text" in done.stdout
