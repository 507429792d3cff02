"""Tensors are found, widened exactly, and every way a file can be incomplete is one clear line before any compute."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from qwen3_tts_ncnn.convert.checkpoint.tensors import open_tensors
from qwen3_tts_ncnn.convert.errors import CheckpointError

TENSORS = {
    "a": torch.tensor([[1.0, -2.5], [3.25, 65280.0]], dtype=torch.bfloat16),
    "b": torch.tensor([1.0, 2.0**-24, -65504.0], dtype=torch.float16),
    "c": torch.tensor([[[0.1]]]),
}


def write_shards(folder: Path, shards: dict[str, dict[str, torch.Tensor]], weight_map: dict[str, str]) -> None:
    for file, tensors in shards.items():
        save_file(tensors, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as error:
        open_tensors(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_single_file_gives_names_shapes_dtypes_and_exact_float32(tmp_path: Path) -> None:
    save_file(TENSORS, tmp_path / "model.safetensors", metadata={"format": "pt"})
    tensors = open_tensors(tmp_path)
    assert tensors.names == ("a", "b", "c")
    assert tensors.shapes == {"a": (2, 2), "b": (3,), "c": (1, 1, 1)}
    assert [tensors.dtype(name) for name in tensors.names] == ["BF16", "F16", "F32"]
    assert tensors.shape("b") == (3,)
    assert tensors.files == (tmp_path / "model.safetensors",)
    assert tensors.load("a").dtype == tensors.load("b").dtype == tensors.load("c").dtype == torch.float32
    assert tensors.load("a").tolist() == [[1.0, -2.5], [3.25, 65280.0]]
    assert tensors.load("b").tolist() == [1.0, 2.0**-24, -65504.0]
    assert torch.equal(tensors.load("c"), TENSORS["c"])
    for name, tensor in TENSORS.items():
        assert tensors.raw(name).dtype == tensor.dtype
        assert torch.equal(tensors.raw(name), tensor)


def test_every_bfloat16_and_float16_bit_pattern_widens_exactly(tmp_path: Path) -> None:
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int16)
    stored = {"bf16": bits.view(torch.bfloat16), "f16": bits.clone().view(torch.float16)}
    save_file(stored, tmp_path / "model.safetensors")
    tensors = open_tensors(tmp_path)
    bf16, f16 = tensors.load("bf16").numpy(), tensors.load("f16").numpy()
    assert np.array_equal(bf16, (bits.numpy().astype(np.int32) << 16).view(np.float32), equal_nan=True)
    assert np.array_equal(f16, bits.numpy().view(np.float16).astype(np.float32), equal_nan=True)


def test_a_loaded_tensor_can_be_changed_without_changing_the_file(tmp_path: Path) -> None:
    save_file({"a": torch.ones(3)}, tmp_path / "model.safetensors")
    tensors = open_tensors(tmp_path)
    tensors.load("a").zero_()
    assert tensors.load("a").tolist() == [1.0, 1.0, 1.0]


def test_shards_are_one_model(tmp_path: Path) -> None:
    write_shards(
        tmp_path,
        {"model-1.safetensors": {"a": TENSORS["a"]}, "model-2.safetensors": {"b": TENSORS["b"], "c": TENSORS["c"]}},
        {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-2.safetensors"},
    )
    tensors = open_tensors(tmp_path)
    assert tensors.names == ("a", "b", "c")
    assert [path.name for path in tensors.files] == [
        "model.safetensors.index.json",
        "model-1.safetensors",
        "model-2.safetensors",
    ]
    for name, tensor in TENSORS.items():
        assert torch.equal(tensors.raw(name), tensor)


def test_a_folder_without_tensors_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    assert refusal(tmp_path).startswith(f"{path} is missing, and so is model.safetensors.index.json")


def test_a_tensor_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    save_file(TENSORS, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"model.safetensors has no tensor nope: the checkpoint is incomplete"):
        open_tensors(tmp_path).load("nope")


def test_truncated_safetensors_is_one_clear_line_wherever_it_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file(TENSORS, path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        message = refusal(tmp_path)
        assert message.startswith(f"{path} is truncated: it is {size} bytes, ")
        assert message.endswith("download it again")
    assert f"its header says {len(whole)}" in message


def test_surplus_bytes_at_the_end_are_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file(TENSORS, path)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"\0")
    assert refusal(tmp_path).startswith(
        f"{path} has surplus bytes at its end: it is {size + 1} bytes, its header says {size}"
    )


def entry(dtype: object = "F32", shape: object = (1,), offsets: object = (0, 4)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (b"{not json}", "(its header is not JSON)"),
        (b"\xff\xff", "(its header is not JSON)"),
        (b"[1, 2]", "(its header is not a JSON object)"),
        ({"a": 3}, "(the entry of tensor a lacks dtype, shape or data_offsets)"),
        ({"a": {"dtype": "F32", "shape": [1]}}, "(the entry of tensor a lacks dtype, shape or data_offsets)"),
        ({"a": entry(shape=[-1])}, "(the entry of tensor a has no valid shape and data_offsets)"),
        ({"a": entry(shape="1")}, "(the entry of tensor a has no valid shape and data_offsets)"),
        ({"a": entry(offsets=[0])}, "(the entry of tensor a has no valid shape and data_offsets)"),
        ({"a": entry(shape=[2])}, "(tensor a spans 4 bytes, its shape and dtype need 8)"),
        ({"a": entry(), "b": entry(offsets=[2, 6])}, "(tensor b starts at byte 2 of the data, expected 4)"),
        ({"a": entry(offsets=[4, 8])}, "(tensor a starts at byte 4 of the data, expected 0)"),
    ],
)
def test_a_corrupt_header_is_one_clear_line(tmp_path: Path, header: object, expected: str) -> None:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
    message = refusal(tmp_path)
    assert message.startswith(f"{path} is not a valid safetensors file {expected}")


def test_a_file_of_another_kind_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 1829344272\n")
    assert "is not a valid safetensors file (it claims a header of " in refusal(tmp_path)


@pytest.mark.parametrize("dtype", ["I8", "F8_E4M3", "F64"])
def test_an_unsupported_dtype_is_one_clear_line(tmp_path: Path, dtype: str) -> None:
    text = json.dumps({"w": {"dtype": dtype, "shape": [4], "data_offsets": [0, 4]}}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(4))
    assert refusal(tmp_path).startswith(f"{path}: tensor w is stored as {dtype}, expected BF16, F16, F32")


def test_a_file_that_changes_after_it_was_opened_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file(TENSORS, path)
    tensors = open_tensors(tmp_path)
    changes: list[Callable[[], object]] = [lambda: path.write_bytes(b""), path.unlink]
    for change in changes:
        change()
        with pytest.raises(CheckpointError) as error:
            tensors.load("a")
        assert str(error.value).startswith(f"tensor a cannot be read from {path} any more")
        assert "\n" not in str(error.value)


A, B = {"a": torch.zeros(1)}, {"b": torch.zeros(2)}
INDEX_A_B = {"a": "1.safetensors", "b": "2.safetensors"}


@pytest.mark.parametrize(
    ("shards", "weight_map", "expected"),
    [
        ({"1.safetensors": A}, INDEX_A_B, "2.safetensors is missing, but model.safetensors.index.json names it"),
        ({"1.safetensors": A | B, "2.safetensors": B}, INDEX_A_B, "b is in both 1.safetensors and 2.safetensors"),
        ({"1.safetensors": A}, {"a": "1.safetensors", "b": "1.safetensors"}, "tensor b is not in 1.safetensors, where"),
        ({"1.safetensors": B, "2.safetensors": A}, INDEX_A_B, "a is in 2.safetensors, the index says 1.safetensors"),
        ({"1.safetensors": A | B}, {"a": "1.safetensors"}, "tensor b of 1.safetensors is not in the index"),
        ({}, {"a": "../1.safetensors"}, "expected tensor names and names of .safetensors files beside the index"),
        ({}, {"a": "/etc/passwd"}, "expected tensor names and names of .safetensors files beside the index"),
        ({}, {"a": 3}, "expected tensor names and names of .safetensors files beside the index"),
        ({}, {}, "weight_map is {}, expected at least one tensor"),
    ],
)
def test_an_index_that_disagrees_with_its_shards_is_one_clear_line(
    tmp_path: Path, shards: dict[str, dict[str, torch.Tensor]], weight_map: dict[str, str], expected: str
) -> None:
    write_shards(tmp_path, shards, weight_map)
    assert expected in refusal(tmp_path)


def test_a_truncated_shard_is_one_clear_line(tmp_path: Path) -> None:
    write_shards(tmp_path, {"1.safetensors": A, "2.safetensors": B}, INDEX_A_B)
    shard = tmp_path / "2.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1])
    assert refusal(tmp_path).startswith(f"{shard} is truncated")
