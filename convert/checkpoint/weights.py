"""Tensors by name, with a record of what was taken: no tensor of a checkpoint is left over unnoticed."""

from collections.abc import Iterable, Mapping
from typing import Protocol, Self

import torch
from torch import Tensor

from qwen3_tts_ncnn.convert.errors import CheckpointError


class TensorSource(Protocol):
    """Where tensors come from: `Tensors` of a checkpoint, or a dict in a test."""

    @property
    def names(self) -> Iterable[str]: ...

    def load(self, name: str) -> Tensor: ...


class Shapes:
    """A tensor source of shapes alone: every tensor is on torch's meta device, without memory."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._shapes = shapes

    @property
    def names(self) -> Iterable[str]:
        return self._shapes.keys()

    def load(self, name: str) -> Tensor:
        return torch.empty(self._shapes[name], device="meta")


class Weights:
    """A view of a tensor source below a prefix; `weights / "layers" / "0"` goes deeper, as the names do."""

    def __init__(self, source: TensorSource, prefix: str = "", taken: set[str] | None = None) -> None:
        self._source = source
        self._prefix = prefix
        self._taken: set[str] = set() if taken is None else taken
        self._names = frozenset(source.names)

    def __truediv__(self, part: str | int) -> Self:
        return type(self)(self._source, f"{self._prefix}{part}.", self._taken)

    def has(self, name: str) -> bool:
        """Whether this scope has a tensor of that name."""
        return self._prefix + name in self._names

    def take(self, name: str) -> Tensor:
        """The tensor in float32, marked as used. Raises `CheckpointError` when it is missing."""
        full = self._prefix + name
        if full not in self._names:
            raise CheckpointError(f"tensor {full} is missing: the checkpoint is incomplete, fetch it again")
        self._taken.add(full)
        return self._source.load(full)

    def mark(self, name: str) -> None:
        """Marks a tensor as used that is read by other means."""
        self._taken.add(self._prefix + name)

    def left_over(self) -> list[str]:
        """Every tensor of the source that nothing has taken, sorted."""
        return sorted(self._names - self._taken)
