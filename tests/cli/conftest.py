"""What the command line's tests share: more packages, a recording, conversions without pnnx, a full disk."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from qwen3_tts_ncnn.runtime.loader import Loader
from tests.cli.command_line import run
from tests.cli.damage import linked_copy
from tests.cli.recordings import write_recording


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of three seconds, stereo at 44.1 kHz."""
    return write_recording(tmp_path_factory.mktemp("reference") / "me.wav", 3.1, 44100, 2)


@pytest.fixture(scope="session")
def codec_checkpoint(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny checkpoint's codec alone, laid out as Qwen3-TTS-Tokenizer-12Hz is. Read it, never change it."""
    folder = tmp_path_factory.mktemp("checkpoint") / "tiny-codec"
    return linked_copy(tiny_checkpoint / "speech_tokenizer", folder)


@pytest.fixture(scope="session")
def codec_package(codec_checkpoint: Path, tiny_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the codec alone, by the command line, with the files of the other one. Read it, never change it.

    tests/convert/test_conversion.py has it that a conversion of the codec alone makes the same files.
    """
    package = tmp_path_factory.mktemp("package") / "tiny-codec-fp32"
    result = run("convert", codec_checkpoint, "-o", package, "--codec-from", tiny_package)
    assert result.exit_code == 0, result.output
    return package


@pytest.fixture
def quick_graphs_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Takes the graphs of a conversion from a finished package; everything around them is real."""

    def take_from(finished: Path) -> None:
        def copy_graph(plan: Any, package: Path) -> float:
            plan.build()  # marks its tensors as used
            for ending in ("param", "bin"):
                shutil.copyfile(finished / f"{plan.name}.{ending}", package / f"{plan.name}.{ending}")
            return 95.5 if plan.bound.at_least else 1.25e-07

        monkeypatch.setattr("qwen3_tts_ncnn.convert.conversion.export_graph", copy_graph)

    return take_from


@pytest.fixture
def quick_graphs(quick_graphs_of: Callable[[Path], None], tiny_package: Path) -> None:
    """Takes the graphs of a conversion from the tiny CustomVoice package."""
    quick_graphs_of(tiny_package)


@pytest.fixture
def nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is refused before a package is verified and its graphs are loaded."""

    def load(*_arguments: object, **_named: object) -> None:
        raise AssertionError("loaded before it was refused")

    monkeypatch.setattr(Loader, "open", load)


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
