"""llvmpipe, Mesa's Vulkan driver that computes on the CPU: it is started here where it is installed."""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime import TTS, DeviceError
from qwen3_tts_ncnn.runtime.devices import Device, find_devices
from tests.conftest import THREADS, Folder

Pair = Callable[[str], tuple[TTS, TTS]]
"""type → the tiny package of it, on the CPU and on the GPU."""


def llvmpipe_manifest() -> Path | None:
    """The driver's manifest, in the folders in which the Vulkan loader looks for them."""
    shared = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    folders = (*shared.split(":"), "/etc", "/usr/local/etc")
    found = (path for folder in folders for path in sorted(Path(folder, "vulkan/icd.d").glob("lvp_icd*.json")))
    return next(found, None)


@pytest.fixture(scope="session")
def llvmpipe() -> Iterator[Device]:
    """The one device there is; skips where the driver is not installed."""
    manifest = llvmpipe_manifest()
    if manifest is None:
        pytest.skip("llvmpipe is not installed: apt-get install libvulkan1 mesa-vulkan-drivers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VK_ICD_FILENAMES", str(manifest))
        patch.setenv("LP_NUM_THREADS", "1")
        try:
            (device,) = find_devices()
        except DeviceError as error:
            pytest.skip(str(error))
        assert device.name.startswith("llvmpipe")
        yield device


@pytest.fixture(scope="session")
def pair(llvmpipe: Device, package_of: Folder) -> Pair:
    """Each is loaded once a session."""

    @cache
    def load(kind: str) -> tuple[TTS, TTS]:
        package = package_of("tiny", kind)
        return TTS.load(package, threads=THREADS), TTS.load(package, backend="vulkan", threads=THREADS)

    return load
