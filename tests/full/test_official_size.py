"""Official sizes with random weights: minutes of work and gigabytes of disk. Run by `make parity-full`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

GIGABYTE = 10**9
MINUTE = 60.0

# (text, speaker, language, layout): long enough for 30 frames, one of each layout, one with a dialect.
RUNS = (
    ("Hello there, this is a rather longer sentence, so that it takes a while.", "ryan", "english", "--whole-text"),
    ("今天天气很好，我们一起去公园散步，然后回家喝茶，好不好？", "eric", "auto", "--streaming-text"),
)


def command(*arguments: str | Path) -> tuple[str, float, int]:
    """Runs the command line; returns standard output, seconds, and the peak memory of it and its children in bytes."""
    program = "import resource,sys; from qwen3_tts_ncnn.runtime.cli.main import main\n"
    program += "import atexit; who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)\n"
    program += (
        "atexit.register(lambda: print('PEAK', sum(resource.getrusage(w).ru_maxrss for w in who), file=sys.stderr))\n"
    )
    program += "main()\n"
    begin = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
        check=False,
    )
    seconds = time.monotonic() - begin
    print(f"\n$ qwen3-tts-ncnn {' '.join(map(str, arguments))}\n{run.stdout}{run.stderr}", flush=True)
    assert run.returncode == 0, run.stderr
    peak = int(run.stderr.rsplit("PEAK", 1)[1]) * 1024
    return run.stdout, seconds, peak


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("official") / "0.6b-customvoice"
    command("checkpoint", folder, "--preset", "0.6b", "--type", "custom_voice")
    return folder


@pytest.fixture(scope="module")
def conversion(checkpoint: Path) -> tuple[Path, float, int]:
    package = checkpoint.parent / "0.6b-customvoice-fp32"
    _, seconds, peak = command("convert", checkpoint, "-o", package)
    return package, seconds, peak


def test_converting_stays_under_12_gb_and_15_minutes(conversion: tuple[Path, float, int]) -> None:
    _, seconds, peak = conversion
    print(f"conversion: {seconds:.0f} s, {peak / GIGABYTE:.1f} GB at the peak (this process and pnnx added)")
    assert peak < 12 * GIGABYTE
    assert seconds < 15 * MINUTE


@pytest.mark.parametrize(("text", "speaker", "language", "layout"), RUNS, ids=["whole", "streaming"])
def test_every_token_of_at_least_30_frames_is_equal(
    checkpoint: Path, conversion: tuple[Path, float, int], text: str, speaker: str, language: str, layout: str
) -> None:
    options: Sequence[str] = ("--text", text, "--speaker", speaker, "--language", language, layout, "--json")
    output, _, _ = command("parity", conversion[0], checkpoint, *options)
    (case,) = json.loads(output)["cases"]
    assert case["verdict"] == "equal"
    assert case["stop"]["frames"] >= 30
    assert case["tokens"]["equal"] == case["tokens"]["total"] >= 30 * 16
