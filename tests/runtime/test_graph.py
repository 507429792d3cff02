"""A pair of files as a graph: what ncnn only prints becomes one line."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.graph import Graph

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
