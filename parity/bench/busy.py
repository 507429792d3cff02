"""Was the machine ours? Who else computed while something was measured, from Linux's /proc."""

import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

BUSY_CORES = 0.1
"""More than this of a core, taken by others, and the figures are doubtful."""


@dataclass(frozen=True)
class CpuTime:
    """Ticks of all cores since the machine was started: spent by any process, and taken by the hypervisor."""

    busy: int
    stolen: int


def read_cpu_time(stat: str) -> CpuTime:
    """From the text of /proc/stat."""
    # cpu user nice system idle iowait irq softirq steal guest …; guest time is in user time already.
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.split("\n", 1)[0].split()[1:9])
    return CpuTime(user + nice + system + irq + softirq, steal)


def read_process_time(stat: str) -> tuple[str, int]:
    """A process's name, and its ticks in user and system mode, from the text of /proc/PID/stat."""
    # The name stands in parentheses and may hold blanks and parentheses itself.
    head, _, rest = stat.rpartition(")")
    fields = rest.split()
    return head.partition("(")[2], int(fields[11]) + int(fields[12])


@dataclass(frozen=True)
class Load:
    """What others took of the machine while something was measured.

    Attributes:
        seconds: how long that was.
        others: cores' worth of time that other processes took; 0.5 is half of one core.
        stolen: cores' worth that the hypervisor gave to other machines.
        busiest: the name of the other process that took most, and its cores' worth; None where none took any.
        load_average: of the minute before.
    """

    seconds: float
    others: float
    stolen: float
    busiest: tuple[str, float] | None
    load_average: float

    @property
    def is_busy(self) -> bool:
        """Whether others may have changed the figures."""
        return self.others + self.stolen > BUSY_CORES

    def sentence(self) -> str:
        """One line that says how much others took."""
        who = ""
        if self.busiest is not None:
            name, cores = self.busiest
            who = f", most of all {name} with {cores:.2f}"
        stolen = f" and the hypervisor {self.stolen:.2f}" if self.stolen >= 0.01 else ""
        return f"other processes took {self.others:.2f} of a core{stolen} while this was measured{who}"


@dataclass(frozen=True)
class _Snapshot:
    clock: float
    cpu: CpuTime
    processes: dict[int, tuple[str, int]]


class LoadWatch:
    """Looks at /proc now, and again at the end."""

    def __init__(self, own: Collection[int], root: Path = Path("/proc")) -> None:
        """Args: own: the processes that measure and are measured."""
        self._own = {*own, os.getpid()}
        self._root = root
        self._begin = self._look()
        self._load_average = self._read_load_average()

    def finish(self) -> Load | None:
        """What others took since; None where there is no /proc to tell."""
        begin, end = self._begin, self._look()
        if begin is None or end is None or end.clock <= begin.clock:
            return None
        seconds = end.clock - begin.clock
        cores_per_tick = 1 / os.sysconf("SC_CLK_TCK") / seconds
        spent = {
            pid: (name, ticks - begin.processes.get(pid, (name, 0))[1]) for pid, (name, ticks) in end.processes.items()
        }
        own = sum(ticks for pid, (_, ticks) in spent.items() if pid in self._own)
        rest = [pair for pid, pair in spent.items() if pid not in self._own and pair[1] > 0]
        name, ticks = max(rest, key=lambda pair: pair[1], default=("", 0))
        return Load(
            seconds=seconds,
            others=max(0, end.cpu.busy - begin.cpu.busy - own) * cores_per_tick,
            stolen=(end.cpu.stolen - begin.cpu.stolen) * cores_per_tick,
            busiest=(name, ticks * cores_per_tick) if ticks else None,
            load_average=self._load_average,
        )

    def _look(self) -> _Snapshot | None:
        try:
            cpu = read_cpu_time((self._root / "stat").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        processes = {}
        for path in self._root.glob("[0-9]*/stat"):
            try:
                processes[int(path.parent.name)] = read_process_time(path.read_text(encoding="utf-8", errors="replace"))
            except OSError:  # it has gone
                continue
        return _Snapshot(time.monotonic(), cpu, processes)

    def _read_load_average(self) -> float:
        try:
            return float((self._root / "loadavg").read_text(encoding="utf-8").split()[0])
        except (OSError, ValueError):
            return float("nan")
