"""A small byte-level tokenizer in the official files' form: any text becomes ids, and every id is Qwen2's own.

The 256 byte symbols and a few merges carry Qwen2's ids (so "assistant" is 77091 and "\\n" is 198, as upstream's
template slicing needs). The ids between are filled with names no merge can form, because transformers numbers added
tokens from the vocabulary's *length*: with holes, `<|im_start|>` would not be 151644.
"""

import json
from typing import Final

from qwen3_tts_ncnn.convert.random_checkpoint.layout import Json

FIRST_ADDED_ID: Final = 151643

# Left, right → id of the joined symbol in Qwen2's vocabulary. In order of priority. "Ġ" is a space and "Ċ" a newline in
# the byte alphabet; "ï", "¼", "Į" are the bytes of the full-width comma.
MERGES: Final[tuple[tuple[str, str, int], ...]] = (
    ("Ġ", "Ġ", 256),
    ("i", "n", 258),
    ("Ġ", "t", 259),
    ("e", "r", 261),
    ("o", "n", 263),
    ("Ġ", "a", 264),
    ("r", "e", 265),
    ("a", "t", 266),
    ("s", "t", 267),
    ("o", "r", 269),
    ("Ċ", "Ċ", 271),
    ("a", "n", 276),
    ("in", "g", 287),
    ("a", "s", 300),
    ("u", "s", 355),
    ("i", "st", 380),
    ("h", "e", 383),
    ("as", "s", 395),
    ("an", "t", 517),
    ("us", "er", 872),
    ("ï", "¼", 1540),
    ("ï¼", "Į", 3837),
    ("ist", "ant", 11202),
    ("ass", "istant", 77091),
)

# From id 151643 on, without holes. `special` tokens are skipped on decoding.
ADDED_TOKENS: Final[tuple[str, ...]] = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
    "<|audio_start|>",
    "<|audio_end|>",
    "<tts_pad>",
    "<tts_text_bos>",
    "<tts_text_eod>",
    "<tts_text_bos_single>",
    "<|audio_pad|>",
)

_PLAIN: Final = frozenset(ADDED_TOKENS[14:26])  # <tool_call> … </think>: added, but not special.
_UNLISTED: Final = frozenset({"<|endoftext|>", "<tts_text_eod>"})  # special, yet not "additional" in the official file.

_ROLES: Final[Json] = {
    "image_token": "<|image_pad|>",
    "audio_token": "<|audio_pad|>",
    "video_token": "<|video_pad|>",
    "vision_bos_token": "<|vision_start|>",
    "vision_eos_token": "<|vision_end|>",
    "audio_bos_token": "<|audio_start|>",
    "audio_eos_token": "<|audio_end|>",
}


def tokenizer_files() -> dict[str, str]:
    """The three tokenizer files by name: `vocab.json`, `merges.txt`, `tokenizer_config.json`."""
    merges = "".join(f"{left} {right}\n" for left, right, _ in MERGES)
    return {
        "vocab.json": json.dumps(vocabulary(), ensure_ascii=False, separators=(",", ":")),
        "merges.txt": f"#version: 0.2\n{merges}",
        "tokenizer_config.json": json.dumps(tokenizer_config(), indent=2) + "\n",
    }


def byte_symbols() -> list[str]:
    """The byte alphabet of GPT-2 in order of id: printable bytes stand for themselves, the others come after them.

    The 68 bytes that are not printable (0–32, 127–160, 173) become U+0100 and up.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [chr(byte) for byte in printable] + [chr(0x100 + index) for index in range(256 - len(printable))]


def vocabulary() -> dict[str, int]:
    """Token → id for all of 0 … 151642. Ids that neither a byte nor a merge has are named `<id>`."""
    names = dict(enumerate(byte_symbols()))
    names |= {token: left + right for left, right, token in MERGES}
    return {names.get(token, f"<{token}>"): token for token in range(FIRST_ADDED_ID)}


def tokenizer_config() -> Json:
    """`tokenizer_config.json` of the official checkpoints, key by key."""
    return {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": {
            str(FIRST_ADDED_ID + index): _added_token(name) for index, name in enumerate(ADDED_TOKENS)
        },
        "additional_special_tokens": [name for name in ADDED_TOKENS if name not in _PLAIN | _UNLISTED],
        "extra_special_tokens": _ROLES,
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "model_max_length": 131072,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
        **_ROLES,
    }


def _added_token(name: str) -> Json:
    flags = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    return {"content": name, **flags, "special": name not in _PLAIN}
