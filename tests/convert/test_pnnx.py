"""Running pnnx: what it is told, and every way it can fail, in one line."""

import errno
import shutil
import stat
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export import pnnx
from qwen3_tts_ncnn.convert.export.pnnx import convert_trace, pnnx_executable, trace
from qwen3_tts_ncnn.runtime.param import read_param

WRITES = """
import sys
open("traced.ncnn.param", "w").write("7767517\\n0 0\\n")
open("traced.ncnn.bin", "wb").write(b"weights")
open("arguments", "w").write("\\n".join(sys.argv[1:]))
"""


class Doubled(nn.Module):
    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        return 2 * x + ids.sum()


def example(rows: int) -> tuple[Tensor, Tensor]:
    return torch.zeros(1, rows, 4), torch.zeros(1, rows, dtype=torch.int32)


def run(folder: Path) -> pnnx.Exported:
    return convert_trace(trace(Doubled(), example(3), folder), example(3), example(5))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pnnx that runs the Python script that the test writes."""
    script = tmp_path / "pnnx"
    monkeypatch.setattr(pnnx, "pnnx_executable", lambda: script)
    return script


def becomes(script: Path, code: str) -> None:
    script.write_text(f"#!{sys.executable}\n{code}")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


def refusal(folder: Path) -> str:
    with pytest.raises(ConversionError) as caught:
        run(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_pnnx_is_told_both_lengths_and_to_keep_float32(fake: Path, work: Path) -> None:
    becomes(fake, WRITES)
    exported = run(work)
    assert (exported.param, exported.bin.read_bytes()) == ("7767517\n0 0\n", b"weights")
    assert (work / "arguments").read_text().splitlines() == [
        "traced.pt",
        "inputshape=[1,3,4]f32,[1,3]i32",
        "inputshape2=[1,5,4]f32,[1,5]i32",
        "fp16=0",
        "optlevel=2",
    ]


def test_a_failing_pnnx_is_told_with_its_last_words(fake: Path, work: Path) -> None:
    becomes(fake, "print('first')\nprint('it broke')\nraise SystemExit(3)")
    assert refusal(work) == "pnnx failed with exit code 3: it broke"


def test_a_pnnx_that_dies_silently_is_told(fake: Path, work: Path) -> None:
    becomes(fake, "import os\nos.kill(os.getpid(), 9)")
    assert refusal(work) == "pnnx failed with exit code -9: no output"


@pytest.mark.parametrize("suffix", ["param", "bin"])
def test_a_pnnx_that_writes_half_of_it_is_told(fake: Path, work: Path, suffix: str) -> None:
    becomes(fake, f"{WRITES}\nimport os\nos.remove('traced.ncnn.{suffix}')\nprint('done')")
    assert refusal(work) == "pnnx failed with exit code 0: done"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_complaint_is_a_failure(fake: Path, work: Path, stream: str) -> None:
    becomes(fake, f"{WRITES}\nprint('  reshape to 5-rank tensor is not supported yet!', file=sys.{stream})")
    assert refusal(work) == "pnnx could not convert the graph: reshape to 5-rank tensor is not supported yet!"


def test_output_that_is_no_utf_8_does_no_harm(fake: Path, work: Path) -> None:
    becomes(fake, f"{WRITES}\nsys.stdout.buffer.write(bytes([255, 254, 10]))")
    assert run(work).param == "7767517\n0 0\n"


def test_a_full_disk_is_told_before_torch_writes(fake: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch ends the process when it cannot write, and pnnx leaves empty files with exit code 0."""
    becomes(fake, WRITES)

    class Usage:
        free = 1000

    monkeypatch.setattr(pnnx.shutil, "disk_usage", lambda _folder: Usage)
    with pytest.raises(OSError, match="No space left on device") as caught:
        run(work)
    assert caught.value.errno == errno.ENOSPC
    assert list(work.iterdir()) == []


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a pnnx package that is the only one installed; PATH leads to `tmp_path / "path"`."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "environment")])
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    monkeypatch.delitem(sys.modules, "pnnx", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    package = tmp_path / "environment" / "pnnx"
    for folder in (package, tmp_path / "path"):
        folder.mkdir(parents=True)
        becomes(folder / "pnnx", "")
    return package


def test_a_missing_pnnx_says_how_to_install_it(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(installed)
    monkeypatch.setenv("PATH", str(installed))
    with pytest.raises(ConversionError) as caught:
        pnnx_executable()
    assert str(caught.value) == "pnnx is not installed: pip install 'qwen3-tts-ncnn[convert]'"


def test_the_environment_s_own_pnnx_comes_before_the_one_on_path(installed: Path, tmp_path: Path) -> None:
    assert pnnx_executable() == installed / "pnnx"
    (installed / "pnnx").unlink()
    assert pnnx_executable() == tmp_path / "path" / "pnnx"


def test_the_package_is_found_without_being_imported_for_it_imports_torch(installed: Path) -> None:
    (installed / "__init__.py").write_text("raise AssertionError")
    assert pnnx_executable() == installed / "pnnx"


def test_the_real_pnnx_converts_a_linear_with_free_rows(work: Path) -> None:
    linear = nn.Linear(4, 6)
    inputs = (torch.zeros(3, 4),)
    exported = convert_trace(trace(linear, inputs, work), inputs, (torch.zeros(5, 4),))
    graph = read_param(exported.param)
    assert [layer.type for layer in graph.layers] == ["Input", "Gemm"]
    assert graph.layers[1].params[7] == 0
    assert exported.bin.stat().st_size == (4 + 4 * 24) + (4 + 4 * 6)  # weights and bias, each behind its tag
