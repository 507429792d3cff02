"""Long text is spoken piece by piece, several texts one by one, and text still being written sentence by sentence."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime import TTS, ModeError, OptionError, Speech, TextError
from qwen3_tts_ncnn.runtime.prompt import Prompt
from qwen3_tts_ncnn.runtime.splitting import split_text
from qwen3_tts_ncnn.runtime.stopping import piece_seed
from qwen3_tts_ncnn.runtime.tts import speakable_pieces

# Most runs here are cut after a few frames.
pytestmark = pytest.mark.filterwarnings("ignore::qwen3_tts_ncnn.runtime.SpeechWarning")

LONG = " ".join(f"This is sentence {number}, which is not so long that it must be cut." for number in range(1, 11))
PIECES = [piece.strip() for piece in split_text(LONG)]
PAUSE = 6000
"""Samples of a quarter of a second."""


def speak(tts: TTS, text: str, **options: Any) -> Speech:
    asked: dict[str, Any] = {"speaker": "ryan", "seed": 7, "max_frames": 3}
    return tts.speak(text, **asked | options)


@pytest.fixture
def alone(tts: TTS) -> list[Speech]:
    """Each piece of the long text, spoken by itself with a seed of its own."""
    return [speak(tts, piece, seed=piece_seed(7, number), split=False) for number, piece in enumerate(PIECES)]


def check_equal(one: Speech, other: Speech) -> None:
    assert np.array_equal(one.samples, other.samples)
    assert np.array_equal(one.codes, other.codes)
    assert np.array_equal(one.selections, other.selections)
    assert (one.stop, one.seed, one.sample_rate) == (other.stop, other.seed, other.sample_rate)


def test_a_long_text_is_spoken_in_pieces_each_with_a_seed_of_its_own_and_joined_with_pauses(
    tts: TTS, alone: list[Speech]
) -> None:
    assert len(PIECES) == 3
    assert " ".join(PIECES) == LONG
    whole = speak(tts, LONG)
    pause = np.zeros(PAUSE, dtype=np.float32)
    waves = [alone[0].samples, pause, alone[1].samples, pause, alone[2].samples]
    assert len(whole.samples) == 3 * 3 * 1920 + 2 * PAUSE
    assert whole.samples.dtype == np.float32
    assert np.array_equal(whole.samples, np.concatenate(waves))
    assert np.array_equal(whole.codes, np.concatenate([speech.codes for speech in alone]))
    assert np.array_equal(whole.selections, np.concatenate([speech.selections for speech in alone]))
    assert (whole.stop, whole.seed, whole.sample_rate) == ("limit", 7, 24000)
    assert len({speech.seed for speech in alone}) == 3


def test_the_first_piece_has_the_seed_itself(tts: TTS, alone: list[Speech]) -> None:
    check_equal(alone[0], speak(tts, PIECES[0]))
    check_equal(alone[0], speak(tts, PIECES[0], split=False))
    assert np.array_equal(speak(tts, LONG).codes[:3], alone[0].codes)


def test_a_short_text_is_the_same_whether_it_might_have_been_split_or_not(tts: TTS) -> None:
    for text in ("Hello. How are you? Fine!", "  Hello.\n"):
        check_equal(speak(tts, text), speak(tts, text, split=False))


def test_not_split_a_long_text_is_spoken_as_one(tts: TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    prompt = TTS.prompt

    def overheard(tts: TTS, text: str, **options: Any) -> Prompt:
        heard.append(text)
        return prompt(tts, text, **options)

    monkeypatch.setattr(TTS, "prompt", overheard)
    whole = speak(tts, LONG, split=False)
    assert heard == [LONG]
    assert (whole.codes.shape, whole.samples.shape) == ((3, 16), (3 * 1920,))
    heard.clear()
    speak(tts, LONG)
    assert heard == PIECES


def test_the_frames_of_each_piece_are_told_from_1(tts: TTS) -> None:
    told: list[int] = []
    speak(tts, LONG, on_frame=told.append)
    assert told == [1, 2, 3] * 3


def test_the_stop_of_several_pieces_is_the_first_that_is_not_eos(tts: TTS) -> None:
    ends = speak(tts, LONG, max_frames=None, watchdog=False)
    assert ends.stop == "eos"
    assert np.flatnonzero(ends.selections == 2150).size == 3


def test_greedy_pieces_are_greedy_and_tell_no_seed(tts: TTS) -> None:
    whole = speak(tts, LONG, greedy=True)
    assert whole.seed is None
    pieces = [speak(tts, piece, greedy=True, seed=None).codes for piece in PIECES]
    assert np.array_equal(whole.codes, np.concatenate(pieces))


def test_pieces_that_say_nothing_are_left_out() -> None:
    first = "A" * 299 + "."
    assert speakable_pieces(f"{first} \u200b" + "\n" * 400 + "B.") == [first, "B."]
    assert speakable_pieces(f"{first}\n\n\n") == [f"{first}\n\n\n"]
    assert speakable_pieces(" Hi. ") == [" Hi. "], "a text that needs no splitting is spoken as it is"
    assert speakable_pieces(LONG) == PIECES


def test_what_cannot_be_spoken_anywhere_in_a_long_text_is_refused_before_any_frame(tts: TTS) -> None:
    def no_frame(_count: int) -> None:
        raise AssertionError("a frame was made")

    for bad in ("\0", "\ud83d"):
        with pytest.raises(TextError, match=rf"at position {len(LONG)}, expected "):
            speak(tts, LONG + bad, on_frame=no_frame)
    with pytest.raises(ModeError):
        speak(tts, LONG, language="elvish", on_frame=no_frame)
    with pytest.raises(OptionError):
        speak(tts, LONG, seed=2**64, on_frame=no_frame)


def test_rows_of_several_texts_equal_single_runs(tts: TTS) -> None:
    texts = ["Hello there.", LONG, "你好。", "Hello there."]
    options: dict[str, Any] = {"speaker": "eric", "seed": 3, "max_frames": 4, "temperature": 1.2}
    rows = tts.speak_all(texts, **options)
    assert len(rows) == 4
    for row, text in zip(rows, texts, strict=True):
        check_equal(row, tts.speak(text, **options))
    check_equal(rows[0], rows[3])
    assert tts.speak_all(iter(["Hi."]), **options)[0].codes.shape == (4, 16)
    assert tts.speak_all([], **options) == []


STORY = 'Dr. Li paid 3.50 euros. "Really?" she said. 你好。今天很好！ It ended …\n\n'
SENTENCES = ["Dr. Li paid 3.50 euros.", '"Really?" she said.', "你好。", "今天很好！", "It ended …"]


def test_text_that_comes_in_single_characters_is_spoken_as_the_whole_is(tts: TTS) -> None:
    options: dict[str, Any] = {"speaker": "ryan", "seed": 5, "max_frames": 2}
    spoken = list(tts.speak_sentences(iter(STORY), **options))
    whole = list(tts.speak_sentences([STORY], **options))
    assert len(spoken) == len(whole) == len(SENTENCES)
    for number, (ours, theirs, sentence) in enumerate(zip(spoken, whole, SENTENCES, strict=True)):
        check_equal(ours, theirs)
        check_equal(ours, tts.speak(sentence, **options | {"seed": piece_seed(5, number)}))


def test_a_sentence_is_spoken_before_the_next_has_come(tts: TTS) -> None:
    taken: list[str] = []

    def written() -> Iterator[str]:
        for chunk in ("Hello ", "there. ", "It goes ", "on."):
            taken.append(chunk)
            yield chunk

    spoken = tts.speak_sentences(written(), speaker="ryan", seed=5, max_frames=2)
    assert taken == []
    first = next(spoken)
    assert taken == ["Hello ", "there. ", "It goes "]
    check_equal(first, speak(tts, "Hello there.", seed=5, max_frames=2))
    assert len(list(spoken)) == 1


def test_sentences_without_a_seed_have_seeds_of_one_that_is_drawn(tts: TTS) -> None:
    seeds = [speech.seed for speech in tts.speak_sentences(["One. Two. Three."], speaker="ryan", max_frames=1)]
    assert seeds[0] is not None
    assert seeds == [piece_seed(seeds[0], number) for number in range(3)]


@pytest.mark.parametrize("chunks", [[], [""], [" ", "\n"], ["\u200b"]])
def test_of_text_that_says_nothing_no_sentence_is_spoken(tts: TTS, chunks: list[str]) -> None:
    assert list(tts.speak_sentences(chunks, speaker="ryan")) == []


@pytest.mark.parametrize("bad", ["\0", "\ud83d"])
@pytest.mark.parametrize("chunks", [["{}"], ["Hello {}there."], ["Hello.", " {}"]])
def test_nul_and_lone_surrogates_are_errors_in_text_that_is_still_coming(tts: TTS, chunks: list[str], bad: str) -> None:
    with pytest.raises(TextError, match=r"NUL character|lone surrogate"):
        list(tts.speak_sentences([chunk.format(bad) for chunk in chunks], speaker="ryan", max_frames=1))


def test_options_that_cannot_be_are_refused_at_the_first_sentence(tts: TTS) -> None:
    with pytest.raises(ModeError, match=r"has no speaker 'nobody'"):
        next(tts.speak_sentences(["Hi."], speaker="nobody"))
    with pytest.raises(OptionError, match=r"^seed is "):
        next(tts.speak_sentences(["Hi."], speaker="ryan", seed=2**64))
