"""The program itself: its commands and their help, and how it ends."""

import errno
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime.cli.main import cli
from qwen3_tts_ncnn.runtime.package import Package
from tests.cli.command_line import MODULE, only_line, process, refusal, run

COMMANDS = ["convert", "speak", "clone", "codec", "devices", "info", "verify", "parity", "bench", "checkpoint"]


def raising(error: BaseException) -> object:
    """Something to put in place of a function: it raises."""

    def call(*_arguments: object, **_named: object) -> object:
        raise error

    return call


def test_commands_come_in_the_order_in_which_a_new_user_needs_them() -> None:
    shown = run("--help").stdout.partition("Commands:\n")[2]
    assert [line.split()[0] for line in shown.splitlines()] == COMMANDS
    assert "..." not in shown  # no short help is cut off


def test_no_command_shows_the_help() -> None:
    result = run()
    assert (result.exit_code, result.stdout) == (0, run("--help").stdout)


def test_every_command_shows_an_example_that_it_would_take() -> None:
    for name in COMMANDS:
        result = run(name, "--help")
        assert result.exit_code == 0
        shown = re.search(r"(Examples?):\n((?: +qwen3-tts-ncnn .+\n)+)", result.stdout)
        assert shown, name
        examples = shown.group(2).splitlines()
        assert {line.split()[1] for line in examples} == {name}
        assert shown.group(1) == ("Example" if len(examples) == 1 else "Examples")


def test_the_commands_of_the_codec_are_told_with_their_options() -> None:
    shown = run("codec").stdout
    assert shown == run("codec", "--help").stdout
    assert [line.split()[0] for line in shown.partition("Commands:\n")[2].splitlines()] == ["decode", "encode"]
    for name in ("encode", "decode"):
        result = run("codec", name, "-h")
        assert result.exit_code == 0
        assert f"Example:\n    qwen3-tts-ncnn codec {name} models/tiny me." in result.stdout
    assert refusal("codec", "listen") == "No such command 'listen'. See `qwen3-tts-ncnn codec --help`."
    assert refusal("codec", "encode", "p") == "Missing argument 'FILE'. See `qwen3-tts-ncnn codec encode --help`."


def test_the_help_of_cloning_says_the_longest_recording() -> None:
    for command in (("clone",), ("speak",), ("codec", "encode")):
        assert "[default: 60.0; 0<x<=3600]" in " ".join(run(*command, "--help").stdout.split())


def test_version_is_the_distribution_s() -> None:
    assert run("--version").stdout == f"qwen3-tts-ncnn, version {version('qwen3-tts-ncnn')}\n"


@pytest.mark.parametrize("program", [MODULE, (str(Path(sys.executable).with_name("qwen3-tts-ncnn")),)])
def test_module_and_console_script_are_the_same_program(program: tuple[str, ...]) -> None:
    if not Path(program[0]).exists():
        pytest.skip("the console script is not installed beside this Python")
    done = process("info", "no-such-package", program=program)
    assert done.returncode == 2
    assert only_line(done.stderr) == (
        "package no-such-package does not exist: expected a folder made by `qwen3-tts-ncnn convert`"
    )
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["spek"], "No such command 'spek'."),
        (["--loud"], "No such option"),
        (["info"], "Missing argument 'PACKAGE'. See `qwen3-tts-ncnn info --help`."),
        (["info", "a", "b"], "Got unexpected extra argument (b)"),
    ],
)
def test_a_wrong_command_line_is_one_line(arguments: list[str], message: str) -> None:
    assert message in refusal(*arguments)


def test_a_message_of_many_lines_is_told_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "package a b does not exist" in refusal("info", "a\nb")


def test_an_interrupt_is_one_word_and_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Package, "open", raising(KeyboardInterrupt()))
    result = run("verify", "package")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Interrupted\n")


def test_an_unforeseen_system_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    error = OSError(errno.EIO, os.strerror(errno.EIO), "/some/file")
    monkeypatch.setattr(Package, "open", raising(error))
    assert refusal("verify", "package") == "/some/file: Input/output error"


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Package, "open", raising(ImportError("bug", name="qwen3_tts_ncnn.runtime.nothing")))
    assert isinstance(run("verify", "package").exception, ImportError)


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*MODULE, "--help"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [("info",), ("info", "--json"), ("verify",)])
def test_a_full_standard_output_is_one_line(tiny_package: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [*MODULE, arguments[0], str(tiny_package), *arguments[1:]]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert only_line(done.stderr) == (
        "standard output cannot be written (No space left on device): free some space or choose another place"
    )


def test_commands_of_the_program_are_those_of_the_rooms() -> None:
    assert sorted(cli.list_commands(cli.make_context("x", []))) == sorted(COMMANDS)
