"""A recording of a voice, from wherever it comes, as the mono 24 kHz samples that both encoders hear.

Upstream loads with librosa (qwen3_tts_model.py:229–247), averages the channels and then resamples twice with the same
call and the same result: to the codec's rate (qwen3_tts_tokenizer.py:184–186) and to the speaker encoder's
(qwen3_tts_model.py:447–451), which are both 24 kHz. So one resampling serves both here.
"""

import contextlib
import io
import math
import operator
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import AudioError, OptionError
from qwen3_tts_ncnn.runtime.mat import Floats

SAMPLE_RATE = 24000
LOWEST_RATE, HIGHEST_RATE = 8000, 192000
MOST_CHANNELS = 32

SHORTEST_SECONDS = 0.2
LONGEST_SECONDS = 60.0  # unless the caller allows more
SHORT_SECONDS, LONG_SECONDS = 1.5, 30.0  # a warning outside

SILENCE_DBFS = -60.0  # speech is recorded at −40 dBFS and above; what stays below this is a microphone's noise
HIGHEST_PEAK = 10.0  # 20 dB over full scale: not a loud recording but samples in another unit
FULL_SCALE = 32767 / 32768  # the highest sample of a 16-bit recording
CLIPPED_SHARE = 0.01  # a full-scale sine has half of it at full scale

# Syllables a second: speech has 2 to 8, pauses and hasty speakers included these bounds are never reached.
SLOWEST_SPEECH, FASTEST_SPEECH = 0.5, 12.0
LETTERS_A_SYLLABLE = 3  # in alphabets; an ideograph, a kana, a Hangul block and a digit are a syllable each

_MOST_BYTES = 1 << 30  # of a stream that must be read into memory before it can be decoded
_BLOCK = 1 << 18  # frames decoded at once
_SHOWN_NAME = 120  # characters of a file's name that an error line shows

Source = str | Path | bytes | BinaryIO | tuple[NDArray[Any], int]


@dataclass(frozen=True, eq=False)
class ReferenceAudio:
    """A recording ready for the encoders: mono float32 samples (n,) at 24 kHz, and what a user should know about it."""

    samples: Floats
    warnings: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        return len(self.samples) / SAMPLE_RATE


class _Recording(NamedTuple):
    name: str
    samples: Floats  # (n, channels)
    rate: int


def read_reference(source: Source, *, max_seconds: float = LONGEST_SECONDS) -> ReferenceAudio:
    """Reads a recording, averages its channels and resamples it to 24 kHz; its loudness is left as it is.

    Args:
        source: a path, a sound file's bytes, an open binary file, or (samples, rate) with samples (n,) or (n, channels)
            as int16, int32 (full scale is the type's) or float32, float64 (full scale is 1).
        max_seconds: a longer recording is refused.

    Raises:
        AudioError: unreadable, in a format that cannot be read, of a rate outside 8–192 kHz, empty, shorter than 0.2 s,
            longer than `max_seconds`, silent (below −60 dBFS), NaN or infinite, or an array of another type or shape.
        OptionError: `max_seconds` is not a positive number.
    """
    if not 0 < max_seconds < math.inf:
        raise OptionError(f"the longest reference allowed is {max_seconds} s, expected a positive number of seconds")
    if isinstance(source, tuple):
        recording = _from_array(source, max_seconds)
    else:
        with _opened(source) as (file, name):
            recording = _decode(file, name, max_seconds)
    _check_length(recording, max_seconds)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused next
        # Along the first axis of the transposed array, as librosa does: the order of a sum decides its last bit.
        mono = recording.samples.T.mean(axis=0, dtype=np.float32)
    _check_level(mono, recording.name)
    return ReferenceAudio(_resample(mono, recording.rate), _warnings(recording))


def transcript_warning(transcript: str, seconds: float) -> str | None:
    """One line where a transcript cannot be what is said in that many seconds, None where it can.

    In-context cloning pairs the transcript with the recording, so a transcript of more or less than what is said makes
    the speech swallow or repeat words.
    """
    pace = _syllables(transcript) / seconds
    if SLOWEST_SPEECH <= pace <= FASTEST_SPEECH:
        return None
    fault = "long" if pace > FASTEST_SPEECH else "short"
    return (
        f"the transcript is too {fault} for {seconds:.1f} s of recording (some {pace:.2g} syllables a second, speech "
        "has 2 to 8): give exactly what the recording says"
    )


def least_seconds(text: str) -> float:
    """How long a text takes at the least, spoken faster than anybody speaks."""
    return _syllables(text) / FASTEST_SPEECH


