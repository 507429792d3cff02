"""A float32 graph to the same graph with other weights: its text and its .bin are written anew, without torch."""

from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.precision.blocks import quantize_blocks, to_bf16
from qwen3_tts_ncnn.convert.precision.formats import BLOCKS
from qwen3_tts_ncnn.convert.precision.model_bin import (
    BF16_TAG,
    FP32_TAG,
    GEMM_C_KIND,
    GEMM_HAS_A,
    GEMM_HAS_B,
    GEMM_K,
    GEMM_M,
    GEMM_N,
    GEMM_QUANTIZED,
    GEMM_TRANSPOSED,
    INT8_TAG,
    Weight,
    read_weights,
)
from qwen3_tts_ncnn.runtime.manifest import GraphInfo
from qwen3_tts_ncnn.runtime.param import Layer, read_param, write_param

# ncnn's `18=` of a Gemm: 2, or, for blocks, bits · 100 + the number of the block size, without input scales.
_INT8_ROWS, _INT8_BLOCKS = 2, 800

# ncnn's `10=` of a Gemm: C, the bias, has a value for each row of A.
_C_OF_ROWS = 1


def rewrite_graph(name: str, source: Path, target: Path, weights: GraphInfo) -> None:
    """Writes graph `name` of folder `source` into folder `target` with its Gemm weights in another format.

    Raises `ConversionError` for a graph that is not a float32 one of the kinds known.
    """
    graph = read_param((source / f"{name}.param").read_text(encoding="utf-8"))
    with (target / f"{name}.bin").open("wb") as file:
        for layer, values in read_weights(graph, source / f"{name}.bin"):
            if layer.type != "Gemm":
                for weight in values:
                    _write_fp32(file, weight)
            elif weights.precision == "bf16":
                _write_bf16(file, values)
            elif weights.block is None:
                _write_int8_rows(file, layer, values)
            else:
                _write_int8_blocks(file, layer, values, weights.block)
    (target / f"{name}.param").write_text(write_param(graph), encoding="utf-8", newline="\n")


def _write_fp32(file: BinaryIO, weight: Weight) -> None:
    if weight.tagged:
        file.write(FP32_TAG.to_bytes(4, "little"))
    file.write(weight.values.tobytes())


def _write_int8_rows(file: BinaryIO, layer: Layer, weights: list[Weight]) -> None:
    """Tagged values, then the bias if there is one, then a scale a row.

    ncnn's older int8 has one scale for a constant B, and one a row for a constant A. So the weights become A, what
    comes in becomes B, and the product is handed out transposed.
    """
    matrix, *bias = weights
    columns = _columns(layer)
    values, scales = quantize_blocks(matrix.values.reshape(-1, columns), columns)
    file.write(INT8_TAG.to_bytes(4, "little"))
    _write_padded(file, values)
    for weight in bias:
        _write_fp32(file, weight)
    file.write(scales.tobytes())
    layer.params |= {
        GEMM_HAS_A: 1,
        GEMM_HAS_B: 0,
        GEMM_M: len(values),
        GEMM_N: 0,
        GEMM_C_KIND: _C_OF_ROWS if bias else -1,
        GEMM_TRANSPOSED: 1,
        GEMM_QUANTIZED: _INT8_ROWS,
    }


def _write_int8_blocks(file: BinaryIO, layer: Layer, weights: list[Weight], block: int) -> None:
    """Values without a tag, then the bias if there is one, then the scales: the order in which ncnn reads them."""
    matrix, *bias = weights
    values, scales = quantize_blocks(matrix.values.reshape(-1, _columns(layer)), block)
    _write_padded(file, values)
    for weight in bias:
        _write_fp32(file, weight)
    file.write(scales.tobytes())
    layer.params[GEMM_QUANTIZED] = _INT8_BLOCKS + BLOCKS.index(block)


def _columns(layer: Layer) -> int:
    return int(layer.params[GEMM_K])  # type: ignore[arg-type]  # an int: read_weights has counted with it


def _write_bf16(file: BinaryIO, weights: list[Weight]) -> None:
    matrix, *bias = weights
    file.write(BF16_TAG.to_bytes(4, "little"))
    _write_padded(file, to_bf16(np.asarray(matrix.values)))
    for weight in bias:
        _write_fp32(file, weight)


def _write_padded(file: BinaryIO, values: NDArray[np.int8] | NDArray[np.uint16]) -> None:
    file.write(values.tobytes())
    file.write(bytes(-values.nbytes % 4))
