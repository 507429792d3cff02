"""A GPU whose memory is full while a package is loaded: one line, with what fits."""

import shutil
import subprocess
from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime.devices import Device
from tests.cli.command_line import only_line, process

SOURCE = Path(__file__).with_name("full_device.c")


@pytest.fixture(scope="module")
def full_device(llvmpipe: Device, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes llvmpipe run out of memory."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler to make llvmpipe run out of memory with")
    library = tmp_path_factory.mktemp("device") / "full_device.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    return library


# ncnn takes 8 MB for the weights of a small graph; the codec's decoder is loaded first.
@pytest.mark.parametrize(("megabytes", "fits"), [(4, "cpu"), (12, "codec_decoder=vulkan:0")])
def test_what_found_no_memory_is_told_with_what_did(
    full_device: Path, tiny_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, megabytes: int, fits: str
) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(full_device))
    monkeypatch.setenv("LLVMPIPE_MEGABYTES", str(megabytes))
    speak = ("speak", tiny_package, "Hi.", "--speaker", "ryan", "--threads", "1", "-o", tmp_path / "a.wav")
    done = process(*speak, "--backend", "vulkan")
    assert done.returncode == 2, done.stderr
    line = only_line(done.stderr)
    assert line.startswith("device 0 (llvmpipe")
    assert " has no memory left for the graph " in line
    assert line.endswith(f": what fits is backend {fits}")
    assert not (tmp_path / "a.wav").exists()
