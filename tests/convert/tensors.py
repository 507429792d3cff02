"""Tensors for the tests of modules."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn


class Dictionary:
    """A tensor source of what a test writes down."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = tensors

    @property
    def names(self) -> list[str]:
        return list(self._tensors)

    def load(self, name: str) -> Tensor:
        return self._tensors[name]


def noise(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal values, the same for the same shape and seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def relative(ours: Tensor, theirs: Tensor) -> float:
    """Largest difference over largest value of two tensors of one shape."""
    assert ours.shape == theirs.shape
    return float((ours - theirs).abs().max() / theirs.abs().max())


def observed(modules: Mapping[str, nn.Module], run: Callable[[], object]) -> dict[str, tuple[Tensor, Tensor]]:
    """What each module was given in a run, and what it returned: the first tensor of each."""
    kept: dict[str, tuple[Tensor, Tensor]] = {}

    def keep(name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor | tuple[Tensor, ...]], None]:
        def hook(_module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor | tuple[Tensor, ...]) -> None:
            kept[name] = inputs[0], output[0] if isinstance(output, tuple) else output

        return hook

    handles = [module.register_forward_hook(keep(name)) for name, module in modules.items()]
    with torch.no_grad():
        run()
    for handle in handles:
        handle.remove()
    return kept
