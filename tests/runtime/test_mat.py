"""A Mat owns its memory, and so does an array that came from one."""

import gc

import ncnn
import numpy as np
import pytest

from qwen3_tts_ncnn.runtime.mat import from_mat, to_mat


def test_a_mat_does_not_see_what_becomes_of_its_array() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    mat = to_mat(array)
    array[:] = -1
    assert from_mat(mat).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_a_mat_outlives_its_array() -> None:
    expected = [np.full((64, 64), n, dtype=np.float32) for n in range(50)]
    mats = [to_mat(array.copy()) for array in expected]
    gc.collect()
    noise = [np.full((64, 64), np.nan, dtype=np.float32) for _ in range(100)]  # what is freed is written again
    assert len(noise) == 100
    assert all(np.array_equal(from_mat(mat), array) for mat, array in zip(mats, expected, strict=True))


def test_an_array_outlives_its_mat() -> None:
    mat = to_mat(np.arange(6, dtype=np.float32).reshape(2, 3))
    array = from_mat(mat)
    mat.fill(-1.0)
    del mat
    gc.collect()
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    array[0, 0] = 7  # its own memory may be written
    assert array[0, 0] == 7


def test_ids_keep_their_bits() -> None:
    ids = np.array([0, 1, 2150, 151935, 2**31 - 1, -1], dtype=np.int32)
    assert from_mat(to_mat(ids)).view(np.int32).tolist() == ids.tolist()


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4)])
def test_shapes_survive(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    mat = to_mat(array)
    assert (mat.w, mat.n) == (shape[-1], 1)
    assert np.array_equal(from_mat(mat), array)


def test_a_view_is_laid_out_anew() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert from_mat(to_mat(array.T)).tolist() == array.T.tolist()
    assert from_mat(to_mat(array[::2, 1::2])).tolist() == [[1, 3], [9, 11]]


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.float16, np.uint32, np.bool_])
def test_other_types_are_refused(dtype: type) -> None:
    with pytest.raises(TypeError, match=r"^ncnn takes float32 values or int32 ids, got "):
        to_mat(np.zeros(3, dtype=dtype))


def test_borrowing_is_what_to_mat_does_not_do() -> None:
    """ncnn's own constructor does: the reason for `to_mat`."""
    array = np.zeros(3, dtype=np.float32)
    borrowed, owned = ncnn.Mat(array), to_mat(array)
    array[:] = 1
    assert np.array(borrowed).tolist() == [1, 1, 1]
    assert from_mat(owned).tolist() == [0, 0, 0]
