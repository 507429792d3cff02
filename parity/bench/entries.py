"""Who competes: packages, upstream, or one package on every backend that this machine has."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from qwen3_tts_ncnn.runtime.devices import Device
from qwen3_tts_ncnn.runtime.errors import DeviceError
from qwen3_tts_ncnn.runtime.manifest import CodecManifest
from qwen3_tts_ncnn.runtime.placement import Placement

UPSTREAM = "PyTorch fp32"


@dataclass(frozen=True)
class Entry:
    """A package or a checkpoint under a name; `backend` is where a package's graphs run, None is PyTorch."""

    name: str
    path: Path
    backend: str | None

    @property
    def is_upstream(self) -> bool:
        """Whether it is PyTorch."""
        return self.backend is None


def entries_of(packages: Sequence[Path], checkpoint: Path | None, backend: str) -> list[Entry]:
    """The packages, all on one backend, and upstream last."""
    entries = [Entry(name, path, backend) for name, path in zip(names_of(packages), packages, strict=True)]
    if checkpoint is not None:
        entries.append(Entry(UPSTREAM, checkpoint, None))
    return entries


def names_of(packages: Sequence[Path]) -> list[str]:
    """A name for each: its folder's, its path where two folders have one name, numbered where it competes twice."""
    folders = Counter(package.resolve().name for package in packages)
    names = [str(p) if folders[p.resolve().name] > 1 else p.resolve().name for p in packages]
    return [
        f"{name} ({names[: place + 1].count(name)})" if names[:place].count(name) else name
        for place, name in enumerate(names)
    ]


def backends_of(
    package: Path, manifest: CodecManifest, devices: Sequence[Device], on_refusal: Callable[[str], None]
) -> list[Entry]:
    """The package on the CPU, and in part and whole on every GPU that has room for it, each named by its backend.

    A driver that computes on the processor is left out where there is a GPU: it takes minutes and wins nothing.
    `on_refusal` is told why a backend is left out.
    """
    gpus = [device for device in devices if device.type != "cpu"] or devices
    entries = [Entry("cpu", package, "cpu")]
    for backend in (f"{preset}:{gpu.index}" for gpu in gpus for preset in ("hybrid", "vulkan")):
        try:
            Placement.of(backend, manifest)
        except DeviceError as error:
            on_refusal(f"{backend} is left out: {error}")
        else:
            entries.append(Entry(backend, package, backend))
    return entries
