"""A reference is heard as upstream hears it, whatever it comes as, and what no voice can be cloned from is refused."""

import io
import math
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import librosa
import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from qwen3_tts_ncnn.parity.upstream_stubs import import_upstream
from qwen3_tts_ncnn.runtime.errors import OptionError, TTSError
from qwen3_tts_ncnn.runtime.reference_audio import (
    AudioError,
    ReferenceAudio,
    read_reference,
    readable_formats,
    transcript_warning,
)

RATES = [8000, 11025, 16000, 22050, 32000, 44100, 48000, 96000, 192000]


def recording(rate: int = 24000, seconds: float = 2.0, channels: int = 1, seed: int = 0) -> NDArray[np.float64]:
    """(n, channels) of noise at −20 dBFS with a tone, other noise in each channel."""
    count = round(rate * seconds)
    tone = 0.2 * np.sin(2 * np.pi * 330 * np.arange(count) / rate)
    return tone[:, None] + 0.1 * np.random.default_rng(seed).standard_normal((count, channels))


def encoded(samples: NDArray[Any], rate: int = 24000, format: str = "WAV", subtype: str | None = None) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=format, subtype=subtype)
    return buffer.getvalue()


def refusal(source: Any, **options: Any) -> str:
    """The one line with which a reference is refused."""
    with pytest.raises(AudioError) as caught:
        read_reference(source, **options)
    assert isinstance(caught.value, TTSError)
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    return line


@pytest.fixture(scope="module")
def upstream_loads() -> Callable[[str], list[NDArray[np.float32]]]:
    """What upstream's two encoders get of a file: the codec's samples, and the speaker encoder's."""
    model_class = import_upstream()
    from qwen_tts import Qwen3TTSTokenizer

    def load(path: str) -> list[NDArray[np.float32]]:
        # As create_voice_clone_prompt does (qwen3_tts_model.py:426–451).
        [(samples, rate)] = model_class._normalize_audio_inputs(model, path)
        tokenizer.feature_extractor = type("Extractor", (), {"sampling_rate": 24000})()
        [codec] = tokenizer._normalize_audio_inputs([samples], sr=rate)
        speaker = samples
        if rate != 24000:
            speaker = librosa.resample(y=samples.astype(np.float32), orig_sr=rate, target_sr=24000)
        return [codec, speaker]

    model, tokenizer = object.__new__(model_class), Qwen3TTSTokenizer()
    return load


@pytest.mark.parametrize(
    ("name", "rate", "channels", "subtype"),
    [
        ("a.wav", 24000, 1, "PCM_16"),
        ("a.wav", 44100, 2, "PCM_16"),
        ("a.wav", 48000, 6, "PCM_24"),
        ("a.wav", 22050, 11, "FLOAT"),
        ("a.wav", 8000, 1, "PCM_U8"),
        ("a.wav", 96000, 2, "PCM_32"),
        ("a.flac", 16000, 1, "PCM_16"),
        ("a.ogg", 44100, 2, "VORBIS"),
        ("a.ogg", 48000, 1, "OPUS"),
        ("a.mp3", 44100, 2, "MPEG_LAYER_III"),
        ("a.mp3", 24000, 1, "MPEG_LAYER_III"),
    ],
)
def test_both_of_upstreams_encoders_hear_these_samples(
    name: str,
    rate: int,
    channels: int,
    subtype: str,
    tmp_path: Path,
    upstream_loads: Callable[[str], list[NDArray[np.float32]]],
) -> None:
    path = tmp_path / name
    soundfile.write(path, recording(rate, 1.7321, channels), rate, subtype=subtype)
    reference = read_reference(path)
    assert reference.samples.dtype == np.float32
    for samples in upstream_loads(str(path)):
        assert np.array_equal(reference.samples, samples)


