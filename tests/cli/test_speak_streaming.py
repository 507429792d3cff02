"""`speak -o -` hands out samples as they are made, and stops when nobody takes them."""

import io
import os
import signal
import struct
import subprocess
import threading
import time
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile

from qwen3_tts_ncnn.runtime import TTS, Voice
from qwen3_tts_ncnn.runtime.audio import encode_audio
from qwen3_tts_ncnn.runtime.cli.sound_output import SoundOutput
from qwen3_tts_ncnn.runtime.cli.speaking import stream_sound
from qwen3_tts_ncnn.runtime.mat import Floats
from tests.cli.command_line import MODULE, refusal, run

# Most runs here are cut after a few frames.
pytestmark = pytest.mark.filterwarnings("ignore::qwen3_tts_ncnn.runtime.SpeechWarning")

TEXT = "Hello there."
HEADER = 44  # bytes before the first sample
FRAME = 1920
SPEAKER = ("--speaker", "ryan", "--threads", "1")

# Minutes of speech: whoever stops a run of it, stops it before its end.
LONG = "One sentence of this text is quite long enough to stand alone, is it not? " * 2000


def piped(package: Path, *options: str | Path) -> bytes:
    """What greedy speech of at most eight frames writes to standard output."""
    result = run("speak", package, TEXT, *SPEAKER, "--greedy", "--max-frames", "8", "-o", "-", *options)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


def streamed(package: Path, *, first_chunk: int = 4) -> Floats:
    """The samples of the same speech, from the library."""
    stream = TTS.load(package, threads=1).stream(
        TEXT, speaker="ryan", greedy=True, max_frames=8, first_chunk=first_chunk
    )
    return np.concatenate(list(stream))


def frames_said(data: bytes) -> int:
    """The length that a WAV's header tells, which is that of the file only where all was there before it."""
    with wave.open(io.BytesIO(data)) as file:
        return int(file.getnframes())


@pytest.mark.parametrize("subtype", ["pcm16", "pcm24", "float"])
def test_the_samples_are_those_of_a_wav_that_is_written_at_once(tiny_package: Path, subtype: str) -> None:
    data = piped(tiny_package, "--format", subtype)
    whole = encode_audio(streamed(tiny_package), 24000, subtype=subtype)
    assert len(data[HEADER:]) == 8 * FRAME * {"pcm16": 2, "pcm24": 3, "float": 4}[subtype]
    assert whole.endswith(data[HEADER:])


@pytest.mark.parametrize(("subtype", "tag", "width"), [("pcm16", 1, 2), ("pcm24", 1, 3), ("float", 3, 4)])
def test_the_header_is_of_a_wav_whose_end_is_not_known(tiny_package: Path, subtype: str, tag: int, width: int) -> None:
    data = piped(tiny_package, "--format", subtype)
    assert struct.unpack("<4sI4s4sIHHIIHH4sI", data[:HEADER]) == (
        *(b"RIFF", 2**32 - 1, b"WAVE", b"fmt ", 16),
        *(tag, 1, 24000, 24000 * width, width, 8 * width, b"data", 2**32 - 1),
    )
    samples, rate = soundfile.read(io.BytesIO(data), dtype="float32")
    assert (rate, len(samples)) == (24000, 8 * FRAME)
    np.testing.assert_allclose(samples, streamed(tiny_package).clip(-1, 1), atol=1.01 / 32768)


def test_raw_is_the_samples_alone(tiny_package: Path, tmp_path: Path) -> None:
    assert piped(tiny_package, "--raw") == piped(tiny_package)[HEADER:]
    floats = np.frombuffer(piped(tiny_package, "--raw", "--format", "float"), dtype="<f4")
    np.testing.assert_array_equal(floats, streamed(tiny_package))


def test_a_raw_file_is_the_wav_without_its_header(tiny_package: Path, tmp_path: Path) -> None:
    for name in ("a.raw", "a.wav"):
        run("speak", tiny_package, TEXT, *SPEAKER, "--greedy", "--max-frames", "2", "-o", tmp_path / name)
    raw = (tmp_path / "a.raw").read_bytes()
    assert len(raw) == 2 * FRAME * 2
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "a.wav").read_bytes()[:HEADER] + raw


