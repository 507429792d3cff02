"""A run that does not end by itself is ended, told, and tried again with another seed if that was asked for."""

import os
import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.export.check import signal_to_noise
from qwen3_tts_ncnn.convert.export.graph_export import export_graph
from qwen3_tts_ncnn.convert.package_files import list_files
from qwen3_tts_ncnn.runtime import TTS, OptionError, Speech
from qwen3_tts_ncnn.runtime.engine import Engine
from qwen3_tts_ncnn.runtime.manifest import read_manifest, write_manifest
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.sampling import NEVER
from qwen3_tts_ncnn.runtime.speech_warning import STOPPED, SpeechWarning
from qwen3_tts_ncnn.runtime.stopping import frame_budget, piece_seed, retry_seed
from tests.conftest import THREADS
from tests.convert.graph_plans import plans_of

TEXT = "Hi."
EOS = 2150


@pytest.fixture(scope="module")
def endless(tiny_checkpoint: Path, tiny_package: Path, tmp_path_factory: pytest.TempPathFactory) -> TTS:
    """The package of the tiny checkpoint with the row of EOS in the talker's head scaled to zero, loaded.

    That row is all that differs from the tiny package, so its graph is all that is converted again.
    """
    from safetensors.torch import load_file, save_file

    folder = tmp_path_factory.mktemp("endless")
    checkpoint = Path(shutil.copytree(tiny_checkpoint, folder / "checkpoint", copy_function=os.symlink))
    weights = checkpoint / "model.safetensors"
    tensors = load_file(weights)
    tensors["talker.codec_head.weight"][EOS] *= 0
    weights.unlink()
    save_file(tensors, weights)

    package = Path(shutil.copytree(tiny_package, folder / "endless-fp32", copy_function=os.symlink))
    for suffix in ("param", "bin"):
        (package / f"talker_codec_head.{suffix}").unlink()
    export_graph(plans_of(Checkpoint.open(checkpoint))["talker_codec_head"], package)
    manifest = read_manifest(package)
    (package / "model.json").unlink()
    write_manifest(replace(manifest, files=list_files(package)), package)
    return TTS.load(package, threads=THREADS)


def test_a_run_that_never_reaches_eos_ends_by_the_budget_says_limit_and_warns(endless: TTS) -> None:
    frames = 125 + 20 * len(endless._tokenizer.encode(TEXT))
    with pytest.warns(SpeechWarning) as caught:
        speech = endless.speak(TEXT, speaker="ryan", seed=1, temperature=2.0)
    assert [str(warning.message) for warning in caught] == [
        "the speech was stopped at its limit of frames, so it may be cut off or have gone astray"
    ]
    assert (speech.stop, len(speech.codes), len(speech.selections)) == ("limit", frames, frames + 1)
    assert EOS not in speech.selections
    check_samples(endless, speech)


def check_samples(tts: TTS, speech: Speech) -> None:
    """Checks that the samples are those of the codes: in pieces or at once differs by rounding alone."""
    assert signal_to_noise(speech.samples, tts.codec.decode_chunked(speech.codes)) >= 100


