"""`bench --devices` for real, on llvmpipe: a minute of compiled shaders for a tiny package."""

import json
from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime.devices import Device
from tests.cli.command_line import run
from tests.vulkan.conftest import llvmpipe

__all__ = ["llvmpipe"]

pytestmark = pytest.mark.full

SHORT = ("--text", "Hi.", "--rounds", "1", "--frames", "2", "--threads", "1")


def test_every_backend_is_measured_and_auto_is_the_fastest(
    llvmpipe: Device, tiny_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = tmp_path / "qwen3-tts-ncnn" / "backends.json"
    done = run("bench", tiny_package, "--devices", *SHORT, "--json")
    assert done.exit_code == 0, done.stderr
    contestants = json.loads(done.stdout)["contestants"]
    assert [each["backend"] for each in contestants] == ["cpu", "hybrid:0", "vulkan:0"]
    factors = {each["name"]: each["figures"]["total_rtf"]["median"] for each in contestants}
    fastest = min(factors, key=lambda name: factors[name])
    entries = json.loads(kept.read_text())
    (entry,) = entries.values()
    assert (entry["total_rtf"], entry["fastest"]) == (factors, fastest)
    told = done.stderr.splitlines()[-1]
    assert told.startswith(f"total RTF: {fastest} {factors[fastest]:.2f}, ")
    assert told.endswith(f"on the first here, as {kept} says")
    entry["fastest"] = "vulkan:0"  # whichever it was
    kept.write_text(json.dumps(entries))
    placed = json.loads(run("info", tiny_package, "--backend", "auto", "--json").stdout)["backend"]
    assert placed["talker_decoder"] == {"device": 0, "precision": "fp32", "cpu_layers": {}}
