"""The graph for a GPU: computed on the CPU here, it must be the same function."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.param import read_param, write_param
from qwen3_tts_ncnn.runtime.vulkan_param import JOINED, key_width, vulkan_param

HEAD = "7767517\n{} {}\nInput in 0 1 x\n"


def graph(folder: Path, text: str) -> Graph:
    (folder / "g.param").write_text(text)
    (folder / "g.bin").touch()
    return Graph(folder / "g.param", folder / "g.bin", cpu_options(1))


def rewritten(text: str, join: Sequence[str] = ()) -> str:
    return write_param(vulkan_param(read_param(text), join))


def both(folder: Path, text: str, x: object) -> list[object]:
    return [graph(folder, form).run({"x": x}, "y") for form in (text, rewritten(text))]  # type: ignore[dict-item]


def test_gelu_by_erf_is_gelu(tmp_path: Path) -> None:
    text = HEAD.format(2, 2) + "GELU gelu_1 1 1 x y\n"
    x = np.linspace(-6, 6, 4001, dtype=np.float32)[None]
    fused, split = both(tmp_path, text, x)
    assert "GELU" not in rewritten(text)
    np.testing.assert_allclose(split, fused, atol=5e-7, rtol=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("layer", "shape", "result"),
    [("ExpandDims", (6, 5), (6, 1, 5)), ("Squeeze", (6, 1, 5), (6, 5))],
)
def test_an_axis_comes_and_goes_by_reshape(
    tmp_path: Path, layer: str, shape: tuple[int, ...], result: tuple[int, ...]
) -> None:
    text = HEAD.format(2, 2) + f"{layer} l 1 1 x y -23303=1,1\n"
    x = np.arange(30, dtype=np.float32).reshape(shape)
    native, reshaped = both(tmp_path, text, x)
    assert "Reshape" in rewritten(text)
    for y in (native, reshaped):
        np.testing.assert_array_equal(y, x.reshape(result))  # type: ignore[arg-type]


def test_quantised_gemms_are_kept_on_the_cpu() -> None:
    text = HEAD.format(5, 5) + (
        "Gemm plain 1 1 x a 3=1 18=0\nGemm blocks 1 1 a b 3=1 18=802\nGemm rows 1 1 b c 3=1 18=2\nReLU r 1 1 c y\n"
    )
    graph = read_param(text)
    masks = [layer.params.get(31) for layer in vulkan_param(graph).layers]
    assert masks == [None, None, 16, 16, None]
    assert graph == read_param(text)  # the one given is as it was


@pytest.mark.parametrize("name", ["codec_decoder", "mimi_encoder", "talker_decoder"])
def test_every_blob_is_made_once_and_no_layer_without_code_is_left(tiny_package: Path, name: str) -> None:
    made = vulkan_param(read_param((tiny_package / f"{name}.param").read_text()))
    assert len(set(made.blobs)) == len(made.blobs)
    assert {blob for layer in made.layers for blob in layer.inputs} <= set(made.blobs)
    assert not {layer.type for layer in made.layers} & {"GELU", "ExpandDims", "Squeeze"}


def test_outputs_are_joined_end_to_end(tmp_path: Path) -> None:
    text = HEAD.format(4, 5) + "Split s 1 2 x a b\nUnaryOp n 1 1 a minus 0=1\nBinaryOp p 1 1 b plus 0=0 1=1 2=1.0\n"
    joined = graph(tmp_path, rewritten(text, ["plus", "minus"]))
    x = np.arange(15, dtype=np.float32).reshape(3, 1, 5)  # rows that ncnn pads to 16 bytes between channels
    assert joined.run({"x": x}, JOINED).tolist() == [*(x.ravel() + 1), *-x.ravel()]


def test_the_width_of_keys_is_read_from_the_graph(tiny_package: Path) -> None:
    decoder, heads = (
        read_param((tiny_package / f"{name}.param").read_text()) for name in ("talker_decoder", "predictor_heads")
    )
    assert key_width(decoder) == 64
    with pytest.raises(ValueError, match=r"^no layer cuts queries, keys and values apart$"):
        key_width(heads)
