"""Conversions of seconds for the tests of what surrounds the graphs: each graph is a stand-in of a few bytes."""

from pathlib import Path

import pytest

from qwen3_tts_ncnn.convert import conversion
from qwen3_tts_ncnn.convert.plans import GraphPlan


def make_quick(patch: pytest.MonkeyPatch) -> None:
    """Makes conversions write stand-ins: of the graphs, and of the tokenizer, which takes a second."""
    patch.setattr(conversion, "export_graph", stand_in)
    patch.setattr(conversion, "build_tokenizer_json", lambda _folder: "{}")


def stand_in(plan: GraphPlan, package: Path) -> float:
    """In place of `export_graph`: builds the module, so that its tensors are taken, and writes next to nothing."""
    plan.build()
    for suffix in ("param", "bin"):
        (package / f"{plan.name}.{suffix}").write_text(plan.name)
    return 0.0


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
