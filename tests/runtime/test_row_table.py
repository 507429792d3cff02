"""A memory-mapped table of rows: what an Embed graph computes, without loading it."""

from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.export.param import read_param
from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.row_table import RowTable

ROWS, WIDTH = 5, 3


def embedding(folder: Path, *, tag: bytes = bytes(4), rows: int = ROWS, width: int = WIDTH) -> Path:
    """The .bin of an Embed layer that holds 0, 1, 2, …"""
    file = folder / "embed.bin"
    file.write_bytes(tag + np.arange(rows * width, dtype="<f4").tobytes())
    return file


@pytest.mark.parametrize("name", ["talker_codec_embed", "predictor_embeds"])
def test_the_rows_are_the_graph_s(tiny_package: Path, name: str) -> None:
    files = (tiny_package / f"{name}.param", tiny_package / f"{name}.bin")
    (embed,) = read_param(files[0].read_text()).of_type("Embed")
    width, count = embed.params[0], embed.params[1]
    assert isinstance(width, int)
    assert isinstance(count, int)
    table = RowTable.of_embedding(files[1], count, width)
    assert len(table) == count
    ids = np.random.default_rng(0).integers(0, count, 50).astype(np.int32)
    ids[:3] = (0, count - 1, ids[3])
    computed = Graph(*files, cpu_options(1)).run({"ids": ids[None]}, "embeddings")
    assert np.array_equal(table.rows(ids), computed.reshape(-1, width))


def test_rows_come_in_the_order_of_their_ids_in_memory_of_their_own(tmp_path: Path) -> None:
    table = RowTable.of_embedding(embedding(tmp_path), ROWS, WIDTH)
    rows = table.rows([4, 0, 4])
    assert rows.tolist() == [[12, 13, 14], [0, 1, 2], [12, 13, 14]]
    rows[:] = -1
    assert table.rows([0]).tolist() == [[0, 1, 2]]
    assert table.rows([]).shape == (0, WIDTH)


@pytest.mark.parametrize("rows", [ROWS + 1, ROWS * 1000])
def test_a_file_that_is_too_short_is_one_line(tmp_path: Path, rows: int) -> None:
    file = embedding(tmp_path)
    with pytest.raises(PackageError) as caught:
        RowTable.of_embedding(file, rows, WIDTH)
    assert str(caught.value).startswith(f"{file} cannot be mapped (")
    assert str(caught.value).endswith("): verify the package")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tag", [b"\x83\x8b\x34\x01", b"\x47\x6b\x30\x01", b"\x38\x4b\x0d\x00"])
def test_a_file_of_another_type_is_one_line(tmp_path: Path, tag: bytes) -> None:
    file = embedding(tmp_path, tag=tag)
    with pytest.raises(PackageError) as caught:
        RowTable.of_embedding(file, ROWS, WIDTH)
    assert str(caught.value) == f"{file} is not a table of float32 rows: convert the checkpoint again"


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"none\.bin cannot be mapped \(.*\): verify the package"):
        RowTable.of_embedding(tmp_path / "none.bin", ROWS, WIDTH)


def test_a_type_that_is_not_known_names_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(PackageError) as caught:
        RowTable(embedding(tmp_path), ROWS, WIDTH, "int8")
    assert str(caught.value) == f"{tmp_path / 'embed.bin'} is of dtype int8, expected one of bf16, f16, f32"
