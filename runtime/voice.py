"""A cloned voice and its files: `.voice`, and `.spk` and `.rvq` as qwentts.cpp writes them.

A `.voice` file is safetensors (https://github.com/huggingface/safetensors#format):

- tensor `x_vector`, F32 (width);
- tensor `codes`, I32 (frames, 16), only where the voice was cloned in context;
- metadata `format` "qwen3-tts-voice", `format_version` "1", `model` (the package that made the voice), and `transcript`
  together with the codes. Metadata of other names is ignored.

The same voice always gives the same bytes. Files come from elsewhere, so reading them believes nothing they say.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from qwen3_tts_ncnn.runtime.codes import check_codes
from qwen3_tts_ncnn.runtime.errors import FormatError, ModeError, OptionError, TextError
from qwen3_tts_ncnn.runtime.files import write_beside
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.rvq_file import pack_codes, read_bounded

FORMAT = "qwen3-tts-voice"
FORMAT_VERSION = 1

# Hours of reference: a minute of codes is 48 KB.
MAX_VOICE_BYTES = 16 << 20
MAX_WIDTH = 1 << 14  # of an x-vector; the models' are 1024 and 2048
MAX_MODEL_NAME = 200

_DTYPES = {"x_vector": ("F32", "<f4"), "codes": ("I32", "<i4")}


@dataclass(frozen=True, eq=False)
class Voice:
    """A voice to speak with. Its arrays are copies that cannot be written to.

    Attributes:
        x_vector: what the speaker encoder heard, (width,) float32.
        codes: the reference's codes, (frames, 16) int32, for in-context cloning; None for a voice by x-vector alone.
        transcript: what is said in the reference; there exactly where the codes are.
        model: the name of the package that made the voice, empty where a file doesn't say.

    Raises:
        ModeError: codes without a transcript, or a transcript without codes.
        TextError: a transcript that is blank or not valid Unicode.
        FormatError: an array of another shape or type, NaN or infinite values, a code out of range.
    """

    x_vector: Floats
    codes: NDArray[np.int32] | None = None
    transcript: str | None = None
    model: str = ""

    def __post_init__(self) -> None:
        if (self.codes is None) != (self.transcript is None):
            there, missing = ("a transcript", "codes") if self.codes is None else ("codes", "transcript")
            raise ModeError(
                f"the voice has {there} but no {missing}: give both (in context) or neither (x-vector alone)"
            )
        if self.transcript is not None:
            _check_unicode(self.transcript)
            if not self.transcript.strip():
                raise TextError("the voice's transcript is blank: give what the recording says, or no transcript")
        # It is shown in error lines: a name from elsewhere must not be able to break or flood them.
        if not self.model.isprintable() or len(self.model) > MAX_MODEL_NAME:
            raise FormatError(f"the voice's model name is not one line of at most {MAX_MODEL_NAME} characters")
        object.__setattr__(self, "x_vector", _frozen(_check_x_vector(self.x_vector)))
        if self.codes is not None:
            object.__setattr__(self, "codes", _frozen(check_codes(self.codes, least=1)))

    @property
    def width(self) -> int:
        """The x-vector's length, which is the talker's hidden size."""
        return len(self.x_vector)

    def save(self, path: str | Path) -> None:
        """Writes the voice as `.voice`, its x-vector as `.spk` or its codes as `.rvq`, by the path's suffix.

        Raises:
            OptionError: another suffix.
            ModeError: `.rvq` for a voice without codes.
            FormatError: a transcript so long that the file could not be loaded again.
            OutputError: the file cannot be written.
        """
        path = Path(path)
        match path.suffix.lower():
            case ".voice":
                data = self.to_bytes()
            case ".spk":
                data = self.x_vector.astype("<f4").tobytes()
            case ".rvq":
                if self.codes is None:
                    raise ModeError(
                        f"the voice has no codes for {path}: clone it with a transcript, or save a .spk file"
                    )
                data = pack_codes(self.codes)
            case _:
                raise OptionError(f"{path} does not end in .voice, .spk or .rvq: give the voice one of these endings")
        write_beside(path, data)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a `.voice` file, or a `.spk` file as a voice by x-vector alone.

        Raises:
            FormatError: the file cannot be read, is no such file, or is of a newer format.
        """
        match Path(path).suffix.lower():
            case ".voice":
                return cls.from_bytes(read_bounded(path, MAX_VOICE_BYTES), name=str(path))
            case ".spk":
                return cls(_parse_x_vector(read_bounded(path, 4 * MAX_WIDTH), str(path)))
            case ".rvq":
                raise FormatError(
                    f"{path} holds codes alone, which are no voice without an x-vector and a transcript: give a "
                    ".voice or .spk file"
                )
        raise FormatError(f"{path} does not end in .voice or .spk: clone a recording first, and give the voice's file")

    def to_bytes(self) -> bytes:
        """The bytes of a `.voice` file: the same for the same voice.

        Written here, because safetensors orders its metadata differently from process to process.
        """
        tensors = {"x_vector": self.x_vector.astype("<f4")}
        metadata = {"format": FORMAT, "format_version": str(FORMAT_VERSION), "model": self.model}
        if self.codes is not None and self.transcript is not None:
            tensors["codes"] = self.codes.astype("<i4")
            metadata["transcript"] = self.transcript
        header: dict[str, Any] = {"__metadata__": metadata}
        end = 0
        for name, tensor in tensors.items():
            start, end = end, end + tensor.nbytes
            header[name] = {"dtype": _DTYPES[name][0], "shape": tensor.shape, "data_offsets": [start, end]}
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        data = len(text).to_bytes(8, "little") + text + b"".join(tensor.tobytes() for tensor in tensors.values())
        if len(data) > MAX_VOICE_BYTES:
            raise FormatError(f"the voice would be a file of {len(data)} bytes, expected at most {MAX_VOICE_BYTES}")
        return data

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "the .voice data") -> Self:
        """The voice of a `.voice` file's bytes.

        Raises:
            FormatError: anything in it is not as the format says; `name` is what the error line calls it.
        """
        if len(data) > MAX_VOICE_BYTES:
            raise FormatError(f"{name} has {len(data)} bytes, expected at most {MAX_VOICE_BYTES}: it is something else")
        try:
            entries = dict(deserialize(data))  # type: ignore[no-untyped-call]
        except SafetensorError as error:
            reason = " ".join(str(error).split())[:200]  # it may quote the file
            raise FormatError(f"{name} is not a whole .voice file ({reason}): clone the voice again") from None
        metadata = _parse_metadata(data, name)
        if "x_vector" not in entries or not entries.keys() <= _DTYPES.keys():
            raise FormatError(f"{name} has the tensors {_shown(sorted(entries))}, expected x_vector and perhaps codes")
        try:
            return cls(
                x_vector=_parse_tensor("x_vector", entries["x_vector"]),
                codes=_parse_tensor("codes", entries["codes"]) if "codes" in entries else None,
                transcript=metadata.get("transcript"),
                model=metadata["model"],
            )
        except (ModeError, TextError, FormatError) as error:
            raise FormatError(f"{name} does not hold a voice: {error}") from None


