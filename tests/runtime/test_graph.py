"""A pair of files as a graph: what ncnn only prints becomes one line."""

import os
from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime import graph
from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.errors import DeviceError, PackageError
from qwen3_tts_ncnn.runtime.graph import Graph
from tests.runtime.gpus import gpu

# y = x + 1, z = −x
PARAM = """7767517
4 5
Input    in  0 1 x
Split    s   1 2 x x0 x1
BinaryOp add 1 1 x0 y 0=0 1=1 2=1.0
UnaryOp  neg 1 1 x1 z 0=1
"""


def little(folder: Path, param: str = PARAM) -> Graph:
    (folder / "little.param").write_text(param)
    (folder / "little.bin").touch()
    return Graph(folder / "little.param", folder / "little.bin", cpu_options(1))


def test_outputs_are_taken_by_name(tmp_path: Path) -> None:
    x = np.array([[1, 2, 3]], dtype=np.float32)
    graph = little(tmp_path)
    assert graph.name == "little"
    assert graph.run({"x": x}, "y").tolist() == [[2, 3, 4]]
    run = graph.extractor({"x": x})
    assert [run.array(name).tolist() for name in ("z", "y")] == [[[-1, -2, -3]], [[2, 3, 4]]]


def test_an_output_outlives_its_run(tmp_path: Path) -> None:
    graph = little(tmp_path)
    first = graph.run({"x": np.zeros((1, 4), dtype=np.float32)}, "y")
    graph.run({"x": np.full((1, 4), 9, dtype=np.float32)}, "y")
    del graph
    assert first.tolist() == [[1, 1, 1, 1]]


def test_an_input_the_graph_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"^graph little has no input w: convert the checkpoint again$"):
        little(tmp_path).extractor({"w": np.zeros(1, dtype=np.float32)})


def test_an_output_the_graph_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"^graph little failed at output w \(ncnn code -1\): verify the package$"):
        little(tmp_path).run({"x": np.zeros(1, dtype=np.float32)}, "w")


@pytest.mark.parametrize("param", ["", "nonsense", "7767517\n1 1\nNoSuchLayer a 0 1 x\n"])
def test_a_broken_param_file_is_one_line(tmp_path: Path, param: str) -> None:
    with pytest.raises(PackageError) as caught:
        little(tmp_path, param)
    assert str(caught.value) == (
        f"ncnn cannot load {tmp_path / 'little.param'}: convert the checkpoint again, or verify the package"
    )


def test_missing_and_truncated_weights_are_one_line(tiny_package: Path, tmp_path: Path) -> None:
    param, weights = (tiny_package / f"talker_codec_head.{suffix}" for suffix in ("param", "bin"))
    cut = tmp_path / "cut.bin"
    cut.write_bytes(weights.read_bytes()[:1000])
    for path in (tmp_path / "nowhere.bin", cut):
        with pytest.raises(PackageError) as caught:
            Graph(param, path, cpu_options(1))
        assert str(caught.value).startswith(f"ncnn cannot load {path}: ")


GPU = gpu(0, "GeForce GT 710", "discrete")
NO_MEMORY = "vkAllocateMemory failed -2\n"


class FullNet:
    """A net on a GPU without memory: ncnn prints a line, goes on without the weights and reports success."""

    def __init__(self, code: int = 0) -> None:
        self.code = code

    def load_model(self, path: str) -> int:
        os.write(2, NO_MEMORY.encode())
        return self.code

    def create_extractor(self) -> "FullNet":
        return self

    def extract(self, output: str, kind: int) -> tuple[int, None]:
        return -100, None


@pytest.mark.parametrize("code", [0, -1])
def test_a_gpu_without_memory_for_the_weights_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], code: int
) -> None:
    monkeypatch.setattr(graph, "net_of", lambda *_, **__: FullNet(code))
    with pytest.raises(DeviceError, match=r"^device 0 \(GeForce GT 710\) has no memory left for the graph little$"):
        Graph(tmp_path / "little.param", tmp_path / "little.bin", cpu_options(1), GPU)
    assert capfd.readouterr().err == ""


def test_a_gpu_that_fails_in_a_run_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "net_of", lambda *_, **__: FullNet())
    monkeypatch.setattr(graph, "_NO_MEMORY", "something else")
    loaded = Graph(tmp_path / "little.param", tmp_path / "little.bin", cpu_options(1), GPU)
    with pytest.raises(DeviceError) as caught:
        loaded.run({}, "y")
    assert str(caught.value) == (
        "graph little failed at output y (ncnn code -100) on device 0 (GeForce GT 710), whose memory may be full: run "
        "it on the CPU"
    )
