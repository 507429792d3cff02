"""Where each graph runs: `backend`, as users give it, read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from qwen3_tts_ncnn.runtime.devices import Device, find_devices, select_device
from qwen3_tts_ncnn.runtime.errors import DeviceError, OptionError
from qwen3_tts_ncnn.runtime.manifest import CodecManifest

Backend = str | Mapping[str, str]
"""A preset, or what runs where: {"talker": "cpu", "codec_decoder": "vulkan:1"}; what is not named runs on the CPU."""

# Everything but the loop, which waits for every one of its thousands of small steps.
_AROUND_THE_LOOP = ("codec_decoder", "mimi_encoder", "speaker_encoder")

TABLES = ("talker_codec_embed", "predictor_embeds")
"""Embeddings: read from the files as tables, never loaded as graphs."""

_FORMS = (
    "cpu, vulkan, hybrid or auto, vulkan and hybrid with a device's index or name behind a colon if need be, "
    "or graph=cpu and graph=vulkan for some graphs"
)


@dataclass(frozen=True)
class Placement:
    """The graphs that run on a GPU, each with its device; all others run on the CPU."""

    devices: Mapping[str, Device] = field(default_factory=dict)

    @classmethod
    def of(cls, backend: Backend, manifest: CodecManifest, *, verbose: bool = False) -> "Placement":
        """Reads `backend` for a package.

        "auto" is hybrid where there is a discrete GPU, else, or where it would not fit, the CPU. A mapping names
        graphs, or their parts' first word ("talker" for all graphs of the talker).

        Raises `OptionError` for what is no backend or no graph, `DeviceError` for a device that is not there or has
        too little memory for the weights.
        """
        graphs = [name for name in manifest.graphs if name not in TABLES]
        if isinstance(backend, str) and "=" in backend:
            backend = dict(_pair(item) for item in backend.split(","))
        if not isinstance(backend, str):
            placed = _of_mapping(backend, graphs, verbose)
        elif backend == "auto":
            return _automatic(graphs, manifest, verbose)
        else:
            placed = _of_preset(backend, graphs, verbose)
        placement = cls(placed)
        placement._check_memory(manifest)
        return placement

    def device(self, graph: str) -> Device | None:
        """The GPU that a graph runs on; None for the CPU."""
        return self.devices.get(graph)

    def _check_memory(self, manifest: CodecManifest) -> None:
        """Raises `DeviceError` for weights that are larger than the memory of their device, and says what fits."""
        for device in {device.index: device for device in self.devices.values()}.values():
            sizes = {name: weight_bytes(manifest, name) for name, on in self.devices.items() if on == device}
            if sum(sizes.values()) <= device.memory:
                continue
            fitting, room = [], device.memory
            for name in sorted(sizes, key=lambda name: (name not in _AROUND_THE_LOOP, sizes[name])):
                if sizes[name] <= room:
                    fitting.append(name)
                    room -= sizes[name]
            fits = (
                f"what fits is backend {','.join(f'{name}=vulkan' for name in fitting)}"
                if fitting
                else "use backend cpu"
            )
            raise DeviceError(
                f"device {device} has {device.memory / 1e6:.0f} MB of memory for weights of "
                f"{sum(sizes.values()) / 1e6:.0f} MB: {fits}"
            )


def weight_bytes(manifest: CodecManifest, graph: str) -> int:
    """What a graph's weights take of a GPU's memory: they are float32 there, and int8 ones stay on the CPU."""
    size = manifest.files[f"{graph}.bin"].size
    return {"fp32": size, "bf16": 2 * size}.get(manifest.graphs[graph].precision, 0)


def _of_preset(backend: str, graphs: Iterable[str], verbose: bool) -> dict[str, Device]:
    preset, _, which = backend.partition(":")
    if backend == "cpu":
        return {}
    if preset not in ("vulkan", "hybrid"):
        raise OptionError(f"backend is {backend!r}, expected {_FORMS}")
    device = select_device(find_devices(verbose=verbose), which)
    return {name: device for name in graphs if preset == "vulkan" or name in _AROUND_THE_LOOP}


def _of_mapping(backend: Mapping[str, str], graphs: list[str], verbose: bool) -> dict[str, Device]:
    """A graph's own entry goes before that of its part."""
    placed: dict[str, Device] = {}
    found = find_devices(verbose=verbose) if any(place.startswith("vulkan") for place in backend.values()) else ()
    for key, place in sorted(backend.items(), key=lambda item: item[0] in graphs):
        meant = [name for name in graphs if name == key or name.startswith(f"{key}_")]
        if not meant:
            raise OptionError(f"backend names the graph {key!r}, expected one of {', '.join(graphs)}")
        kind, _, which = place.partition(":")
        if place != "cpu" and kind != "vulkan":
            raise OptionError(f"backend has {place!r} for {key}, expected cpu, vulkan, vulkan:INDEX or vulkan:NAME")
        for name in meant:
            placed.pop(name, None)
            if kind == "vulkan":
                placed[name] = select_device(found, which)
    return placed


def _automatic(graphs: Iterable[str], manifest: CodecManifest, verbose: bool) -> Placement:
    try:
        device = select_device(find_devices(verbose=verbose))
        if device.type != "discrete":
            return Placement()
        placement = Placement({name: device for name in graphs if name in _AROUND_THE_LOOP})
        placement._check_memory(manifest)
    except DeviceError:
        return Placement()
    return placement


def _pair(item: str) -> tuple[str, str]:
    name, _, place = item.partition("=")
    return name.strip(), place.strip()
