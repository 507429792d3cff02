"""Where to cut a graph, to time it up to there: blobs that end a stage, found by what the layers are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from qwen3_tts_ncnn.runtime.param import ParamGraph


@dataclass(frozen=True)
class Stage:
    """A stretch of a graph: its name, and the blob at its end."""

    name: str
    end: str


def decoder_stages(graph: ParamGraph) -> list[Stage]:
    """A cached decoder, cut after every attention: from one to the next is one layer's worth of work."""
    attentions = [layer.outputs[0] for layer in graph.of_type("SDPA")]
    stages = [
        Stage("to the first attention" if n == 0 else f"attention {n} to {n + 1}", blob)
        for n, blob in enumerate(attentions)
    ]
    return [*stages, Stage("after the last attention", "hidden_out")]


def codec_stages(graph: ParamGraph, states: Sequence[tuple[int, ...]]) -> list[Stage]:
    """The codec decoder, cut where its signal changes its number of channels.

    Every causal layer joins a state (channels, rows, columns) to its signal, in the order of the states; those of
    attention have more rows than one.
    """
    joins = {blob: layer.outputs[0] for layer in graph.of_type("Concat") for blob in layer.inputs}
    groups = [(name, list(numbers)) for name, numbers in groupby(range(len(states)), lambda n: _name(states[n]))]
    ends = [joins[f"state_in_{numbers[0]}"] for _, numbers in groups]
    names = ["codebooks", *(name for name, _ in groups)]
    return [Stage(name, end) for name, end in zip(names, [*ends, "wave"], strict=True)]


def _name(state: tuple[int, ...]) -> str:
    channels, rows, _ = state
    return "attention" if rows > 1 else f"{channels} channels"