def _syllables(text: str) -> float:
    letters = syllables = 0
    for character in unicodedata.normalize("NFKC", text):
        kind = unicodedata.category(character)
        if kind[0] == "N" or (kind == "Lo" and unicodedata.east_asian_width(character) == "W"):
            syllables += 1
        elif kind[0] == "L":
            letters += 1
    return syllables + letters / LETTERS_A_SYLLABLE


def readable_formats() -> str:
    """The names of the sound file formats that libsndfile reads here, comma-separated."""
    # Raw samples have no header that says what they are.
    return ", ".join(sorted(set(soundfile.available_formats()) - {"RAW"}))


@contextlib.contextmanager
def _opened(source: str | Path | bytes | BinaryIO) -> Iterator[tuple[BinaryIO, str]]:
    """A seekable binary file, and what to call it."""
    if isinstance(source, str | Path):
        name = str(source) if len(str(source)) <= _SHOWN_NAME else f"{str(source)[:_SHOWN_NAME]}…"
        try:
            file = Path(source).open("rb")  # noqa: SIM115 (closed below, where a failure is no longer one to open)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            reason = getattr(error, "strerror", None) or error
            raise AudioError(f"{name} cannot be read ({reason}): give the path of a sound file") from None
        with file:
            yield (file if file.seekable() else io.BytesIO(_read_all(file, name))), name
    elif isinstance(source, bytes):
        yield io.BytesIO(source), "the reference"
    elif hasattr(source, "read"):
        # In memory, since libsndfile would print what a foreign file object raises instead of passing it on.
        yield io.BytesIO(_read_all(source, "the reference")), "the reference"
    else:
        raise AudioError(
            f"the reference is of the type {type(source).__name__}, expected a path, bytes, a binary file or an array "
            "with its sample rate: (samples, rate)"
        )


def _read_all(file: BinaryIO, name: str) -> bytes:
    try:
        data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a closed file
        raise AudioError(f"{name} cannot be read ({error}): open it again, in binary mode") from None
    if not isinstance(data, bytes):
        raise AudioError(f"{name} is a file that gives {type(data).__name__}, expected bytes: open it in binary mode")
    if len(data) > _MOST_BYTES:
        raise AudioError(f"{name} has more than {_MOST_BYTES} bytes: cut the recording to the part that matters")
    return data


