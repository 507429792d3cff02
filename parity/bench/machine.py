"""What the figures were measured on."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen3_tts_ncnn.parity.versions import installed
from qwen3_tts_ncnn.runtime.cpu import allowed_cores, processor_name

VERSIONS_OF = ("qwen3-tts-ncnn", "ncnn", "torch", "transformers", "qwen-tts", "numpy")

SETTINGS = ("OMP_", "GOMP_", "KMP_", "MKL_", "GLIBC_TUNABLES", "MALLOC_", "LD_PRELOAD")
"""Beginnings of the environment variables that change how fast both sides run."""


@dataclass(frozen=True)
class Machine:
    """Processor, cores that this process may use, versions, and settings of OpenMP and malloc."""

    processor: str
    cores: int
    system: str
    python: str
    versions: dict[str, str]
    environment: dict[str, str]
    huge_pages: str | None

    @classmethod
    def this(cls) -> "Machine":
        """The one that this runs on."""
        return cls(
            processor=processor_name(),
            cores=allowed_cores(),
            system=f"{platform.system()} {platform.release()} {platform.machine()}",
            python=platform.python_version(),
            versions=installed(VERSIONS_OF),
            environment={name: value for name, value in sorted(os.environ.items()) if name.startswith(SETTINGS)},
            huge_pages=_read(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
        )

    def sentence(self, threads: int) -> str:
        """One line for people."""
        parts: list[Any] = [
            f"{self.processor}, {self.cores} cores",
            f"{threads} thread{'s' if threads > 1 else ''}",
            *(f"{name} {self.versions[name]}" for name in ("ncnn", "torch") if name in self.versions),
            *(f"{name}={value}" for name, value in self.environment.items()),
        ]
        return ", ".join(parts)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
