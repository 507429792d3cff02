"""A table of rows on disk: what an Embed graph computes, without loading it."""

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.precision.blocks import to_bf16
from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.param import read_param
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


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
def test_a_table_serves_several_threads_at_once(tmp_path: Path, dtype: str) -> None:
    """Each row holds its own number, which every type has exactly."""
    rows, width = 200, 64
    numbers = np.repeat(np.arange(rows, dtype=np.float32), width)
    stored = {"f32": numbers.astype("<f4"), "f16": numbers.astype("<f2"), "bf16": to_bf16(numbers).astype("<u2")}
    stored[dtype].tofile(tmp_path / "table.bin")
    table = RowTable(tmp_path / "table.bin", rows, width, dtype)

    def look_up(seed: int) -> bool:
        random = np.random.default_rng(seed)
        return all(
            np.array_equal(table.rows(ids), np.repeat(ids[:, None], width, axis=1))
            for ids in random.integers(0, rows, (200, 16))
        )

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(look_up, range(8))) == [True] * 8


@pytest.mark.parametrize("rows", [ROWS - 1, ROWS + 1, ROWS * 1000])
def test_a_file_of_another_size_is_one_line(tmp_path: Path, rows: int) -> None:
    file = embedding(tmp_path)
    with pytest.raises(PackageError) as caught:
        RowTable.of_embedding(file, rows, WIDTH)
    assert str(caught.value) == (
        f"{file} holds {4 + ROWS * WIDTH * 4} bytes, expected {4 + rows * WIDTH * 4}: verify the package"
    )


@pytest.mark.parametrize("tag", [b"\x83\x8b\x34\x01", b"\x47\x6b\x30\x01", b"\x38\x4b\x0d\x00"])
def test_a_file_of_another_type_is_one_line(tmp_path: Path, tag: bytes) -> None:
    file = embedding(tmp_path, tag=tag)
    with pytest.raises(PackageError) as caught:
        RowTable.of_embedding(file, ROWS, WIDTH)
    assert str(caught.value) == f"{file} is not a table of float32 rows: convert the checkpoint again"


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    for file, reason in ((tmp_path / "none.bin", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(PackageError) as caught:
            RowTable.of_embedding(file, ROWS, WIDTH)
        assert str(caught.value) == f"{file} cannot be read ({reason}): verify the package"


def test_a_table_that_is_let_go_closes_its_file(tmp_path: Path) -> None:
    table = RowTable.of_embedding(embedding(tmp_path), ROWS, WIDTH)
    file = table._file
    assert not file.closed
    del table
    gc.collect()
    assert file.closed


def test_a_type_that_is_not_known_names_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(PackageError) as caught:
        RowTable(embedding(tmp_path), ROWS, WIDTH, "int8")
    assert str(caught.value) == f"{tmp_path / 'embed.bin'} is of dtype int8, expected one of bf16, f16, f32"
