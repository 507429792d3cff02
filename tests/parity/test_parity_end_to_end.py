"""The command from end to end, with upstream itself in the package's place."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.cli import parity
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.runtime import TTS


class Impostor:
    """Upstream that answers as a package does; `slip` adds 1 to that code of frame 1."""

    def __init__(self, oracle: Oracle, slip: int | None) -> None:
        self.oracle = oracle
        self.slip = slip

    def prompt(self, text: str, *, voice: None, **options: Any) -> SimpleNamespace:
        trace = self.oracle.speak(Case(text, max_frames=1, **options))
        return SimpleNamespace(rows=trace.prompt, trailing=trace.trailing)

    def speak(
        self, text: str, *, voice: None, greedy: bool, split: bool, budget: bool, watchdog: bool, **options: Any
    ) -> SimpleNamespace:
        assert greedy == (options["seed"] is None)
        assert (split, budget, watchdog) == (False, False, False)
        trace = self.oracle.speak(Case(text, **options))
        codes = trace.codes.copy()
        if self.slip is not None:
            codes[1, self.slip] += 1
        return SimpleNamespace(codes=codes, selections=trace.selections, stop=trace.stop, samples=trace.samples)


def compare_two_cases(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, slip: int | None, *more: str
) -> tuple[int, Any]:
    def load(package: Path, *, backend: str, threads: int | None, pretokenizer: str) -> Any:
        assert (package, backend, pretokenizer) == (Path("package"), "cpu", "directory")
        return Impostor(Oracle.load(checkpoint, threads), slip)

    monkeypatch.setattr(TTS, "load", load)
    options = ["--cases", "2", "--max-frames", "4", "--threads", "1", "--json"]
    result = CliRunner().invoke(parity, ["package", str(checkpoint), *options, *more], catch_exceptions=False)
    return result.exit_code, json.loads(result.stdout)


def test_upstream_equals_itself(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, document = compare_two_cases(tiny_checkpoint, monkeypatch, slip=None)
    assert (status, document["equal"]) == (0, True)
    assert document["summary"]["tokens"] == document["summary"]["equal_tokens"] == 2 * (4 * 16 + 1)
    assert document["summary"]["worst_prompt_relative"] == 0


def test_upstream_equals_itself_with_every_seed(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, document = compare_two_cases(tiny_checkpoint, monkeypatch, None, "--seed", "3", "--seed", "4")
    assert (status, document["equal"]) == (0, True)
    assert [case["seed"] for case in document["cases"]] == [3, 4, 3, 4]


def test_one_wrong_code_fails_the_command(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, document = compare_two_cases(tiny_checkpoint, monkeypatch, slip=6)
    assert (status, document["equal"]) == (1, False)
    first = document["cases"][1]["tokens"]["first_mismatch"]
    assert (first["frame"], first["codebook"], first["ours"]) == (1, 6, first["oracle"] + 1)