class _VirtualFile:
    """A file that libsndfile may seek in as it likes, and that has no name.

    In damaged files it seeks before the start; cffi prints a traceback for what Python raises then. And by a name that
    ends in .raw, soundfile would take a file for samples without a header.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.read, self.tell = file.read, file.tell

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with contextlib.suppress(OSError, ValueError):
            self._file.seek(offset, whence)
        return self._file.tell()


def _decode(file: BinaryIO, name: str, max_seconds: float) -> _Recording:
    try:
        if not file.read(1):
            raise AudioError(f"{name} is empty (0 bytes), expected a sound file")
        file.seek(0)
        with soundfile.SoundFile(_VirtualFile(file)) as sound:
            rate = _check_rate(sound.samplerate, name)
            return _Recording(name, _read_frames(sound, int(max_seconds * rate), name), rate)
    except (soundfile.SoundFileError, OSError) as error:
        reason = getattr(error, "error_string", None) or getattr(error, "strerror", None) or "broken"
        raise AudioError(
            f"{name} is not a sound file that can be read ({' '.join(reason.split())}); convert it to WAV or FLAC; "
            f"formats that can be read: {readable_formats()}"
        ) from None


def _read_frames(sound: soundfile.SoundFile, most: int, name: str) -> Floats:
    """Frames up to the end or just beyond the most allowed: (n, channels). A header may promise any number of them."""
    if sound.channels > MOST_CHANNELS:
        raise AudioError(f"{name} has {sound.channels} channels, expected at most {MOST_CHANNELS}: mix it down first")
    blocks = [np.empty((0, sound.channels), np.float32)]
    frames = 0
    while frames <= most:
        block = sound.read(_BLOCK, dtype="float32", always_2d=True)
        if not len(block):
            break
        blocks.append(block)
        frames += len(block)
    return np.concatenate(blocks)


def _from_array(source: tuple[Any, ...], max_seconds: float) -> _Recording:
    if len(source) != 2 or not isinstance(source[0], np.ndarray):
        raise AudioError("the reference is a tuple, but not of a numpy array and its sample rate: pass (samples, rate)")
    samples, name = source[0], "the reference"
    rate = _check_rate(source[1], name)
    if samples.ndim not in (1, 2) or (samples.ndim == 2 and samples.shape[1] > MOST_CHANNELS):
        raise AudioError(
            f"{name} has the shape {samples.shape}, expected (n,) or (n, channels) with at most {MOST_CHANNELS} "
            "channels: transpose it if its channels come first"
        )
    if (samples.dtype.kind, samples.dtype.itemsize) not in (("i", 2), ("i", 4), ("f", 4), ("f", 8)):
        raise AudioError(f"{name} holds {samples.dtype} samples, expected int16, int32, float32 or float64")
    samples = (samples[:, None] if samples.ndim == 1 else samples)[: int(max_seconds * rate) + 1]
    with np.errstate(over="ignore"):  # what overflows becomes infinite and is refused as that
        floats = samples.astype(np.float32)
    if samples.dtype.kind == "i":
        floats *= np.float32(2.0 ** (1 - 8 * samples.dtype.itemsize))  # as libsndfile does: full scale to 1
    return _Recording(name, floats, rate)


def _check_rate(rate: Any, name: str) -> int:
    try:
        whole = operator.index(rate)
    except TypeError:
        raise AudioError(f"{name} has the sample rate {rate!r}, expected a whole number of samples a second") from None
    if not LOWEST_RATE <= whole <= HIGHEST_RATE:
        raise AudioError(
            f"{name} has {whole} samples a second, expected {LOWEST_RATE} to {HIGHEST_RATE}: resample it, or correct "
            "the rate"
        )
    return whole


def _check_length(recording: _Recording, max_seconds: float) -> None:
    frames, channels = recording.samples.shape
    seconds = frames / recording.rate
    if not frames or not channels:
        raise AudioError(f"{recording.name} holds no samples, expected at least {SHORTEST_SECONDS} s")
    if seconds > max_seconds:
        raise AudioError(
            f"{recording.name} is longer than {max_seconds:g} s: cut it (3 to 15 s of clear speech are best), or allow "
            "more with --max-reference-seconds (max_seconds in Python)"
        )
    if seconds < SHORTEST_SECONDS:
        raise AudioError(
            f"{recording.name} is {seconds:.3f} s long, expected at least {SHORTEST_SECONDS} s: record 3 to 15 s of "
            "speech"
        )


def _check_level(mono: Floats, name: str) -> None:
    if not np.isfinite(mono).all():
        raise AudioError(f"{name} holds NaN or infinite samples: export the recording again")
    # Half of the range, so that a constant offset, which some sound cards add to silence, is no sound.
    peak = (float(mono.max()) - float(mono.min())) / 2
    level = 20 * math.log10(peak) if peak else -math.inf
    if level < SILENCE_DBFS:
        raise AudioError(
            f"{name} is silent: its peak is {level:.1f} dBFS, expected at least {SILENCE_DBFS:g} dBFS: record it louder"
        )
    if peak > HIGHEST_PEAK:
        raise AudioError(
            f"{name} has a peak of {peak:g}, expected samples within ±1: divide them by the full scale of their unit"
        )


def _resample(mono: Floats, rate: int) -> Floats:
    """To 24 kHz as `librosa.resample` does by default (librosa/core/audio.py, res_type "soxr_hq", fix=True)."""
    if rate == SAMPLE_RATE:
        return mono
    # Rounded as there, one sample more than the exact quotient included where the ratio's error makes it so.
    length = math.ceil(len(mono) * (float(SAMPLE_RATE) / rate))
    resampled: Floats = soxr.resample(mono, rate, SAMPLE_RATE, quality="soxr_hq")[:length]
    return np.pad(resampled, (0, length - len(resampled)))


def _warnings(recording: _Recording) -> tuple[str, ...]:
    seconds = len(recording.samples) / recording.rate
    clipped = float(np.mean(np.abs(recording.samples) >= FULL_SCALE))
    found = []
    if clipped > CLIPPED_SHARE:
        found.append(
            f"{recording.name} is clipped: {clipped:.1%} of its samples are at full scale or beyond, the voice will "
            "sound distorted; record it with less gain"
        )
    if seconds < SHORT_SECONDS:
        found.append(
            f"{recording.name} is only {seconds:.2f} s long: the voice may be unlike the speaker; 3 to 15 s are best"
        )
    if seconds > LONG_SECONDS:
        found.append(
            f"{recording.name} is {seconds:.1f} s long: every sentence takes longer and the voice is no better; "
            "3 to 15 s are best"
        )
    return tuple(found)
