"""A checkpoint's tokenizer files → the one `tokenizer.json` of a package.

The JSON is written here, not by the `tokenizers` library, so that its bytes depend on the checkpoint alone and not on
the library's version. The library reads the result back, and refuses what does not hold together.
"""

import json
from pathlib import Path
from typing import Any, Final

import tokenizers

from qwen3_tts_ncnn.convert.checkpoint.fields import read_json_object
from qwen3_tts_ncnn.convert.errors import CheckpointError
from qwen3_tts_ncnn.runtime.tokenizer import IM_END, IM_START

VOCAB: Final = "vocab.json"
MERGES: Final = "merges.txt"
CONFIG: Final = "tokenizer_config.json"
READY: Final = "tokenizer.json"

TOKENIZER_CLASSES: Final = ("Qwen2Tokenizer", "Qwen2TokenizerFast")

# transformers 4.57.3 gives every Qwen2 tokenizer this regex, whatever its config says, and ignores add_prefix_space
# (convert_slow_tokenizer.py, Qwen2Converter).
SPLIT_REGEX: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

_AGAIN: Final = "download the tokenizer files again"

Json = dict[str, Any]


def build_tokenizer_json(checkpoint_folder: Path) -> str:
    """The text of a package's `tokenizer.json`: what upstream has in memory when it loads the checkpoint by hub id.

    Built from vocab.json, merges.txt and tokenizer_config.json, which is what the official checkpoints have; a folder
    with neither of the first two may hold a ready tokenizer.json instead. The same files always give the same text.

    Raises:
        CheckpointError: a file is missing or broken, or the files contradict each other.
    """
    ready = checkpoint_folder / READY
    has_pieces = any((checkpoint_folder / name).exists() for name in (VOCAB, MERGES))
    if ready.exists() and not has_pieces:
        document = _read_ready(ready)
    else:
        document = _assemble(checkpoint_folder)
        if ready.exists():
            _refuse_difference(document, _read_ready(ready), checkpoint_folder)
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    _refuse_other_ids(_load(text, checkpoint_folder), document["added_tokens"], checkpoint_folder)
    return text


