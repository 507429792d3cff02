"""The small tokenizer has Qwen2's ids, and makes ids of any text."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen3_tts_ncnn.convert.random_checkpoint.vocabulary import (
    ADDED_TOKENS,
    MERGES,
    byte_symbols,
    tokenizer_files,
    vocabulary,
)

REFERENCE = Path(__file__).resolve().parents[2].parent / "shared" / "reference"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """transformers' fast Qwen2 tokenizer of the files, as upstream's AutoProcessor makes it."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("tokenizer")
    for name, text in tokenizer_files().items():
        (folder / name).write_text(text, encoding="utf-8")
    return transformers.Qwen2TokenizerFast.from_pretrained(str(folder))


def test_the_vocabulary_has_no_holes_below_the_added_tokens() -> None:
    assert sorted(vocabulary().values()) == list(range(151643))
    assert len(ADDED_TOKENS) == len(set(ADDED_TOKENS)) == 33
    assert len(set(byte_symbols())) == 256


def test_every_merge_joins_symbols_that_exist_before_it() -> None:
    known = set(byte_symbols())
    for left, right, _ in MERGES:
        assert {left, right} <= known
        known.add(left + right)


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the official files are not on this machine")
def test_bytes_and_merges_have_the_official_ids_and_order() -> None:
    official = json.loads((REFERENCE / "tokenizer" / "vocab.json").read_text(encoding="utf-8"))
    ours = {name: token for name, token in vocabulary().items() if not name.startswith("<") or len(name) == 1}
    assert len(ours) == 256 + len(MERGES)
    assert {name: official[name] for name in ours} == ours
    ranks = (REFERENCE / "tokenizer" / "merges.txt").read_text(encoding="utf-8").splitlines()
    positions = [ranks.index(f"{left} {right}") for left, right, _ in MERGES]
    assert positions == sorted(positions)


def test_the_template_has_three_role_ids_and_five_at_the_end(tokenizer: Any) -> None:
    ids = tokenizer("<|im_start|>assistant\nHi.<|im_end|>\n<|im_start|>assistant\n").input_ids
    assert ids[:3] == [151644, 77091, 198]
    assert ids[-5:] == [151645, 198, 151644, 77091, 198]
    assert ids[3:-5] == [39, 72, 13]
    assert tokenizer("<|im_start|>user\n").input_ids == [151644, 872, 198]


def test_added_tokens_have_the_official_ids(tokenizer: Any) -> None:
    assert tokenizer.convert_tokens_to_ids(list(ADDED_TOKENS)) == list(range(151643, 151676))
    assert tokenizer("<tts_pad><tts_text_bos><tts_text_eod>").input_ids == [151671, 151672, 151673]
    assert len(tokenizer) == 151676


def test_merges_apply_across_words_bytes_and_newlines(tokenizer: Any) -> None:
    assert tokenizer("the assistant").input_ids == [83, 383, 264, 82, 82, 11202]
    assert tokenizer("sing，\n\n").input_ids == [82, 287, 3837, 271]


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: "<" not in text))
def test_any_text_comes_back_from_its_ids(tokenizer: Any, text: str) -> None:
    ids = tokenizer(text).input_ids
    assert tokenizer.decode(ids) == unicodedata.normalize("NFC", text)
    assert all(0 <= token < 151643 for token in ids)
