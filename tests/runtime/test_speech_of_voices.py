"""A Base package speaks with voices: by x-vector or in context, and hears each reference once."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.export.check import signal_to_noise
from qwen3_tts_ncnn.runtime import TTS, ModeError, Speech, Voice
from qwen3_tts_ncnn.runtime import engine as engine_module
from qwen3_tts_ncnn.runtime.cloning import PrimedReference, prime
from tests.runtime.recordings import RATE, SAID, recording

# Most runs here are cut after a few frames.
pytestmark = pytest.mark.filterwarnings("ignore::qwen3_tts_ncnn.runtime.SpeechWarning")

TEXT = "Hello there, it's a fine day."
ROLE, PREFIX = 3, 5  # rows: the role; nothink, think_bos, think_eos, x-vector, pad
FRAMES = 25  # of two seconds


def clone(base: TTS, *, in_context: bool = False, seed: int = 0) -> Voice:
    return base.clone((recording(2 * RATE, seed), RATE), transcript=SAID if in_context else None)


@pytest.fixture(scope="module")
def by_x_vector(base: TTS) -> Voice:
    return clone(base)


@pytest.fixture(scope="module")
def in_context(base: TTS) -> Voice:
    return clone(base, in_context=True)


@pytest.fixture
def primed(monkeypatch: pytest.MonkeyPatch) -> list[NDArray[np.int32]]:
    """The codes of every reference that is heard from now on."""
    heard: list[NDArray[np.int32]] = []

    def counted(codes: NDArray[np.int32], *parts: Any) -> PrimedReference:
        heard.append(codes)
        return prime(codes, *parts)

    monkeypatch.setattr(engine_module, "prime", counted)
    return heard


def speak(base: TTS, voice: Voice, text: str = TEXT, **options: Any) -> Speech:
    asked: dict[str, Any] = {"voice": voice, "greedy": True, "max_frames": 6}
    return base.speak(text, **asked | options)


def test_by_x_vector_a_run_ends_by_itself_and_is_decoded_alone(base: TTS, by_x_vector: Voice) -> None:
    speech = speak(base, by_x_vector, max_frames=None, watchdog=False)
    assert speech.stop == "eos"
    assert 2 <= len(speech.codes) < 100
    assert np.array_equal(speech.samples, base.codec.decode_chunked(speech.codes))


def test_in_context_the_samples_are_those_after_the_reference(base: TTS, in_context: Voice) -> None:
    speech = speak(base, in_context)
    assert len(speech.codes) == 6
    assert in_context.codes is not None
    whole = base.codec.decode_chunked(np.concatenate((in_context.codes, speech.codes)))
    cut = int(FRAMES / (FRAMES + 6) * len(whole))
    assert speech.samples.shape == (len(whole) - cut,)
    assert signal_to_noise(speech.samples, whole[cut:]) >= 100
    alone = base.codec.decode_chunked(speech.codes)
    assert signal_to_noise(alone, whole[FRAMES * 1920 :]) < 60, "the reference is not heard"


def test_voice_and_mode_are_heard(base: TTS, by_x_vector: Voice, in_context: Voice) -> None:
    """An opposite voice: the random speaker encoder tells two recordings apart, but not by a whole frame's codes."""
    voices = (by_x_vector, Voice(-by_x_vector.x_vector), in_context, clone(base, in_context=True, seed=1))
    assert len({speak(base, voice).codes.tobytes() for voice in voices}) == 4


def test_the_x_vector_is_the_row_before_pad(base: TTS, by_x_vector: Voice, in_context: Voice) -> None:
    pad = base._talker.text_rows([base.manifest.text.tts_pad])[0]
    for voice in (by_x_vector, in_context):
        for language, row in (("auto", ROLE + 3), ("english", ROLE + 4)):
            rows = base.prompt(TEXT, voice=voice, language=language).rows
            assert np.array_equal(rows[row], pad + voice.x_vector)


@pytest.mark.parametrize("mode", ["by_x_vector", "in_context"])
def test_the_default_layout_of_base_is_streaming_text(base: TTS, mode: str, request: pytest.FixtureRequest) -> None:
    voice: Voice = request.getfixturevalue(mode)
    default, streaming, whole = (
        base.prompt(TEXT, voice=voice, streaming_text=layout) for layout in (None, True, False)
    )
    assert np.array_equal(default.rows, streaming.rows)
    assert np.array_equal(default.trailing, streaming.trailing)
    assert len(whole.rows) > len(streaming.rows)


