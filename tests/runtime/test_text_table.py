"""The text embedding on disk: stored halves become float32 exactly."""

from pathlib import Path

import numpy as np
import pytest
import torch

from qwen3_tts_ncnn.runtime import manifest as records
from qwen3_tts_ncnn.runtime.errors import PackageError, TextError
from qwen3_tts_ncnn.runtime.text_table import TextTable

TORCH = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
ROWS, WIDTH = 7, 3


def stored(dtype: str) -> torch.Tensor:
    """Values that a careless widening loses: the smallest and largest, subnormals, signed zeros."""
    info = torch.finfo(TORCH[dtype])
    special = [info.max, info.min, info.tiny, info.smallest_normal / 4, -0.0, 0.0, 1 / 3, -2 / 3, 1.0]
    rest = torch.randn(ROWS * WIDTH - len(special), generator=torch.Generator().manual_seed(0))
    return torch.cat((torch.tensor(special), rest)).reshape(ROWS, WIDTH).to(TORCH[dtype])


def table(folder: Path, dtype: str, *, rows: int = ROWS) -> TextTable:
    stored(dtype).view(torch.uint8).numpy().tofile(folder / "table.bin")
    return TextTable(folder, records.TextTable(file="table.bin", rows=rows, width=WIDTH, dtype=dtype))


@pytest.mark.parametrize("dtype", TORCH)
def test_rows_are_widened_exactly(tmp_path: Path, dtype: str) -> None:
    expected = stored(dtype).float().numpy()
    rows = table(tmp_path, dtype).rows(range(ROWS))
    assert rows.dtype == np.float32
    assert np.array_equal(rows.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("dtype", TORCH)
def test_rows_come_in_the_order_of_their_ids(tmp_path: Path, dtype: str) -> None:
    whole = table(tmp_path, dtype).rows(range(ROWS))
    rows = table(tmp_path, dtype).rows([5, 0, 5])
    assert np.array_equal(rows, whole[[5, 0, 5]])
    rows[:] = 0  # its own memory
    assert np.array_equal(table(tmp_path, dtype).rows([5]), whole[[5]])


def test_no_ids_are_no_rows(tmp_path: Path) -> None:
    assert table(tmp_path, "bf16").rows([]).shape == (0, WIDTH)


@pytest.mark.parametrize(("ids", "outside"), [([0, 7], 7), ([9, 8], 9), ([-1, 3], -1), ([3, -7], -7)])
def test_an_id_outside_the_table_is_named(tmp_path: Path, ids: list[int], outside: int) -> None:
    with pytest.raises(TextError, match=f"^token id {outside} is outside the text table of 7 rows$"):
        table(tmp_path, "bf16").rows(ids)


def test_a_file_of_another_size_is_one_line(tmp_path: Path) -> None:
    for rows in (ROWS + 1, ROWS * 1000):
        with pytest.raises(PackageError) as caught:
            table(tmp_path, "bf16", rows=rows)
        assert str(caught.value) == (
            f"{tmp_path / 'table.bin'} holds {2 * ROWS * WIDTH} bytes, expected {2 * rows * WIDTH}: verify the package"
        )


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        PackageError, match=r"nowhere\.bin cannot be read \(No such file or directory\): verify the package$"
    ):
        TextTable(tmp_path, records.TextTable(file="nowhere.bin", rows=1, width=1, dtype="f32"))


def test_an_unknown_type_is_named(tmp_path: Path) -> None:
    (tmp_path / "table.bin").write_bytes(bytes(16))
    with pytest.raises(PackageError, match=r"table.bin is of dtype int8, expected one of bf16, f16, f32$"):
        TextTable(tmp_path, records.TextTable(file="table.bin", rows=1, width=1, dtype="int8"))


def test_a_package_s_table_is_the_checkpoint_s(tiny_package: Path, tiny_checkpoint: Path) -> None:
    from safetensors.torch import load_file

    embedding = load_file(tiny_checkpoint / "model.safetensors")["talker.model.text_embedding.weight"]
    ours = TextTable(tiny_package, records.TextTable("text_embedding.bin", *embedding.shape, "bf16"))
    ids = [0, 1, 77091, 151644, 151673, 151935]
    assert np.array_equal(ours.rows(ids), embedding[ids].float().numpy())