@pytest.mark.parametrize("rate", RATES)
def test_resampling_is_librosas_to_the_last_bit_and_sample(rate: int) -> None:
    # 147 samples at 44.1 kHz are 80 at 24 kHz: there the length's rounding shows.
    for count in (147 * 320, rate // 2, rate // 2 + 1, rate // 2 + 7):
        samples = recording(rate, 1.0)[:count, 0].astype(np.float32)
        expected = librosa.resample(samples, orig_sr=rate, target_sr=24000, res_type="soxr_hq")
        resampled = read_reference((samples, rate)).samples
        assert resampled.dtype == expected.dtype
        assert np.array_equal(resampled, expected)


def test_samples_at_24_khz_are_untouched() -> None:
    samples = recording()[:, 0].astype(np.float32)
    reference = read_reference((samples, 24000))
    assert np.array_equal(reference.samples, samples)
    assert reference.warnings == ()
    assert reference.seconds == 2.0


def test_loudness_is_not_changed() -> None:
    samples = (recording()[:, 0] / 50).astype(np.float32)
    assert np.array_equal(read_reference((samples, 24000)).samples, samples)


@pytest.mark.parametrize("channels", [1, 2, 5, 12])
def test_channels_are_averaged(channels: int) -> None:
    samples = recording(channels=channels).astype(np.float32)
    expected = samples.astype(np.float64).mean(axis=1)
    np.testing.assert_allclose(read_reference((samples, 24000)).samples, expected, rtol=0, atol=1e-7)


def test_every_type_of_array_is_the_same_recording() -> None:
    whole = np.clip(recording(channels=2) * 32768, -32768, 32767).astype(np.int16)
    expected = read_reference(encoded(whole)).samples
    for samples in (
        whole,
        whole.astype(np.int32) * 65536,
        whole.astype(np.float32) / 32768,
        whole.astype(np.float64) / 32768,
        whole.astype(">i2"),
        np.asfortranarray(whole),
    ):
        assert np.array_equal(read_reference((samples, 24000)).samples, expected)


def test_a_path_a_string_bytes_and_open_files_give_the_same(tmp_path: Path) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: int) -> int:
            raise OSError("not seekable")

    data = encoded(recording(16000, channels=2), 16000, "FLAC")
    path = tmp_path / "me"
    path.write_bytes(data)
    expected = read_reference(data).samples
    with path.open("rb") as file:
        sources: list[str | Path | BinaryIO] = [path, str(path), file, io.BytesIO(data), Pipe(data)]
        for source in sources:
            assert np.array_equal(read_reference(source).samples, expected)


def test_the_format_is_found_by_content_not_by_name(tmp_path: Path) -> None:
    path = tmp_path / "me.wav"
    path.write_bytes(encoded(recording(), format="OGG"))
    assert read_reference(path).seconds == 2.0


def test_the_callers_array_is_not_changed() -> None:
    samples = recording(channels=2).astype(np.float32)
    before = samples.copy()
    read_reference((samples, 44100))
    assert np.array_equal(samples, before)


def test_a_format_that_cannot_be_read_is_refused_with_those_that_can() -> None:
    line = refusal(b"\x00\x00\x00\x18ftypM4A \x00\x00\x02\x00" + bytes(1000))
    assert line.endswith(f"formats that can be read: {readable_formats()}")
    assert {"WAV", "FLAC", "OGG", "MP3"} <= set(readable_formats().split(", "))
    assert "RAW" not in readable_formats()


def test_headerless_samples_are_refused_but_not_by_their_name(tmp_path: Path) -> None:
    path = tmp_path / "me.raw"
    path.write_bytes(recording().astype("<f4").tobytes())
    assert "me.raw is not a sound file that can be read" in refusal(path)
    path.write_bytes(encoded(recording()))
    assert read_reference(path).seconds == 2.0


@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing.wav", "No such file"), (".", "directory"), ("n\0ul.wav", "null"), ("x" * 3000, "too long")],
)
def test_a_path_that_cannot_be_read_is_one_short_line(tmp_path: Path, name: str, reason: str) -> None:
    line = refusal(tmp_path / name)
    assert "cannot be read" in line or "can be read" in line
    assert reason in line
    assert len(line) < 500


@pytest.mark.parametrize("size", [1, 11, 44, 100])
def test_a_file_cut_in_its_header_is_refused(size: int) -> None:
    assert "the reference" in refusal(encoded(recording(), format="FLAC")[:size])


@pytest.mark.filterwarnings("error")  # a traceback that cffi prints is a warning to pytest
def test_damaged_files_are_read_or_refused_with_one_line() -> None:
    random = np.random.default_rng(0)
    short = recording(seconds=0.3)
    files = [encoded(short, format=format) for format in ("WAV", "FLAC", "OGG", "MP3", "AIFF", "CAF", "W64", "VOC")]
    refusals = set()
    for _ in range(400):
        data = bytearray(files[random.integers(len(files))])
        for place in random.integers(0, min(len(data), 200), random.integers(1, 6)):
            data[place] = random.integers(256)
        try:
            samples = read_reference(bytes(data[: random.integers(1, len(data) + 1)])).samples
        except AudioError as error:
            refusals.add(str(error))
        else:
            assert np.isfinite(samples).all()
    assert len(refusals) > 5
    assert all(len(line.splitlines()) == 1 for line in refusals)


@pytest.mark.parametrize("source", [b"", io.BytesIO(b"")])
def test_an_empty_file_is_refused(source: Any) -> None:
    assert refusal(source) == "the reference is empty (0 bytes), expected a sound file"


