"""The GPUs that ncnn reaches through Vulkan: which there are, and which one is meant."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import ncnn

from qwen3_tts_ncnn.runtime.errors import DeviceError
from qwen3_tts_ncnn.runtime.native_log import kept_log, show

# VkPhysicalDeviceType as ncnn's GpuInfo::type() counts it, the best first.
TYPES = ("discrete", "integrated", "virtual", "cpu")

_INSTALL = "install the GPU's Vulkan driver, or use backend cpu"

# ncnn tells what a device can do only in the lines that it prints when it first looks:
# [0 NAME]  fp16-p/s/u/a=1/1/1/1  int8-p/s/u/a=1/1/1/1  bf16-p/s=1/0
_ABILITIES = re.compile(r"^\[(\d+) .*\]  fp16-p/s/u/a=\d/\d/\d/(\d)  int8-p/s/u/a=\d/\d/\d/(\d) ", re.MULTILINE)
_DEVICE_LINE = re.compile(r"^\[\d+ .*\]  \S+=.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Device:
    """One GPU. `memory` is in bytes, what ncnn takes to be free for a program; `type` is one of `TYPES`.

    `fp16` and `int8`: whether it computes in them; None where ncnn had looked before and does not say it again.
    """

    index: int
    name: str
    type: str
    memory: int
    fp16: bool | None
    int8: bool | None

    def __str__(self) -> str:
        """As messages name it."""
        return f"{self.index} ({self.name})"


@dataclass(frozen=True)
class _Found:
    devices: tuple[Device, ...]
    log: str


def find_devices(*, verbose: bool = False) -> tuple[Device, ...]:
    """All GPUs, by index. ncnn looks once in a process; `verbose` shows what it prints then.

    Raises `DeviceError` where there is none, or nothing to reach one with.
    """
    found = _look()
    if verbose:
        show(found.log)
    if not found.devices:
        raise DeviceError(_problem(found.log))
    return found.devices


def select_device(devices: Sequence[Device], which: str = "") -> Device:
    """The device of an index, or of a name or a part of one, whatever its case; of "", the best.

    Raises `DeviceError` where none is meant or more than one is.
    """
    if not which:
        return min(devices, key=lambda device: TYPES.index(device.type))
    if which.isdecimal():
        meant = [device for device in devices if device.index == int(which)]
    else:
        meant = [device for device in devices if which.casefold() in device.name.casefold()]
    if len(meant) == 1:
        return meant[0]
    there = ", ".join(map(str, devices))
    what = f"{len(meant)} devices are called" if meant else "there is no device"
    raise DeviceError(f"{what} {which!r}: expected an index or a part of the name of one of {there}")


def vulkan_options(option: ncnn.Option, *, fp16: bool = False) -> ncnn.Option:
    """CPU options, for the layers that stay there, as those of a graph on a GPU.

    `fp16` stores weights and signals in half precision. Arithmetic stays in float32: in fp16 too, squares of what a
    trained model adds up leave its range, and the error of a step was four times as large (ncnn 1.0.20261020).
    """
    option.use_vulkan_compute = True
    option.use_fp16_packed = option.use_fp16_storage = fp16
    return option


@functools.cache
def _look() -> _Found:
    if not hasattr(ncnn, "create_gpu_instance"):
        return _Found((), "built without Vulkan")
    with kept_log() as log:
        count = ncnn.get_gpu_count() if ncnn.create_gpu_instance() == 0 else 0
        infos = [(ncnn.get_gpu_info(index), ncnn.get_gpu_device(index).get_heap_budget()) for index in range(count)]
    able = {int(index): (fp16 == "1", int8 == "1") for index, fp16, int8 in _ABILITIES.findall(log.text)}
    if count:
        show(_DEVICE_LINE.sub("", log.text))  # somebody else's, who printed at the same time
    devices = (
        Device(index, info.device_name(), _type(info.type()), megabytes << 20, *able.get(index, (None, None)))
        for index, (info, megabytes) in enumerate(infos)
    )
    return _Found(tuple(devices), log.text)


def _type(number: int) -> str:
    return TYPES[number] if 0 <= number < len(TYPES) else "cpu"


def _problem(log: str) -> str:
    if "built without Vulkan" in log:
        return "this ncnn was built without Vulkan: use backend cpu"
    if "load vulkan driver failed" in log:
        return "no Vulkan loader is installed (libvulkan.so.1, Debian's libvulkan1): install it, or use backend cpu"
    return f"no Vulkan device is there: {_INSTALL}"
