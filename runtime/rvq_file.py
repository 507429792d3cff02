"""Codes of the codec in a `.rvq` file, as qwentts.cpp writes them.

The file is one stream of 11-bit codes without a header: bit i of the stream is bit i % 8 of byte i // 8, and a code's
lowest bit comes first. The stream holds codebook after codebook, each over all frames (qwentts.cpp, src/rvq-file.h:
"[K, T] row-major"; src/quantizer-encode.h: `codes[k*T + t]`), so a part of a file is not a part of the recording. A
frame takes 16 × 11 bits, which are 22 bytes: any number of frames fills whole bytes, and any such bytes are codes.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.codes import CODEBOOKS, check_codes
from qwen3_tts_ncnn.runtime.errors import FormatError
from qwen3_tts_ncnn.runtime.files import write_beside

CODE_BITS = 11
FRAME_BYTES = CODEBOOKS * CODE_BITS // 8

# 66 hours: far beyond any recording, and small enough to be unpacked in memory.
MAX_FILE_BYTES = 64 << 20

_SHOWN_NAME = 120  # characters of a file's name that an error line shows


def pack_codes(codes: NDArray[Any]) -> bytes:
    """The bytes of a `.rvq` file: 22 a frame.

    Args:
        codes: integers in 0..2047, (frames, 16).

    Raises:
        FormatError: another shape or type, no frames, or a code out of range.
    """
    stream = check_codes(codes, least=1).T.astype("<u2").reshape(-1, 1)
    bits = np.unpackbits(stream.view(np.uint8), axis=1, bitorder="little")
    return np.packbits(bits[:, :CODE_BITS], bitorder="little").tobytes()


def unpack_codes(data: bytes, *, name: str = "the .rvq data") -> NDArray[np.int32]:
    """The codes of a `.rvq` file's bytes: (frames, 16) int32 in 0..2047.

    Raises:
        FormatError: no bytes, or a number of them that is not whole frames (cut short, or something after the end).
    """
    if not data:
        raise FormatError(f"{name} is empty, expected {FRAME_BYTES} bytes a frame: encode the recording again")
    if len(data) % FRAME_BYTES:
        raise FormatError(
            f"{name} has {len(data)} bytes, expected a multiple of {FRAME_BYTES} ({CODEBOOKS} codes of {CODE_BITS} "
            "bits a frame): it is cut short, has something after its end, or is not a .rvq file"
        )
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(-1, CODE_BITS)
    stream = np.packbits(bits, axis=1, bitorder="little").view("<u2")
    return np.ascontiguousarray(stream.reshape(CODEBOOKS, -1).T, dtype=np.int32)


def read_rvq(path: str | Path) -> NDArray[np.int32]:
    """The codes of a `.rvq` file: (frames, 16) int32.

    Raises:
        FormatError: the file cannot be read, is larger than any recording, or is not a `.rvq` file.
    """
    return unpack_codes(read_bounded(path, MAX_FILE_BYTES), name=str(path))


def write_rvq(path: str | Path, codes: NDArray[Any]) -> None:
    """Writes codes (frames, 16) as a `.rvq` file, beside its place first, then renamed.

    Raises:
        FormatError: as `pack_codes`.
        OutputError: the file cannot be written.
    """
    write_beside(Path(path), pack_codes(codes))


def read_bounded(path: str | Path, limit: int) -> bytes:
    """All bytes of a file that may come from anywhere: never more than `limit` of them are read.

    Raises:
        FormatError: the file cannot be read, or is larger.
    """
    name = str(path) if len(str(path)) <= _SHOWN_NAME else f"{str(path)[:_SHOWN_NAME]}…"
    try:
        with Path(path).open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise FormatError(f"{name} cannot be read ({error.strerror}): give the path of an existing file") from None
    except ValueError as error:  # a NUL in the path
        raise FormatError(f"{name!r} cannot be read ({error}): give the path of an existing file") from None
    if len(data) > limit:
        raise FormatError(f"{name} has more than {limit} bytes, the most such a file can have: it is something else")
    return data
