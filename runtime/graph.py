"""One ncnn graph: load it, feed arrays by blob name, take arrays by blob name."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import ncnn
import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.mat import Floats, from_mat, to_mat

Input: TypeAlias = Floats | NDArray[np.int32] | ncnn.Mat


class Graph:
    """A loaded net. Safe to run from several threads at once: each run has an extractor of its own."""

    def __init__(self, param: Path, weights: Path, option: ncnn.Option) -> None:
        """Raises `PackageError` when ncnn cannot load the pair."""
        self.name = param.stem
        self._net = ncnn.Net()
        self._net.opt = option
        # ncnn raises nothing: it returns a code and prints to stderr.
        for load, path in ((self._net.load_param, param), (self._net.load_model, weights)):
            if load(str(path)) != 0:
                raise PackageError(f"ncnn cannot load {path}: convert the checkpoint again, or verify the package")

    def extractor(self, inputs: Mapping[str, Input]) -> "GraphRun":
        """A run on the given inputs; nothing is computed until an output is asked for."""
        return GraphRun(self.name, self._net.create_extractor(), inputs)

    def run(self, inputs: Mapping[str, Input], output: str) -> Floats:
        """One output of one run."""
        return self.extractor(inputs).array(output)


class GraphRun:
    """One pass through a graph. ncnn computes what the outputs asked for need, and nothing twice."""

    def __init__(self, name: str, extractor: ncnn.Extractor, inputs: Mapping[str, Input]) -> None:
        self._name = name
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
        if code != 0:
            raise PackageError(f"graph {self._name} failed at output {output} (ncnn code {code}): verify the package")
        return mat
