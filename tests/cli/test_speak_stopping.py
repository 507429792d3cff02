"""`speak` and what ends it: --split, --budget, --watchdog and --retry reach the library, and the end is told."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from qwen3_tts_ncnn.runtime import TTS, Speech
from qwen3_tts_ncnn.runtime.generation import process_talker_logits
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.sampling import NEVER
from qwen3_tts_ncnn.runtime.stopping import StopReason, Watchdog, retry_seed
from tests.cli.command_line import run

TEXT = "Hello there."
LONG = " ".join(f"This is sentence {number}, which is not so long that it must be cut." for number in range(1, 6))


def speak(package: Path, *arguments: str | Path) -> Any:
    """Runs `speak` with what every run here needs, and expects it to succeed."""
    result = run("speak", package, *arguments, "--speaker", "ryan", "--threads", "1")
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The keyword arguments of every speech from now on, each a made-up one that ends by silence."""
    calls: list[dict[str, Any]] = []

    def made_up(_tts: TTS, _text: str, **options: Any) -> Speech:
        calls.append(options)
        codes = np.zeros((2, 16), dtype=np.int32)
        return Speech(np.zeros(2 * 1920, np.float32), 24000, codes, codes[:, 0], "silence", options["seed"])

    monkeypatch.setattr(TTS, "speak", made_up)
    return calls


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"split": True, "budget": True, "watchdog": True, "retry": 0}),
        (("--no-split",), {"split": False}),
        (("--no-budget",), {"budget": False}),
        (("--no-watchdog",), {"watchdog": False}),
        (("--split", "--budget", "--watchdog"), {"split": True, "budget": True, "watchdog": True}),
        (("--retry", "3"), {"retry": 3}),
    ],
)
def test_the_options_reach_the_library(
    tiny_package: Path, tmp_path: Path, asked: list[dict[str, Any]], options: tuple[str, ...], expected: dict[str, Any]
) -> None:
    speak(tiny_package, TEXT, *options, "-o", tmp_path / "a.wav")
    [given] = asked
    assert {name: given[name] for name in expected} == expected


@pytest.mark.usefixtures("asked")
def test_what_stopped_it_is_told_with_what_to_do(tiny_package: Path, tmp_path: Path) -> None:
    result = speak(tiny_package, TEXT, "--seed", "4", "-o", tmp_path / "a.wav")
    warning, line = result.stderr.splitlines()
    assert warning == (
        "Warning: the speech was stopped because it had fallen silent: try another --seed, or --retry 2; --no-watchdog "
        "lets it go on"
    )
    assert line.endswith("stopped by silence, seed 4")
    result = speak(tiny_package, TEXT, "--seed", "4", "--json", "-o", tmp_path / "a.wav")
    assert result.stderr.splitlines() == [warning]
    report = json.loads(result.stdout)
    assert (report["stop"], report["seed"], report["instruct"]) == ("silence", 4, None)


def test_repetition_is_stopped_unless_it_is_let_go_on(
    tiny_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tiny model ends soon and does not repeat itself, so EOS is forbidden and a dog barks at nothing."""
    monkeypatch.setattr("qwen3_tts_ncnn.runtime.engine.Watchdog", Alarmed)
    monkeypatch.setattr("qwen3_tts_ncnn.runtime.generation.process_talker_logits", without_eos)
    arguments = (tiny_package, TEXT, "--seed", "0", "--max-frames", "30", "-o", tmp_path / "a.wav")
    warning, line = speak(*arguments).stderr.splitlines()
    assert warning == (
        "Warning: the speech was stopped because it repeated itself without end: try another --seed, or --retry 2; "
        "--no-watchdog lets it go on"
    )
    assert "stopped by repeat, seed 0" in line
    assert soundfile.info(tmp_path / "a.wav").frames == 10 * 1920
    assert "stopped by limit" in speak(*arguments, "--no-watchdog").stderr


class Alarmed(Watchdog):
    """Finds that the tenth frame repeats."""

    frames = 0

    def check(self, *_: Any) -> Any:
        self.frames += 1
        return StopReason.REPEAT if self.frames == 10 else None


def without_eos(*parts: Any) -> Floats:
    scores = process_talker_logits(*parts)
    scores[2150] = NEVER
    return scores


def test_a_long_text_is_spoken_in_pieces_with_pauses_unless_it_is_not_to_be_split(
    tiny_package: Path, tmp_path: Path
) -> None:
    def frames(*options: str) -> tuple[int, int]:
        result = speak(
            tiny_package, LONG, "--seed", "1", "--max-frames", "3", "--json", *options, "-o", tmp_path / "a.wav"
        )
        return json.loads(result.stdout)["frames"], soundfile.info(tmp_path / "a.wav").frames

    assert frames() == (6, 6 * 1920 + 6000)
    assert frames("--no-split") == (3, 3 * 1920)


def test_the_budget_is_of_the_text_unless_there_is_none(
    tiny_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwen3_tts_ncnn.runtime.tts.frame_budget", lambda tokens: tokens)
    tokens = len(TTS.load(tiny_package, threads=1)._tokenizer.encode(TEXT))

    def report(*options: str) -> tuple[int, str]:
        result = speak(tiny_package, TEXT, "--seed", "1", "--json", *options, "-o", tmp_path / "a.wav")
        record = json.loads(result.stdout)
        return record["frames"], record["stop"]

    assert report() == (tokens, "limit")
    assert report("--no-budget", "--max-frames", str(tokens + 1)) == (tokens + 1, "limit")


def test_a_retry_that_ends_by_itself_is_no_warning(tiny_package: Path, tmp_path: Path) -> None:
    def report(seed: int, *options: str) -> tuple[Any, str]:
        output = ("-o", tmp_path / "a.wav")
        result = speak(tiny_package, TEXT, "--seed", str(seed), "--max-frames", "25", "--json", *options, *output)
        return json.loads(result.stdout), result.stderr

    ends = {seed: report(seed)[0]["stop"] for seed in range(6)}
    seed = next(
        seed for seed, stop in ends.items() if stop == "limit" and report(retry_seed(seed, 1))[0]["stop"] == "eos"
    )
    record, told = report(seed, "--retry", "1")
    assert (record["stop"], record["seed"], told) == ("eos", seed, "")
