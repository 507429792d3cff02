"""Greedy speech on a GPU is that of the CPU, token for token, in every mode."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.export.check import signal_to_noise
from qwen3_tts_ncnn.convert.plans import CODEC_BOUND
from qwen3_tts_ncnn.runtime import TTS, Voice
from qwen3_tts_ncnn.runtime.devices import Device
from tests.cli.command_line import process
from tests.conftest import THREADS
from tests.runtime.recordings import SAID, recording
from tests.vulkan.conftest import Pair

TEXT = "Good evening."
FRAMES = 5

pytestmark = pytest.mark.filterwarnings("ignore::qwen3_tts_ncnn.runtime.SpeechWarning")


def check(pair: tuple[TTS, TTS], **options: Any) -> None:
    expected, speech = (tts.speak(TEXT, greedy=True, max_frames=FRAMES, **options) for tts in pair)
    assert len(expected.codes) > 0
    np.testing.assert_array_equal(speech.codes, expected.codes)
    np.testing.assert_array_equal(speech.selections, expected.selections)
    assert speech.stop == expected.stop
    assert signal_to_noise(speech.samples, expected.samples) >= CODEC_BOUND.limit


def test_a_named_speaker(pair: Pair) -> None:
    check(pair("custom_voice"), speaker="ryan", language="english")


def test_a_designed_voice(pair: Pair) -> None:
    check(pair("voice_design"), instruct="A calm old man.")


@pytest.mark.parametrize("in_context", [False, True])
def test_a_cloned_voice(pair: Pair, in_context: bool) -> None:
    cpu, _ = pair("base")
    x_vector = cpu._speaker_encoder.get().encode(recording(24000))
    codes = cpu.codec.encode_samples(recording(1920 * 4)) if in_context else None
    check(pair("base"), voice=Voice(x_vector, codes, SAID if in_context else None, cpu.manifest.name))


@pytest.mark.parametrize("overlap", [False, True])
def test_a_stream(pair: Pair, overlap: bool) -> None:
    streams = [
        tts.stream(TEXT, speaker="ryan", greedy=True, max_frames=FRAMES, first_chunk=2, overlap=overlap)
        for tts in pair("custom_voice")
    ]
    expected, samples = (np.concatenate(list(stream)) for stream in streams)
    np.testing.assert_array_equal(streams[1].codes, streams[0].codes)
    assert signal_to_noise(samples, expected) >= CODEC_BOUND.limit


def test_hybrid_speaks_alike(llvmpipe: Device, pair: Pair, tiny_package: Path) -> None:
    hybrid = TTS.load(tiny_package, backend="hybrid", threads=THREADS)
    check((pair("custom_voice")[0], hybrid), speaker="serena")


def test_a_process_of_its_own_prints_nothing_of_ncnn_s_and_ends_well(
    llvmpipe: Device, tiny_package: Path, tmp_path: Path
) -> None:
    options = ("--speaker", "ryan", "--greedy", "--max-frames", "2", "--threads", "1", "--backend", "hybrid")
    done = process("speak", tiny_package, TEXT, *options, "-o", tmp_path / "a.wav")
    assert done.returncode == 0
    assert "[0 llvmpipe" not in done.stderr
    assert all(line.startswith(("wrote ", "Warning: ")) for line in done.stderr.splitlines()), done.stderr
    again = process("devices", "--verbose")
    assert again.returncode == 0
    assert again.stderr.startswith("[0 llvmpipe")
    assert again.stdout.splitlines()[1].startswith("0      llvmpipe")
