"""Copies of a good checkpoint or package in which one thing is wrong."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def linked_copy(source: Path, copy: Path) -> Path:
    """A folder of links to the files of `source`: it costs nothing, and each link may be replaced by another file."""
    return Path(shutil.copytree(source, copy, copy_function=os.symlink))


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Replaces the link by a file of changed content."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(change(content))


def rewrite_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Replaces the link by a file of a changed JSON object; `change` works in place."""

    def changed(content: bytes) -> bytes:
        data = json.loads(content)
        change(data)
        return json.dumps(data).encode()

    rewrite(path, changed)


def rewrite_tensors(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Replaces the link by a safetensors file of changed tensors; `change` works in place on name → tensor."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    change(tensors)
    path.unlink()
    save_file(tensors, path)


def flip_last_byte(content: bytes) -> bytes:
    """The same length, one byte another."""
    return content[:-1] + bytes([content[-1] ^ 0xFF])
