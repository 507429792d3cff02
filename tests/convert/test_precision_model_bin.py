"""ncnn's .bin read without ncnn: each layer's weights are where the graph says, or it is one line."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.torch import load_file

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.precision.model_bin import BF16_TAG, read_weights
from qwen3_tts_ncnn.runtime.param import read_param

GEMM = "Gemm gemm_0 1 1 x y 10=-1 2=0 3=1 4=0 5=1 6=1 7=0 8=3 9=4"
NORM = "RMSNorm norm_0 1 1 x y 0=4 1=1e-06 2=1"


def weights_of(folder: Path, layer: str, data: bytes) -> list[list[float]]:
    """The weights of the one layer of a graph."""
    (folder / "g.bin").write_bytes(data)
    graph = read_param(f"7767517\n2 2\nInput in0 0 1 x\n{layer}\n")
    ((_, nothing), (_, weights)) = read_weights(graph, folder / "g.bin")
    assert nothing == []
    return [weight.values.tolist() for weight in weights]


def refusal(folder: Path, layer: str, data: bytes) -> str:
    with pytest.raises(ConversionError) as caught:
        weights_of(folder, layer, data)
    return str(caught.value)


def numbers(count: int, first: int = 1) -> bytes:
    return np.arange(first, first + count, dtype="<f4").tobytes()


def test_the_weights_of_a_talker_are_those_of_its_checkpoint(tiny_checkpoint: Path, tiny_package: Path) -> None:
    graph = read_param((tiny_package / "talker_decoder.param").read_text())
    found = list(read_weights(graph, tiny_package / "talker_decoder.bin"))
    assert [layer for layer, _ in found] == graph.layers
    stored = load_file(tiny_checkpoint / "model.safetensors")
    tensors = {name: tensor.float().numpy() for name, tensor in stored.items()}
    layers = sorted({name.split(".")[3] for name in tensors if name.startswith("talker.model.layers.")}, key=int)

    def stacked(layer: str, *names: str) -> NDArray[np.float32]:
        return np.concatenate([tensors[f"talker.model.layers.{layer}.{name}.weight"] for name in names])

    expected = []
    for layer in layers:
        expected += [
            stacked(layer, "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
            stacked(layer, "self_attn.o_proj"),
            stacked(layer, "mlp.gate_proj", "mlp.up_proj"),
            stacked(layer, "mlp.down_proj"),
        ]
    gemms = [weights for layer, weights in found if layer.type == "Gemm"]
    assert len(gemms) == len(expected) > 0
    for (weight,), matrix in zip(gemms, expected, strict=True):
        assert weight.tagged
        assert np.array_equal(weight.values, matrix.reshape(-1))
    norms = [weight for layer, weights in found if layer.type == "RMSNorm" for weight in weights]
    assert np.array_equal(norms[0].values, stacked("0", "input_layernorm"))
    assert np.array_equal(norms[-1].values, tensors["talker.model.norm.weight"])
    assert not any(weight.tagged for weight in norms)


def test_a_bias_and_a_norm_come_after_what_they_belong_to(tmp_path: Path) -> None:
    bias = GEMM.replace("10=-1", "10=4")
    assert weights_of(tmp_path, GEMM, bytes(4) + numbers(12)) == [list(range(1, 13))]
    assert weights_of(tmp_path, bias, bytes(4) + numbers(12) + bytes(4) + numbers(3, 50)) == [
        list(range(1, 13)),
        [50, 51, 52],
    ]
    assert weights_of(tmp_path, NORM, numbers(4)) == [[1, 2, 3, 4]]


@pytest.mark.parametrize("size", [0, 3, 4, 48, 51, 53, 56, 104])
def test_a_file_of_another_size(tmp_path: Path, size: int) -> None:
    assert refusal(tmp_path, GEMM, bytes(size)) == f"g.bin holds {size} bytes, its param file expects 52"


def test_weights_that_are_not_float32(tmp_path: Path) -> None:
    for tag in (BF16_TAG, 0x01306B47, 0x000D4B38):  # bf16, fp16, int8
        data = tag.to_bytes(4, "little") + numbers(12)
        assert refusal(tmp_path, GEMM, data) == "g.bin: the weights of gemm_0 are not float32"


@pytest.mark.parametrize(("old", "new"), [("5=1", "5=0"), ("8=3", "8=3 18=802"), ("10=-1", "10=0"), ("10=-1", "10=3")])
def test_a_gemm_that_is_no_float32_linear(tmp_path: Path, old: str, new: str) -> None:
    assert refusal(tmp_path, GEMM.replace(old, new), bytes(4) + numbers(12)) == (
        "Gemm gemm_0 is not a float32 Linear, so its precision cannot be changed"
    )


def test_a_layer_whose_weights_are_not_known(tmp_path: Path) -> None:
    layer = "Convolution1D conv_0 1 1 x y 0=4 1=3 6=12"
    assert refusal(tmp_path, layer, numbers(12)) == (
        "layer conv_0 is of type Convolution1D, whose weights are not known here"
    )