def check_width(voice: Voice, width: int, package_name: str) -> None:
    """Raises `ModeError` for a voice made by a model of another width than the package's."""
    if voice.width != width:
        maker = f", made with {voice.model}," if voice.model else ""
        raise ModeError(
            f"the voice{maker} has an x-vector of {voice.width} values, {package_name} takes {width}: clone the "
            "recording again with this package"
        )


def _check_x_vector(x_vector: NDArray[Any]) -> Floats:
    x_vector = np.asarray(x_vector)
    if x_vector.ndim != 1 or not 0 < len(x_vector) <= MAX_WIDTH:
        raise FormatError(f"the x-vector has the shape {x_vector.shape}, expected (width,) of 1 to {MAX_WIDTH} values")
    if x_vector.dtype != np.float32:
        raise FormatError(f"the x-vector is of the type {x_vector.dtype}, expected float32")
    if not np.isfinite(x_vector).all():
        raise FormatError("the x-vector holds NaN or infinite values: clone the voice again")
    return x_vector


def _check_unicode(transcript: str) -> None:
    try:
        transcript.encode()
    except UnicodeEncodeError as error:
        place = error.start + 1
        raise TextError(f"the voice's transcript is not valid Unicode at character {place}: correct it") from None


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array = array.copy()
    array.flags.writeable = False
    return array


def _parse_x_vector(data: bytes, name: str) -> Floats:
    if not data or len(data) % 4:
        raise FormatError(f"{name} has {len(data)} bytes, expected the float32 values of an x-vector, 4 bytes each")
    x_vector = np.frombuffer(data, "<f4").astype(np.float32)
    if not np.isfinite(x_vector).all():
        raise FormatError(f"{name} holds NaN or infinite values, expected an x-vector's: it is something else")
    return x_vector


def _parse_metadata(data: bytes, name: str) -> dict[str, str]:
    """The metadata of bytes that safetensors has found to be well formed: all its values are strings."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    metadata: dict[str, str] = header.get("__metadata__") or {}
    version = metadata.get("format_version", "")
    if metadata.get("format") != FORMAT or not (version.isascii() and version.isdigit() and len(version) < 10):
        raise FormatError(f"{name} is a safetensors file but not of a voice: give a file that clone has made")
    if int(version) != FORMAT_VERSION:
        raise FormatError(
            f"{name} is a voice of format {int(version)}, this version reads format {FORMAT_VERSION}: update "
            "qwen3-tts-ncnn, or clone the voice again"
        )
    if "model" not in metadata:
        raise FormatError(f"{name} does not say which model made the voice: clone the voice again")
    return metadata


def _parse_tensor(name: str, entry: dict[str, Any]) -> NDArray[Any]:
    dtype, numpy_dtype = _DTYPES[name]
    if entry["dtype"] != dtype:
        raise FormatError(f"{name} is {entry['dtype']}, expected {dtype}")
    array = np.frombuffer(bytes(entry["data"]), numpy_dtype).reshape(entry["shape"])
    return array.astype(array.dtype.newbyteorder("="))


def _shown(names: list[str]) -> str:
    text = ", ".join(repr(name) for name in names) or "none"
    return text if len(text) <= 100 else f"{text[:100]}…"
