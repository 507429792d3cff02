"""Causal layers of the codec decoder with their history as explicit input and output.

Signals are images of height 1, (1, channels, 1, T): ncnn's 2-D convolution is up to 1.5 times faster than its 1-D one,
and its Deconvolution1D has no optimised code at all (565 ms against 42 ms for one second of audio in 20261020).
"""

from typing import Protocol, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.modules.layers import linear, scaled_linear


class History(Protocol):
    """What the layers of one pass remember: hands out the columns before the chunk, takes those for the next one."""

    def extend(self, x: Tensor, columns: int) -> Tensor:
        """x (1, C, 1, T) with the last `columns` columns before it in front; keeps the new last ones."""
        ...


def conv_of(weight: Tensor, bias: Tensor | None, *, dilation: int = 1, groups: int = 1) -> nn.Conv2d:
    """A 2-D convolution of kernel (1, k) of a 1-D weight (out, in / groups, k)."""
    out_channels, in_channels, kernel = weight.shape
    layer = nn.Conv2d(
        in_channels * groups,
        out_channels,
        (1, kernel),
        dilation=(1, dilation),
        groups=groups,
        bias=bias is not None,
        device="meta",
    )
    layer.weight = nn.Parameter(weight.unsqueeze(2).contiguous())
    if bias is not None:
        layer.bias = nn.Parameter(bias)
    return layer


class CausalConv(nn.Module):
    """Convolution over the past and the present (T: `Qwen3TTSTokenizerV2CausalConvNet`)."""

    def __init__(self, conv: nn.Conv2d) -> None:
        super().__init__()
        self.conv = conv
        self.columns = (conv.kernel_size[1] - 1) * conv.dilation[1]

    @classmethod
    def from_weights(cls, weights: Weights, *, dilation: int = 1, groups: int = 1) -> Self:
        scope = weights / "conv"
        return cls(conv_of(scope.take("weight"), scope.take("bias"), dilation=dilation, groups=groups))

    def forward(self, x: Tensor, history: History) -> Tensor:
        return self.conv(history.extend(x, self.columns) if self.columns else x)


class SubPixelConv(nn.Module):
    """A transposed convolution of kernel r or 2r and stride r, trimmed on the right: a convolution and an interleave.

    With kernel 2r, y[t·r + j] = W[j] x[t] + W[j + r] x[t − 1]: a convolution of kernel 2 whose r · C outputs are the r
    samples of each step (T: `Qwen3TTSTokenizerV2CausalTransConvNet`).
    """

    def __init__(self, conv: nn.Conv2d, rate: int) -> None:
        super().__init__()
        self.conv = conv
        self.rate = rate
        self.columns = conv.kernel_size[1] - 1

    @classmethod
    def from_weights(cls, weights: Weights, rate: int) -> Self:
        scope = weights / "conv"
        weight, bias = scope.take("weight"), scope.take("bias")  # in, out, kernel
        taps = weight.unflatten(2, (-1, rate)).flip(2)  # in, out, taps, rate: the older tap first
        weight = taps.permute(1, 3, 0, 2).flatten(0, 1)  # out · rate, in, taps
        return cls(conv_of(weight, bias.repeat_interleave(rate)), rate)

    def forward(self, x: Tensor, history: History) -> Tensor:
        y = self.conv(history.extend(x, self.columns) if self.columns else x)
        channels = self.conv.out_channels // self.rate
        return y.reshape(1, channels, self.rate, -1).transpose(2, 3).reshape(1, channels, 1, -1)


_EPSILON = 2.0**-16


class SnakeBeta(nn.Module):
    """x + sin²(x · e^α) / (e^β + 1e-9) (T: `SnakeBeta`), as x + (1 − cos(2 x · e^α)) / 2 / (e^β + 1e-9).

    Of the cosine, what goes on the x takes one pass over the signal in place, a BatchNorm; of the square of a sine it
    takes two that are not.
    """

    def __init__(self, alpha: Tensor, beta: Tensor) -> None:
        super().__init__()
        self.frequency = nn.Parameter((2 * alpha.exp()).reshape(1, -1, 1, 1))
        magnitude = 0.5 / (beta.exp() + 1e-9)
        # ε may not be 0, so that it and the variance make a 1 that is exact.
        self.swing = nn.BatchNorm2d(len(beta), eps=_EPSILON, device=beta.device).eval()
        self.swing.running_var = torch.full_like(beta, 1 - _EPSILON)
        self.swing.weight, self.swing.bias = nn.Parameter(-magnitude), nn.Parameter(magnitude)

    @classmethod
    def from_weights(cls, weights: Weights) -> Self:
        return cls(weights.take("alpha"), weights.take("beta"))

    def forward(self, x: Tensor) -> Tensor:
        swing: Tensor = self.swing(torch.cos(x * self.frequency))
        return x + swing


class ConvNeXtBlock(nn.Module):
    """Depthwise convolution, LayerNorm over channels, two Linears with erf GELU (T: `…ConvNeXtBlock`).

    The scale per channel after the second Linear is folded into it.
    """

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        gamma, norm = weights.take("gamma"), weights / "norm"
        self.dwconv = CausalConv.from_weights(weights / "dwconv", groups=gamma.shape[0])
        self.norm = nn.LayerNorm(gamma.shape[0], eps=1e-6)
        self.norm.weight, self.norm.bias = nn.Parameter(norm.take("weight")), nn.Parameter(norm.take("bias"))
        self.pwconv1, self.pwconv2 = linear(weights / "pwconv1"), scaled_linear(weights / "pwconv2", gamma)

    def forward(self, x: Tensor, history: History) -> Tensor:
        h = to_rows(self.dwconv(x, history))
        h = self.pwconv2(F.gelu(self.pwconv1(self.norm(h))))
        return x + to_image(h)


class ResidualUnit(nn.Module):
    """Snake, dilated convolution, snake, pointwise convolution (T: `…DecoderDecoderResidualUnit`)."""

    def __init__(self, weights: Weights, dilation: int) -> None:
        super().__init__()
        self.act1, self.act2 = SnakeBeta.from_weights(weights / "act1"), SnakeBeta.from_weights(weights / "act2")
        self.conv1 = CausalConv.from_weights(weights / "conv1", dilation=dilation)
        self.conv2 = CausalConv.from_weights(weights / "conv2")

    def forward(self, x: Tensor, history: History) -> Tensor:
        return x + self.conv2(self.act2(self.conv1(self.act1(x), history)), history)


class UpsampleBlock(nn.Module):
    """Snake, ×rate, three residual units of dilation 1, 3 and 9 (T: `…DecoderDecoderBlock`)."""

    def __init__(self, weights: Weights, rate: int) -> None:
        super().__init__()
        block = weights / "block"
        self.act = SnakeBeta.from_weights(block / 0)
        self.up = SubPixelConv.from_weights(block / 1, rate)
        self.units = nn.ModuleList(ResidualUnit(block / (2 + n), dilation) for n, dilation in enumerate((1, 3, 9)))

    def forward(self, x: Tensor, history: History) -> Tensor:
        x = self.up(self.act(x), history)
        for unit in self.units:
            x = unit(x, history)
        return x


def to_rows(x: Tensor) -> Tensor:
    """(1, C, 1, T) → (1, T, C)."""
    return x.squeeze(2).transpose(1, 2)


def to_image(x: Tensor) -> Tensor:
    """(1, T, C) → (1, C, 1, T)."""
    return x.transpose(1, 2).unsqueeze(2)
