"""The runtime and every help text work where torch and the other packages of the extras are not installed."""

from pathlib import Path

import pytest
import soundfile

from tests.cli.command_line import only_line, process_without
from tests.cli.recordings import FITTING
from tests.cli.test_convert import same_files

EXTRAS = ["torch", "transformers", "huggingface_hub", "pnnx", "qwen_tts", "librosa", "accelerate"]


COMMANDS = ["", "convert", "speak", "clone", "codec", "codec encode", "info", "verify", "parity", "bench", "checkpoint"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_needs_no_extra(command: str) -> None:
    done = process_without(EXTRAS, *command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: qwen3-tts-ncnn {command}".rstrip())


def test_the_runtime_speaks_without_torch_and_transformers(tiny_package: Path, tmp_path: Path) -> None:
    wav = tmp_path / "hello.wav"
    done = process_without(
        EXTRAS,
        "speak",
        tiny_package,
        "Hello.",
        "--speaker",
        "ryan",
        "--greedy",
        "--threads",
        "1",
        "--max-frames",
        "3",
        "-o",
        wav,
    )
    assert done.returncode == 0, done.stderr
    assert soundfile.info(wav).frames == 3 * 1920


def test_the_runtime_clones_and_encodes_without_torch_and_librosa(
    tiny_base_package: Path, reference: Path, tmp_path: Path
) -> None:
    recording = ("--reference", reference, "--transcript", FITTING)
    more = ("--greedy", "--threads", "1", "--max-frames", "3", "-o", tmp_path / "hello.wav")
    done = process_without(EXTRAS, "speak", tiny_base_package, "Hello.", *recording, *more)
    assert done.returncode == 0, done.stderr
    assert soundfile.info(tmp_path / "hello.wav").frames == 3 * 1920
    more = ("--threads", "1", "-o", tmp_path / "me.rvq")
    done = process_without(EXTRAS, "codec", "encode", tiny_base_package, reference, *more)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "me.rvq").stat().st_size == 39 * 22


def test_a_package_gets_smaller_weights_without_torch_and_pnnx(
    tiny_package: Path, tiny_int8_package: Path, tmp_path: Path
) -> None:
    done = process_without(EXTRAS, "convert", tiny_package, "-o", tmp_path / "int8", "--precision", "int8")
    assert done.returncode == 0, done.stderr
    assert same_files(tmp_path / "int8", tiny_int8_package)


def test_a_random_checkpoint_needs_no_extra(tmp_path: Path) -> None:
    done = process_without(EXTRAS, "checkpoint", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("missing", "arguments", "expected"),
    [
        ("torch", ("convert", "{checkpoint}", "-o", "{new}"), "convert cannot import torch: it needs {pip}[convert]'"),
        (
            "librosa",
            ("convert", "{checkpoint}", "-o", "{new}"),
            "convert cannot import librosa: it needs {pip}[convert]'",
        ),
        ("torch", ("parity", "{package}", "{checkpoint}"), "parity cannot import torch: it needs {pip}[parity]'"),
    ],
)
def test_a_command_without_its_extra_says_what_to_install(
    missing: str,
    arguments: tuple[str, ...],
    expected: str,
    tiny_package: Path,
    tiny_checkpoint: Path,
    tmp_path: Path,
) -> None:
    places = {"package": tiny_package, "checkpoint": tiny_checkpoint, "new": tmp_path / "new"}
    done = process_without([missing], *(argument.format(**places) for argument in arguments))
    assert done.returncode == 2
    assert only_line(done.stderr) == expected.format(pip="pip install 'qwen3-tts-ncnn")
    assert not (tmp_path / "new").exists()


def test_a_hub_id_without_huggingface_hub_says_what_to_install(tmp_path: Path) -> None:
    done = process_without(["huggingface_hub"], "convert", "0.6b-customvoice", "-o", tmp_path / "new")
    assert done.returncode == 2
    assert only_line(done.stderr).endswith("it needs pip install 'qwen3-tts-ncnn[convert]'")
