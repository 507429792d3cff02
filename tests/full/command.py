"""The command line in a process of its own, timed and measured."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.full.memory import Peak, Watch

PROGRAM = "from qwen3_tts_ncnn.runtime.cli.main import main; main()"
"""What `python -c` runs in place of the installed command, whose environment may be another."""


class Run(NamedTuple):
    """Standard output, seconds, seconds of the processor (of all its cores, and of nobody else's work), peak memory."""

    output: str
    seconds: float
    processor_seconds: float
    peak: Peak


def command(*arguments: str | Path) -> Run:
    """Runs `qwen3-tts-ncnn` and shows what it says. It must succeed."""
    begin, used = time.monotonic(), _children_s_seconds()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
    )
    with Watch(process.pid) as watch:
        output, errors = process.communicate()
    seconds = time.monotonic() - begin
    print(f"\n$ qwen3-tts-ncnn {' '.join(map(str, arguments))}\n{output}{errors}", flush=True)
    assert process.returncode == 0, errors
    return Run(output, seconds, _children_s_seconds() - used, watch.peak)


def _children_s_seconds() -> float:
    """What the processes that have ended used of the processor, their own children included."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
