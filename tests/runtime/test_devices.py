"""Which GPU is meant, and what is said where there is none. No driver is needed."""

import pytest

from qwen3_tts_ncnn.runtime.devices import _ABILITIES, _DEVICE_LINE, find_devices, select_device
from qwen3_tts_ncnn.runtime.errors import DeviceError
from tests.runtime.gpus import BUILT_IN, LARGE, NO_DRIVER, NO_LOADER, SMALL, Gpus, gpu, gpus

__all__ = ["gpus"]

ALL = (BUILT_IN, LARGE, SMALL)

PRINTED = """\
[0 llvmpipe (LLVM 15.0.6, 256 bits)]  queueC=0[1]  queueT=0[1]  prefer-slm=0  rebar=1  r-score=4
[0 llvmpipe (LLVM 15.0.6, 256 bits)]  fp16-p/s/u/a=1/1/1/0  int8-p/s/u/a=1/1/1/1  bf16-p/s=1/0
[0 llvmpipe (LLVM 15.0.6, 256 bits)]  subgroup=8(8~8)  ops=1/1/1/1/1/1/0/1/0/0
[0 llvmpipe (LLVM 15.0.6, 256 bits)]  fp16-cm=8x8x16/16x16x16  int8-cm=0  bf16-cm=0  fp8-cm=0  fp6-cm=0  fp4-cm=0
[12 [odd] name]  fp16-p/s/u/a=1/1/1/1  int8-p/s/u/a=1/1/1/0  bf16-p/s=1/0
"""


@pytest.mark.parametrize(
    ("which", "index"), [("", 1), ("0", 0), ("2", 2), ("iris", 0), ("RTX", 1), ("geforce rtx 4090", 1)]
)
def test_a_device_is_chosen_by_index_or_a_part_of_its_name_else_the_best(which: str, index: int) -> None:
    assert select_device(ALL, which).index == index


def test_the_best_device_is_discrete_then_integrated_then_anything() -> None:
    types = ("cpu", "virtual", "integrated", "discrete")
    found = [gpu(index, type, type) for index, type in enumerate(types)]
    assert [select_device(found[: index + 1]).type for index in range(4)] == list(types)


@pytest.mark.parametrize(
    ("which", "found"),
    [
        ("3", "there is no device '3'"),
        ("voodoo", "there is no device 'voodoo'"),
        ("geforce", "2 devices are called 'geforce'"),
    ],
)
def test_a_device_that_is_not_there_or_not_one_is_told_with_those_that_are(which: str, found: str) -> None:
    with pytest.raises(DeviceError) as caught:
        select_device(ALL, which)
    assert str(caught.value) == (
        f"{found}: expected an index or a part of the name of one of 0 (Iris Xe), 1 (GeForce RTX 4090), "
        "2 (GeForce GT 710)"
    )


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (
            NO_LOADER,
            "no Vulkan loader is installed (libvulkan.so.1, Debian's libvulkan1): install it, or use backend cpu",
        ),
        (NO_DRIVER, "no Vulkan device is there: install the GPU's Vulkan driver, or use backend cpu"),
        ("", "no Vulkan device is there: install the GPU's Vulkan driver, or use backend cpu"),
        ("built without Vulkan", "this ncnn was built without Vulkan: use backend cpu"),
    ],
)
def test_why_there_is_no_device_is_one_line(gpus: Gpus, log: str, line: str) -> None:
    gpus(log=log)
    with pytest.raises(DeviceError) as caught:
        find_devices()
    assert str(caught.value) == line


def test_what_ncnn_printed_is_shown_only_when_asked_for(gpus: Gpus, capfd: pytest.CaptureFixture[str]) -> None:
    gpus(LARGE, log=PRINTED)
    assert find_devices() == (LARGE,)
    assert capfd.readouterr().err == ""
    find_devices(verbose=True)
    assert capfd.readouterr().err == PRINTED


def test_abilities_are_read_from_what_ncnn_prints() -> None:
    assert _ABILITIES.findall(PRINTED) == [("0", "0", "1"), ("12", "1", "0")]
    assert _DEVICE_LINE.sub("", f"before\n{PRINTED}[not a device]\n") == "before\n[not a device]\n"