def _assemble(folder: Path) -> Json:
    """The JSON that `tokenizers` would save for transformers' tokenizer, key by key and in its order."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    split = {"type": "Split", "pattern": {"Regex": SPLIT_REGEX}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _read_added_tokens(folder / CONFIG),
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [split, {**byte_level, "add_prefix_space": False, "use_regex": False}],
        },
        "post_processor": {**byte_level, "trim_offsets": False},
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": _read_vocabulary(folder / VOCAB),
            "merges": _read_merges(folder / MERGES),
        },
    }


def _read_vocabulary(path: Path) -> dict[str, int]:
    vocabulary = read_json_object(path)
    if not vocabulary or not all(type(token_id) is int and token_id >= 0 for token_id in vocabulary.values()):
        raise CheckpointError(f"{path} is not a vocabulary, expected an object of tokens and their ids: {_AGAIN}")
    if len(set(vocabulary.values())) != len(vocabulary):
        raise CheckpointError(f"{path} gives two tokens the same id, expected each id once: {_AGAIN}")
    return dict(sorted(vocabulary.items(), key=lambda entry: entry[1]))


def _read_merges(path: Path) -> list[list[str]]:
    merges: dict[tuple[str, ...], None] = {}  # a set that keeps its order: a repeated merge counts where it is first
    for number, line in enumerate(_read_text(path).split("\n"), start=1):
        pair = tuple(line.split())
        if not pair or (number == 1 and line.startswith("#version:")):
            continue
        if len(pair) != 2:
            raise CheckpointError(f"{path} line {number} has {len(pair)} parts, expected the 2 of a merge: {_AGAIN}")
        merges[pair] = None
    return [list(pair) for pair in merges]


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing: a Qwen3-TTS checkpoint needs it, {_AGAIN}") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}): check the file and its permissions") from None
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path} is not UTF-8 text (at byte {error.start}): {_AGAIN}") from None


def _read_added_tokens(path: Path) -> list[Json]:
    config = read_json_object(path)
    name = config.get("tokenizer_class", TOKENIZER_CLASSES[0])
    if name not in TOKENIZER_CLASSES:
        raise CheckpointError(
            f"{path}: tokenizer_class is {name!r}, expected {TOKENIZER_CLASSES[0]!r}: use a Qwen3-TTS 12 Hz checkpoint"
        )
    entries = config.get("added_tokens_decoder")
    if not isinstance(entries, dict) or not entries:
        raise CheckpointError(f"{path} has no added_tokens_decoder, expected the control tokens by id: {_AGAIN}")
    return sorted((_added_token(path, *entry) for entry in entries.items()), key=lambda token: int(token["id"]))


def _added_token(path: Path, token_id: str, entry: object) -> Json:
    if not token_id.isdecimal() or not isinstance(entry, dict) or not isinstance(entry.get("content"), str):
        raise CheckpointError(f"{path}: added_tokens_decoder[{token_id!r}] has no id or no content: {_AGAIN}")
    special = bool(entry.get("special", False))
    return {
        "id": int(token_id),
        "content": entry["content"],
        **{flag: bool(entry.get(flag, False)) for flag in ("single_word", "lstrip", "rstrip")},
        "normalized": bool(entry.get("normalized", not special)),  # the library's default
        "special": special,
    }


def _read_ready(path: Path) -> Json:
    """A ready tokenizer.json, without truncation and padding: transformers turns both off for a single text."""
    document = {**read_json_object(path), "truncation": None, "padding": None}
    _load(json.dumps(document), path)
    return document


def _refuse_difference(assembled: Json, ready: Json, folder: Path) -> None:
    """Refuse two forms that say different things: transformers would take the ready one and never look at the other."""
    for what, ours, theirs in zip(
        ("vocabulary", "merges", "word split", "added tokens"), _identity(assembled), _identity(ready), strict=True
    ):
        if ours != theirs:
            raise CheckpointError(
                f"{folder}: {READY} and {VOCAB} + {MERGES} + {CONFIG} differ in their {what}, expected "
                "the same tokenizer twice: remove the form that is wrong"
            )


def _identity(document: Json) -> tuple[Any, ...]:
    """All of a tokenizer that its ids depend on, in a form that older versions of `tokenizers` share."""
    model = document["model"]
    merges = [pair.split(" ") if isinstance(pair, str) else pair for pair in model.get("merges") or ()]
    patterns = [step.get("pattern") for step in (document.get("pre_tokenizer") or {}).get("pretokenizers", ())]
    return model.get("vocab"), merges, patterns, {token["id"]: token["content"] for token in document["added_tokens"]}


def _load(text: str, source: Path) -> tokenizers.Tokenizer:
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises bare Exception
        reason = str(error).partition(" at line ")[0]  # the rest is a place in a text that nobody sees
        raise CheckpointError(f"{source}: no tokenizer can be made of it ({reason}): {_AGAIN}") from None


def _refuse_other_ids(backend: tokenizers.Tokenizer, added_tokens: list[Json], folder: Path) -> None:
    for token in added_tokens:
        # The library, and transformers with it, counts added tokens on from the vocabulary's size, whatever id the
        # file gives them: a vocabulary that is too short would shift every control token.
        found = backend.token_to_id(token["content"])
        if found != token["id"]:
            raise CheckpointError(
                f"{folder}: token {token['content']!r} would become {found}, expected {token['id']} as it is listed: "
                f"the vocabulary is incomplete, {_AGAIN}"
            )
    for content in (IM_START, IM_END):
        if backend.token_to_id(content) is None:
            raise CheckpointError(f"{folder}: the tokenizer has no {content!r}: use a Qwen3-TTS 12 Hz checkpoint")
