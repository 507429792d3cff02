"""One ncnn graph: load it, feed arrays by blob name, take arrays by blob name."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import ncnn
import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.devices import Device
from qwen3_tts_ncnn.runtime.errors import DeviceError, FormatError, PackageError
from qwen3_tts_ncnn.runtime.mat import Floats, from_mat, to_mat
from qwen3_tts_ncnn.runtime.native_log import kept_log, show
from qwen3_tts_ncnn.runtime.param import read_param, write_param
from qwen3_tts_ncnn.runtime.vulkan_param import vulkan_param

_NO_MEMORY = "vkAllocateMemory failed"

Input: TypeAlias = Floats | NDArray[np.int32] | ncnn.Mat


class Graph:
    """A loaded net. Safe to run from several threads at once: each run has an extractor of its own."""

    def __init__(
        self,
        param: Path,
        weights: Path,
        option: ncnn.Option,
        device: Device | None = None,
        *,
        join: Sequence[str] = (),
        verbose: bool = False,
    ) -> None:
        """Loads the pair, on a GPU if one is given: then as `vulkan_param` has it, with the outputs `join` in one.

        `verbose` shows what ncnn prints on the way. Raises `PackageError` when ncnn cannot load it, `DeviceError` where
        the GPU has no memory for it.
        """
        self.name, self.device = param.stem, device
        self._net = net_of(param, option, device, join=join, verbose=verbose)
        _load(lambda: self._net.load_model(str(weights)), weights, verbose, device)

    def extractor(self, inputs: Mapping[str, Input]) -> "GraphRun":
        """A run on the given inputs; nothing is computed until an output is asked for."""
        return GraphRun(self.name, self.device, self._net.create_extractor(), inputs)

    def run(self, inputs: Mapping[str, Input], output: str) -> Floats:
        """One output of one run."""
        return self.extractor(inputs).array(output)


def net_of(
    param: Path,
    option: ncnn.Option,
    device: Device | None = None,
    *,
    join: Sequence[str] = (),
    verbose: bool = False,
) -> ncnn.Net:
    """The layers of a graph without their weights. Raises `PackageError`."""
    net = ncnn.Net()
    net.opt = option
    if device is None:
        _load(lambda: net.load_param(str(param)), param, verbose)
        return net
    net.set_vulkan_device(device.index)
    try:
        text = write_param(vulkan_param(read_param(param.read_text(encoding="utf-8")), join))
    except (OSError, ValueError, FormatError):
        raise _cannot_load(param) from None
    _load(lambda: net.load_param_mem(text), param, verbose)
    return net


def layers_on_cpu(net: ncnn.Net) -> Counter[str]:
    """How many layers of which types a net for a GPU leaves to the CPU."""
    return Counter(layer.type for layer in net.layers() if not layer.support_vulkan and layer.type != "Input")


def _load(load: Callable[[], int], path: Path, verbose: bool, device: Device | None = None) -> None:
    """ncnn raises nothing: it returns a code and prints to stderr."""
    with kept_log() as log:
        code = load()
    # Weights that find no room on a GPU are left out with a line, and the code may be that of success.
    is_full = device is not None and _NO_MEMORY in log.text
    if verbose or (code == 0 and not is_full):  # a load that succeeds prints nothing: it is somebody else's
        show(log.text)
    if is_full:
        raise DeviceError(f"device {device} has no memory left for the graph {path.stem}")
    if code != 0:
        raise _cannot_load(path)


def _cannot_load(path: Path) -> PackageError:
    return PackageError(f"ncnn cannot load {path}: convert the checkpoint again, or verify the package")


class GraphRun:
    """One pass through a graph. ncnn computes what the outputs asked for need, and nothing twice."""

    def __init__(
        self, name: str, device: Device | None, extractor: ncnn.Extractor, inputs: Mapping[str, Input]
    ) -> None:
        self._name = name
        self._device = device
        self._extractor = extractor
        self._allocator: ncnn.Allocator | None = None
        for blob, value in inputs.items():
            mat = value if isinstance(value, ncnn.Mat) else to_mat(value)
            if extractor.input(blob, mat) != 0:
                raise PackageError(f"graph {name} has no input {blob}: convert the checkpoint again")

    def __del__(self) -> None:
        # The extractor's blobs go before the allocator they came from, whoever else let go of it: a crash otherwise.
        del self._extractor

    def use_kv_allocator(self, allocator: ncnn.Allocator, capacity: int) -> None:
        """Where this run keeps its KV caches, and for how many rows they are sized at once."""
        self._allocator = allocator
        self._extractor.set_kvcache_allocator(allocator)
        self._extractor.set_kvcache_max_seqlen_hint(capacity)

    def array(self, output: str) -> Floats:
        """An output as an array of its own."""
        return from_mat(self.mat(output))

    def mat(self, output: str, *, shared: bool = False) -> ncnn.Mat:
        """An output as a Mat; `shared` hands out the very Mat of the net, which a KV cache must stay."""
        code, mat = self._extractor.extract(output, 1 if shared else 0)
        if code == 0:
            return mat
        what = f"graph {self._name} failed at output {output} (ncnn code {code})"
        if self._device is not None:
            raise DeviceError(f"{what} on device {self._device}, whose memory may be full: run it on the CPU")
        raise PackageError(f"{what}: verify the package")
