"""The command line in a process of its own, timed and measured."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

_PROGRAM = """
import atexit, resource, sys
from qwen3_tts_ncnn.runtime.cli.main import main
who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
atexit.register(lambda: print('PEAK', sum(resource.getrusage(w).ru_maxrss for w in who), file=sys.stderr))
main()
"""


class Run(NamedTuple):
    """Standard output, seconds, and the peak memory of the process and of its largest child, added, in bytes."""

    output: str
    seconds: float
    peak: int


def command(*arguments: str | Path) -> Run:
    """Runs `qwen3-tts-ncnn` and shows what it says. It must succeed."""
    begin = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
        check=False,
    )
    seconds = time.monotonic() - begin
    print(f"\n$ qwen3-tts-ncnn {' '.join(map(str, arguments))}\n{run.stdout}{run.stderr}", flush=True)
    assert run.returncode == 0, run.stderr
    return Run(run.stdout, seconds, int(run.stderr.rsplit("PEAK", 1)[1]) * 1024)