@pytest.mark.parametrize("shape", [(0,), (0, 2), (24000, 0)])
def test_a_recording_without_samples_is_refused(shape: tuple[int, ...]) -> None:
    assert "holds no samples, expected at least 0.2 s" in refusal((np.zeros(shape, np.float32), 24000))


def test_a_sound_file_without_samples_is_refused() -> None:
    assert "holds no samples" in refusal(encoded(np.zeros((0, 1))))


@pytest.mark.parametrize("rate", [8000, 24000, 48000])
def test_shorter_than_a_fifth_of_a_second_is_refused_and_a_fifth_is_not(rate: int) -> None:
    samples = recording(rate)[:, 0].astype(np.float32)
    assert "is 0.200 s long, expected at least 0.2 s" in refusal((samples[: rate // 5 - 1], rate))
    assert len(read_reference((samples[: rate // 5], rate)).samples) == 4800


@pytest.mark.parametrize(
    ("level", "line"), [(0.0, "-inf dBFS"), (1e-5, "-100.0 dBFS"), (0.00099, "-60.1 dBFS, expected at least -60 dBFS")]
)
def test_silence_is_refused_with_its_level(level: float, line: str) -> None:
    samples = level * np.sin(np.arange(24000))
    assert line in refusal((samples, 24000))
    # Silence with a constant offset is as silent.
    assert "is silent" in refusal((samples + 0.25, 24000))


def test_what_is_just_loud_enough_is_read() -> None:
    samples = (0.00101 * np.sin(np.arange(48000))).astype(np.float32)
    assert np.array_equal(read_reference((samples, 24000)).samples, samples)


def test_channels_that_cancel_each_other_are_silent() -> None:
    left = recording()
    assert "is silent" in refusal((np.hstack([left, -left]), 24000))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("channels", [1, 2])
def test_nan_and_infinite_samples_are_refused(value: float, channels: int) -> None:
    samples = recording(channels=channels)
    samples[777, -1] = value
    line = "holds NaN or infinite samples"
    assert line in refusal((samples, 24000))
    assert line in refusal(encoded(samples.astype(np.float32), subtype="FLOAT"))


def test_a_value_beyond_float32_is_refused_as_infinite() -> None:
    samples = recording()
    samples[5] = 1e300
    assert "holds NaN or infinite samples" in refusal((samples, 24000))


def test_floats_in_the_unit_of_integers_are_refused() -> None:
    assert "expected samples within ±1" in refusal((recording() * 32768, 24000))


@pytest.mark.parametrize("rate", [8000, 24000, 44100])
def test_longer_than_the_limit_is_refused_and_says_how_to_raise_it(rate: int) -> None:
    samples = (0.5 * np.sin(np.arange(60 * rate + 1))).astype(np.float32)
    for source in ((samples, rate), encoded(samples, rate)):
        line = refusal(source)
        assert "longer than 60 s" in line
        assert "--max-reference-seconds (max_seconds in Python)" in line
    # One sample of padding where the length's rounding adds it, as at 44.1 kHz.
    assert len(read_reference((samples[:-1], rate)).samples) in (60 * 24000, 60 * 24000 + 1)
    assert read_reference((samples, rate), max_seconds=61).seconds > 60.0


def test_a_header_that_promises_hours_costs_nothing() -> None:
    data = bytearray(encoded(recording(), subtype="PCM_16"))
    data[40:44] = (0xFFFFFF00).to_bytes(4, "little")  # the data chunk's size
    assert read_reference(bytes(data), max_seconds=1e9).seconds == 2.0


@pytest.mark.parametrize("limit", [0, -1, math.nan, math.inf])
def test_a_limit_that_is_no_length_is_refused(limit: float) -> None:
    with pytest.raises(OptionError, match="the longest reference allowed"):
        read_reference((recording(), 24000), max_seconds=limit)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int64, np.float16, np.complex64, bool, object])
def test_arrays_of_other_types_are_refused(dtype: type) -> None:
    assert "expected int16, int32, float32 or float64" in refusal((np.ones(24000).astype(dtype), 24000))


@pytest.mark.parametrize("shape", [(), (2, 24000), (100, 2, 2)])
def test_arrays_of_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    assert "expected (n,) or (n, channels)" in refusal((np.ones(shape, np.float32), 24000))


@pytest.mark.parametrize("rate", [0, -24000, 7999, 192001, 10**12])
def test_a_rate_out_of_range_is_refused(rate: int) -> None:
    assert f"has {rate} samples a second, expected 8000 to 192000" in refusal((recording(), rate))


def test_a_file_of_a_rate_out_of_range_is_refused() -> None:
    assert "has 4000 samples a second" in refusal(encoded(recording(4000), 4000))


@pytest.mark.parametrize("rate", [24000.0, "24000", None])
def test_a_rate_that_is_no_whole_number_is_refused(rate: Any) -> None:
    assert "expected a whole number" in refusal((recording(), rate))


@pytest.mark.parametrize("source", [np.zeros(24000), 24000, None, [0.0] * 24000])
def test_a_source_of_another_kind_is_refused(source: Any) -> None:
    assert "expected a path, bytes, a binary file or an array with its sample rate" in refusal(source)


@pytest.mark.parametrize("source", [(24000, np.zeros(24000)), ([0.0] * 24000, 24000), (np.zeros(24000),), ()])
def test_a_tuple_of_something_else_is_refused(source: Any) -> None:
    assert "pass (samples, rate)" in refusal(source)


def test_a_file_in_text_mode_or_closed_is_refused() -> None:
    assert "open it in binary mode" in refusal(io.StringIO("RIFF"))
    closed = io.BytesIO(b"RIFF")
    closed.close()
    assert "cannot be read" in refusal(closed)


def warnings_of(samples: NDArray[Any], rate: int = 24000) -> tuple[str, ...]:
    reference = read_reference((samples, rate))
    assert isinstance(reference, ReferenceAudio)
    assert all(len(warning.splitlines()) == 1 for warning in reference.warnings)
    return reference.warnings


def test_clipping_is_warned_about_from_one_sample_in_a_hundred() -> None:
    samples = np.tile(np.array([0.5, -0.5], np.float32), 24000)
    samples[:480] = 32767 / 32768
    assert warnings_of(samples) == ()
    samples[480] = -1
    [warning] = warnings_of(samples)
    assert "is clipped: 1.0% of its samples" in warning


def test_one_clipped_channel_of_two_is_warned_about() -> None:
    [warning] = warnings_of(np.hstack([np.clip(recording() * 10, -1, 1), recording()]))
    assert "is clipped" in warning


def test_a_full_scale_sine_is_not_clipped() -> None:
    assert warnings_of(np.round(32767 * np.sin(0.1 * np.arange(48000))).astype(np.int16)) == ()


@pytest.mark.parametrize(
    ("seconds", "part"), [(1.49, "only 1.49 s long"), (1.5, None), (30.0, None), (30.1, "30.1 s long")]
)
def test_short_and_long_recordings_are_warned_about(seconds: float, part: str | None) -> None:
    warnings = warnings_of(recording(8000, seconds), 8000)
    assert len(warnings) == (part is not None)
    assert part is None or part in warnings[0]


ENGLISH = "The quick brown fox jumps over the lazy dog, and then it sleeps in the sun."  # 4 to 5 s when read
CHINESE = "今天天气很好,我们一起去公园散步吧。"  # 3 s
JAPANESE = "今日はとても良い天気なので、公園を散歩しましょう。"  # 4 s
KOREAN = "오늘은 날씨가 정말 좋아서 공원에 산책하러 가요."  # 4 s


@pytest.mark.parametrize(("text", "seconds"), [(ENGLISH, 4.5), (CHINESE, 3.0), (JAPANESE, 4.0), (KOREAN, 4.0)])
def test_a_transcript_that_fits_is_not_warned_about(text: str, seconds: float) -> None:
    # Half and twice the time are still somebody's speech.
    for factor in (0.5, 1, 2):
        assert transcript_warning(text, factor * seconds) is None


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, JAPANESE, KOREAN])
def test_a_transcript_far_from_the_duration_is_warned_about(text: str) -> None:
    assert "too long for 0.5 s" in (transcript_warning(text, 0.5) or "")
    assert "too short for 55.0 s" in (transcript_warning(text, 55.0) or "")


def test_the_same_number_of_characters_is_too_much_in_chinese_alone() -> None:
    assert transcript_warning("hello world " * 3, 2.0) is None
    assert transcript_warning("你好世界朋友们早上好" * 3, 2.0) is not None


def test_composed_and_decomposed_text_are_counted_alike() -> None:
    for text in (KOREAN, "ガギグゲゴ", "äöüéè", "ﾊﾛｰ"):
        decomposed = unicodedata.normalize("NFKD", text)
        for seconds in (0.1, 100.0):
            assert transcript_warning(decomposed, seconds) == transcript_warning(text, seconds)


@pytest.mark.parametrize("text", ["", "…!?", "🎉🎉"])
def test_a_transcript_without_letters_is_too_short(text: str) -> None:
    assert "too short" in (transcript_warning(text, 3.0) or "")
