"""Dependencies point one way: parity → convert → runtime, models is a leaf. Read from the source, not run."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = "qwen3_tts_ncnn"

# What each room may import of the others.
ROOMS = {
    "models": set[str](),
    "runtime": set[str](),
    "convert": {"runtime", "models"},
    "parity": {"runtime", "convert", "models"},
}

# Installed without its own requirements by the Makefile, so pyproject.toml does not name it.
UNLISTED = {"parity": {"qwen_tts"}}


def imports(source: str, package: str = "") -> Iterator[str]:
    """Full names of all modules that a source text imports, in functions and behind TYPE_CHECKING too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            # `from qwen3_tts_ncnn import models` imports qwen3_tts_ncnn.models.
            yield from (f"{module}.{alias.name}" for alias in node.names) if module == PROJECT else (module,)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("__import__", "importlib.import_module"):
            yield ast.literal_eval(node.args[0])


def room_imports(room: str) -> Iterator[tuple[str, str]]:
    """(file, imported module) for every import of a room."""
    for path in sorted((ROOT / room).rglob("*.py")):
        file = path.relative_to(ROOT)
        package = ".".join((PROJECT, *file.parent.parts))
        for module in imports(path.read_text(encoding="utf-8"), package):
            yield str(file), module


def requirements(room: str) -> set[str]:
    """Top-level modules that pyproject.toml installs for a room; they are called as their distributions are."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {"models": [], "runtime": [], "convert": ["convert"], "parity": ["convert", "parity", "bench"]}[room]
    lists = [project["dependencies"]] if room != "models" else []
    lists += [project["optional-dependencies"][extra] for extra in extras]
    names = {re.split(r"[^\w-]", requirement)[0].replace("-", "_") for group in lists for requirement in group}
    return names | UNLISTED.get(room, set())


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_the_rooms_below_it(room: str) -> None:
    found = list(room_imports(room))
    assert found, f"{room} imports nothing: is it where this test looks?"
    allowed = {room, *ROOMS[room]}
    inner = ((file, module) for file, module in found if module.partition(".")[0] == PROJECT)
    assert [(file, module) for file, module in inner if module.split(".")[1] not in allowed] == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_its_extra_installs(room: str) -> None:
    allowed = {PROJECT, *requirements(room), *sys.stdlib_module_names}
    outer = ((file, module, module.partition(".")[0]) for file, module in room_imports(room))
    assert [(file, module) for file, module, top in outer if top not in allowed] == []


def test_the_runtime_requires_neither_torch_nor_transformers() -> None:
    assert {"ncnn", "numpy", "tokenizers"} <= requirements("runtime")
    assert requirements("runtime") & {"torch", "transformers", "pnnx", "librosa", "qwen_tts"} == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import torch.nn as nn, os", ["torch.nn", "os"]),
        ("def f():\n    from qwen3_tts_ncnn.convert.export import check", ["qwen3_tts_ncnn.convert.export"]),
        ("from qwen3_tts_ncnn import models, convert", ["qwen3_tts_ncnn.models", "qwen3_tts_ncnn.convert"]),
        ("from . import x", ["qwen3_tts_ncnn.runtime.cli"]),
        ("from ..audio import x", ["qwen3_tts_ncnn.runtime.audio"]),
        ("from ... import convert", ["qwen3_tts_ncnn.convert"]),
        ("importlib.import_module('torch')", ["torch"]),
    ],
)
def test_every_form_of_import_is_seen(source: str, found: list[str]) -> None:
    assert list(imports(source, "qwen3_tts_ncnn.runtime.cli")) == found
