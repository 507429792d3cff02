"""The rows of a voice cloned in context: its transcript and the text, its codes, one upon the other (M:1968-2020)."""

from collections.abc import Sequence

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.prompt import Prompt, PromptBuilder, PromptParts, Reference, overlay
from tests.runtime.manifests import manifest

PAD, EOS = 151671, 151673
CODEC_PAD, CODEC_BOS, X_VECTOR = 2148, 2149, 9999
SAID, TEXT = [21, 22], [11, 12, 13]
SPOKEN = [CODEC_BOS, 7001, 7002, 7003, 7004, 7005, 7006, 7007]
PREFIX = 3 + 5  # the role; nothink, think_bos, think_eos, x-vector, pad


def text_rows(ids: Sequence[int]) -> Floats:
    """TE(id) = [id, 0]"""
    return np.array([[id, 0] for id in ids], dtype=np.float32).reshape(-1, 2)


def codec_rows(ids: Sequence[int]) -> Floats:
    """E(id) = [0, id], so that a row reads [text id, codec id]"""
    return np.array([[0, id] for id in ids], dtype=np.float32)


def build(frames: int, *, streaming_text: bool, text: Sequence[int] = TEXT) -> Prompt:
    """A prompt whose reference says SAID in the first `frames` of SPOKEN's frames."""
    builder = PromptBuilder(text_rows, codec_rows, manifest().text, manifest().codec_ids)
    reference = Reference(SAID, codec_rows(SPOKEN[1 : frames + 1]))
    parts = PromptParts([1, 2, 3], text, None, codec_rows([X_VECTOR]), reference)
    return builder.build(parts, streaming_text=streaming_text)


@pytest.mark.parametrize(
    ("frames", "body", "trailing"),
    [
        # 2 + 3 tokens and the end on bos and the frames: 6 text rows.
        (1, [[21, CODEC_BOS], [22, 7001]], [11, 12, 13, EOS]),
        (4, [[21, CODEC_BOS], [22, 7001], [11, 7002], [12, 7003], [13, 7004]], [EOS]),
        (5, [[21, CODEC_BOS], [22, 7001], [11, 7002], [12, 7003], [13, 7004], [EOS, 7005]], [PAD]),
        (6, [[21, CODEC_BOS], [22, 7001], [11, 7002], [12, 7003], [13, 7004], [EOS, 7005], [PAD, 7006]], [PAD]),
        (
            7,
            [*([21, CODEC_BOS], [22, 7001], [11, 7002], [12, 7003], [13, 7004], [EOS, 7005], [PAD, 7006], [PAD, 7007])],
            [PAD],
        ),
    ],
    ids=["text-longer", "one-longer", "equal", "one-shorter", "text-shorter"],
)
def test_streaming_text_lies_on_the_reference_s_frames(frames: int, body: list[list[int]], trailing: list[int]) -> None:
    prompt = build(frames, streaming_text=True)
    assert prompt.rows[PREFIX:].tolist() == body
    assert prompt.trailing.tolist() == [[id, 0] for id in trailing]
    assert prompt.rows.dtype == np.float32


@pytest.mark.parametrize("frames", [1, 5, 7])
def test_the_whole_text_comes_before_the_reference_s_frames(frames: int) -> None:
    prompt = build(frames, streaming_text=False)
    assert prompt.rows[PREFIX:].tolist() == [
        *([id, CODEC_PAD] for id in (*SAID, *TEXT, EOS)),
        *([PAD, id] for id in SPOKEN[: frames + 1]),
    ]
    assert prompt.trailing.tolist() == [[PAD, 0]]


@pytest.mark.parametrize("streaming_text", [True, False])
def test_the_x_vector_stays_before_the_text(streaming_text: bool) -> None:
    """In context too: upstream gives it both."""
    prefix = build(3, streaming_text=streaming_text).rows[:PREFIX].tolist()
    assert prefix == [
        *([1, 0], [2, 0], [3, 0]),
        *([PAD, 2155], [PAD, 2156], [PAD, 2157], [PAD, X_VECTOR], [151672, CODEC_PAD]),
    ]


def test_what_trails_is_heard_frame_by_frame_and_then_padding() -> None:
    prompt = build(2, streaming_text=True)
    assert [prompt.text_row(frame)[0, 0] for frame in range(5)] == [12, 13, EOS, PAD, PAD]


def test_without_a_reference_the_overlay_is_one_row() -> None:
    rows, trailing = overlay(text_rows([11, 12, EOS]), codec_rows([CODEC_BOS]), text_rows([PAD]))
    assert rows.tolist() == [[11, CODEC_BOS]]
    assert trailing.tolist() == [[12, 0], [EOS, 0]]


@pytest.mark.parametrize("texts", range(1, 9))
@pytest.mark.parametrize("frames", range(1, 9))
def test_an_overlay_holds_every_row_once(texts: int, frames: int) -> None:
    text, spoken = text_rows(range(100, 100 + texts)), codec_rows(range(200, 200 + frames))
    rows, trailing = overlay(text, spoken, text_rows([PAD]))
    assert rows[:, 1].tolist() == spoken[:, 1].tolist()
    heard = [*rows[:, 0].tolist(), *trailing[:, 0].tolist()]
    assert [id for id in heard if id != PAD] == text[:, 0].tolist()
    assert len(heard) == max(texts, frames + 1)