def test_the_budget_is_of_the_text_and_max_frames_counts_where_it_is_less(
    endless: TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwen3_tts_ncnn.runtime.tts.frame_budget", lambda tokens: 3 * tokens)
    text = "One two three four."
    tokens = len(endless._tokenizer.encode(text))

    def frames(**options: Any) -> int:
        with pytest.warns(SpeechWarning):
            return len(endless.speak(text, speaker="ryan", seed=1, **options).codes)

    assert tokens > 2
    assert frames() == 3 * tokens
    assert frames(max_frames=2) == 2
    assert frames(max_frames=3 * tokens + 5) == 3 * tokens
    assert frames(max_frames=3 * tokens + 5, budget=False) == 3 * tokens + 5


def test_without_a_budget_max_frames_alone_bounds_a_run(endless: TTS) -> None:
    frames = frame_budget(len(endless._tokenizer.encode(TEXT))) + 3
    with pytest.warns(SpeechWarning):
        speech = endless.speak(TEXT, speaker="ryan", seed=1, budget=False, watchdog=False, max_frames=frames)
    assert (speech.stop, len(speech.codes)) == ("limit", frames)


def always_code_7(*_: Any) -> Floats:
    scores = np.full(3072, NEVER, dtype=np.float32)
    scores[7] = 1
    return scores


def speak_and_expect(tts: TTS, stop: str, **options: Any) -> Speech:
    """Speaks, which one warning must tell to have been stopped."""
    with pytest.warns(SpeechWarning) as caught:
        speech = tts.speak(TEXT, speaker="ryan", seed=1, **options)
    assert (speech.stop, [str(warning.message) for warning in caught]) == (stop, [STOPPED[stop]])
    check_samples(tts, speech)
    return speech


def test_a_code_that_stands_still_is_stopped_at_8_s_and_told(tts: TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwen3_tts_ncnn.runtime.generation.process_talker_logits", always_code_7)
    speech = speak_and_expect(tts, "repeat")
    assert speech.codes[:, 0].tolist() == [7] * 101
    assert STOPPED["repeat"] == "the speech was stopped because it repeated itself without end"
    speech = speak_and_expect(tts, "limit", watchdog=False, max_frames=110)
    assert speech.codes[:, 0].tolist() == [7] * 110


def test_silence_is_stopped_after_6_s_and_told(endless: TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny model is never silent, so the levels are made up."""

    def falls_silent() -> None:
        levels = chain(repeat(-10.0, 10), repeat(-60.0))
        monkeypatch.setattr("qwen3_tts_ncnn.runtime.utterance.level_dbfs", lambda _samples: next(levels))

    falls_silent()
    assert len(speak_and_expect(endless, "silence").codes) == 10 + 75
    assert STOPPED["silence"] == "the speech was stopped because it had fallen silent"
    falls_silent()
    assert len(speak_and_expect(endless, "limit", watchdog=False, max_frames=90).codes) == 90


def test_a_run_that_ends_by_itself_does_not_warn(tts: TTS, recwarn: pytest.WarningsRecorder) -> None:
    assert tts.speak("Hello there.", speaker="ryan", greedy=True, watchdog=False).stop == "eos"
    assert not [warning for warning in recwarn if warning.category is SpeechWarning]


class Tries:
    """In place of a run: each try ends as a script says, and its seed is kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *stops: str) -> None:
        self.seeds: list[int] = []
        self._stops = iter(stops)
        monkeypatch.setattr(Engine, "_utter", lambda _engine, _run, seed: self.made_up(seed))

    def made_up(self, seed: int) -> Speech:
        self.seeds.append(seed)
        number = len(self.seeds)
        codes = np.full((1, 16), number, dtype=np.int32)
        return Speech(np.full(1920, number / 100, np.float32), 24000, codes, codes[0, :1], next(self._stops))


@pytest.mark.parametrize(
    ("retry", "stops", "tries", "stop"),
    [
        (0, ["limit"], 1, "limit"),
        (3, ["eos"], 1, "eos"),
        (3, ["limit", "eos"], 2, "eos"),
        (3, ["repeat", "silence", "limit", "eos"], 4, "eos"),
        (3, ["repeat", "silence", "repeat", "limit"], 4, "limit"),
        (1, ["limit", "silence"], 2, "silence"),
    ],
)
def test_a_run_is_tried_again_until_it_ends_by_itself_or_no_try_is_left(
    tts: TTS, monkeypatch: pytest.MonkeyPatch, retry: int, stops: list[str], tries: int, stop: str
) -> None:
    script = Tries(monkeypatch, *stops)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        speech = tts.speak(TEXT, speaker="ryan", seed=42, retry=retry)
    assert script.seeds == [retry_seed(42, attempt) for attempt in range(tries)]
    assert script.seeds[0] == 42
    assert (speech.stop, speech.codes[0, 0]) == (stop, tries)
    assert speech.seed == 42, "given again, with the same retry, it gives the same speech"
    assert [str(warning.message) for warning in caught] == ([] if stop == "eos" else [STOPPED[stop]])


def test_a_run_without_a_seed_is_tried_again_with_seeds_of_the_one_it_tells(
    tts: TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Tries(monkeypatch, "limit", "eos")
    speech = tts.speak(TEXT, speaker="ryan", retry=1)
    assert speech.seed is not None
    assert script.seeds == [speech.seed, retry_seed(speech.seed, 1)]


def test_a_greedy_run_is_never_tried_again_for_it_would_be_the_same(tts: TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Tries(monkeypatch, "limit", "eos")
    with pytest.warns(SpeechWarning):
        speech = tts.speak(TEXT, speaker="ryan", greedy=True, retry=5)
    assert (len(script.seeds), speech.stop, speech.seed) == (1, "limit", None)


def test_a_real_run_that_met_its_limit_is_the_one_of_the_next_seed_that_does_not(tts: TTS) -> None:
    def speak(seed: int, **options: Any) -> Speech:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpeechWarning)
            return tts.speak(TEXT, speaker="ryan", seed=seed, max_frames=25, **options)

    tried = [(seed, speak(retry_seed(seed, 1))) for seed in range(12) if speak(seed).stop == "limit"]
    seed, second = next((seed, second) for seed, second in tried if second.stop == "eos")
    again = speak(seed, retry=1)
    assert (again.stop, again.seed) == ("eos", seed)
    assert np.array_equal(again.samples, second.samples)


def test_each_piece_of_a_long_text_is_tried_again_alone(tts: TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Tries(monkeypatch, "eos", "limit", "eos", "silence", "repeat")
    monkeypatch.setattr("qwen3_tts_ncnn.runtime.tts.split_text", lambda text: text.split("|"))
    with pytest.warns(SpeechWarning) as caught:
        speech = tts.speak("One.|Two.|Three.", speaker="ryan", seed=9, retry=1)
    second, third = piece_seed(9, 1), piece_seed(9, 2)
    assert script.seeds == [9, second, retry_seed(second, 1), third, retry_seed(third, 1)]
    assert speech.codes[:, 0].tolist() == [1, 3, 5]
    assert [str(warning.message) for warning in caught] == [STOPPED["repeat"]]
    assert speech.stop == "repeat"


@pytest.mark.parametrize(
    "speak",
    [
        lambda tts: tts.speak(TEXT, speaker="ryan", seed=1),
        lambda tts: tts.speak_all([TEXT], speaker="ryan", seed=1),
        lambda tts: next(tts.speak_sentences(["One. ", "Two."], speaker="ryan", seed=1)),
        lambda tts: list(tts.speak_sentences(["One."], speaker="ryan", seed=1)),
    ],
    ids=["speak", "speak_all", "speak_sentences", "the last of speak_sentences"],
)
def test_a_warning_points_at_the_line_that_called(
    tts: TTS, monkeypatch: pytest.MonkeyPatch, speak: Callable[[TTS], object]
) -> None:
    Tries(monkeypatch, "limit")
    with pytest.warns(SpeechWarning) as caught:
        speak(tts)
    [warning] = caught
    assert (warning.filename, warning.lineno) == (__file__, speak.__code__.co_firstlineno)


def test_a_retry_below_0_is_refused_before_any_frame(tts: TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Tries(monkeypatch)
    with pytest.raises(OptionError) as caught:
        tts.speak(TEXT, speaker="ryan", retry=-1)
    assert str(caught.value) == "retry is -1, expected 0 or more"
    assert script.seeds == []
