"""`codec encode` and `codec decode` do what the library does, with any package, and lengths are whole frames."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from qwen3_tts_ncnn.runtime import Codec
from qwen3_tts_ncnn.runtime.rvq_file import read_rvq, write_rvq
from tests.cli.command_line import MODULE, run
from tests.cli.recordings import write_recording


def succeed(*arguments: str | Path) -> str:
    """Runs `codec`, which must succeed; returns what it says on standard error."""
    result = run("codec", *arguments, "--threads", "1")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    return result.stderr


@pytest.mark.parametrize("package", ["tiny_package", "tiny_base_package", "codec_package"])
def test_any_package_encodes_and_decodes_as_the_library_does(
    package: str, reference: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(package)
    rvq, wav = tmp_path / "me.rvq", tmp_path / "me.wav"
    told = succeed("encode", folder, reference, "-o", rvq)
    assert re.fullmatch(rf"wrote {rvq}: 39 frames of 3\.10 s in \d+\.\d\d s\n", told)
    told = succeed("decode", folder, rvq, "-o", wav, "--format", "float")
    assert re.fullmatch(rf"wrote {wav}: 3\.12 s of 39 frames in \d+\.\d\d s\n", told)
    codec = Codec.load(folder, threads=1)
    codes = codec.encode(reference)
    assert np.array_equal(read_rvq(rvq), codes)
    np.testing.assert_array_equal(soundfile.read(wav, dtype="float32")[0], codec.decode_chunked(codes))


@pytest.mark.parametrize(
    ("name", "seconds", "rate", "frames"),
    [
        ("a.wav", 0.2, 24000, 3),  # 4800 samples
        ("a.wav", 0.24, 24000, 3),  # 5760: whole frames
        ("a.flac", 1.0, 16000, 13),
        ("a.ogg", 2.0, 48000, 25),
    ],
)
def test_a_recording_comes_back_as_long_as_its_whole_frames(
    codec_package: Path, tmp_path: Path, name: str, seconds: float, rate: int, frames: int
) -> None:
    sound = write_recording(tmp_path / name, seconds, rate)
    succeed("encode", codec_package, sound, "-o", tmp_path / "a.rvq")
    assert (tmp_path / "a.rvq").stat().st_size == 22 * frames
    succeed("decode", codec_package, tmp_path / "a.rvq", "-o", tmp_path / "again.wav")
    again = soundfile.info(tmp_path / "again.wav")
    assert (again.frames, again.samplerate, again.channels, again.subtype) == (1920 * frames, 24000, 1, "PCM_16")


def test_the_same_recording_gives_the_same_codes(codec_package: Path, reference: Path, tmp_path: Path) -> None:
    succeed("encode", codec_package, reference, "-o", tmp_path / "a.rvq")
    succeed("encode", codec_package, reference, "-o", tmp_path / "b.RVQ")
    assert (tmp_path / "a.rvq").read_bytes() == (tmp_path / "b.RVQ").read_bytes()


def test_more_than_a_chunk_is_decoded_with_upstream_s_seams(codec_package: Path, tmp_path: Path) -> None:
    codes = np.random.default_rng(2).integers(0, 2048, (310, 16), dtype=np.int32)
    write_rvq(tmp_path / "a.rvq", codes)
    succeed("decode", codec_package, tmp_path / "a.rvq", "-o", tmp_path / "a.wav", "--format", "float")
    samples = soundfile.read(tmp_path / "a.wav", dtype="float32")[0]
    codec = Codec.load(codec_package, threads=1)
    np.testing.assert_array_equal(samples, codec.decode_chunked(codes))
    assert not np.array_equal(samples, codec.decode(codes))


@pytest.mark.parametrize(
    ("name", "options", "format", "subtype"),
    [("a.flac", [], "FLAC", "PCM_16"), ("a.wav", ["--format", "pcm24"], "WAV", "PCM_24")],
)
def test_formats(codec_package: Path, tmp_path: Path, name: str, options: list[str], format: str, subtype: str) -> None:
    write_rvq(tmp_path / "a.rvq", np.zeros((2, 16), np.int32))
    succeed("decode", codec_package, tmp_path / "a.rvq", "-o", tmp_path / name, *options)
    found = soundfile.info(tmp_path / name)
    assert (found.format, found.subtype, found.frames) == (format, subtype, 3840)


def test_sound_can_be_piped(codec_package: Path, tmp_path: Path) -> None:
    write_rvq(tmp_path / "a.rvq", np.zeros((2, 16), np.int32))
    succeed("decode", codec_package, tmp_path / "a.rvq", "-o", tmp_path / "a.wav")
    command = [*MODULE, "codec", "decode", codec_package, tmp_path / "a.rvq", "-o", "-", "--threads", "1"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout == (tmp_path / "a.wav").read_bytes()
    assert done.stderr.startswith(b"wrote WAV to standard output: 0.16 s of 2 frames in ")
    assert run(*map(str, command[3:]), "--raw").stdout_bytes == done.stdout[44:]


def test_json_is_one_object_that_tells_everything(codec_package: Path, reference: Path, tmp_path: Path) -> None:
    def report(*arguments: str | Path) -> dict[str, object]:
        result = run("codec", *arguments, "--threads", "1", "--json")
        assert result.stderr == ""
        record: dict[str, object] = json.loads(result.stdout)
        assert isinstance(record.pop("compute_seconds"), float)
        return record

    rvq, wav = tmp_path / "a.rvq", tmp_path / "a.wav"
    assert report("encode", codec_package, reference, "-o", rvq) == {
        "output": str(rvq),
        "seconds": 3.1,
        "frames": 39,
        "package": "tiny-codec-fp32",
    }
    assert report("decode", codec_package, rvq, "-o", wav) == {
        "output": str(wav),
        "seconds": 3.12,
        "sample_rate": 24000,
        "frames": 39,
        "package": "tiny-codec-fp32",
    }


def test_a_longer_recording_may_be_allowed(codec_package: Path, tmp_path: Path) -> None:
    long = write_recording(tmp_path / "long.wav", 61.0, 8000)
    options = ("--max-reference-seconds", "61")
    assert "763 frames of 61.00 s" in succeed("encode", codec_package, long, "-o", tmp_path / "a.rvq", *options)
