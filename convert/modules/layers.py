"""Layers shared by the export modules: norm, rotary embedding, attention, SwiGLU.

Every module of this package is built by a `from_weights` class method from a `Weights` scope and keeps a leading axis
of 1 from its inputs to its outputs: pnnx 20261020 turns a first axis that is not 1 into a *batch axis*, which the
cached SDPA refuses (extract returns −1) and other layers compute wrongly.
"""

from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.checkpoint.weights import Weights


class RMSNorm(nn.Module):
    """y = w · x / √(mean(x²) + ε) over the last axis (M: `Qwen3TTSRMSNorm`, T: `Qwen3TTSTokenizerV2DecoderRMSNorm`)."""

    def __init__(self, weight: Tensor, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def linear(weights: Weights) -> nn.Linear:
    """A Linear of the scope's `weight` (out, in) and, where there is one, `bias` (out)."""
    weight = weights.take("weight")
    bias = weights.take("bias") if weights.has("bias") else None
    return linear_of(weight, bias)


def scaled_linear(weights: Weights, scale: Tensor) -> nn.Linear:
    """A Linear and the scale (out) that follows it, as one."""
    layer = linear(weights)
    bias = None if layer.bias is None else layer.bias.detach() * scale
    return linear_of(layer.weight.detach() * scale[:, None], bias)


def joined_linear(*parts: Weights) -> nn.Linear:
    """Linears of one input as one whose outputs lie end to end: a step is bound by how fast weights arrive, and one
    large product reads them faster than several small ones."""
    layers = [linear(part) for part in parts]
    biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
    if biases and len(biases) != len(layers):
        raise ValueError("cannot join Linears of which only some have a bias")
    weight = torch.cat([layer.weight.detach() for layer in layers])
    return linear_of(weight, torch.cat(biases).detach() if biases else None)


def linear_of(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    """A Linear of the given tensors, without initialising what is thrown away."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, device="meta")
    layer.weight = nn.Parameter(weight)
    if bias is not None:
        layer.bias = nn.Parameter(bias)
    return layer


def embedding_of(weight: Tensor) -> nn.Embedding:
    """An Embedding of the given table (rows, width)."""
    return nn.Embedding.from_pretrained(weight)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding by halves (M:615) of x (1, heads, n, d) with tables (n, d), both halves alike.

    pnnx fuses exactly this form into RotaryEmbed. ncnn's layer reads half of each row, so the runtime feeds tables of
    width d / 2, its documented form.
    """
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


class SwiGLU(nn.Module):
    """down(silu(gate(x)) · up(x)) (M: `Qwen3TTSTalkerTextMLP`), gate and up as one Linear."""

    def __init__(self, gate_up: nn.Linear, down: nn.Linear) -> None:
        super().__init__()
        self.gate_up_proj, self.down_proj = gate_up, down

    @classmethod
    def from_weights(cls, weights: Weights, scale: Tensor | None = None) -> Self:
        """`scale` (out), of what comes out, is folded into the last Linear."""
        down = weights / "down_proj"
        return cls(
            joined_linear(weights / "gate_proj", weights / "up_proj"),
            linear(down) if scale is None else scaled_linear(down, scale),
        )

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up_proj(x).split(self.down_proj.in_features, dim=-1)
        return self.down_proj(F.silu(gate) * up)
