"""Running the command line: in this process, as a process of its own, and as one in which some packages are missing."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from click.testing import CliRunner, Result

from qwen3_tts_ncnn.runtime.cli.main import cli

MODULE = (sys.executable, "-m", "qwen3_tts_ncnn.runtime.cli")

_BLOCKED = """
import sys

blocked = set(sys.argv.pop(1).split(","))

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from qwen3_tts_ncnn.runtime.cli.main import main
main()
"""


def run(*arguments: str | Path, text: str | bytes | None = None) -> Result:
    """Runs the program in this process; `text` is its standard input."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=text, prog_name="qwen3-tts-ncnn")


def refusal(*arguments: str | Path, text: str | bytes | None = None) -> str:
    """Runs what must be refused, and returns the one line that says why."""
    result = run(*arguments, text=text)
    assert result.exit_code == 2, (result.exit_code, result.exception, result.output)
    assert isinstance(result.exception, SystemExit)  # anything else is what would be a traceback
    assert result.stdout == ""
    return only_line(result.stderr)


def only_line(stderr: str) -> str:
    """The one line on standard error, without its "Error: "."""
    assert stderr.startswith("Error: "), stderr
    assert stderr.endswith("\n"), stderr
    assert len(stderr.splitlines()) == 1, stderr
    return stderr.removeprefix("Error: ").rstrip("\n")


def process(*arguments: str | Path, program: Sequence[str] = MODULE) -> subprocess.CompletedProcess[str]:
    """Runs the program as a process of its own, its standard input empty."""
    command = [*program, *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, env=_quiet())


def process_without(missing: Sequence[str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the program where these packages cannot be imported."""
    return process(*arguments, program=(sys.executable, "-c", _BLOCKED, ",".join(missing)))


def _quiet() -> dict[str, str]:
    return os.environ | {"COLUMNS": "100", "TERM": "dumb"}
