"""`clone` makes the voice that the library makes, and tells what it made of what."""

import json
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest
import soundfile

from qwen3_tts_ncnn.runtime import TTS, Voice
from qwen3_tts_ncnn.runtime.rvq_file import read_rvq
from tests.cli.command_line import process, run
from tests.cli.recordings import FITTING, recording, write_recording


def clone(package: Path, reference: Path, output: Path, *options: str | Path) -> str:
    """Runs `clone`, which must succeed; returns what it says."""
    result = run("clone", package, reference, "-o", output, "--threads", "1", *options)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    return result.stderr


def library_voice(package: Path, reference: Path, transcript: str | None) -> Voice:
    return TTS.load(package, threads=1).clone(reference, transcript=transcript)


def same_voice(first: Voice, second: Voice) -> bool:
    return first.to_bytes() == second.to_bytes()


def test_a_voice_in_context_is_the_library_s(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    told = clone(tiny_base_package, reference, tmp_path / "me.voice", "--transcript", FITTING)
    assert re.fullmatch(
        rf"wrote {tmp_path}/me\.voice: a voice in context, 39 frames and an x-vector of width 64, from 3\.10 s of "
        r"reference with tiny-base-fp32 in \d+\.\d\d s\n",
        told,
    )
    voice = Voice.load(tmp_path / "me.voice")
    assert voice.transcript == FITTING
    assert same_voice(voice, library_voice(tiny_base_package, reference, FITTING))
    assert [path.name for path in tmp_path.iterdir()] == ["me.voice"]


def test_without_a_transcript_it_is_a_voice_by_x_vector(
    tiny_base_package: Path, reference: Path, tmp_path: Path
) -> None:
    told = clone(tiny_base_package, reference, tmp_path / "me.voice")
    assert f"wrote {tmp_path}/me.voice: a voice by x-vector alone, width 64, from 3.10 s of reference with " in told
    voice = Voice.load(tmp_path / "me.voice")
    assert voice.codes is None
    assert same_voice(voice, library_voice(tiny_base_package, reference, None))


def test_the_parts_of_a_voice_go_out_as_files_of_their_own(
    tiny_base_package: Path, reference: Path, tmp_path: Path
) -> None:
    voice = library_voice(tiny_base_package, reference, FITTING)
    told = clone(tiny_base_package, reference, tmp_path / "me.spk", "--transcript", FITTING)
    assert "me.spk: a voice by x-vector alone, width 64, from" in told
    assert np.array_equal(Voice.load(tmp_path / "me.spk").x_vector, voice.x_vector)
    told = clone(tiny_base_package, reference, tmp_path / "me.RVQ", "--transcript", FITTING)
    assert "me.RVQ: the codes alone, 39 frames, from 3.10 s of reference" in told
    assert voice.codes is not None
    assert np.array_equal(read_rvq(tmp_path / "me.RVQ"), voice.codes)


def test_json_is_one_object_that_tells_everything(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    def report(name: str, *options: str) -> dict[str, object]:
        result = run("clone", tiny_base_package, reference, "-o", tmp_path / name, "--threads", "1", "--json", *options)
        assert result.stderr == ""
        record = json.loads(result.stdout)
        assert record.pop("compute_seconds") > 0
        assert record.pop("output") == str(tmp_path / name)
        assert (record.pop("reference_seconds"), record.pop("model")) == (3.1, "tiny-base-fp32")
        return record

    assert report("a.voice", "--transcript", FITTING) == {"in_context": True, "frames": 39, "width": 64}
    assert report("b.voice") == {"in_context": False, "frames": None, "width": 64}
    assert report("a.spk", "--transcript", FITTING) == {"in_context": False, "frames": None, "width": 64}
    assert report("a.rvq", "--transcript", FITTING) == {"in_context": False, "frames": 39, "width": None}


def test_cloning_twice_gives_the_same_bytes(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.voice", tmp_path / "second.voice"
    clone(tiny_base_package, reference, first, "--transcript", FITTING)
    options = ("--transcript", FITTING, "--threads", "1", "-o", second)
    done = process("clone", tiny_base_package, reference, *options)
    assert (done.returncode, done.stdout) == (0, "")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("content", [FITTING.encode(), b"\xef\xbb\xbf" + FITTING.encode() + b"\r\n\n"])
def test_a_transcript_in_a_file_is_the_same_as_in_the_argument(
    tiny_base_package: Path, reference: Path, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "transcript.txt"
    file.write_bytes(content)
    clone(tiny_base_package, reference, tmp_path / "file.voice", "--transcript-file", file)
    clone(tiny_base_package, reference, tmp_path / "argument.voice", "--transcript", FITTING)
    assert (tmp_path / "file.voice").read_bytes() == (tmp_path / "argument.voice").read_bytes()


def test_an_old_voice_is_replaced(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    (tmp_path / "me.voice").write_text("an old one")
    clone(tiny_base_package, reference, tmp_path / "me.voice")
    assert Voice.load(tmp_path / "me.voice").width == 64


def test_what_makes_the_voice_worse_is_a_warning_a_line(tiny_base_package: Path, tmp_path: Path) -> None:
    short = write_recording(tmp_path / "short.wav", 1.0)
    for _ in range(2):  # Python itself tells a warning once
        warnings = clone(tiny_base_package, short, tmp_path / "me.voice", "--transcript", "a b " * 40).splitlines()[:-1]
        assert warnings == [
            f"Warning: {short} is only 1.00 s long: the voice may be unlike the speaker; 3 to 15 s are best",
            "Warning: the transcript is too long for 1.0 s of recording (some 27 syllables a second, speech has 2 to "
            "8): give exactly what the recording says",
        ]


def test_a_clipped_recording_is_a_warning(tiny_base_package: Path, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "loud.flac", 4 * recording(2.0), 24000)
    [warning, _] = clone(tiny_base_package, tmp_path / "loud.flac", tmp_path / "me.voice").splitlines()
    assert re.match(r"Warning: .*loud\.flac is clipped: \d+\.\d% of its samples are at full scale", warning)


def test_a_longer_recording_may_be_allowed(tiny_base_package: Path, tmp_path: Path) -> None:
    long = write_recording(tmp_path / "long.wav", 61.0, 8000)
    options = ("--max-reference-seconds", "61")
    [warning, last] = clone(tiny_base_package, long, tmp_path / "me.voice", *options).splitlines()
    assert warning.startswith(f"Warning: {long} is 61.0 s long: every sentence takes longer")
    assert "from 61.00 s of reference" in last


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_recording_may_come_through_a_pipe(tiny_base_package: Path, reference: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(reference.read_bytes()), daemon=True)
    writer.start()
    clone(tiny_base_package, pipe, tmp_path / "pipe.voice")
    writer.join()
    clone(tiny_base_package, reference, tmp_path / "file.voice")
    assert (tmp_path / "pipe.voice").read_bytes() == (tmp_path / "file.voice").read_bytes()
