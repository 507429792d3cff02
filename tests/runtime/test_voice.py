"""A voice's file gives back the same voice, the same voice gives the same file, and nothing else passes for one."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import ModeError, OptionError, OutputError, TextError
from qwen3_tts_ncnn.runtime.rvq_file import FormatError, pack_codes, read_rvq
from qwen3_tts_ncnn.runtime.voice import MAX_VOICE_BYTES, Voice, check_width

TRANSCRIPT = 'Guten Tag, "今日"\nzweite Zeile. 🎙'


def x_vector(width: int = 8) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(width).astype(np.float32)


def codes(frames: int = 5) -> NDArray[np.int32]:
    return np.random.default_rng(1).integers(0, 2048, (frames, 16), dtype=np.int32)


def in_context(width: int = 8, frames: int = 5) -> Voice:
    return Voice(x_vector(width), codes(frames), TRANSCRIPT, "tiny-base-fp32")


def assert_same(voice: Voice, other: Voice) -> None:
    assert voice.x_vector.tobytes() == other.x_vector.tobytes()
    assert (voice.codes is None) == (other.codes is None)
    if voice.codes is not None and other.codes is not None:
        assert np.array_equal(voice.codes, other.codes)
        assert voice.codes.dtype == other.codes.dtype == np.int32
    assert (voice.transcript, voice.model, voice.width) == (other.transcript, other.model, other.width)


def file_of(header: dict[str, Any] | bytes, data: bytes = b"") -> bytes:
    """A safetensors file of any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def parts_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def refusal(data: bytes) -> str:
    """The one line with which a `.voice` file's bytes are refused."""
    with pytest.raises(FormatError) as caught:
        Voice.from_bytes(data, name="me.voice")
    line = str(caught.value)
    assert line.startswith("me.voice ")
    assert len(line.splitlines()) == 1
    assert len(line) < 600
    return line


@pytest.mark.parametrize("voice", [in_context(), Voice(x_vector(), model="m"), in_context(2048, 750)])
def test_a_voice_saved_loads_the_same(voice: Voice, tmp_path: Path) -> None:
    voice.save(tmp_path / "me.voice")
    assert_same(Voice.load(str(tmp_path / "me.voice")), voice)
    assert [path.name for path in tmp_path.iterdir()] == ["me.voice"]


def test_the_same_voice_gives_the_same_bytes_in_every_process() -> None:
    script = "from tests.runtime.test_voice import in_context; print(in_context().to_bytes().hex())"
    root = Path(__file__).resolve().parents[2]
    runs = [
        subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert [bytes.fromhex(run) for run in runs] == [in_context().to_bytes()] * 2


def test_a_voice_file_is_what_its_description_says() -> None:
    header, data = parts_of(in_context().to_bytes())
    assert header == {
        "__metadata__": {
            "format": "qwen3-tts-voice",
            "format_version": "1",
            "model": "tiny-base-fp32",
            "transcript": TRANSCRIPT,
        },
        "x_vector": {"dtype": "F32", "shape": [8], "data_offsets": [0, 32]},
        "codes": {"dtype": "I32", "shape": [5, 16], "data_offsets": [32, 352]},
    }
    assert data == x_vector().astype("<f4").tobytes() + codes().astype("<i4").tobytes()
    assert len(in_context().to_bytes()) % 8 == 0


def test_safetensors_itself_reads_a_voice_file(tmp_path: Path) -> None:
    in_context().save(tmp_path / "me.voice")
    tensors = safetensors.numpy.load_file(tmp_path / "me.voice")
    assert np.array_equal(tensors["x_vector"], x_vector())
    assert np.array_equal(tensors["codes"], codes())
    with safetensors.safe_open(tmp_path / "me.voice", "np") as file:  # type: ignore[no-untyped-call]
        assert file.metadata()["transcript"] == TRANSCRIPT


def test_a_voice_file_that_safetensors_wrote_is_read() -> None:
    metadata = {"format": "qwen3-tts-voice", "format_version": "1", "model": "m", "transcript": "Hm.", "by": "me"}
    data = safetensors.numpy.save({"codes": codes(), "x_vector": x_vector()}, metadata)
    assert_same(Voice.from_bytes(data), Voice(x_vector(), codes(), "Hm.", "m"))


def test_an_x_vector_goes_out_and_in_as_raw_floats(tmp_path: Path) -> None:
    in_context().save(tmp_path / "me.spk")
    assert (tmp_path / "me.spk").read_bytes() == x_vector().astype("<f4").tobytes()
    assert_same(Voice.load(tmp_path / "me.spk"), Voice(x_vector()))


def test_codes_go_out_as_an_rvq_file(tmp_path: Path) -> None:
    in_context().save(tmp_path / "me.RVQ")
    assert (tmp_path / "me.RVQ").read_bytes() == pack_codes(codes())
    assert np.array_equal(read_rvq(tmp_path / "me.RVQ"), codes())


def test_codes_alone_are_no_voice(tmp_path: Path) -> None:
    in_context().save(tmp_path / "me.rvq")
    with pytest.raises(FormatError, match=r"me\.rvq holds codes alone, which are no voice"):
        Voice.load(tmp_path / "me.rvq")


def test_a_voice_without_codes_has_no_rvq_file(tmp_path: Path) -> None:
    with pytest.raises(ModeError, match=r"the voice has no codes for .*me\.rvq"):
        Voice(x_vector()).save(tmp_path / "me.rvq")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["me.wav", "me", "voice"])
