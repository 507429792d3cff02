"""Who competes: names of packages, and the backends of one package."""

from pathlib import Path

import pytest

from qwen3_tts_ncnn.parity.bench.entries import UPSTREAM, Entry, backends_of, entries_of, names_of
from qwen3_tts_ncnn.runtime.devices import Device
from qwen3_tts_ncnn.runtime.package import Package
from tests.runtime.gpus import BUILT_IN, LARGE, SMALL, Gpus, gpu, gpus

__all__ = ["gpus"]

LLVMPIPE = gpu(3, "llvmpipe", "cpu")


def test_names_are_folders_paths_where_folders_are_alike_and_numbers_where_paths_are() -> None:
    paths = [Path("/x/one"), Path("/y/one"), Path("/x/two"), Path("/x/three"), Path("/x/three")]
    assert names_of(paths) == ["/x/one", "/y/one", "two", "/x/three", "/x/three (2)"]


def test_upstream_is_last_and_on_no_backend() -> None:
    entries = entries_of([Path("/p/a"), Path("/p/b")], Path("/p/ck"), "hybrid")
    assert entries == [
        Entry("a", Path("/p/a"), "hybrid"),
        Entry("b", Path("/p/b"), "hybrid"),
        Entry(UPSTREAM, Path("/p/ck"), None),
    ]
    assert [entry.is_upstream for entry in entries] == [False, False, True]


@pytest.mark.parametrize(
    ("found", "backends"),
    [
        ((BUILT_IN, LARGE), ["cpu", "hybrid:0", "vulkan:0", "hybrid:1", "vulkan:1"]),
        ((LARGE, LLVMPIPE), ["cpu", "hybrid:1", "vulkan:1"]),
        ((LLVMPIPE,), ["cpu", "hybrid:3", "vulkan:3"]),
        ((SMALL, LARGE), ["cpu", "hybrid:1", "vulkan:1"]),
    ],
)
def test_a_package_competes_on_every_gpu_that_has_room_for_it(
    gpus: Gpus, tiny_base_package: Path, found: tuple[Device, ...], backends: list[str]
) -> None:
    gpus(*found)
    refused: list[str] = []
    manifest = Package.open(tiny_base_package).manifest
    entries = backends_of(tiny_base_package, manifest, found, refused.append)
    assert [entry.backend for entry in entries] == [entry.name for entry in entries] == backends
    assert {entry.path for entry in entries} == {tiny_base_package}
    assert len(refused) == 2 * (SMALL in found)
    assert all(line.split(":")[0] in ("hybrid", "vulkan") and "2 is left out: device 2" in line for line in refused)
