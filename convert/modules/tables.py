"""The small graphs around the decoders: text projection, codec embeddings, heads.

Rows have no leading 1 here: pnnx 20261020 puts a Reshape before and after a Linear that is alone with one.
"""

from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.modules.layers import embedding_of, linear, linear_of


class TextProjection(nn.Module):
    """fc2(silu(fc1(rows))): text embeddings (n, text width) → talker width (n, H) (M: `Qwen3TTSTalkerResizeMLP`).

    The lookup itself stays on the host: a memory-mapped table of 1.24 GB touches only the rows of the prompt.
    """

    def __init__(self, fc1: nn.Linear, fc2: nn.Linear) -> None:
        super().__init__()
        self.linear_fc1, self.linear_fc2 = fc1, fc2

    @classmethod
    def from_weights(cls, weights: Weights) -> Self:
        return cls(linear(weights / "linear_fc1"), linear(weights / "linear_fc2"))

    def forward(self, rows: Tensor) -> Tensor:
        return self.linear_fc2(F.silu(self.linear_fc1(rows)))


class Table(nn.Module):
    """ids (1, n) → rows (1, n, width) of one embedding table, or of several laid end to end."""

    def __init__(self, *tables: Tensor) -> None:
        super().__init__()
        self.embedding = embedding_of(torch.cat(tables))

    def forward(self, ids: Tensor) -> Tensor:
        return self.embedding(ids)


class Heads(nn.Module):
    """hidden (n, H) → one output of logits (n, vocabulary) for each head; ncnn computes only what is extracted."""

    def __init__(self, *weights: Tensor) -> None:
        super().__init__()
        self.heads = nn.ModuleList(linear_of(weight) for weight in weights)

    def forward(self, hidden: Tensor) -> Tensor | tuple[Tensor, ...]:
        logits = tuple(head(hidden) for head in self.heads)
        return logits if len(logits) > 1 else logits[0]
