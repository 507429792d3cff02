"""A graph with smaller weights computes in ncnn what numpy says that it should."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.precision.blocks import dequantize_blocks, quantize_blocks, to_bf16
from qwen3_tts_ncnn.convert.precision.formats import BF16, BLOCKS
from qwen3_tts_ncnn.convert.precision.rewrite import rewrite_graph
from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.manifest import GraphInfo
from qwen3_tts_ncnn.runtime.mat import Floats

Doubles = NDArray[np.float64]

# (N, K): K a multiple of every block, of some, of none, odd, and smaller than all.
SHAPES = [(24, 256), (7, 64), (48, 300), (5, 100), (9, 77), (16, 20)]

ROW = GraphInfo("int8", None)

# Numbers of rows that ncnn packs by 16, by 4, and not at all.
COUNTS = (1, 2, 5, 16, 20)


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

    def rewritten(self, weights: GraphInfo, threads: int = 1) -> Graph:
        """The same graph in another format, loaded."""
        target = self.folder / "target"
        target.mkdir(exist_ok=True)
        rewrite_graph("linear", self.folder, target, weights)
        # Activations stay float32 here, so that the weights alone are what differs.
        return Graph(target / "linear.param", target / "linear.bin", cpu_options(threads))

    def expected(self, x: Doubles, weight: Floats) -> Doubles:
        return x @ weight.astype(np.float64).T + (0 if self.bias is None else self.bias)


def rows(count: int, width: int) -> Floats:
    """Rows whose blocks are of different magnitudes, one of them zero."""
    x = np.random.default_rng(width).standard_normal((count, width), dtype=np.float32)
    x[:, ::3] *= 20
    x[-1, : width // 2] = 0
    return x


def quantized(x: Floats, axis: int | None) -> Doubles:
    """int8 of one scale along an axis, or of one for all (None): 127 steps to the largest, halves away from zero."""
    largest = np.abs(x).max(axis=axis, keepdims=True)
    scale = np.divide(np.float32(127), largest, out=np.ones_like(largest), where=largest > 0)
    steps = np.copysign(np.floor(np.abs(x * scale) + np.float32(0.5)), x)
    rounded: Doubles = steps / scale.astype(np.float64)
    return rounded


def quantized_blocks(x: Floats, block: int) -> Doubles:
    """What ncnn makes of the input of a Gemm of int8 blocks: each block of each row by itself (gemm.cpp:42)."""
    count, width = x.shape
    blocks = -(-width // block)
    padded = np.pad(x, ((0, 0), (0, blocks * block - width))).reshape(count, blocks, block)
    return quantized(padded, 2).reshape(count, -1)[:, :width]


def relative_error(ours: Floats, expected: Doubles) -> float:
    return float(np.abs(ours - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_int8_gemm_is_that_of_the_dequantised_weights(
    tmp_path: Path, shape: tuple[int, int], block: int, bias: bool
) -> None:
    linear = Linear(tmp_path, shape, bias=bias)
    graph = linear.rewritten(GraphInfo("int8", block))
    weight = dequantize_blocks(*quantize_blocks(linear.weight, block), block)
    for count in COUNTS:
        x = rows(count, shape[1])
        y = graph.run({"x": x}, "y")
        assert relative_error(y, linear.expected(quantized_blocks(x, block), weight)) < 1e-5
        assert 1e-5 < relative_error(y, linear.expected(x.astype(np.float64), linear.weight)) < 0.1


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
@pytest.mark.parametrize("shape", [*SHAPES, (3, 33), (2, 1)], ids=str)
def test_an_int8_gemm_by_rows_takes_all_that_comes_in_by_one_scale(
    tmp_path: Path, shape: tuple[int, int], bias: bool
) -> None:
    """gemm.cpp:1020, x86/gemm_int8.h:4557: the scale of an input that is no constant is of its greatest value."""
    linear = Linear(tmp_path, shape, bias=bias)
    graph = linear.rewritten(ROW)
    weight = dequantize_blocks(*quantize_blocks(linear.weight, shape[1]), shape[1])
    for count in COUNTS:
        x = rows(count, shape[1])
        y = graph.run({"x": x}, "y")
        assert y.shape == (count, shape[0])
        assert relative_error(y, linear.expected(quantized(x, None), weight)) < 1e-6
        assert relative_error(y, linear.expected(x.astype(np.float64), linear.weight)) < 0.1


def test_a_row_beside_a_much_larger_one_is_lost_in_int8_by_rows_and_not_by_blocks(tmp_path: Path) -> None:
    shape = (7, 64)
    linear = Linear(tmp_path, shape, bias=True)
    assert linear.bias is not None
    small = rows(1, shape[1]) + np.float32(1e-3)
    both = np.concatenate((small, rows(1, shape[1])[:, ::-1] * np.float32(1e4)))
    alone, beside = {}, {}
    for weights in (ROW, GraphInfo("int8", 64)):
        graph = linear.rewritten(weights)
        alone[weights], beside[weights] = (graph.run({"x": x}, "y")[0] for x in (small, both))
    assert np.array_equal(beside[ROW], linear.bias)
    assert not np.allclose(alone[ROW], linear.bias)
    assert np.array_equal(beside[GraphInfo("int8", 64)], alone[GraphInfo("int8", 64)])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_gemm_by_rows_is_large_enough_for_several_tiles(tmp_path: Path, threads: int) -> None:
    """ncnn lays out the weights by tiles when it loads them, and reads them by those of the run."""
    linear = Linear(tmp_path, (1500, 2500), bias=True)
    graph = linear.rewritten(ROW, threads)
    weight = dequantize_blocks(*quantize_blocks(linear.weight, 2500), 2500)
    for count in (1, 37):
        x = rows(count, 2500)
        assert relative_error(graph.run({"x": x}, "y"), linear.expected(quantized(x, None), weight)) < 1e-6


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
@pytest.mark.parametrize("shape", [*SHAPES, (3, 33)], ids=str)  # the last is of an odd number of values
def test_a_bf16_gemm_is_that_of_the_rounded_weights(tmp_path: Path, shape: tuple[int, int], bias: bool) -> None:
    linear = Linear(tmp_path, shape, bias=bias)
    graph = linear.rewritten(BF16)
    weight = (to_bf16(linear.weight).astype(np.uint32) << 16).view(np.float32)
    for count in COUNTS:
        x = rows(count, shape[1])
        assert relative_error(graph.run({"x": x}, "y"), linear.expected(x.astype(np.float64), weight)) < 1e-5


@pytest.mark.parametrize(("block", "kind"), [(32, 800), (64, 801), (128, 802)])
def test_the_text_differs_by_one_number(tmp_path: Path, block: int, kind: int) -> None:
    Linear(tmp_path, (5, 100), bias=True).rewritten(GraphInfo("int8", block))
    before = (tmp_path / "linear.param").read_text().split()
    assert (tmp_path / "target" / "linear.param").read_text().split() == [*before, f"18={kind}"]


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
def test_by_rows_the_weights_are_the_left_hand_side_and_the_product_is_transposed(tmp_path: Path, bias: bool) -> None:
    Linear(tmp_path, (5, 100), bias=bias).rewritten(ROW)
    kind = "10=1" if bias else "10=-1"
    (line,) = [line for line in (tmp_path / "target" / "linear.param").read_text().splitlines() if "gemm" in line]
    assert set(line.split()[6:]) == {kind, "2=0", "3=1", "4=1", "5=0", "6=1", "7=5", "8=0", "9=100", "14=1", "18=2"}


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
def test_the_file_by_rows_is_tagged_values_then_bias_then_a_scale_a_row(tmp_path: Path, bias: bool) -> None:
    linear = Linear(tmp_path, (5, 33), bias=bias)
    linear.rewritten(ROW)
    values, scales = quantize_blocks(linear.weight, 33)
    assert scales.shape == (5, 1)
    added = b"" if linear.bias is None else bytes(4) + linear.bias.tobytes()
    tag, padding = bytes.fromhex("384b0d00"), bytes(3)  # 165 values, to a multiple of four
    assert (tmp_path / "target" / "linear.bin").read_bytes() == (
        tag + values.tobytes() + padding + added + scales.tobytes()
    )


def test_the_int8_file_is_values_then_bias_then_scales(tmp_path: Path) -> None:
    linear = Linear(tmp_path, (5, 33), bias=True)
    linear.rewritten(GraphInfo("int8", 32))
    assert linear.bias is not None
    values, scales = quantize_blocks(linear.weight, 32)
    padding = bytes(3)  # 165 values, to a multiple of four
    assert (tmp_path / "target" / "linear.bin").read_bytes() == (
        values.tobytes() + padding + bytes(4) + linear.bias.tobytes() + scales.tobytes()
    )


def test_norms_stay_as_they_are(tmp_path: Path, tiny_package: Path) -> None:
    for weights in (BF16, GraphInfo("int8", 64), ROW):
        rewrite_graph("talker_decoder", tiny_package, tmp_path, weights)
        norm = np.fromfile(tiny_package / "talker_decoder.bin", "<f4", 64)  # the first layer with weights
        assert np.array_equal(np.fromfile(tmp_path / "talker_decoder.bin", "<f4", 64), norm)
