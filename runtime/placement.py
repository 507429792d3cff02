"""Where each graph runs: `backend`, as users give it, read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from qwen3_tts_ncnn.runtime.devices import Device, find_devices, select_device
from qwen3_tts_ncnn.runtime.errors import DeviceError, OptionError
from qwen3_tts_ncnn.runtime.manifest import CodecManifest
from qwen3_tts_ncnn.runtime.measured_backends import fastest_backend

Backend = str | Mapping[str, str]
"""A preset, or what runs where: {"talker": "cpu", "codec_decoder": "vulkan:1"}; what is not named runs on the CPU."""

# Everything but the loop, which waits for every one of its thousands of small steps.
_AROUND_THE_LOOP = ("codec_decoder", "mimi_encoder", "speaker_encoder")

TABLES = ("talker_codec_embed", "predictor_embeds")
"""Embeddings: read from the files as tables, never loaded as graphs."""

HALF = "-fp16"
"""What is put behind vulkan or hybrid for half precision."""

_FORMS = (
    f"cpu, vulkan, hybrid or auto, vulkan and hybrid with {HALF} for half precision and a device's index or name "
    "behind a colon if need be, or graph=cpu and graph=vulkan for some graphs"
)


@dataclass(frozen=True)
class Place:
    """A GPU, and whether what runs there is stored in half precision, weights and signals; sums are float32 ones."""

    device: Device
    fp16: bool = False

    def __str__(self) -> str:
        """As a backend names it."""
        return f"vulkan{HALF if self.fp16 else ''}:{self.device.index}"


@dataclass(frozen=True)
class Placement:
    """The graphs that run on a GPU, each with its place; all others run on the CPU."""

    places: Mapping[str, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, backend: Backend, manifest: CodecManifest, *, verbose: bool = False) -> "Placement":
        """Reads `backend` for a package.

        "auto" is what `bench --devices` found to be the fastest; where it has not been measured, hybrid if there is a
        discrete GPU; the CPU where there is none or it would not fit. A mapping names graphs, or their parts' first
        word ("talker" for all graphs of the talker).

        Raises `OptionError` for what is no backend or no graph, `DeviceError` for a device that is not there or has
        too little memory for the weights.
        """
        graphs = [name for name in manifest.graphs if name not in TABLES]
        if isinstance(backend, str) and "=" in backend:
            backend = dict(_pair(item) for item in backend.split(","))
        if not isinstance(backend, str):
            placed = _of_mapping(backend, graphs, verbose)
        elif backend == "auto":
            return _automatic(manifest, verbose)
        else:
            placed = _of_preset(backend, graphs, verbose)
        placement = cls(placed)
        placement._check_memory(manifest)
        return placement

    def place(self, graph: str) -> Place | None:
        """The place of a graph; None for the CPU."""
        return self.places.get(graph)

    def of_graphs(self, graphs: Iterable[str]) -> str:
        """The backend that has these graphs alone on GPUs."""
        return ",".join(f"{name}={place}" for name, place in self.places.items() if name in set(graphs)) or "cpu"

    def _check_memory(self, manifest: CodecManifest) -> None:
        """Raises `DeviceError` for weights that are larger than the memory of their device, and says what fits."""
        for device in {place.device.index: place.device for place in self.places.values()}.values():
            on_it = {name: place for name, place in self.places.items() if place.device == device}
            sizes = {name: weight_bytes(manifest, name, fp16=place.fp16) for name, place in on_it.items()}
            if sum(sizes.values()) <= device.memory:
                continue
            fitting, room = [], device.memory
            for name in sorted(sizes, key=lambda name: (name not in _AROUND_THE_LOOP, sizes[name])):
                if sizes[name] <= room:
                    fitting.append(f"{name}={on_it[name]}")
                    room -= sizes[name]
            fits = f"what fits is backend {','.join(fitting)}" if fitting else "use backend cpu"
            raise DeviceError(
                f"device {device} has {device.memory / 1e6:.0f} MB of memory for weights of "
                f"{sum(sizes.values()) / 1e6:.0f} MB: {fits}"
            )


def weight_bytes(manifest: CodecManifest, graph: str, *, fp16: bool = False) -> int:
    """What a graph's weights take of a GPU's memory: they are float32 or fp16 there, and int8 ones stay on the CPU."""
    size = manifest.files[f"{graph}.bin"].size
    values = {"fp32": size // 4, "bf16": size // 2}.get(manifest.graphs[graph].precision, 0)
    return values * (2 if fp16 else 4)


def _of_preset(backend: str, graphs: Iterable[str], verbose: bool) -> dict[str, Place]:
    if backend == "cpu":
        return {}
    preset, fp16, which = _place(backend)
    if preset not in ("vulkan", "hybrid"):
        raise OptionError(f"backend is {backend!r}, expected {_FORMS}")
    place = Place(select_device(find_devices(verbose=verbose), which), fp16)
    return {name: place for name in graphs if preset == "vulkan" or name in _AROUND_THE_LOOP}


def _of_mapping(backend: Mapping[str, str], graphs: list[str], verbose: bool) -> dict[str, Place]:
    """A graph's own entry goes before that of its part."""
    placed: dict[str, Place] = {}
    found = find_devices(verbose=verbose) if any(where.startswith("vulkan") for where in backend.values()) else ()
    for key, where in sorted(backend.items(), key=lambda item: item[0] in graphs):
        meant = [name for name in graphs if name == key or name.startswith(f"{key}_")]
        if not meant:
            raise OptionError(f"backend names the graph {key!r}, expected one of {', '.join(graphs)}")
        kind, fp16, which = _place(where)
        if where != "cpu" and kind != "vulkan":
            raise OptionError(
                f"backend has {where!r} for {key}, expected cpu, vulkan or vulkan{HALF}, vulkan:INDEX or vulkan:NAME"
            )
        for name in meant:
            placed.pop(name, None)
            if kind == "vulkan":
                placed[name] = Place(select_device(found, which), fp16)
    return placed


def _automatic(manifest: CodecManifest, verbose: bool) -> Placement:
    try:
        devices = find_devices(verbose=verbose)
        measured = fastest_backend(manifest, devices)
        if measured is not None:
            return Placement.of(measured, manifest)
        best = select_device(devices)
        return Placement.of(f"hybrid:{best.index}" if best.type == "discrete" else "cpu", manifest)
    except (DeviceError, OptionError):  # OptionError: a kept backend that this version does not know
        return Placement()


def _place(text: str) -> tuple[str, bool, str]:
    """Kind or preset, whether in half precision, and which device."""
    kind, _, which = text.partition(":")
    return kind.removesuffix(HALF), kind.endswith(HALF), which


def _pair(item: str) -> tuple[str, str]:
    name, _, where = item.partition("=")
    return name.strip(), where.strip()
