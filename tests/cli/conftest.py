"""What the command line's tests share: a conversion without pnnx, and a disk that is soon full."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def quick_graphs(tiny_package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes the graphs of a conversion from the finished package; everything around them is real."""

    def copy_graph(plan: Any, package: Path) -> float:
        plan.build()  # marks its tensors as used
        for ending in ("param", "bin"):
            shutil.copyfile(tiny_package / f"{plan.name}.{ending}", package / f"{plan.name}.{ending}")
        return 95.5 if plan.bound.at_least else 1.25e-07

    monkeypatch.setattr("qwen3_tts_ncnn.convert.conversion.export_graph", copy_graph)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a disk of a size such as "5m". Only root may; others see the test skipped."""
    mounted: list[Path] = []

    def mount(size: str) -> Path:
        folder = tmp_path / f"disk-{size}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if shutil.which("mount") is None or os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
            pytest.skip("a small disk can be mounted by root alone")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)
