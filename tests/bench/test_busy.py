"""What other processes took of the machine, from made-up texts of /proc."""

import math
import os
from pathlib import Path

import pytest

from qwen3_tts_ncnn.parity.bench import busy
from qwen3_tts_ncnn.parity.bench.busy import CpuTime, Load, LoadWatch, read_cpu_time, read_process_time

TICKS = os.sysconf("SC_CLK_TCK")
OWN, OTHER, IDLE = 400, 401, 402


def process_stat(name: str, user: int, system: int = 0) -> str:
    return f"7 ({name}) S 1 7 7 0 -1 4194304 100 0 0 0 {user} {system} 99 99 20 0 1 0 12345 1000 100"


class FakeProc:
    """A /proc whose clock is ours."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self._clock = 0.0
        monkeypatch.setattr(busy.time, "monotonic", lambda: self._clock)
        (root / "loadavg").write_text("1.25 0.50 0.40 1/200 999\n")
        (root / "self").mkdir()

    def write(self, seconds: float, busy_ticks: int, stolen: int, processes: dict[int, tuple[str, int]]) -> None:
        self._clock = seconds
        (self.root / "stat").write_text(f"cpu  {busy_ticks} 0 0 5000 10 0 0 {stolen} 0 0\ncpu0 1 2 3 4\n")
        for pid, (name, ticks) in processes.items():
            (self.root / str(pid)).mkdir(exist_ok=True)
            (self.root / str(pid) / "stat").write_text(process_stat(name, ticks))


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeProc:
    return FakeProc(tmp_path, monkeypatch)


def test_busy_time_is_all_but_idle_waiting_and_stolen() -> None:
    text = "cpu  100 20 30 4000 500 6 7 80 90 95\ncpu0 50 10 15 2000 250 3 3 40 45 47\n"
    assert read_cpu_time(text) == CpuTime(busy=163, stolen=80)


def test_a_process_s_name_may_hold_blanks_and_parentheses() -> None:
    assert read_process_time(process_stat("a (b) c) d", 5, 8)) == ("a (b) c) d", 13)


def test_what_others_took_is_all_that_was_busy_less_our_own(proc: FakeProc) -> None:
    proc.write(100.0, 10_000, 50, {OWN: ("worker", 700), OTHER: ("cc1plus", 300), IDLE: ("init", 1)})
    watch = LoadWatch([OWN], proc.root)
    after = {OWN: ("worker", 700 + 15 * TICKS), OTHER: ("cc1plus", 300 + 4 * TICKS), IDLE: ("init", 1)}
    proc.write(110.0, 10_000 + 20 * TICKS, 50 + TICKS, after)
    load = watch.finish()
    assert load == Load(seconds=10.0, others=0.5, stolen=0.1, busiest=("cc1plus", 0.4), load_average=1.25)
    assert load.is_busy
    assert load.sentence() == (
        "other processes took 0.50 of a core and the hypervisor 0.10 while this was measured, "
        "most of all cc1plus with 0.40"
    )


def test_a_machine_of_our_own_is_not_busy(proc: FakeProc) -> None:
    proc.write(0.0, 0, 0, {OWN: ("worker", 0)})
    watch = LoadWatch([OWN], proc.root)
    proc.write(10.0, 20 * TICKS + TICKS // 2, 0, {OWN: ("worker", 20 * TICKS)})
    load = watch.finish()
    assert load == Load(10.0, 0.05, 0.0, None, 1.25)
    assert not load.is_busy
    assert load.sentence() == "other processes took 0.05 of a core while this was measured"


def test_a_process_that_began_meanwhile_counts_from_its_beginning(proc: FakeProc) -> None:
    proc.write(0.0, 0, 0, {})
    watch = LoadWatch([OWN], proc.root)
    proc.write(10.0, 5 * TICKS, 0, {OTHER: ("late", 5 * TICKS)})
    load = watch.finish()
    assert load is not None
    assert load.busiest == ("late", 0.5)


def test_clocks_that_disagree_make_nothing_below_zero(proc: FakeProc) -> None:
    proc.write(0.0, 0, 0, {OWN: ("worker", 0)})
    watch = LoadWatch([OWN], proc.root)
    proc.write(10.0, 5, 0, {OWN: ("worker", 9)})
    load = watch.finish()
    assert load is not None
    assert load.others == 0.0


def test_without_a_proc_nothing_is_known(tmp_path: Path) -> None:
    assert LoadWatch([OWN], tmp_path / "nowhere").finish() is None


def test_a_load_average_that_cannot_be_read_is_no_number(proc: FakeProc) -> None:
    (proc.root / "loadavg").unlink()
    proc.write(0.0, 0, 0, {})
    watch = LoadWatch([OWN], proc.root)
    proc.write(1.0, 0, 0, {})
    load = watch.finish()
    assert load is not None
    assert math.isnan(load.load_average)


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="Linux's /proc")
def test_this_machine_s_own_proc_is_read() -> None:
    watch = LoadWatch([])
    sum(range(300_000))
    load = watch.finish()
    assert load is not None
    assert load.seconds > 0
    assert load.others >= 0
    assert load.stolen >= 0
