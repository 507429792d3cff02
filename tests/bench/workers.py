"""A worker that answers at once, with made-up seconds."""

from typing import Any, Self

import pytest

from qwen3_tts_ncnn.parity.bench import rounds
from qwen3_tts_ncnn.parity.bench.errors import BenchError
from tests.bench.reports import round_of


class FakeWorker:
    """Answers what is asked, and writes it down. A round takes 2 s, times `scales` of its name.

    `failures` are the lines with which questions fail, by name and question.
    """

    asked: list[tuple[str, str, dict[str, Any]]]
    scales: dict[str, float]
    failures: dict[tuple[str, str], str]
    pid = 1

    def __init__(self, name: str, command: list[str]) -> None:
        self.name, self.command = name, command

    def ask(self, question: str, **arguments: Any) -> dict[str, Any]:
        self.asked.append((self.name, question, arguments))
        if (self.name, question) in self.failures:
            raise BenchError(self.failures[self.name, question])
        if question == "load":
            return {"load_seconds": 1.0, "graphs": {}, "prompt_rows": 20} | (
                {"pretokenizer": "directory"} if "upstream" in self.command[-1] else {}
            )
        if question == "steps":
            seconds = 0.1 if arguments["position"] == 50 else 0.2
            return {"frames": arguments["frames"], "talker_seconds": seconds, "predictor_seconds": 0.0}
        return round_of(self.scales.get(self.name, 1.0)) if question == "round" else {"peak_bytes": 10**9}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.asked.append((self.name, "end", {}))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, dict[str, Any]]]:
    FakeWorker.asked, FakeWorker.scales, FakeWorker.failures = [], {}, {}
    monkeypatch.setattr(rounds, "Worker", FakeWorker)
    return FakeWorker.asked
