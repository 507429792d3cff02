"""`devices` and `--backend`: what there is, and what is refused. No driver is needed."""

import json
from pathlib import Path

from tests.cli.command_line import refusal, run
from tests.runtime.gpus import BUILT_IN, LARGE, NO_LOADER, Gpus, gpus

__all__ = ["gpus"]

NOTHING = "no Vulkan loader is installed (libvulkan.so.1, Debian's libvulkan1): install it, or use backend cpu"


def test_devices_are_listed(gpus: Gpus) -> None:
    gpus(BUILT_IN, LARGE)
    rows = [line.split("  ") for line in run("devices").stdout.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert cells == [
        ["index", "name", "type", "memory", "fp16", "int8"],
        ["0", "Iris Xe", "integrated", "8.6 GB", "yes", "unknown"],
        ["1", "GeForce RTX 4090", "discrete", "8.6 GB", "yes", "unknown"],
    ]


def test_devices_as_json_have_bytes(gpus: Gpus) -> None:
    gpus(LARGE)
    assert json.loads(run("devices", "--json").stdout) == {
        "devices": [
            {
                "index": 1,
                "name": "GeForce RTX 4090",
                "type": "discrete",
                "memory": 8 << 30,
                "fp16": True,
                "int8": None,
            }
        ]
    }


def test_no_device_is_one_line(gpus: Gpus, tiny_package: Path, tmp_path: Path) -> None:
    gpus(log=NO_LOADER)
    assert refusal("devices") == refusal("devices", "--json") == NOTHING
    speak = ("speak", tiny_package, "Hello.", "--speaker", "ryan", "-o", tmp_path / "a.wav")
    assert refusal(*speak, "--backend", "vulkan") == NOTHING
    assert refusal(*speak, "--backend", "quantum").startswith("backend is 'quantum', expected cpu, vulkan, ")
    assert not (tmp_path / "a.wav").exists()


def test_info_without_a_gpu_says_that_all_runs_on_the_cpu(gpus: Gpus, tiny_package: Path) -> None:
    gpus(log=NO_LOADER)
    placed = json.loads(run("info", tiny_package, "--backend", "auto", "--json").stdout)["backend"]
    assert len(placed) == 9
    assert {where["device"] for where in placed.values()} == {None}
    rows = [line.split() for line in run("info", tiny_package, "--backend", "auto").stdout.splitlines()]
    assert ["talker_codec_embed", "read", "as", "a", "table"] in rows
    assert ["talker_decoder", "CPU"] in rows
