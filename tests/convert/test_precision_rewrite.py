"""A graph with smaller weights computes in ncnn what numpy says that it should."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.precision.blocks import dequantize_blocks, quantize_blocks, to_bf16
from qwen3_tts_ncnn.convert.precision.formats import BF16, BLOCKS, WeightFormat
from qwen3_tts_ncnn.convert.precision.rewrite import rewrite_graph
from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.mat import Floats

Doubles = NDArray[np.float64]

# (N, K): K a multiple of every block, of some, of none, and smaller than all.
SHAPES = [(24, 256), (7, 64), (48, 300), (5, 100), (16, 20)]


class Linear:
    """y = x·Wᵀ (+ b) of random weights, as a graph of one Gemm in a folder."""

    def __init__(self, folder: Path, shape: tuple[int, int], *, bias: bool) -> None:
        random = np.random.default_rng(shape)
        self.folder = folder
        self.weight = random.standard_normal(shape, dtype=np.float32)
        self.weight[0, :40] = 0
        self.bias = random.standard_normal(shape[0], dtype=np.float32) if bias else None
        kind = -1 if self.bias is None else 4
        (folder / "linear.param").write_text(
            "7767517\n2 2\nInput in0 0 1 x\n"
            f"Gemm gemm_0 1 1 x y 10={kind} 2=0 3=1 4=0 5=1 6=1 7=0 8={shape[0]} 9={shape[1]}\n"
        )
        added = b"" if self.bias is None else bytes(4) + self.bias.tobytes()
        (folder / "linear.bin").write_bytes(bytes(4) + self.weight.tobytes() + added)

    def rewritten(self, weights: WeightFormat) -> Graph:
        """The same graph in another format, loaded."""
        target = self.folder / "target"
        target.mkdir()
        rewrite_graph("linear", self.folder, target, weights)
        # Activations stay float32 here, so that the weights alone are what differs.
        return Graph(target / "linear.param", target / "linear.bin", cpu_options(1))

    def expected(self, x: Doubles, weight: Floats) -> Doubles:
        return x @ weight.astype(np.float64).T + (0 if self.bias is None else self.bias)


def rows(count: int, width: int) -> Floats:
    """Rows whose blocks are of different magnitudes, one of them zero."""
    x = np.random.default_rng(width).standard_normal((count, width), dtype=np.float32)
    x[:, ::3] *= 20
    x[-1, : width // 2] = 0
    return x


def quantized_rows(x: Floats, block: int) -> Doubles:
    """What ncnn makes of a Gemm's input: int8 by blocks of a row, 127 steps to the largest, halves away from zero."""
    count, width = x.shape
    blocks = -(-width // block)
    padded = np.pad(x, ((0, 0), (0, blocks * block - width))).reshape(count, blocks, block)
    largest = np.abs(padded).max(axis=2, keepdims=True)
    scale = np.divide(np.float32(127), largest, out=np.ones_like(largest), where=largest > 0)
    steps = np.copysign(np.floor(np.abs(padded * scale) + np.float32(0.5)), padded)
    rounded: Doubles = (steps / scale.astype(np.float64)).reshape(count, -1)[:, :width]
    return rounded


def relative_error(ours: Floats, expected: Doubles) -> float:
    return float(np.abs(ours - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_int8_gemm_is_that_of_the_dequantised_weights(
    tmp_path: Path, shape: tuple[int, int], block: int, bias: bool
) -> None:
    linear = Linear(tmp_path, shape, bias=bias)
    graph = linear.rewritten(WeightFormat("int8", block))
    weight = dequantize_blocks(*quantize_blocks(linear.weight, block), block)
    for count in (1, 3):
        x = rows(count, shape[1])
        y = graph.run({"x": x}, "y")
        assert relative_error(y, linear.expected(quantized_rows(x, block), weight)) < 1e-5
        assert 1e-5 < relative_error(y, linear.expected(x.astype(np.float64), linear.weight)) < 0.1


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
@pytest.mark.parametrize("shape", [*SHAPES, (3, 33)], ids=str)  # the last is of an odd number of values
def test_a_bf16_gemm_is_that_of_the_rounded_weights(tmp_path: Path, shape: tuple[int, int], bias: bool) -> None:
    linear = Linear(tmp_path, shape, bias=bias)
    graph = linear.rewritten(BF16)
    weight = (to_bf16(linear.weight).astype(np.uint32) << 16).view(np.float32)
    for count in (1, 3):
        x = rows(count, shape[1])
        assert relative_error(graph.run({"x": x}, "y"), linear.expected(x.astype(np.float64), weight)) < 1e-5


@pytest.mark.parametrize(("block", "kind"), [(32, 800), (64, 801), (128, 802)])
def test_the_text_differs_by_one_number(tmp_path: Path, block: int, kind: int) -> None:
    Linear(tmp_path, (5, 100), bias=True).rewritten(WeightFormat("int8", block))
    before = (tmp_path / "linear.param").read_text().split()
    assert (tmp_path / "target" / "linear.param").read_text().split() == [*before, f"18={kind}"]


def test_the_int8_file_is_values_then_bias_then_scales(tmp_path: Path) -> None:
    linear = Linear(tmp_path, (5, 33), bias=True)
    linear.rewritten(WeightFormat("int8", 32))
    assert linear.bias is not None
    values, scales = quantize_blocks(linear.weight, 32)
    padding = bytes(3)  # 165 values, to a multiple of four
    assert (tmp_path / "target" / "linear.bin").read_bytes() == (
        values.tobytes() + padding + bytes(4) + linear.bias.tobytes() + scales.tobytes()
    )


def test_norms_stay_as_they_are(tmp_path: Path, tiny_package: Path) -> None:
    for weights in (BF16, WeightFormat("int8", 64)):
        rewrite_graph("talker_decoder", tiny_package, tmp_path, weights)
        norm = np.fromfile(tiny_package / "talker_decoder.bin", "<f4", 64)  # the first layer with weights
        assert np.array_equal(np.fromfile(tmp_path / "talker_decoder.bin", "<f4", 64), norm)
