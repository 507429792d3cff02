"""The official 0.6B size in int8: what it holds in memory, loaded, speaking, and streaming for ten minutes."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from qwen3_tts_ncnn.parity.bench.memory import AVAILABLE, resident
from tests.full.command import PROGRAM, command
from tests.full.memory import Watch

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not AVAILABLE, reason="memory is measured through Linux's /proc"),
]

MEGABYTE = 10**6
GIGABYTE = 10**9
BYTES_A_SECOND = 24_000 * 2
SENTENCE = "Good evening, and welcome to the night train, which takes us through the mountains and down to the sea. "
HOW = ("--speaker", "serena", "--language", "english", "--seed", "1", "--no-watchdog", "--no-budget")


@pytest.fixture(scope="module")
def int8(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("int8")
    command("checkpoint", folder / "checkpoint", "--preset", "0.6b", "--type", "custom_voice")
    command("convert", folder / "checkpoint", "-o", folder / "int8", "--precision", "int8")
    return folder / "int8"


@contextmanager
def streaming(package: Path, text: str) -> Iterator["subprocess.Popen[bytes]"]:
    """`speak … -o - --raw` while it speaks."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "speak", package, text, *HOW, "-o", "-", "--raw"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_speech_takes_less_than_one_and_a_half_gigabytes(int8: Path) -> None:
    with streaming(int8, SENTENCE) as process, Watch(process.pid) as watch:
        assert process.stdout is not None
        said = len(process.stdout.read())
    print(f"{said / BYTES_A_SECOND:.1f} s of speech, {watch.peak.own / GIGABYTE:.2f} GB at the peak")
    assert said > 0
    assert watch.peak.own <= 1.5 * GIGABYTE


def test_ten_minutes_of_a_stream_hold_no_more_than_its_first_minute(int8: Path) -> None:
    held = {}
    with streaming(int8, SENTENCE * 1000) as process:
        assert process.stdout is not None
        begun = time.monotonic()
        for minute in range(1, 11):
            assert len(process.stdout.read(60 * BYTES_A_SECOND)) == 60 * BYTES_A_SECOND
            held[minute] = resident(process.pid).now
            print(
                f"minute {minute}: {held[minute] / MEGABYTE:.0f} MB, after {time.monotonic() - begun:.0f} s", flush=True
            )
    assert max(held.values()) - held[1] < 50 * MEGABYTE
