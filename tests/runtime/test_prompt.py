"""The rows of a prompt, each a text row plus a codec row, in both layouts (M:2090-2232)."""

from collections.abc import Sequence

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.prompt import Prompt, PromptBuilder, PromptParts
from tests.runtime.manifests import manifest

ROLE, TEXT = [151644, 77091, 198], [11, 12, 13]
PAD, BOS, EOS = 151671, 151672, 151673
CODEC_PAD, CODEC_BOS, THINK, NOTHINK, THINK_BOS, THINK_EOS = 2148, 2149, 2154, 2155, 2156, 2157
ENGLISH, RYAN = 2050, 3061
NONE = 0  # no codec row is added


def text_rows(ids: Sequence[int]) -> Floats:
    """TE(id) = [id, 0]"""
    return np.array([[id, 0] for id in ids], dtype=np.float32)


def codec_rows(ids: Sequence[int]) -> Floats:
    """E(id) = [0, id], so that a row reads [text id, codec id]"""
    return np.array([[0, id] for id in ids], dtype=np.float32)


def build(
    language: int | None, speaker: int | None, *, streaming_text: bool, text: Sequence[int] = TEXT
) -> tuple[list[list[float]], list[float], Prompt]:
    """The rows, the text ids that trail, and the prompt."""
    builder = PromptBuilder(text_rows, codec_rows, manifest().text, manifest().codec_ids)
    parts = PromptParts(ROLE, text, language, None if speaker is None else codec_rows([speaker]))
    prompt = builder.build(parts, streaming_text=streaming_text)
    assert prompt.rows.dtype == np.float32
    return prompt.rows.tolist(), prompt.trailing[:, 0].tolist(), prompt


ROLE_ROWS = [[151644, NONE], [77091, NONE], [198, NONE]]
PREFIXES = {
    (None, None): [[PAD, NOTHINK], [PAD, THINK_BOS], [PAD, THINK_EOS], [BOS, CODEC_PAD]],
    (None, RYAN): [[PAD, NOTHINK], [PAD, THINK_BOS], [PAD, THINK_EOS], [PAD, RYAN], [BOS, CODEC_PAD]],
    (ENGLISH, None): [[PAD, THINK], [PAD, THINK_BOS], [PAD, ENGLISH], [PAD, THINK_EOS], [BOS, CODEC_PAD]],
    (ENGLISH, RYAN): [
        [PAD, THINK],
        [PAD, THINK_BOS],
        [PAD, ENGLISH],
        [PAD, THINK_EOS],
        [PAD, RYAN],
        [BOS, CODEC_PAD],
    ],
}


@pytest.mark.parametrize(("language", "speaker"), PREFIXES)
def test_the_whole_text_lies_on_codec_padding(language: int | None, speaker: int | None) -> None:
    rows, trailing, _ = build(language, speaker, streaming_text=False)
    assert rows == [
        *ROLE_ROWS,
        *PREFIXES[language, speaker],
        *([id, CODEC_PAD] for id in (*TEXT, EOS)),
        [PAD, CODEC_BOS],
    ]
    assert trailing == [PAD]


@pytest.mark.parametrize(("language", "speaker"), PREFIXES)
def test_streaming_text_shows_its_first_token_and_trails_the_rest(language: int | None, speaker: int | None) -> None:
    rows, trailing, _ = build(language, speaker, streaming_text=True)
    assert rows == [*ROLE_ROWS, *PREFIXES[language, speaker], [TEXT[0], CODEC_BOS]]
    assert trailing == [*TEXT[1:], EOS]


def test_a_text_of_one_token_trails_its_end_alone() -> None:
    rows, trailing, _ = build(None, RYAN, streaming_text=True, text=[11])
    assert rows[-1] == [11, CODEC_BOS]
    assert trailing == [EOS]


@pytest.mark.parametrize(
    ("streaming_text", "heard"), [(True, [12, 13, EOS, PAD, PAD, PAD]), (False, [PAD, PAD, PAD, PAD, PAD, PAD])]
)
def test_after_the_text_every_frame_hears_padding(streaming_text: bool, heard: list[float]) -> None:
    _, _, prompt = build(ENGLISH, RYAN, streaming_text=streaming_text)
    rows = [prompt.text_row(frame) for frame in range(6)]
    assert all(row.shape == (1, 2) for row in rows)
    assert [row[0].tolist() for row in rows] == [[id, 0] for id in heard]
    assert prompt.text_row(8191).tolist() == [[PAD, 0]]


@pytest.mark.parametrize("streaming_text", [True, False])
def test_an_x_vector_is_the_speaker_s_row_as_it_is(streaming_text: bool) -> None:
    """It lies on tts_pad where E(speaker id) does, between think_eos and pad (M:2134-2163)."""
    builder = PromptBuilder(text_rows, codec_rows, manifest().text, manifest().codec_ids)
    x_vector = np.array([[0.5, -3.25]], dtype=np.float32)
    for language, place in ((None, 6), (ENGLISH, 7)):
        named, cloned = (
            builder.build(PromptParts(ROLE, TEXT, language, row), streaming_text=streaming_text)
            for row in (codec_rows([RYAN]), x_vector)
        )
        assert cloned.rows[place].tolist() == [PAD + 0.5, -3.25]
        assert named.rows[place].tolist() == [PAD, RYAN]
        assert np.array_equal(np.delete(cloned.rows, place, axis=0), np.delete(named.rows, place, axis=0))
        assert np.array_equal(cloned.trailing, named.trailing)


def test_ids_come_from_the_manifest_alone() -> None:
    """A package with other ids gets other rows."""
    text = manifest().text.__class__(im_start=1, im_end=2, assistant=3, tts_pad=4, tts_bos=5, tts_eos=6)
    codec = manifest().codec_ids.__class__(
        first_control=90, bos=91, eos=92, pad=93, think=94, nothink=95, think_bos=96, think_eos=97
    )
    builder = PromptBuilder(text_rows, codec_rows, text, codec)
    prompt = builder.build(PromptParts([1, 3, 7], [8], 98, codec_rows([99])), streaming_text=False)
    prefix = [[4, 94], [4, 96], [4, 98], [4, 97], [4, 99], [5, 93]]
    assert prompt.rows.tolist() == [[1, 0], [3, 0], [7, 0], *prefix, [8, 93], [6, 93], [4, 91]]