def test_another_suffix_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"does not end in \.voice, \.spk or \.rvq"):
        in_context().save(tmp_path / name)
    with pytest.raises(FormatError, match=r"does not end in \.voice or \.spk"):
        Voice.load(tmp_path / name)


def test_a_folder_that_is_not_there_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        in_context().save(tmp_path / "no" / "me.voice")


@pytest.mark.parametrize("suffix", [".voice", ".spk"])
def test_a_missing_file_and_a_folder_are_one_line(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        Voice.load(tmp_path / f"missing{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(FormatError, match="cannot be read"):
        Voice.load(tmp_path / f"folder{suffix}")


@pytest.mark.parametrize("arguments", [(codes(), None), (None, "text")])
def test_codes_and_transcript_come_together(arguments: tuple[Any, Any]) -> None:
    with pytest.raises(ModeError, match="give both"):
        Voice(x_vector(), *arguments)


@pytest.mark.parametrize(("transcript", "line"), [("", "blank"), (" \n", "blank"), ("a\udc80", "at character 2")])
def test_a_transcript_that_says_nothing_is_refused(transcript: str, line: str) -> None:
    with pytest.raises(TextError, match=line):
        Voice(x_vector(), codes(), transcript)


@pytest.mark.parametrize(
    "vector",
    [
        np.zeros(0, np.float32),
        np.zeros((1, 8), np.float32),
        np.zeros(8),
        np.array([1, np.nan], np.float32),
        np.array([1, np.inf], np.float32),
        np.zeros(20000, np.float32),
    ],
)
def test_an_x_vector_of_another_kind_is_refused(vector: NDArray[Any]) -> None:
    with pytest.raises(FormatError, match="the x-vector"):
        Voice(vector)


@pytest.mark.parametrize("bad", [codes()[:0], codes()[:, :15], codes() + 2047, codes().astype(np.float32)])
def test_codes_of_another_kind_are_refused(bad: NDArray[Any]) -> None:
    with pytest.raises(FormatError, match="codes"):
        Voice(x_vector(), bad, "text")


@pytest.mark.parametrize("model", ["two\nlines", "x" * 201, "\udc80"])
def test_a_model_name_that_would_break_an_error_line_is_refused(model: str) -> None:
    with pytest.raises(FormatError, match="model name"):
        Voice(x_vector(), model=model)


def test_a_voice_cannot_be_changed() -> None:
    vector, some_codes = x_vector(), codes()
    voice = Voice(vector, some_codes, "text")
    vector[0], some_codes[0, 0] = 99, 0
    assert np.array_equal(voice.x_vector, x_vector())
    assert voice.codes is not None
    assert np.array_equal(voice.codes, codes())
    with pytest.raises(ValueError, match="read-only"):
        voice.x_vector[0] = 1
    with pytest.raises(FrozenInstanceError):
        voice.model = "other"  # type: ignore[misc]


def test_a_voice_is_a_key_of_its_own() -> None:
    voice, same = in_context(), in_context()
    assert {voice: 1, same: 2}[voice] == 1


def test_another_width_is_an_error_that_says_so() -> None:
    check_width(in_context(1024), 1024, "base-0.6b")
    with pytest.raises(ModeError) as caught:
        check_width(in_context(1024), 2048, "base-1.7b")
    assert str(caught.value) == (
        "the voice, made with tiny-base-fp32, has an x-vector of 1024 values, base-1.7b takes 2048: clone the "
        "recording again with this package"
    )
    with pytest.raises(ModeError, match=r"^the voice has an x-vector of 8 values"):
        check_width(Voice(x_vector()), 1024, "p")


def test_a_voice_too_large_to_be_loaded_is_not_saved() -> None:
    with pytest.raises(FormatError, match="expected at most"):
        Voice(x_vector(), codes(), "a" * MAX_VOICE_BYTES).to_bytes()


@pytest.mark.parametrize("size", [0, 7, 8, 9, 100, 300])
def test_a_truncated_voice_is_refused(size: int) -> None:
    assert "is not a whole .voice file" in refusal(in_context().to_bytes()[:size])


def test_something_after_the_end_is_refused() -> None:
    assert "is not a whole .voice file" in refusal(in_context().to_bytes() + b"\0")


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 10**8, 10**6])
def test_a_huge_header_length_is_refused(length: int) -> None:
    assert "is not a whole .voice file" in refusal(length.to_bytes(8, "little") + in_context().to_bytes()[8:])


