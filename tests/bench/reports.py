"""Made-up results, whose figures can be reckoned by hand."""

from pathlib import Path
from typing import Any

from qwen3_tts_ncnn.parity.bench.busy import Load
from qwen3_tts_ncnn.parity.bench.entries import entries_of
from qwen3_tts_ncnn.parity.bench.figures import FIGURES, LOAD, PEAK, Result, spreads
from qwen3_tts_ncnn.parity.bench.job import Job
from qwen3_tts_ncnn.parity.bench.machine import Machine
from qwen3_tts_ncnn.parity.bench.report import Report
from qwen3_tts_ncnn.parity.bench.rounds import Plan

QUIET = Load(seconds=10.0, others=0.02, stolen=0.0, busiest=None, load_average=0.1)
BUSY = Load(seconds=10.0, others=0.5, stolen=0.02, busiest=("cc1plus", 0.45), load_average=1.5)

MACHINE = Machine(
    processor="Abacus 3000",
    cores=2,
    system="Linux 6 x86_64",
    python="3.11.0",
    versions={"ncnn": "1.0", "torch": "2.0"},
    environment={"OMP_WAIT_POLICY": "passive"},
    huge_pages="always [madvise] never",
)


def round_of(scale: float = 1.0, **more: Any) -> dict[str, Any]:
    """A round of 10 frames (0.8 s) that took 2 s at scale 1."""
    seconds = {
        "seconds": 2.0,
        "cpu_seconds": 3.0,
        "prefill_seconds": 0.1,
        "talker_seconds": 0.5,
        "predictor_seconds": 1.0,
        "codec_seconds": 0.4,
    }
    lengths = {"frames": 10, "stop": "limit", "audio_seconds": 0.8, "codec_audio_seconds": 0.8, "prompt_rows": 20}
    return {name: value * scale for name, value in seconds.items()} | lengths | more


def result_of(name: str, *scales: float, upstream: bool = False, **more: Any) -> Result:
    """What the rounds of a contestant come to."""
    rounds = [round_of(scale, **more) for scale in scales]
    once = spreads([LOAD], [{"load_seconds": 2.0 * scales[0]}]) | spreads([PEAK], [{"peak_bytes": 10**9 * scales[0]}])
    return Result(
        name=name,
        path=f"/there/{name}",
        backend=None if upstream else "cpu",
        graphs={} if upstream else {"talker_decoder": "int8"},
        prompt_rows=20,
        frames=(10,) * len(scales),
        stops=("limit",) * len(scales),
        figures=once | spreads(FIGURES, rounds),
    )


def report_of(*results: Result, load: Load | None = QUIET, frames: int = 10) -> Report:
    """A report of some results."""
    plan = Plan(
        entries_of([Path("/there/mine")], Path("/there/ck"), "cpu"), Job("Hi.", threads=2, frames=frames), rounds=3
    )
    return Report(plan, results, MACHINE, load)
