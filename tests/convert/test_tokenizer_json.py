"""The package's tokenizer.json is what transformers has in memory, and broken tokenizer files are one clear line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qwen3_tts_ncnn.convert.errors import CheckpointError
from qwen3_tts_ncnn.convert.random_checkpoint.vocabulary import MERGES, byte_symbols, tokenizer_files
from qwen3_tts_ncnn.convert.tokenizer import build_tokenizer_json
from qwen3_tts_ncnn.runtime.tokenizer import Tokenizer
from tests.vocabulary import write_real_vocabulary

REFERENCE = Path(__file__).resolve().parents[2].parent / "shared" / "reference" / "tokenizer"

AGAIN = "download the tokenizer files again"


def write_small(folder: Path) -> Path:
    """A vocabulary of the bytes and a few merges without the gaps in between, and two control tokens behind it."""
    names = [*byte_symbols(), *(left + right for left, right, _ in MERGES)]
    added = {
        str(len(names) + n): {"content": content, "special": True}
        for n, content in enumerate(["<|im_start|>", "<|im_end|>"])
    }
    write_json(folder / "vocab.json", {name: n for n, name in enumerate(names)})
    (folder / "merges.txt").write_text(
        "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right, _ in MERGES), encoding="utf-8"
    )
    write_json(folder / "tokenizer_config.json", {"added_tokens_decoder": added, "tokenizer_class": "Qwen2Tokenizer"})
    return folder


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_small(tmp_path)


@pytest.mark.parametrize("vocabulary", ["real", "random checkpoint's"])
def test_text_is_byte_for_byte_what_transformers_saves(tmp_path: Path, vocabulary: str) -> None:
    transformers = pytest.importorskip("transformers")
    if vocabulary == "real":
        write_real_vocabulary(tmp_path)
    else:
        for name, text in tokenizer_files().items():
            (tmp_path / name).write_text(text, encoding="utf-8")
    theirs = transformers.Qwen2TokenizerFast.from_pretrained(str(tmp_path)).backend_tokenizer.to_str(pretty=False)
    # Compared outside the assertion: a difference of two such texts would take minutes to print.
    equal = build_tokenizer_json(tmp_path) == theirs
    assert equal


def test_rebuilt_vocabulary_is_the_official_one(tmp_path: Path) -> None:
    if not REFERENCE.is_dir():
        pytest.skip(f"{REFERENCE} is not there to compare with")
    write_real_vocabulary(tmp_path)
    for name in ("vocab.json", "merges.txt"):
        equal = (tmp_path / name).read_bytes() == (REFERENCE / name).read_bytes()
        assert equal, name
    assert read_json(tmp_path / "tokenizer_config.json") == read_json(REFERENCE / "tokenizer_config.json")


def test_text_does_not_depend_on_how_the_files_are_ordered(small: Path) -> None:
    expected = build_tokenizer_json(small)
    vocabulary, config = read_json(small / "vocab.json"), read_json(small / "tokenizer_config.json")
    write_json(small / "vocab.json", dict(reversed(vocabulary.items())))
    config["added_tokens_decoder"] = dict(reversed(config["added_tokens_decoder"].items()))
    write_json(small / "tokenizer_config.json", config)
    assert build_tokenizer_json(small) == expected


def test_windows_line_ends_and_repeated_merges_change_nothing(small: Path) -> None:
    expected = build_tokenizer_json(small)
    merges = (small / "merges.txt").read_text(encoding="utf-8")
    (small / "merges.txt").write_bytes((merges + "as s\n\n").replace("\n", "\r\n").encode())
    assert build_tokenizer_json(small) == expected


def test_flags_left_out_of_the_config_have_the_librarys_defaults(small: Path) -> None:
    config = read_json(small / "tokenizer_config.json")
    config["added_tokens_decoder"]["282"] = {"content": "<think>", "lstrip": True}
    write_json(small / "tokenizer_config.json", config)
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    assert json.loads(build_tokenizer_json(small))["added_tokens"] == [
        {"id": 280, "content": "<|im_start|>", **plain, "normalized": False, "special": True},
        {"id": 281, "content": "<|im_end|>", **plain, "normalized": False, "special": True},
        {"id": 282, "content": "<think>", **plain, "lstrip": True, "normalized": True, "special": False},
    ]


def test_a_ready_tokenizer_alone_is_taken_without_truncation_and_padding(small: Path, tmp_path: Path) -> None:
    expected = build_tokenizer_json(small)
    ready = json.loads(expected)
    ready["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    write_json(small / "tokenizer.json", ready)
    for name in ("vocab.json", "merges.txt", "tokenizer_config.json"):
        (small / name).unlink()
    assert build_tokenizer_json(small) == expected


def test_a_ready_tokenizer_beside_the_same_pieces_is_accepted(small: Path) -> None:
    expected = build_tokenizer_json(small)
    ready = json.loads(expected)
    ready["model"]["merges"] = [" ".join(pair) for pair in ready["model"]["merges"]]  # as tokenizers < 0.20 wrote them
    del ready["pre_tokenizer"]["pretokenizers"][1]["use_regex"]
    ready["pre_tokenizer"]["pretokenizers"][1]["trim_offsets"] = False
    write_json(small / "tokenizer.json", ready)
    assert build_tokenizer_json(small) == expected


def _other_merges(ready: dict[str, Any]) -> None:
    ready["model"]["merges"].pop()


def _other_split(ready: dict[str, Any]) -> None:
    ready["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = r"\s+"


def _other_vocabulary(ready: dict[str, Any]) -> None:
    vocabulary = ready["model"]["vocab"]
    vocabulary["!"], vocabulary["z"] = vocabulary["z"], vocabulary["!"]


def _other_added_tokens(ready: dict[str, Any]) -> None:
    ready["added_tokens"].append({**ready["added_tokens"][0], "id": 282, "content": "<more>"})


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_other_vocabulary, "vocabulary"),
        (_other_merges, "merges"),
        (_other_split, "word split"),
        (_other_added_tokens, "added tokens"),
    ],
)
def test_two_forms_that_differ_are_one_clear_line(
    small: Path, change: Callable[[dict[str, Any]], None], what: str
) -> None:
    ready = json.loads(build_tokenizer_json(small))
    change(ready)
    write_json(small / "tokenizer.json", ready)
    with pytest.raises(CheckpointError) as caught:
        build_tokenizer_json(small)
    assert str(caught.value) == (
        f"{small}: tokenizer.json and vocab.json + merges.txt + tokenizer_config.json differ in their {what}, expected "
        "the same tokenizer twice: remove the form that is wrong"
    )


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "tokenizer_config.json"])
def test_missing_file_is_one_clear_line(small: Path, name: str) -> None:
    (small / name).unlink()
    with pytest.raises(CheckpointError) as caught:
        build_tokenizer_json(small)
    assert str(caught.value).startswith(f"{small / name} is missing: a Qwen3-TTS checkpoint needs it, download ")
    assert "\n" not in str(caught.value)


BAD_ENTRY = {"added_tokens_decoder": {"280": {"special": True}}}
OTHER_IDS = {"added_tokens_decoder": {"151644": {"content": "<|im_start|>", "special": True}}}
NO_END = {"added_tokens_decoder": {"280": {"content": "<|im_start|>", "special": True}}}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocab.json", "{}", f"{{path}} is not a vocabulary, expected an object of tokens and their ids: {AGAIN}"),
        (
            "vocab.json",
            '{"a": "0"}',
            f"{{path}} is not a vocabulary, expected an object of tokens and their ids: {AGAIN}",
        ),
        (
            "vocab.json",
            '{"a": 0, "b": 0}',
            f"{{path}} gives two tokens the same id, expected each id once: {AGAIN}",
        ),
        (
            "merges.txt",
            "#version: 0.2\ni n\ni n g\n",
            f"{{path}} line 3 has 3 parts, expected the 2 of a merge: {AGAIN}",
        ),
        (
            "merges.txt",
            "#version: 0.2\nq zz\n",
            f"{{folder}}: no tokenizer can be made of it (Token `zz` out of vocabulary): {AGAIN}",
        ),
        (
            "tokenizer_config.json",
            '{"tokenizer_class": "LlamaTokenizer"}',
            "{path}: tokenizer_class is 'LlamaTokenizer', expected 'Qwen2Tokenizer': use a Qwen3-TTS 12 Hz checkpoint",
        ),
        (
            "tokenizer_config.json",
            "{}",
            f"{{path}} has no added_tokens_decoder, expected the control tokens by id: {AGAIN}",
        ),
        (
            "tokenizer_config.json",
            json.dumps(BAD_ENTRY),
            f"{{path}}: added_tokens_decoder['280'] has no id or no content: {AGAIN}",
        ),
        (
            "tokenizer_config.json",
            json.dumps(OTHER_IDS),
            "{folder}: token '<|im_start|>' would become 280, expected 151644 as it is listed: "
            f"the vocabulary is incomplete, {AGAIN}",
        ),
        (
            "tokenizer_config.json",
            json.dumps(NO_END),
            "{folder}: the tokenizer has no '<|im_end|>': use a Qwen3-TTS 12 Hz checkpoint",
        ),
    ],
)
def test_broken_file_is_one_clear_line(small: Path, name: str, content: str, message: str) -> None:
    (small / name).write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError) as caught:
        build_tokenizer_json(small)
    assert str(caught.value) == message.format(path=small / name, folder=small)


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "tokenizer_config.json"])
def test_file_that_is_not_text_is_one_clear_line(small: Path, name: str) -> None:
    (small / name).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CheckpointError) as caught:
        build_tokenizer_json(small)
    assert str(caught.value).startswith(f"{small / name} is not ")
    assert "\n" not in str(caught.value)


def test_broken_ready_tokenizer_is_one_clear_line(tmp_path: Path) -> None:
    write_json(tmp_path / "tokenizer.json", {"version": "1.0", "added_tokens": [{"id": 1}]})
    with pytest.raises(CheckpointError) as caught:
        build_tokenizer_json(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'tokenizer.json'}: no tokenizer can be made of it (")
    assert "\n" not in str(caught.value)


def test_the_runtime_speaks_with_it(small: Path) -> None:
    path = small / "package.json"
    path.write_text(build_tokenizer_json(small), encoding="utf-8")
    assert Tokenizer.load(path).assistant_prompt("assistant!") == ([280, 279, 198], [279, 0])


def test_a_small_vocabulary_is_split_the_same_from_a_directory(small: Path) -> None:
    """transformers leaves tokenizers of up to 100,000 tokens alone, and so must a comparison with it."""
    transformers = pytest.importorskip("transformers")
    write_json(small / "config.json", {"model_type": "qwen3_tts", "transformers_version": "4.57.3"})
    theirs = transformers.AutoTokenizer.from_pretrained(str(small), fix_mistral_regex=True)
    path = small / "package.json"
    path.write_text(build_tokenizer_json(small), encoding="utf-8")
    ids = Tokenizer.load(path, pretokenizer="directory").encode("a'st")  # the other regex would keep "st" whole
    assert ids == theirs("a'st").input_ids == [64, 6, 82, 83]
