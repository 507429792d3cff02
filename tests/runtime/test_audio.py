"""Sound files hold exactly the samples they should, and are whole or not there."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

from qwen3_tts_ncnn.runtime.audio import check_output, encode_audio, save_audio
from qwen3_tts_ncnn.runtime.errors import OptionError, OutputError, TTSError
from qwen3_tts_ncnn.runtime.files import write_beside
from qwen3_tts_ncnn.runtime.mat import Floats

STEP = 1 / 32768


def noise(count: int = 4800) -> Floats:
    """Samples a little beyond ±1, so that some are clipped."""
    return np.random.default_rng(0).uniform(-1.1, 1.1, count).astype(np.float32)


def pcm(samples: Floats, bits: int, suffix: str = ".wav") -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """What libsndfile makes of them: clip to ±1, × 2^(bits − 1), round towards −∞, clip to the highest.

    Its FLAC writer rounds to the nearest instead, so that one value in two is one higher than in a WAV.
    """
    whole = 2.0 ** (bits - 1)
    scaled = np.clip(samples.astype(np.float64), -1, 1) * whole
    rounded = np.rint(scaled) if suffix.lower() == ".flac" else np.floor(scaled)
    return np.minimum(rounded, whole - 1).astype(np.int64)


def read(path: Path, dtype: str) -> tuple[np.ndarray[tuple[int], np.dtype[np.generic]], int]:
    samples, rate = soundfile.read(path, dtype=dtype)
    return samples, rate


@pytest.mark.parametrize(
    ("sample", "value"),
    [
        (0.0, 0),
        (-0.0, 0),
        (STEP, 1),
        (0.99 * STEP, 0),
        (1.5 * STEP, 1),
        (-STEP, -1),
        (-0.01 * STEP, -1),
        (-1.5 * STEP, -2),
        (0.5, 16384),
        (-0.5, -16384),
        (32766.5 * STEP, 32766),
        (32767 * STEP, 32767),
        (1.0, 32767),
        (1.5, 32767),
        (100.0, 32767),
        (-32767.5 * STEP, -32768),
        (-1.0, -32768),
        (-1.5, -32768),
    ],
)
def test_a_sample_becomes_the_pcm16_value_of_libsndfile(tmp_path: Path, sample: float, value: int) -> None:
    save_audio(tmp_path / "a.wav", np.array([sample], dtype=np.float32), 24000)
    assert read(tmp_path / "a.wav", "int16")[0].tolist() == [value]


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".WAV", ".Flac"])
def test_pcm16_files_hold_these_values(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    save_audio(path, noise(), 24000)
    samples, rate = read(path, "int16")
    assert rate == 24000
    assert np.array_equal(samples, pcm(noise(), 16, suffix))
    info = soundfile.info(path)
    assert (info.format, info.subtype, info.channels) == (suffix[1:].upper(), "PCM_16", 1)


@pytest.mark.parametrize("suffix", [".wav", ".flac"])
def test_pcm24_files_are_256_times_finer(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    save_audio(path, noise(), 24000, subtype="pcm24")
    assert soundfile.info(path).subtype == "PCM_24"
    assert np.array_equal(read(path, "int32")[0] >> 8, pcm(noise(), 24, suffix))


def test_float_files_hold_the_samples_themselves(tmp_path: Path) -> None:
    save_audio(tmp_path / "a.wav", noise(), 24000, subtype="float")
    assert np.array_equal(read(tmp_path / "a.wav", "float32")[0], noise())
    assert soundfile.info(tmp_path / "a.wav").subtype == "FLOAT"


def test_a_wav_in_memory_is_the_wav_on_disk(tmp_path: Path) -> None:
    save_audio(tmp_path / "a.wav", noise(), 24000)
    assert encode_audio(noise(), 24000) == (tmp_path / "a.wav").read_bytes()
    assert len(encode_audio(noise(), 24000)) == 44 + 2 * 4800


def test_no_samples_are_a_file_of_no_samples(tmp_path: Path) -> None:
    save_audio(tmp_path / "a.wav", np.zeros(0, dtype=np.float32), 24000)
    assert soundfile.info(tmp_path / "a.wav").frames == 0


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_errors_and_not_silence(tmp_path: Path, broken: float) -> None:
    samples = noise()
    samples[77] = broken
    with pytest.raises(OutputError, match=r"^the samples hold NaN or infinite values: "):
        save_audio(tmp_path / "a.wav", samples, 24000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "subtype", "error", "message"),
    [
        ("a.mp3", "pcm16", OptionError, r"a\.mp3 does not end in \.wav or \.flac or \.raw: "),
        ("a", "pcm16", OptionError, r"a does not end in \.wav or \.flac or \.raw: "),
        ("a.flac", "float", OptionError, r"^FLAC has no sample format 'float': choose one of pcm16, pcm24$"),
        ("a.wav", "pcm8", OptionError, r"^WAV has no sample format 'pcm8': choose one of pcm16, pcm24, float$"),
        ("folder.wav", "pcm16", OutputError, r"folder\.wav is a folder, expected the path of a file$"),
        ("none/a.wav", "pcm16", OutputError, r"none is not a folder, so a\.wav cannot be written there: "),
        ("file/a.wav", "pcm16", OutputError, r"file is not a folder, so a\.wav cannot be written there: "),
        ("n" * 300 + ".wav", "pcm16", OutputError, r"cannot be written \(File name too long\)"),
    ],
)
def test_a_file_that_cannot_be_is_refused_beforehand(
    tmp_path: Path, name: str, subtype: str, error: type[TTSError], message: str
) -> None:
    (tmp_path / "folder.wav").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(error, match=message) as caught:
        check_output(tmp_path / name, subtype)
    assert "\n" not in str(caught.value)
    with pytest.raises(error, match=message):
        save_audio(tmp_path / name, noise(), 24000, subtype=subtype)


def test_a_folder_that_may_not_be_written_is_refused_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not (path == tmp_path and mode == os.W_OK))
    with pytest.raises(OutputError, match=r"is a folder you may not write to: choose another place for a\.wav$"):
        check_output(tmp_path / "a.wav", "pcm16")


def test_a_file_is_replaced_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_text("old")
    save_audio(tmp_path / "a.wav", noise(), 24000)
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]
    assert (tmp_path / "a.wav").read_bytes()[:4] == b"RIFF"


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a.wav").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError) as caught:
        save_audio(tmp_path / "a.wav", noise(), 24000)
    assert str(caught.value) == (
        f"{tmp_path / 'a.wav'} cannot be written (No space left on device): free some space or choose another place"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]
    assert (tmp_path / "a.wav").read_text() == "old"


def test_the_longest_name_a_file_system_takes_is_taken(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 251 + ".wav")
    save_audio(path, noise(10), 24000)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_beside(tmp_path / "a.wav", b"content")
    assert (tmp_path / "a.wav").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert (tmp_path / "a.wav").read_bytes() == b"content"
