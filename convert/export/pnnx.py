"""Runs pnnx on a traced module and returns ncnn's param text and weights."""

import errno
import importlib.util
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.errors import ConversionError

# A disk with fewer bytes left is taken as full; a trace is larger than its weights by less than this.
_MARGIN = 1 << 20


@dataclass(frozen=True)
class Exported:
    """A graph as pnnx left it: its text, and the file that holds its weights."""

    param: str
    bin: Path


def trace(module: nn.Module, inputs: Sequence[Tensor], work: Path) -> Path:
    """Traces the module on `inputs` into a file in `work`; what the module holds is not needed any more after that.

    Raises `OSError` when the disk is full.
    """
    file = work / "traced.pt"
    with torch.no_grad(), warnings.catch_warnings():
        # pnnx reads TorchScript, which torch 2.13 calls deprecated; and the tracer warns of what is meant.
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(module, tuple(inputs), check_trace=False)  # type: ignore[no-untyped-call]
        _refuse_full_disk(work, needed=sum(tensor.nbytes for tensor in module.state_dict().values()))
        torch.jit.save(traced, str(file))
    return file


def convert_trace(trace: Path, inputs: Sequence[Tensor], other_inputs: Sequence[Tensor]) -> Exported:
    """Converts a trace; axes that differ in `other_inputs` become dynamic.

    pnnx's intermediate files lie beside the trace and are about four times as large.
    Raises `ConversionError` when pnnx fails or reports something it could not convert, `OSError` when the disk is full.
    """
    work = trace.parent
    command = [
        str(pnnx_executable()),
        trace.name,
        f"inputshape={_shapes(inputs)}",
        f"inputshape2={_shapes(other_inputs)}",
        "fp16=0",
        "optlevel=2",
    ]
    run = subprocess.run(command, cwd=work, capture_output=True, text=True, errors="replace", check=False)
    log = run.stdout + run.stderr
    _refuse_full_disk(work)
    param, weights = work / "traced.ncnn.param", work / "traced.ncnn.bin"
    if run.returncode != 0 or not param.is_file() or not weights.is_file():
        last = log.strip().splitlines()[-1:] or ["no output"]
        raise ConversionError(f"pnnx failed with exit code {run.returncode}: {last[0]}")
    complaints = [line.strip() for line in log.splitlines() if "is not supported" in line]
    if complaints:
        raise ConversionError(f"pnnx could not convert the graph: {complaints[0]}")
    return Exported(param.read_text(encoding="utf-8"), weights)


def pnnx_executable() -> Path:
    """The pnnx of this Python environment, else the one on PATH. Raises `ConversionError` when there is none."""
    # The program inside the package: the script of that name imports torch, which takes seconds, to start this one.
    package = importlib.util.find_spec("pnnx")
    folders = [] if package is None else package.submodule_search_locations or []
    places = [Path(folder) / ("pnnx.exe" if sys.platform == "win32" else "pnnx") for folder in folders]
    found = next((str(place) for place in places if place.is_file()), None) or shutil.which("pnnx")
    if not found:
        raise ConversionError("pnnx is not installed: pip install 'qwen3-tts-ncnn[convert]'")
    return Path(found)


def _refuse_full_disk(folder: Path, needed: int = 0) -> None:
    """Raises `OSError` where a file of `needed` bytes does not fit.

    Asked before torch writes, which ends the whole process when it cannot, and after pnnx, which does not notice: it
    exits with 0 and leaves files that are empty or cut off, on a disk that is full to the last byte.
    """
    if shutil.disk_usage(folder).free < needed + _MARGIN:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def _shapes(tensors: Sequence[Tensor]) -> str:
    kinds = {torch.float32: "f32", torch.int64: "i64", torch.int32: "i32"}
    return ",".join(f"[{','.join(map(str, t.shape))}]{kinds[t.dtype]}" for t in tensors)