def test_an_oversized_file_is_refused_unread(tmp_path: Path) -> None:
    for name in ("me.voice", "me.spk"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1 << 40)
        with pytest.raises(FormatError, match=f"{name} has more than"):
            Voice.load(tmp_path / name)
    with pytest.raises(FormatError, match="expected at most"):
        Voice.from_bytes(bytes(MAX_VOICE_BYTES + 1))


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", "0 bytes, expected the float32 values"),
        (bytes(5), "5 bytes, expected the float32 values"),
        (np.array([1, np.nan], "<f4").tobytes(), "NaN or infinite"),
    ],
)
def test_an_spk_file_of_something_else_is_refused(data: bytes, line: str, tmp_path: Path) -> None:
    (tmp_path / "me.spk").write_bytes(data)
    with pytest.raises(FormatError, match=line):
        Voice.load(tmp_path / "me.spk")


def rename_tensor(header: dict[str, Any]) -> None:
    header["xvector"] = header.pop("x_vector")


def add_tensor(header: dict[str, Any]) -> None:
    header["weight\n"] = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no metadata": (lambda header: header.pop("__metadata__"), "not of a voice"),
    "another format": (lambda header: header["__metadata__"].update(format="pt"), "not of a voice"),
    "no version": (lambda header: header["__metadata__"].pop("format_version"), "not of a voice"),
    "no number": (lambda header: header["__metadata__"].update(format_version="²"), "not of a voice"),
    "a newer version": (lambda header: header["__metadata__"].update(format_version="2"), "update qwen3-tts-ncnn"),
    "version as a number": (lambda header: header["__metadata__"].update(format_version=1), "not a whole .voice"),
    "transcript as a list": (lambda header: header["__metadata__"].update(transcript=["a"]), "not a whole .voice"),
    "no model": (lambda header: header["__metadata__"].pop("model"), "does not say which model"),
    "a model of two lines": (lambda header: header["__metadata__"].update(model="a\nb"), "model name"),
    "no transcript": (lambda header: header["__metadata__"].pop("transcript"), "codes but no transcript"),
    "a blank transcript": (lambda header: header["__metadata__"].update(transcript=" "), "transcript is blank"),
    "another tensor's name": (rename_tensor, "expected x_vector and perhaps codes"),
    "a tensor more": (add_tensor, "expected x_vector and perhaps codes"),
    "another dtype": (lambda header: header["x_vector"].update(dtype="I32"), "x_vector is I32, expected F32"),
    "codes as floats": (lambda header: header["codes"].update(dtype="F32"), "codes is F32, expected I32"),
    "a matrix": (lambda header: header["x_vector"].update(shape=[2, 4]), r"x-vector has the shape \(2, 4\)"),
    "a scalar": (lambda header: header["x_vector"].update(shape=[]), "not a whole .voice"),
    "codes the other way": (
        lambda header: header["codes"].update(shape=[16, 5]),
        r"codes are int32 of shape \(16, 5\)",
    ),
    "a shape that overflows": (lambda header: header["codes"].update(shape=[2**40, 2**40]), "not a whole .voice"),
    "a negative shape": (lambda header: header["codes"].update(shape=[-5, -16]), "not a whole .voice"),
    "offsets that overlap": (lambda header: header["codes"].update(data_offsets=[0, 320]), "not a whole .voice"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_header_is_refused(name: str) -> None:
    change, line = CHANGES[name]
    header, data = parts_of(in_context().to_bytes())
    change(header)
    assert re.search(line, refusal(file_of(header, data)))


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"__metadata__":null}',
        b"[" * 50000,
        b'{"a":' * 5000,
        b"\xff" * 9,
        b'{"__metadata__":1}',
    ],
)
def test_a_header_that_is_no_table_is_refused(header: bytes) -> None:
    refusal(file_of(header))


