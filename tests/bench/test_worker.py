"""A worker answers line by line, and its refusals and its death are one clear line each."""

import os
import signal
import sys
import time

import pytest

from qwen3_tts_ncnn.parity.bench.errors import BenchError
from qwen3_tts_ncnn.parity.bench.worker import Worker

PROGRAM = """
import os, signal, sys
from qwen3_tts_ncnn.parity.bench.serve import peak_memory, serve
from qwen3_tts_ncnn.runtime.errors import OptionError

def refuse():
    raise OptionError("frames is 0, expected 1 or more")

def stumble():
    raise ZeroDivisionError("division by zero")

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def chatter():
    print("a banner")
    os.system("echo another")
    return {}

def need():
    import a_package_that_nobody_has

serve({
    "double": lambda value: {"value": 2 * value}, "refuse": refuse, "stumble": stumble, "die": die,
    "chatter": chatter, "need": need, "memory": peak_memory,
})
"""


@pytest.fixture
def worker() -> Worker:
    return Worker("mine-int8", [sys.executable, "-c", PROGRAM])


def test_a_question_gets_its_answer(worker: Worker) -> None:
    with worker:
        assert worker.ask("double", value=21) == {"value": 42}
        assert worker.ask("double", value="é\n") == {"value": "é\né\n"}


def test_what_is_printed_on_the_way_is_not_taken_for_an_answer(worker: Worker) -> None:
    with worker:
        assert worker.ask("chatter") == {}
        assert worker.ask("double", value=1) == {"value": 2}


def test_a_refusal_names_the_worker_and_leaves_it_alive(worker: Worker) -> None:
    with worker:
        with pytest.raises(BenchError, match=r"^mine-int8: frames is 0, expected 1 or more$"):
            worker.ask("refuse")
        assert worker.ask("double", value=1) == {"value": 2}


def test_a_package_that_is_missing_is_told_as_what_to_install(worker: Worker) -> None:
    message = r"^mine-int8: a_package_that_nobody_has is not installed: pip install 'qwen3-tts-ncnn\[parity\]'$"
    with worker, pytest.raises(BenchError, match=message):
        worker.ask("need")


def test_a_bug_ends_the_worker_and_its_last_words_are_told(worker: Worker) -> None:
    with (
        worker,
        pytest.raises(
            BenchError, match=r"^mine-int8: its process ended with status 1 \(ZeroDivisionError: division by zero\)$"
        ),
    ):
        worker.ask("stumble")


def test_a_killed_worker_is_told_as_memory_that_ran_out(worker: Worker) -> None:
    with worker:
        with pytest.raises(BenchError, match=r"its process was killed by SIGKILL, as Linux does when memory runs out"):
            worker.ask("die")
        with pytest.raises(BenchError, match="was killed by SIGKILL"):
            worker.ask("double", value=1)


def test_a_worker_is_gone_after_its_with(worker: Worker) -> None:
    with worker:
        worker.ask("double", value=1)
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)


def test_an_error_does_not_wait_for_a_worker_that_is_at_work() -> None:
    begun = time.monotonic()
    with (
        pytest.raises(KeyboardInterrupt),
        Worker("slow", [sys.executable, "-c", "import time; time.sleep(60)"]) as slow,
    ):
        raise KeyboardInterrupt
    assert time.monotonic() - begun < 5
    assert slow._process.returncode == -signal.SIGKILL


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's /proc")
def test_the_peak_is_the_worker_s_own_memory(worker: Worker) -> None:
    with worker:
        peak = worker.ask("memory")["peak_bytes"]
    assert 5e6 < peak < 1e9
