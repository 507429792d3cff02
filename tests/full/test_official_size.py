"""Official sizes with random weights: minutes of work and gigabytes of disk. Run by `make parity-full`."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import soundfile

from qwen3_tts_ncnn.parity.bench.memory import AVAILABLE
from qwen3_tts_ncnn.parity.clips import speech_like
from tests.full.command import command
from tests.full.memory import Peak

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not AVAILABLE, reason="memory is measured through Linux's /proc"),
]

GIGABYTE = 10**9
MINUTE = 60.0
RATE = 24_000
REFERENCE_SAMPLES = 11 * RATE + 777  # 138 frames, the last one not whole
TRANSCRIPT = "This is how I usually sound, when nobody listens and the day is long."
LIMIT = "40"  # frames

WELCOME = "Good evening, and welcome to the night train."
ENGLISH = "Hello there, this is a rather longer sentence, so that it takes a while."
CHINESE = "今天天气很好，我们一起去公园散步，然后回家喝茶，好不好？"
NUMBERS = "3.14, 2024-05-06 (£9.99)… #7 — 50%?! And then, once more, from the beginning: one, two, three."

# Random weights end most sentences within 25 frames. These go on for 40 or more but one for 37 and one for 35, and
# upstream's two best logits are nowhere closer than 2e-4. One of each layout, and one with a dialect.
SPEAKERS = (
    (WELCOME, "serena", "english", "--whole-text"),
    (CHINESE, "eric", "auto", "--streaming-text"),
)
# The same of both ways to clone.
VOICES = (
    (NUMBERS, None, "auto", "--whole-text"),
    (ENGLISH, None, "english", "--streaming-text"),
    (CHINESE, TRANSCRIPT, "chinese", "--whole-text"),
    (ENGLISH, TRANSCRIPT, "english", "--streaming-text"),
)
# One of each size that draws: 30 and 33 frames, and the best two of no draw are closer than 2e-3 of themselves.
SAMPLED = (
    ("custom_voice", WELCOME, ("--speaker", "serena"), "5"),
    ("voice_design", ENGLISH, ("--instruct", "A calm old man with a deep, warm voice."), "5"),
)


class Official(NamedTuple):
    """A checkpoint of official size and its package, and what the conversion took."""

    checkpoint: Path
    package: Path
    seconds: float
    processor_seconds: float
    peak: Peak


def make(folder: Path, preset: str, model_type: str, *options: str | Path) -> Official:
    checkpoint, package = folder / f"{preset}-{model_type}", folder / f"{preset}-{model_type}-fp32"
    command("checkpoint", checkpoint, "--preset", preset, "--type", model_type)
    run = command("convert", checkpoint, "-o", package, *options)
    return Official(checkpoint, package, run.seconds, run.processor_seconds, run.peak)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("official")


@pytest.fixture(scope="module")
def custom_voice(folder: Path) -> Official:
    return make(folder, "0.6b", "custom_voice")


@pytest.fixture(scope="module")
def base(folder: Path, custom_voice: Official) -> Official:
    return make(folder, "0.6b", "base", "--codec-from", custom_voice.package)


@pytest.fixture(scope="module")
def voice_design(folder: Path) -> Official:
    return make(folder, "1.7b", "voice_design")


@pytest.fixture(scope="module")
def reference(folder: Path) -> Path:
    path = folder / "reference.wav"
    soundfile.write(path, speech_like(REFERENCE_SAMPLES, RATE, seed=5), RATE, subtype="FLOAT")
    return path


def compare(official: Official, *options: str | Path) -> dict[str, Any]:
    """What `parity` finds for one text."""
    run = command("parity", official.package, official.checkpoint, *options, "--max-frames", LIMIT, "--json")
    print(f"parity: {run.seconds:.0f} s, {run.peak.own / GIGABYTE:.1f} GB at the peak (both models in one process)")
    (case,) = json.loads(run.output)["cases"]
    return dict(case)


@pytest.mark.parametrize(
    ("kind", "gigabytes"),
    [("custom_voice", 12), ("base", 12), ("voice_design", 16)],
    ids=["0.6b-custom_voice", "0.6b-base", "1.7b-voice_design"],
)
def test_converting_stays_under_15_minutes_and_its_gigabytes(
    kind: str, gigabytes: int, request: pytest.FixtureRequest
) -> None:
    """What the process and pnnx hold at one moment counts, for they are not at their peaks together; and the seconds of
    the processor, which another job on the same cores does not change."""
    official: Official = request.getfixturevalue(kind)
    own, child, together = (size / GIGABYTE for size in official.peak)
    print(
        f"conversion of {official.checkpoint.name}: {official.seconds:.0f} s, of which the processor worked "
        f"{official.processor_seconds:.0f}; {own:.1f} GB in the process, {child:.1f} in pnnx, {together:.1f} at once"
    )
    assert together < gigabytes
    assert official.processor_seconds < 15 * MINUTE


def test_the_second_conversion_shares_the_codec_of_the_first(custom_voice: Official, base: Official) -> None:
    for name in ("codec_decoder.bin", "mimi_encoder.bin"):
        assert (base.package / name).samefile(custom_voice.package / name)


@pytest.mark.parametrize(("text", "speaker", "language", "layout"), SPEAKERS, ids=["whole", "streaming"])
def test_every_token_of_at_least_30_frames_of_a_speaker_is_equal(
    custom_voice: Official, text: str, speaker: str, language: str, layout: str
) -> None:
    case = compare(custom_voice, "--text", text, "--speaker", speaker, "--language", language, layout)
    assert case["verdict"] == "equal"
    assert case["stop"]["frames"] >= 30
    assert case["tokens"]["equal"] == case["tokens"]["total"] >= 30 * 16


@pytest.mark.parametrize(("kind", "text", "who", "seed"), SAMPLED, ids=["0.6b-speaker", "1.7b-design"])
def test_every_token_of_at_least_25_sampled_frames_is_equal(
    kind: str, text: str, who: tuple[str, str], seed: str, request: pytest.FixtureRequest
) -> None:
    case = compare(request.getfixturevalue(kind), "--text", text, *who, "--language", "english", "--seed", seed)
    assert (case["verdict"], case["seed"]) == ("equal", int(seed))
    assert case["stop"]["frames"] >= 25
    assert case["tokens"]["equal"] == case["tokens"]["total"] >= 25 * 16


@pytest.mark.parametrize(
    ("text", "transcript", "language", "layout"),
    VOICES,
    ids=[f"{mode}-{layout}" for mode in ("x-vector", "in-context") for layout in ("whole", "streaming")],
)
def test_every_token_of_at_least_25_frames_of_a_cloned_voice_is_equal(
    base: Official, reference: Path, text: str, transcript: str | None, language: str, layout: str
) -> None:
    options = ["--text", text, "--reference", reference, "--language", language, layout]
    case = compare(base, *options, *(["--transcript", transcript] if transcript else []))
    assert case["verdict"] == "equal"
    assert case["stop"]["frames"] >= 25
    assert case["tokens"]["equal"] == case["tokens"]["total"] >= 25 * 16
    heard = case["reference"]
    assert heard["x_vector_cosine"] >= 0.999999
    assert heard["seconds"] > 10
    codes = 138 * 16 if transcript else 0
    assert (heard["codes"]["equal"], heard["codes"]["total"]) == (codes, codes)
