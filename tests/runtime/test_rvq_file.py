"""`.rvq` files hold codes exactly as qwentts.cpp packs them, and nothing else is taken for one."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime import rvq_file
from qwen3_tts_ncnn.runtime.errors import OutputError, TTSError
from qwen3_tts_ncnn.runtime.rvq_file import FormatError, pack_codes, read_bounded, read_rvq, unpack_codes, write_rvq

some_codes = hnp.arrays(np.int32, st.tuples(st.integers(1, 40), st.just(16)), elements=st.integers(0, 2047))
some_files = st.integers(1, 40).flatmap(lambda frames: st.binary(min_size=22 * frames, max_size=22 * frames))


def packed_bit_by_bit(codes: NDArray[np.int32]) -> bytes:
    """The format as an independent loop: one large number, whose lowest bits come first."""
    number = 0
    for place, code in enumerate(codes.T.ravel().tolist()):
        number |= code << (11 * place)
    return number.to_bytes(22 * len(codes), "little")


@given(some_codes)
def test_unpack_of_pack_gives_the_same_codes(codes: NDArray[np.int32]) -> None:
    unpacked = unpack_codes(pack_codes(codes))
    assert unpacked.dtype == np.int32
    assert unpacked.tolist() == codes.tolist()


@given(some_files)
def test_pack_of_unpack_gives_the_same_bytes(data: bytes) -> None:
    assert pack_codes(unpack_codes(data)) == data


@given(some_codes)
def test_packing_is_the_format_bit_by_bit(codes: NDArray[np.int32]) -> None:
    assert pack_codes(codes) == packed_bit_by_bit(codes)


def test_one_frame_is_22_bytes_lowest_bits_first() -> None:
    codes = np.zeros((1, 16), np.int32)
    codes[0, :3] = [1, 2047, 1024]
    # Bits 0–10: 1; bits 11–21: ones; bits 22–32: only the highest, bit 32.
    assert pack_codes(codes) == bytes([0x01, 0xF8, 0x3F, 0x00, 0x01]) + bytes(17)


def test_a_codebook_follows_the_one_before_over_all_frames() -> None:
    codes = np.zeros((2, 16), np.int32)
    codes[:, 0] = [1, 2]
    codes[:, 1] = [4, 8]
    stream = 1 | 2 << 11 | 4 << 22 | 8 << 33
    assert pack_codes(codes) == stream.to_bytes(44, "little")


def test_any_integer_type_and_order_in_memory_packs_alike() -> None:
    codes = np.random.default_rng(0).integers(0, 2048, (5, 16))
    expected = packed_bit_by_bit(codes)
    for dtype in (np.int64, np.uint16, ">i4"):
        assert pack_codes(codes.astype(dtype)) == expected
        assert pack_codes(np.asfortranarray(codes.astype(dtype))) == expected


@pytest.mark.parametrize("size", [1, 21, 23, 44 + 1, 44 - 2])
def test_a_part_of_a_frame_or_something_after_the_end_is_one_clear_line(size: int) -> None:
    with pytest.raises(FormatError, match=f"^me.rvq has {size} bytes, expected a multiple of 22 .*$"):
        unpack_codes(bytes(size), name="me.rvq")


def test_an_empty_file_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "empty.rvq"
    path.write_bytes(b"")
    with pytest.raises(FormatError, match=r"empty\.rvq is empty, expected 22 bytes a frame"):
        read_rvq(path)


@pytest.mark.parametrize(("value", "line"), [(-1, "from -1 to 0"), (2048, "from 0 to 2048")])
def test_codes_out_of_range_are_not_written(tmp_path: Path, value: int, line: str) -> None:
    codes = np.zeros((3, 16), np.int32)
    codes[1, 7] = value
    with pytest.raises(FormatError, match=f"codes reach {line}, expected 0 to 2047"):
        write_rvq(tmp_path / "x.rvq", codes)
    assert list(tmp_path.iterdir()) == []


def test_no_frames_are_not_packed() -> None:
    with pytest.raises(FormatError, match=r"^codes are of 0 frames, expected at least 1$"):
        pack_codes(np.zeros((0, 16), np.int32))


@pytest.mark.parametrize("shape", [(16,), (3, 15), (16, 3), (1, 3, 16), ()])
def test_codes_of_another_shape_are_not_packed(shape: tuple[int, ...]) -> None:
    with pytest.raises(FormatError, match=r"^codes are int32 of shape .*, expected integers of shape \(frames, 16\)$"):
        pack_codes(np.zeros(shape, np.int32))


def test_codes_that_are_no_integers_are_not_packed() -> None:
    with pytest.raises(FormatError, match=r"^codes are float32 of shape \(1, 16\), expected integers"):
        pack_codes(np.zeros((1, 16), np.float32))


def test_a_file_written_reads_back_the_same(tmp_path: Path) -> None:
    codes = np.random.default_rng(1).integers(0, 2048, (137, 16), dtype=np.int32)
    write_rvq(tmp_path / "x.rvq", codes)
    assert (tmp_path / "x.rvq").stat().st_size == 137 * 22
    assert np.array_equal(read_rvq(str(tmp_path / "x.rvq")), codes)
    assert [path.name for path in tmp_path.iterdir()] == ["x.rvq"]


def test_a_folder_that_is_not_there_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        write_rvq(tmp_path / "no" / "x.rvq", np.zeros((1, 16), np.int32))


def test_a_file_beyond_the_limit_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "huge.rvq"
    path.write_bytes(bytes(44))
    monkeypatch.setattr(rvq_file, "MAX_FILE_BYTES", 43)
    with pytest.raises(FormatError, match=r"huge\.rvq has more than 43 bytes"):
        read_rvq(path)


@pytest.mark.parametrize("name", ["missing.rvq", ".", "n\0ul.rvq", "x" * 5000])
def test_a_path_that_cannot_be_read_is_one_short_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_bounded(tmp_path / name, 100)
    assert "cannot be read" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300
    assert isinstance(caught.value, TTSError)
