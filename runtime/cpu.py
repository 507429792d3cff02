"""How ncnn runs on the CPU: precision and threads, chosen here and nowhere else."""

import os
import platform
from pathlib import Path

import ncnn

from qwen3_tts_ncnn.runtime.errors import OptionError

_MOST_THREADS = 1024


def cpu_options(threads: int, precision: str = "fp32") -> ncnn.Option:
    """Options for a graph of a precision: float32 throughout, but for bf16 graphs.

    ncnn's half-precision storage and arithmetic are on by default and flip arg max over 28 layers. int8 weights say so
    themselves, in the graph.
    """
    option = ncnn.Option()
    option.num_threads = threads
    option.use_vulkan_compute = False
    for half in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage", "bf16_packed"):
        setattr(option, f"use_{half}", precision == "bf16" and half.startswith("bf16"))
    return option


def allowed_cores() -> int:
    """The cores that this process may run on, the two of a core with two threads counted apart."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_name() -> str:
    """As its maker calls it, where the system says."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = next((line for line in lines if line.startswith("model name")), "")
    return named.partition(":")[2].strip() or platform.processor() or platform.machine()


def thread_count(threads: int | None) -> int:
    """The number of threads to use: the one asked for, or the physical cores this process may run on.

    More threads than free cores is a cliff, not a slope: a step then takes several times as long.
    Raises `OptionError` for less than one, and for more than any processor has: OpenMP crashes on some such numbers.
    """
    if threads is None:
        return max(1, min(int(ncnn.get_physical_cpu_count()), allowed_cores()))
    if threads < 1:
        raise OptionError(f"threads is {threads}, expected 1 or more: leave it out to use the physical cores")
    if threads > _MOST_THREADS:
        raise OptionError(
            f"threads is {threads}, expected at most {_MOST_THREADS}: leave it out to use the physical cores"
        )
    return threads