def test_a_reference_s_rows_are_bos_and_then_the_sum_of_its_16_codes(base: TTS, in_context: Voice) -> None:
    codes = in_context.codes
    assert codes is not None
    text = base._tokenizer.encode(TEXT)
    said = base._tokenizer.reference_prompt(SAID)
    prompt = base.prompt(TEXT, voice=in_context, streaming_text=False)
    texts = len(said) + len(text) + 1
    assert len(prompt.rows) == ROLE + PREFIX + texts + 1 + FRAMES
    pad = base._talker.text_rows([base.manifest.text.tts_pad])
    spoken = prompt.rows[-FRAMES - 1 :] - pad
    tables = base._predictor._embeds.rows((codes[:, 1:] + 2048 * np.arange(15)).ravel())
    expected = base._talker.codec_rows(codes[:, 0]) + tables.reshape(FRAMES, 15, -1).sum(axis=1)
    assert np.allclose(spoken[0], base._talker.codec_rows([base.manifest.codec_ids.bos])[0], rtol=0, atol=1e-5)
    assert np.allclose(spoken[1:], expected, rtol=0, atol=1e-5)
    streaming = base.prompt(TEXT, voice=in_context)
    ids = [*said, *text, base.manifest.text.tts_eos]
    assert len(streaming.rows) == ROLE + PREFIX + 1 + FRAMES
    assert np.allclose(streaming.trailing, base._talker.text_rows(ids[1 + FRAMES :]), rtol=0, atol=1e-5)


def test_a_second_sentence_does_not_hear_the_reference_again(base: TTS, primed: list[NDArray[np.int32]]) -> None:
    voice = clone(base, in_context=True)
    assert primed == []
    first = speak(base, voice)
    assert len(primed) == 1
    assert np.array_equal(primed[0], voice.codes)  # type: ignore[arg-type]
    speak(base, voice, "Another one.", language="german", streaming_text=False)
    base.prompt("And a prompt.", voice=voice)
    again = speak(base, voice)
    assert len(primed) == 1
    assert np.array_equal(again.samples, first.samples)
    other = clone(base, in_context=True, seed=1)
    speak(base, other)
    speak(base, voice)
    assert len(primed) == 2


def test_by_x_vector_no_reference_is_heard(base: TTS, by_x_vector: Voice, primed: list[NDArray[np.int32]]) -> None:
    speak(base, by_x_vector)
    assert primed == []


def test_a_reference_is_forgotten_with_its_voice(base: TTS) -> None:
    voice = clone(base, in_context=True)
    speak(base, voice)
    reference = weakref.ref(base._engine._primed[voice])
    count = len(base._engine._primed)
    del voice
    gc.collect()
    assert reference() is None
    assert len(base._engine._primed) == count - 1


def no_frame(_count: int) -> None:
    raise AssertionError("a frame was made")


REFUSED: list[tuple[str, Callable[[TTS, Voice], dict[str, Any]], str]] = [
    ("base", lambda _base, _voice: {}, "tiny-base-fp32 needs a voice: clone one from a recording"),
    (
        "base",
        lambda _base, _voice: {"speaker": "ryan"},
        "tiny-base-fp32 is a base package, which has no speakers, but speaker 'ryan' was given: "
        "leave it out and give a voice, or use a custom_voice package",
    ),
    (
        "base",
        lambda _base, voice: {"speaker": "ryan", "voice": voice},
        "tiny-base-fp32 is a base package, which has no speakers, but speaker 'ryan' was given: "
        "leave it out and give a voice, or use a custom_voice package",
    ),
    (
        "base",
        lambda _base, voice: {"voice": Voice(voice.x_vector.repeat(2), model="of-the-1.7b")},
        "the voice, made with of-the-1.7b, has an x-vector of 128 values, tiny-base-fp32 takes 64: "
        "clone the recording again with this package",
    ),
    (
        "base",
        lambda _base, voice: {"voice": voice, "instruct": "Softly."},
        "tiny-base-fp32 is a base package, which follows no instruction: leave it out, or use a voice_design or ",
    ),
    (
        "base",
        lambda _base, voice: {"voice": voice, "language": "elvish"},
        "tiny-base-fp32 has no language 'elvish': choose one of auto, ",
    ),
    (
        "tts",
        lambda _base, voice: {"voice": voice},
        "tiny-customvoice-fp32 is a custom_voice package, which speaks with its own speakers alone: "
        "leave the voice out and choose one of serena, ",
    ),
    (
        "tts",
        lambda _base, voice: {"voice": voice, "speaker": "ryan"},
        "tiny-customvoice-fp32 is a custom_voice package, which speaks with its own speakers alone: ",
    ),
]


@pytest.mark.parametrize(("package", "options", "message"), REFUSED)
def test_what_does_not_fit_the_package_is_refused_before_any_frame(
    request: pytest.FixtureRequest,
    base: TTS,
    in_context: Voice,
    primed: list[NDArray[np.int32]],
    package: str,
    options: Callable[[TTS, Voice], dict[str, Any]],
    message: str,
) -> None:
    loaded: TTS = request.getfixturevalue(package)
    with pytest.raises(ModeError) as caught:
        loaded.speak(TEXT, on_frame=no_frame, **options(base, in_context))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert primed == []


def test_a_base_package_has_no_speakers_and_every_language(base: TTS, by_x_vector: Voice) -> None:
    assert base.speakers == []
    assert len(base.languages) == 10
    prompts = {language: base.prompt(TEXT, voice=by_x_vector, language=language).rows for language in base.languages}
    for language, rows in prompts.items():
        row = base._talker.codec_rows([base.manifest.languages[language]])
        pad = base._talker.text_rows([base.manifest.text.tts_pad])
        assert np.array_equal(rows[ROLE + 2 : ROLE + 3], pad + row)