def test_the_sizes_of_chunks_are_those_asked_for(tiny_package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(SoundOutput, "go_on", lambda _self, samples, _rate: sizes.append(len(samples) // FRAME))
    piped(tiny_package)
    piped(tiny_package, "--first-chunk", "1", "--chunk", "3")
    piped(tiny_package, "--first-chunk", "5", "--chunk", "1")
    assert sizes == [*(4, 4), *(1, 2, 3, 2), *(5, 1, 1, 1)]


def test_the_last_line_tells_when_the_first_sound_was_there(tiny_package: Path) -> None:
    result = run("speak", tiny_package, TEXT, *SPEAKER, "--greedy", "--max-frames", "8", "-o", "-", "--raw")
    warning, last = result.stderr.splitlines()
    assert warning.startswith("Warning: the speech was stopped at its limit of frames")
    assert last.startswith("wrote raw samples to standard output: 0.64 s of speech in ")
    assert ", first sound after " in last
    assert last.endswith(" s), stopped by limit")


def test_with_a_retry_the_speech_is_made_whole(tiny_package: Path, tmp_path: Path) -> None:
    wav = tmp_path / "a.wav"
    seeded = ("speak", tiny_package, TEXT, *SPEAKER, "--seed", "3", "--max-frames", "2", "--retry", "1")
    run(*seeded, "-o", wav)
    result = run(*seeded, "-o", "-")
    assert result.stdout_bytes == wav.read_bytes()
    assert frames_said(result.stdout_bytes) == 2 * FRAME
    assert "first sound" not in result.stderr
    assert run(*seeded, "-o", "-", "--raw").stdout_bytes == wav.read_bytes()[HEADER:]


def test_a_voice_that_is_kept_is_made_whole(tiny_package: Path, tiny_base_package: Path, tmp_path: Path) -> None:
    data = piped(
        tiny_package, "--max-frames", "100", "--save-voice", tmp_path / "ryan.voice", "--base", tiny_base_package
    )
    assert frames_said(data) % FRAME == 0
    assert frames_said(data) > 0
    assert Voice.load(tmp_path / "ryan.voice").transcript == TEXT


@pytest.mark.parametrize("option", [("--first-chunk", "2"), ("--chunk", "2")])
@pytest.mark.parametrize("rest", [("-o", "a.wav"), ("-o", "-", "--retry", "1")])
def test_chunks_where_nothing_is_streamed_are_refused(
    tiny_package: Path, option: tuple[str, str], rest: tuple[str, ...]
) -> None:
    assert refusal("speak", tiny_package, TEXT, *SPEAKER, *option, *rest) == (
        "--first-chunk and --chunk are for speech that is handed out as it is made: it is with -o -, and without "
        "--retry and --save-voice. See `qwen3-tts-ncnn speak --help`."
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("-o", "a.wav", "--raw"), "--raw goes with -o -: give a file the ending .raw instead."),
        (("-o", "-", "--chunk", "0"), "Invalid value for '--chunk': 0 is not in the range x>=1."),
        (("-o", "-", "--first-chunk", "-1"), "Invalid value for '--first-chunk': -1 is not in the range x>=1."),
    ],
)
def test_options_that_cannot_be(tiny_package: Path, options: tuple[str, ...], expected: str) -> None:
    line = refusal("speak", tiny_package, TEXT, *SPEAKER, *options)
    assert line == f"{expected} See `qwen3-tts-ncnn speak --help`."


def test_what_is_refused_writes_no_header(tiny_package: Path) -> None:
    assert refusal("speak", tiny_package, TEXT, "--threads", "1", "-o", "-").startswith("tiny-customvoice-fp32 needs a")


@pytest.mark.parametrize("overlap", [False, True], ids=["alone", "overlapped"])
def test_no_frame_is_made_for_a_reader_that_has_gone(
    tiny_package: Path, monkeypatch: pytest.MonkeyPatch, overlap: bool
) -> None:
    def gone(*_arguments: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(SoundOutput, "go_on", gone)
    monkeypatch.setattr(SoundOutput, "begin", lambda *_: None)
    sound = SoundOutput(Path("-"), "pcm16", False)
    made: list[int] = []
    tts = TTS.load(tiny_package, threads=1)
    options = {"speaker": "ryan", "greedy": True, "on_frame": made.append, "overlap": overlap, "first_chunk": 3}
    with pytest.raises(BrokenPipeError):
        stream_sound(tts, LONG[:500], sound, options)
    assert made == [1, 2, 3]
    assert [thread for thread in threading.enumerate() if thread.name == "frames"] == []


def _heed_interrupts() -> None:
    """A shell has its background jobs ignore interrupts, tests that run as one included, and a child would too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def speaking(package: Path, folder: Path, stdout: int) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that speaks for minutes, with a folder of its own for temporary files."""
    text, temporary = folder / "long.txt", folder / "temporary"
    text.write_text(LONG)
    temporary.mkdir()
    command = [*MODULE, "speak", str(package), "--file", str(text), *SPEAKER, "--seed", "1", "-o", "-"]
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(
        command, stdout=stdout, stderr=subprocess.PIPE, env=environment, preexec_fn=_heed_interrupts
    ) as running:
        try:
            yield running
            assert list(temporary.iterdir()) == []
        finally:
            running.kill()


def ended(running: "subprocess.Popen[bytes]") -> tuple[int, bytes]:
    """The exit code and standard error of a process that ends by itself."""
    assert running.stderr is not None
    code = running.wait(timeout=20)
    return code, running.stderr.read()


def test_a_reader_that_has_heard_enough_ends_the_run_quietly(tiny_package: Path, tmp_path: Path) -> None:
    with speaking(tiny_package, tmp_path, subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.read(1000)[:4] == b"RIFF"
        running.stdout.close()
        assert ended(running) == (1, b"")


def test_an_interrupt_ends_the_run_while_nobody_reads(tiny_package: Path, tmp_path: Path) -> None:
    with speaking(tiny_package, tmp_path, subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.read(1000)
        time.sleep(1)  # until the pipe is full, which holds 1.4 s of speech
        running.send_signal(signal.SIGINT)
        assert ended(running) == (130, b"Interrupted\n")


def test_an_interrupt_ends_the_run_while_frames_are_made(tiny_package: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.wav"
    with output.open("wb") as file, speaking(tiny_package, tmp_path, file.fileno()) as running:
        wait_for(lambda: output.stat().st_size > 100_000, running)
        running.send_signal(signal.SIGINT)
        assert ended(running) == (130, b"Interrupted\n")
    assert (output.stat().st_size - HEADER) % 2 == 0
    assert soundfile.info(output).frames == (output.stat().st_size - HEADER) // 2


def wait_for(happened: Callable[[], bool], running: "subprocess.Popen[bytes]") -> None:
    while not happened():
        assert running.poll() is None
        time.sleep(0.01)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_standard_output_is_one_line(tiny_package: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full, speaking(tiny_package, tmp_path, full.fileno()) as running:
        assert ended(running) == (
            2,
            b"Error: standard output cannot be written (No space left on device): free some space or choose another "
            b"place\n",
        )
