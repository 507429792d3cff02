"""The exact tier: float32 throughout, and no more threads than cores."""

import pytest

from qwen3_tts_ncnn.runtime import cpu
from qwen3_tts_ncnn.runtime.cpu import cpu_options, processor_name, thread_count
from qwen3_tts_ncnn.runtime.errors import OptionError


def test_every_half_precision_of_ncnn_is_off() -> None:
    option = cpu_options(1)
    halves = [name for name in dir(option) if name.startswith("use_") and ("fp16" in name or "bf16" in name)]
    assert set(halves) >= {"use_fp16_storage", "use_fp16_packed", "use_fp16_arithmetic", "use_bf16_storage"}
    assert [name for name in halves if getattr(option, name)] == []
    assert not option.use_vulkan_compute


def test_threads_are_those_asked_for() -> None:
    assert cpu_options(3).num_threads == 3
    assert thread_count(3) == 3


def test_the_default_is_at_least_one_and_at_most_what_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    monkeypatch.setattr("ncnn.get_physical_cpu_count", lambda: 64)
    assert thread_count(None) == 2
    monkeypatch.setattr("ncnn.get_physical_cpu_count", lambda: 0)
    assert thread_count(None) == 1


@pytest.mark.parametrize("threads", [0, -4])
def test_less_than_one_thread_is_refused(threads: int) -> None:
    with pytest.raises(OptionError, match=f"^threads is {threads}, expected 1 or more: leave it out"):
        thread_count(threads)


def test_more_threads_than_any_processor_has_are_refused() -> None:
    assert thread_count(1024) == 1024
    with pytest.raises(OptionError, match=r"^threads is 1025, expected at most 1024: "):
        thread_count(1025)


def test_the_processor_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert processor_name().strip()
    monkeypatch.setattr(cpu.Path, "read_text", lambda *_, **__: "processor\t: 0\nmodel name\t: Abacus 3000\nmhz : 1\n")
    assert processor_name() == "Abacus 3000"
