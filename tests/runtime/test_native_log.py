"""What C code prints is kept, and what Python prints elsewhere is not lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.native_log import kept_log, show


def test_what_is_printed_in_a_block_is_kept_and_the_rest_is_not(capfd: pytest.CaptureFixture[str]) -> None:
    print("before", file=sys.stderr)
    with kept_log() as log:
        os.write(2, b"inside \xff\n")
        with kept_log() as inner:
            os.write(2, b"deeper\n")
    os.write(2, b"after\n")
    assert (log.text, inner.text) == ("inside \ufffd\n", "deeper\n")
    assert capfd.readouterr().err == "before\nafter\n"
    show(log.text)
    assert capfd.readouterr().err == "inside \ufffd\n"


def test_an_exception_gives_the_descriptor_back(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), kept_log():
        print(1 / 0)
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_a_closed_standard_error_is_no_obstacle() -> None:
    program = (
        "import os; os.close(2)\n"
        "from qwen3_tts_ncnn.runtime.native_log import kept_log, show\n"
        "with kept_log() as log: pass\n"
        "show('x'); print('done')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n")


@pytest.mark.parametrize("verbose", [False, True])
def test_ncnn_s_lines_of_a_failed_load_are_shown_when_asked_for(
    tmp_path: Path, verbose: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "g.param").write_text("7767517\n1 1\nNoSuchLayer a 0 1 x\n")
    with pytest.raises(PackageError, match=r"^ncnn cannot load "):
        Graph(tmp_path / "g.param", tmp_path / "g.bin", cpu_options(1), verbose=verbose)
    assert capfd.readouterr().err == ("layer NoSuchLayer not exists or registered\n" if verbose else "")