def test_values_that_no_voice_has_are_refused() -> None:
    header, _ = parts_of(in_context().to_bytes())
    bad_vector = x_vector()
    bad_vector[3] = np.nan
    bad_codes = codes()
    bad_codes[1, 1] = 2048
    assert "NaN or infinite" in refusal(file_of(header, bad_vector.tobytes() + codes().tobytes()))
    assert "expected 0 to 2047" in refusal(file_of(header, x_vector().tobytes() + bad_codes.tobytes()))


def mutated(data: bytes, random: np.random.Generator) -> bytes:
    """The bytes with one to four parts changed, removed, doubled or replaced, most often in the header."""
    changed = bytearray(data)
    for _ in range(random.integers(1, 5)):
        end = len(changed) if random.random() < 0.3 else min(len(changed), 320)
        start = int(random.integers(0, end)) if end else 0
        stop = start + int(random.integers(1, 20))
        match int(random.integers(0, 6)):
            case 0:
                changed[start : start + 1] = bytes([random.integers(256)])
            case 1:
                del changed[start:stop]
            case 2:
                changed[start:start] = changed[start:stop]
            case 3:
                changed[start:stop] = random.bytes(stop - start)
            case 4:
                changed[start:stop] = random.choice([b"{", b'"', b"[", b"-1", b"99999999999999999999", b"1e9", b"null"])
            case 5:
                del changed[start if random.random() < 0.2 else len(changed) :]
    if random.random() < 0.7 and len(changed) > 8:  # a header length that still leads somewhere
        changed[:8] = max(0, int.from_bytes(data[:8], "little") + len(changed) - len(data)).to_bytes(8, "little")
    return bytes(changed)


def outcome(data: bytes) -> Voice | str:
    """The voice of a file's bytes, or the line with which they are refused; any other exception goes through."""
    try:
        return Voice.from_bytes(data)
    except FormatError as error:
        return str(error)


def test_mutated_voices_load_or_are_refused_with_one_line() -> None:
    random = np.random.default_rng(7)
    files = [in_context().to_bytes(), Voice(x_vector(), model="m").to_bytes()]
    outcomes = [outcome(mutated(files[random.integers(2)], random)) for _ in range(4000)]
    voices = [each for each in outcomes if isinstance(each, Voice)]
    lines = {each for each in outcomes if isinstance(each, str)}
    assert len(voices) > 100
    assert len(lines) > 100
    assert all(len(line.splitlines()) == 1 for line in lines)
    for voice in voices:
        assert_same(Voice.from_bytes(voice.to_bytes()), voice)


def test_any_changed_byte_of_a_small_voice_loads_or_is_refused() -> None:
    data = Voice(x_vector(1), model="m").to_bytes()
    for place in range(len(data)):
        for value in (0, 0x22, 0x7F, 0xFF):
            changed = data[:place] + bytes([value]) + data[place + 1 :]
            result = outcome(changed)
            assert result.width == 1 if isinstance(result, Voice) else len(result.splitlines()) == 1
