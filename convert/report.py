"""What a conversion tells: of each graph while it is made, and of all of them at the end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from qwen3_tts_ncnn.convert.export.bound import Bound


class Step(Protocol):
    """A graph to be made, and what its check must not pass."""

    @property
    def name(self) -> str: ...

    @property
    def bound(self) -> Bound: ...


OnGraph = Callable[[int, int, Step, float | None], None]
"""Told before and after each graph: its number, how many there are, the graph, and what was measured (None: begun)."""


@dataclass(frozen=True)
class GraphReport:
    """One finished graph: the worst value that its check measured, and its bound."""

    name: str
    measured: float
    bound: Bound
