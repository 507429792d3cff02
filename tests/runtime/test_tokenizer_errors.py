"""Text that cannot be spoken, and tokenizer files that cannot be used, are one clear line each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qwen3_tts_ncnn.convert.random_checkpoint.vocabulary import tokenizer_files
from qwen3_tts_ncnn.convert.tokenizer import build_tokenizer_json
from qwen3_tts_ncnn.runtime.errors import OptionError, PackageError, TextError
from qwen3_tts_ncnn.runtime.tokenizer import Tokenizer

FOREIGN = "this is not a Qwen3-TTS tokenizer, convert the checkpoint again"


@pytest.fixture(scope="module")
def small_json(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("checkpoint")
    for name, text in tokenizer_files().items():
        (folder / name).write_text(text, encoding="utf-8")
    return build_tokenizer_json(folder)


@pytest.fixture(scope="module")
def small(small_json: str, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path = tmp_path_factory.mktemp("package") / "tokenizer.json"
    path.write_text(small_json, encoding="utf-8")
    return Tokenizer.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty: give at least one visible character"),
        (" ", "the text is blank (length 1, nothing visible): give at least one visible character"),
        (" \t\r\n", "the text is blank (length 4, nothing visible): give at least one visible character"),
        ("\x1b\x07", "the text is blank (length 2, nothing visible): give at least one visible character"),
        (
            "\u200b\u200d\ufeff\u2060\ufe0f\u034f\u3164",
            "the text is blank (length 7, nothing visible): give at least one visible character",
        ),
        (
            "ab\ud83dc",
            "the text has a lone surrogate (U+D83D) at position 2, expected valid Unicode: decode it as UTF-8 first",
        ),
        ("a\0b", "the text has a NUL character (U+0000) at position 1, expected text: remove it"),
    ],
)
def test_text_that_cannot_be_spoken_is_one_clear_line(small: Tokenizer, text: str, message: str) -> None:
    for encode in (small.encode, small.assistant_prompt):
        with pytest.raises(TextError) as caught:
            encode(text)
        assert str(caught.value) == message


def test_errors_name_the_text_they_are_about(small: Tokenizer) -> None:
    with pytest.raises(TextError, match=r"^the transcript is empty: "):
        small.reference_prompt("")
    with pytest.raises(TextError, match=r"^the instruction is blank "):
        small.instruction_prompt(" ")


@pytest.mark.parametrize("text", [".", "。", "a\x1b", "\u200bb", "\u0301", "❤️", "\ue000"])
def test_text_with_one_visible_character_is_accepted(small: Tokenizer, text: str) -> None:
    assert len(small.encode(text)) >= 1


def test_control_ids_come_from_the_file(small_json: str, tmp_path: Path) -> None:
    document = json.loads(small_json)
    document["added_tokens"] = [{**token, "id": token["id"] + 3} for token in document["added_tokens"]]
    document["model"]["vocab"] |= {f"<spare {n}>": 151643 + n for n in range(3)}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    tokenizer = Tokenizer.load(path)
    assert tokenizer.token_id("<|im_start|>") == 151647
    assert tokenizer.role_ids == [151647, 77091, 198]
    assert tokenizer.instruction_prompt("!") == [151647, 872, 198, 0, 151648, 198]


def test_unknown_token_is_one_clear_line(small: Tokenizer) -> None:
    with pytest.raises(PackageError) as caught:
        small.token_id("<|nobody|>")
    assert str(caught.value) == f"tokenizer has no token '<|nobody|>': {FOREIGN}"


def test_unknown_pretokenizer_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        Tokenizer.load(tmp_path, pretokenizer="mistral")  # type: ignore[arg-type]
    assert str(caught.value) == "pretokenizer is 'mistral', expected one of hub, directory"


def test_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(PackageError) as caught:
        Tokenizer.load(path)
    assert str(caught.value) == f"{path} cannot be read (No such file or directory): convert the checkpoint again"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b'{"version": "1.0"}'])
def test_broken_file_is_one_clear_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(PackageError) as caught:
        Tokenizer.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path} is not a tokenizer.json (")
    assert message.endswith("): convert the checkpoint again")
    assert "\n" not in message


def _without_control_tokens(document: dict[str, Any]) -> None:
    document["added_tokens"] = []


def _without_the_assistant_merge(document: dict[str, Any]) -> None:
    document["model"]["merges"].pop()


def _without_a_byte(document: dict[str, Any]) -> None:
    document["model"]["vocab"]["<no z>"] = document["model"]["vocab"].pop("z")


def _another_model(document: dict[str, Any]) -> None:
    document["model"] = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
    document["added_tokens"] = []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without_control_tokens, f"tokenizer has no token '<|im_start|>': {FOREIGN}"),
        (
            _without_the_assistant_merge,
            f"tokenizer makes 3 tokens of 'assistant' and a newline, expected 2: {FOREIGN}",
        ),
        (_without_a_byte, f"tokenizer has no token for byte symbol 'z', expected all 256: {FOREIGN}"),
        (_another_model, "{path} holds a WordLevel model, expected BPE: convert the checkpoint again"),
    ],
)
def test_foreign_tokenizer_is_one_clear_line(
    small_json: str, tmp_path: Path, damage: Callable[[dict[str, Any]], None], message: str
) -> None:
    document = json.loads(small_json)
    damage(document)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    with pytest.raises(PackageError) as caught:
        Tokenizer.load(path)
    assert str(caught.value) == message.format(path=path)


def test_directory_pretokenizer_without_a_step_to_swap_is_one_clear_line(small_json: str, tmp_path: Path) -> None:
    document = json.loads(small_json)
    document["pre_tokenizer"] = document["pre_tokenizer"]["pretokenizers"][1]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    with pytest.raises(PackageError) as caught:
        Tokenizer.load(path, pretokenizer="directory")
    assert str(caught.value) == (
        "tokenizer splits words by ByteLevel, expected a sequence: pretokenizer 'directory' has nothing to swap, "
        "use 'hub'"
    )
