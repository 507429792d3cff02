"""A float32 graph to the same graph with other weights: its text and its .bin are written anew, without torch."""

from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.export.param import Layer, read_param, write_param
from qwen3_tts_ncnn.convert.precision.blocks import quantize_blocks, to_bf16
from qwen3_tts_ncnn.convert.precision.formats import BLOCKS, WeightFormat
from qwen3_tts_ncnn.convert.precision.model_bin import BF16_TAG, FP32_TAG, GEMM_K, GEMM_QUANTIZED, Weight, read_weights

# ncnn's `18=` of a Gemm: bits · 100 + the number of the block size, without input scales.
_INT8 = 800


def rewrite_graph(name: str, source: Path, target: Path, weights: WeightFormat) -> None:
    """Writes graph `name` of folder `source` into folder `target` with its Gemm weights in another format.

    Raises `ConversionError` for a graph that is not a float32 one of the kinds known.
    """
    graph = read_param((source / f"{name}.param").read_text(encoding="utf-8"))
    with (target / f"{name}.bin").open("wb") as file:
        for layer, values in read_weights(graph, source / f"{name}.bin"):
            if layer.type != "Gemm":
                for weight in values:
                    _write_fp32(file, weight)
            elif weights.block is not None:
                _write_int8(file, layer, values, weights.block)
            else:
                _write_bf16(file, values)
    (target / f"{name}.param").write_text(write_param(graph), encoding="utf-8", newline="\n")


def _write_fp32(file: BinaryIO, weight: Weight) -> None:
    if weight.tagged:
        file.write(FP32_TAG.to_bytes(4, "little"))
    file.write(weight.values.tobytes())


def _write_int8(file: BinaryIO, layer: Layer, weights: list[Weight], block: int) -> None:
    """Values without a tag, then the bias if there is one, then the scales: the order in which ncnn reads them."""
    matrix, *bias = weights
    columns = int(layer.params[GEMM_K])  # type: ignore[arg-type]  # an int: read_weights has counted with it
    values, scales = quantize_blocks(matrix.values.reshape(-1, columns), block)
    _write_padded(file, values)
    for weight in bias:
        _write_fp32(file, weight)
    file.write(scales.tobytes())
    layer.params[GEMM_QUANTIZED] = _INT8 + BLOCKS.index(block)


def _write_bf16(file: BinaryIO, weights: list[Weight]) -> None:
    matrix, *bias = weights
    file.write(BF16_TAG.to_bytes(4, "little"))
    _write_padded(file, to_bf16(np.asarray(matrix.values)))
    for weight in bias:
        _write_fp32(file, weight)


def _write_padded(file: BinaryIO, values: NDArray[np.int8] | NDArray[np.uint16]) -> None:
    file.write(values.tobytes())
    file.write(bytes(-values.nbytes % 4))
