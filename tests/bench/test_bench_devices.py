"""`bench --devices`: a package on every backend, and the fastest kept. No driver is needed: the workers are made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.workers import FakeWorker, asked
from tests.cli.command_line import refusal, run
from tests.runtime.gpus import BUILT_IN, LARGE, NO_DRIVER, SMALL, Gpus, gpus

__all__ = ["asked", "gpus"]


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which it is kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "qwen3-tts-ncnn" / "backends.json"


def placed(package: Path) -> set[int | None]:
    """The devices that `auto` chooses."""
    record = json.loads(run("info", package, "--backend", "auto", "--json").stdout)["backend"]
    return {where["device"] for where in record.values()}


def test_every_backend_is_measured_and_the_fastest_is_auto_s(
    gpus: Gpus, asked: list[Any], tiny_package: Path, kept: Path
) -> None:
    gpus(BUILT_IN, LARGE)
    FakeWorker.scales = {"cpu": 0.5, "hybrid:0": 0.4}
    done = run("bench", tiny_package, "--devices", "--json")
    assert done.exit_code == 0, done.stderr
    contestants = json.loads(done.stdout)["contestants"]
    backends = ["cpu", "hybrid:0", "vulkan:0", "hybrid:1", "vulkan:1"]
    assert [each["backend"] for each in contestants] == [each["name"] for each in contestants] == backends
    assert [arguments["backend"] for _, what, arguments in asked if what == "load"] == backends
    assert done.stderr.splitlines()[-1] == (
        "total RTF: hybrid:0 1.00, cpu 1.25, vulkan:0 2.50, hybrid:1 2.50, vulkan:1 2.50; --backend auto runs such a "
        f"package on the first here, as {kept} says"
    )
    (entry,) = json.loads(kept.read_text()).values()
    assert entry["total_rtf"] == {"cpu": 1.25, "hybrid:0": 1.0, "vulkan:0": 2.5, "hybrid:1": 2.5, "vulkan:1": 2.5}


def test_where_the_cpu_is_the_fastest_auto_is_the_cpu(gpus: Gpus, asked: list[Any], tiny_package: Path) -> None:
    gpus(LARGE)
    FakeWorker.scales = {"cpu": 0.5}
    before = run("info", tiny_package, "--backend", "cpu", "--json").stdout
    assert run("bench", tiny_package, "--devices").exit_code == 0
    assert run("info", tiny_package, "--backend", "auto", "--json").stdout == before


def test_what_has_no_room_or_fails_is_left_out_and_said_so(
    gpus: Gpus, asked: list[Any], tiny_package: Path, kept: Path
) -> None:
    gpus(SMALL, LARGE)
    FakeWorker.failures = {("vulkan:1", "load"): "vulkan:1: its process was killed by SIGSEGV"}
    done = run("bench", tiny_package, "--devices", "--rounds", "1", "--json")
    assert done.exit_code == 0, done.stderr
    assert [each["name"] for each in json.loads(done.stdout)["contestants"]] == ["cpu", "hybrid:1"]
    first, second, third, _ = done.stderr.splitlines()
    assert first.startswith("hybrid:2 is left out: device 2 (GeForce GT 710) has 0 MB of memory for weights of ")
    assert second.startswith("vulkan:2 is left out: device 2 ")
    assert third == "vulkan:1: its process was killed by SIGSEGV: it is left out"
    (entry,) = json.loads(kept.read_text()).values()
    assert list(entry["total_rtf"]) == ["cpu", "hybrid:1"]


def test_without_a_device_it_is_one_line(gpus: Gpus, tiny_package: Path) -> None:
    gpus(log=NO_DRIVER)
    assert refusal("bench", tiny_package, "--devices").startswith("no Vulkan device is there: ")
