"""How much memory a process holds, from Linux's /proc.

Not from getrusage: what that tells of a child includes what its parent held at the moment of the fork.
"""

from pathlib import Path
from typing import NamedTuple

AVAILABLE = Path("/proc/self/status").exists()


class Resident(NamedTuple):
    """Bytes that a process has held at most, and holds now, mapped files included."""

    most: int
    now: int


def resident(pid: int) -> Resident:
    """What /proc says of one process; nothing of one that is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return Resident(0, 0)
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    most, now = (int(fields.get(name, "0 kB").split()[0]) * 1024 for name in ("VmHWM", "VmRSS"))
    return Resident(most, now)
