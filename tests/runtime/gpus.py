"""GPUs that are not there: what discovery finds, put in place of it."""

from collections.abc import Callable

import pytest

from qwen3_tts_ncnn.runtime import devices
from qwen3_tts_ncnn.runtime.devices import Device

Gpus = Callable[..., None]
"""Makes discovery find these devices, and ncnn have printed this `log`."""

NO_LOADER = "dlopen failed libvulkan.so.1: cannot open shared object file\nload vulkan driver failed\n"
NO_DRIVER = "vkCreateInstance failed -9\n"


def gpu(index: int, name: str, type: str, memory: int = 8 << 30) -> Device:
    return Device(index, name, type, memory, fp16=True, int8=None)


BUILT_IN = gpu(0, "Iris Xe", "integrated")
LARGE = gpu(1, "GeForce RTX 4090", "discrete")
SMALL = gpu(2, "GeForce GT 710", "discrete", 1000)


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Gpus:
    def find(*found: Device, log: str = "") -> None:
        monkeypatch.setattr(devices, "_look", lambda: devices._Found(found, log))

    return find
