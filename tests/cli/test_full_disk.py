"""A disk that fills up while something is written: one line, and what was there before is still whole."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command_line import refusal, run

FULL = "cannot be written (No space left on device): free some space or choose another place"


def no_space(*_arguments: object, **_named: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def old_package(tiny_package: Path, tmp_path: Path) -> Path:
    """A package that a conversion is to replace, alone in its folder."""
    return Path(shutil.copytree(tiny_package, tmp_path / "packages" / "old"))


def is_whole_and_alone(package: Path) -> bool:
    return run("verify", package).exit_code == 0 and list(package.parent.iterdir()) == [package]


@pytest.mark.usefixtures("quick_graphs")
def test_convert_keeps_the_old_package_when_the_last_file_does_not_fit(
    tiny_checkpoint: Path, old_package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwen3_tts_ncnn.convert.conversion.write_manifest", no_space)
    line = refusal_after_progress("convert", tiny_checkpoint, "-o", old_package, "--overwrite")
    assert line == f"Error: {old_package} {FULL}"
    assert is_whole_and_alone(old_package)


@pytest.mark.usefixtures("quick_graphs")
def test_convert_puts_the_old_package_back_when_the_new_one_cannot_be_renamed(
    tiny_checkpoint: Path, old_package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def rename_but_not_the_new_one(self: Path, target: Path) -> Path:
        if (self / "model.json").exists() and self.name != old_package.name:
            no_space()
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", rename_but_not_the_new_one)
    refusal_after_progress("convert", tiny_checkpoint, "-o", old_package, "--overwrite")
    assert is_whole_and_alone(old_package)


# With 1 MB left the tokenizer does not fit, with 5 MB what pnnx writes, which exits with 0 all the same.
@pytest.mark.parametrize("room", [1, 5])
def test_convert_on_a_disk_that_is_really_full(
    tiny_checkpoint: Path, tiny_package: Path, small_disk: Callable[[str], Path], room: int
) -> None:
    size = sum(path.stat().st_size for path in tiny_package.iterdir()) // 2**20
    disk = small_disk(f"{size + room + 1}m")
    old = Path(shutil.copytree(tiny_package, disk / "old"))
    line = refusal_after_progress("convert", tiny_checkpoint, "-o", old, "--overwrite")
    assert line == f"Error: {old} {FULL}"
    assert is_whole_and_alone(old)


def test_torch_is_not_asked_to_write_what_does_not_fit(small_disk: Callable[[str], Path]) -> None:
    import torch

    from qwen3_tts_ncnn.convert.export.pnnx import trace

    with pytest.raises(OSError, match="No space left on device"):  # torch would end the process
        trace(torch.nn.Linear(1024, 1024), [torch.zeros(3, 1024)], small_disk("3m"))


def test_speak_keeps_the_old_file_on_a_disk_that_is_really_full(
    tiny_package: Path, small_disk: Callable[[str], Path]
) -> None:
    old = small_disk("64k") / "a.wav"
    old.write_bytes(b"old" * 10_000)
    line = refusal("speak", tiny_package, "Hello there.", *OPTIONS, "--max-frames", "20", "-o", old)
    assert line == f"{old} {FULL}"
    assert old.read_bytes() == b"old" * 10_000
    assert list(old.parent.iterdir()) == [old]


def test_speak_keeps_the_old_file_when_the_new_one_does_not_fit(
    tiny_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "a.wav"
    old.write_bytes(b"old")
    monkeypatch.setattr("os.fsync", no_space)
    assert refusal("speak", tiny_package, "Hello.", *OPTIONS, "--max-frames", "15", "-o", old) == f"{old} {FULL}"
    assert old.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [old]


def test_clone_and_codec_keep_the_old_file_when_the_new_one_does_not_fit(
    tiny_base_package: Path, reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    voice, rvq = tmp_path / "me.voice", tmp_path / "me.rvq"
    for old in (voice, rvq):
        old.write_bytes(b"old")
    monkeypatch.setattr("os.fsync", no_space)
    place = ("--threads", "1", "-o")
    assert refusal("clone", tiny_base_package, reference, *place, voice) == f"{voice} {FULL}"
    assert refusal("codec", "encode", tiny_base_package, reference, *place, rvq) == f"{rvq} {FULL}"
    assert sorted(tmp_path.iterdir()) == [rvq, voice]
    assert voice.read_bytes() == rvq.read_bytes() == b"old"


def test_a_random_checkpoint_on_a_disk_that_is_really_full(small_disk: Callable[[str], Path]) -> None:
    disk = small_disk("4m")
    assert refusal("checkpoint", disk / "new") == f"{disk / 'new'} {FULL}"
    assert list(disk.iterdir()) == []


OPTIONS = ("--speaker", "ryan", "--threads", "1", "--greedy")


def refusal_after_progress(*arguments: str | Path) -> str:
    """Runs what fails on its way: lines of finished graphs, then the one that says why."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    *graphs, line = result.stderr.splitlines()
    assert all(graph.startswith("[") for graph in graphs)
    return line
