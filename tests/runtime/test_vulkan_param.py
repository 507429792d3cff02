"""The param text for a GPU: computed on the CPU here, it must be the same function."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.vulkan_param import JOINED, key_width, vulkan_param

HEAD = "7767517\n{} {}\nInput in 0 1 x\n"


def graph(folder: Path, text: str) -> Graph:
    (folder / "g.param").write_text(text)
    (folder / "g.bin").touch()
    return Graph(folder / "g.param", folder / "g.bin", cpu_options(1))


def both(folder: Path, text: str, x: object) -> list[object]:
    return [graph(folder, form).run({"x": x}, "y") for form in (text, vulkan_param(text))]  # type: ignore[dict-item]


def test_gelu_by_erf_is_gelu(tmp_path: Path) -> None:
    text = HEAD.format(2, 2) + "GELU gelu_1 1 1 x y\n"
    x = np.linspace(-6, 6, 4001, dtype=np.float32)[None]
    fused, split = both(tmp_path, text, x)
    assert "GELU" not in vulkan_param(text)
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
    assert "Reshape" in vulkan_param(text)
    for y in (native, reshaped):
        np.testing.assert_array_equal(y, x.reshape(result))  # type: ignore[arg-type]


def test_quantised_gemms_are_kept_on_the_cpu() -> None:
    layers = [
        "Gemm plain 1 1 x a 3=1 18=0",
        "Gemm blocks 1 1 a b 3=1 18=802",
        "Gemm rows 1 1 b c 3=1 18=2",
        "ReLU r 1 1 c y",
    ]
    text = HEAD.format(5, 5) + "\n".join(layers) + "\n"
    lines = vulkan_param(text).splitlines()[3:]
    assert lines == [layers[0], f"{layers[1]} 31=16", f"{layers[2]} 31=16", layers[3]]


@pytest.mark.parametrize("name", ["codec_decoder", "mimi_encoder", "talker_decoder"])
def test_counts_are_those_of_the_lines(tiny_package: Path, name: str) -> None:
    lines = vulkan_param((tiny_package / f"{name}.param").read_text()).splitlines()
    layers = [line.split() for line in lines[2:]]
    outputs = [blob for layer in layers for blob in layer[4 + int(layer[2]) : 4 + int(layer[2]) + int(layer[3])]]
    assert lines[1] == f"{len(layers)} {len(outputs)}"
    assert len(set(outputs)) == len(outputs)
    assert not {layer[0] for layer in layers} & {"GELU", "ExpandDims", "Squeeze"}


def test_outputs_are_joined_end_to_end(tmp_path: Path) -> None:
    text = HEAD.format(4, 5) + "Split s 1 2 x a b\nUnaryOp n 1 1 a minus 0=1\nBinaryOp p 1 1 b plus 0=0 1=1 2=1.0\n"
    joined = graph(tmp_path, vulkan_param(text, ["plus", "minus"]))
    x = np.arange(15, dtype=np.float32).reshape(3, 1, 5)  # rows that ncnn pads to 16 bytes between channels
    assert joined.run({"x": x}, JOINED).tolist() == [*(x.ravel() + 1), *-x.ravel()]


def test_the_width_of_keys_is_read_from_the_graph(tiny_package: Path) -> None:
    assert key_width((tiny_package / "talker_decoder.param").read_text()) == 64
    with pytest.raises(ValueError, match=r"^no layer cuts queries, keys and values apart$"):
        key_width((tiny_package / "predictor_heads.param").read_text())
