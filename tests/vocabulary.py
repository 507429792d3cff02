"""The real Qwen2 vocabulary for tests, rebuilt from the PyPI package dashscope, which carries it as `qwen.tiktoken`."""

import base64
import functools
import importlib.util
import json
from itertools import pairwise
from pathlib import Path

import pytest

from qwen3_tts_ncnn.convert.random_checkpoint.vocabulary import byte_symbols, tokenizer_config


def write_real_vocabulary(folder: Path) -> Path:
    """Write vocab.json, merges.txt and tokenizer_config.json of the official checkpoints into `folder`; returns it.

    Skips the calling test where dashscope is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in _files().items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return folder


@functools.cache  # two seconds, once a session
def _files() -> dict[str, str]:
    ranks = _read_ranks()
    symbols = _symbol_of_byte()
    names = {token: "".join(symbols[byte] for byte in token) for token in ranks}
    pairs = (_halves(ranks, token) for token in ranks if len(token) > 1)
    merges = "".join(f"{names[left]} {names[right]}\n" for left, right in pairs)
    vocabulary = {names[token]: rank for token, rank in ranks.items()}
    return {
        "vocab.json": json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":")),
        "merges.txt": f"#version: 0.2\n{merges}",
        "tokenizer_config.json": json.dumps(tokenizer_config(), indent=2),
    }


def _read_ranks() -> dict[bytes, int]:
    """Token → id, in order of id: one base64 token and its id a line."""
    spec = importlib.util.find_spec("dashscope")
    if spec is None or spec.origin is None:
        pytest.skip("dashscope is not installed (pip install --no-deps dashscope): no real vocabulary to test with")
    lines = (Path(spec.origin).parent / "resources" / "qwen.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}
    assert list(ranks.values()) == list(range(151643))
    return ranks


def _symbol_of_byte() -> dict[int, str]:
    """GPT-2's byte alphabet: a printable byte is its own character, the others are U+0100 and up in order."""
    printable = {ord(symbol) for symbol in byte_symbols() if ord(symbol) < 0x100}
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + n) for n, byte in enumerate(others)}


def _halves(ranks: dict[bytes, int], token: bytes) -> tuple[bytes, bytes]:
    """The merge that makes `token`: what BPE has left when only merges of lower rank are allowed."""
    parts = [token[place : place + 1] for place in range(len(token))]
    while len(parts) > 2:
        joined = [ranks.get(left + right, len(ranks)) for left, right in pairwise(parts)]
        place = joined.index(min(joined))
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts[0], parts[1]
