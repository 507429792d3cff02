"""The speaker encoder of a Base checkpoint, an ECAPA-TDNN: mel frames to one x-vector.

Source: M:97–368 (`Qwen3TTSSpeakerEncoder` and its blocks), https://arxiv.org/abs/2005.07143. Signals are images of
height 1, (1, channels, 1, frames), as in the codec. Upstream's length mask is all ones for one recording and is not
here; its `chunk` and `repeat` are static slices and broadcasts, which convert at any length.
"""

from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.checkpoint.config import SpeakerEncoderConfig
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.modules.codec_layers import conv_of, to_image

# Below this a variance counts as this much (M:229).
_LEAST_VARIANCE = 1e-12


def same_conv(weights: Weights, dilation: int = 1) -> "SameConv":
    """The convolution of a scope with `conv.weight` and `conv.bias`."""
    return SameConv.from_weights(weights / "conv", dilation)


class SameConv(nn.Module):
    """A convolution that keeps the length, the signal reflected at both ends."""

    def __init__(self, conv: nn.Conv2d) -> None:
        super().__init__()
        self.conv = conv
        self.padding = (conv.kernel_size[1] - 1) * conv.dilation[1] // 2

    @classmethod
    def from_weights(cls, weights: Weights, dilation: int = 1) -> Self:
        return cls(conv_of(weights.take("weight"), weights.take("bias"), dilation=dilation))

    def forward(self, x: Tensor) -> Tensor:
        if self.padding:
            x = F.pad(x, (self.padding, self.padding, 0, 0), mode="reflect")
        return self.conv(x)


class Res2Net(nn.Module):
    """Channels in `scale` groups, each convolved together with what the group before it became (M:97–139)."""

    def __init__(self, weights: Weights, scale: int, dilation: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(same_conv(weights / "blocks" / n, dilation) for n in range(scale - 1))
        self.width = (weights / "blocks" / 0 / "conv").take("weight").shape[1]

    def forward(self, x: Tensor) -> Tensor:
        groups = [x[:, : self.width]]
        for number, block in enumerate(self.blocks, start=1):
            group = x[:, number * self.width : (number + 1) * self.width]
            groups.append(torch.relu(block(group if number == 1 else group + groups[-1])))
        return torch.cat(groups, dim=1)


class SERes2Net(nn.Module):
    """Pointwise, Res2Net, pointwise, then every channel weighed by what its mean says (M:286–330)."""

    def __init__(self, weights: Weights, scale: int, dilation: int) -> None:
        super().__init__()
        self.tdnn1, self.tdnn2 = same_conv(weights / "tdnn1"), same_conv(weights / "tdnn2")
        self.res2net = Res2Net(weights / "res2net_block", scale, dilation)
        se = weights / "se_block"
        self.squeeze, self.excite = SameConv.from_weights(se / "conv1"), SameConv.from_weights(se / "conv2")

    def forward(self, x: Tensor) -> Tensor:
        h = torch.relu(self.tdnn2(self.res2net(torch.relu(self.tdnn1(x)))))
        weight = torch.sigmoid(self.excite(torch.relu(self.squeeze(h.mean(dim=3, keepdim=True)))))
        return x + h * weight


class AttentivePooling(nn.Module):
    """Mean and deviation over time, each frame weighed by attention (M:188–262).

    Upstream convolves [x, mean, deviation] laid on each other for every frame; here the convolution's weight is split
    in three, and the parts that are the same for every frame are computed once.
    """

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        scope = weights / "tdnn" / "conv"
        of_x, of_mean, of_deviation = scope.take("weight").chunk(3, dim=1)
        self.of_x = conv_of(of_x.contiguous(), scope.take("bias"))
        self.of_mean, self.of_deviation = conv_of(of_mean.contiguous(), None), conv_of(of_deviation.contiguous(), None)
        self.conv = SameConv.from_weights(weights / "conv")

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(dim=3, keepdim=True)
        deviation = ((x - mean) ** 2).mean(dim=3, keepdim=True).clamp(min=_LEAST_VARIANCE).sqrt()
        h = torch.relu(self.of_x(x) + self.of_mean(mean) + self.of_deviation(deviation))
        attention = torch.softmax(self.conv(torch.tanh(h)), dim=3)
        mean = (attention * x).sum(dim=3, keepdim=True)
        variance = (attention * (x - mean) ** 2).sum(dim=3, keepdim=True)
        return torch.cat((mean, variance.clamp(min=_LEAST_VARIANCE).sqrt()), dim=1)


class SpeakerEncoder(nn.Module):
    """mel (1, frames, 128) → x-vector (1, H)."""

    def __init__(self, config: SpeakerEncoderConfig, weights: Weights) -> None:
        super().__init__()
        blocks, dilations = weights / "blocks", config.enc_dilations
        self.first = same_conv(blocks / 0, dilations[0])
        self.blocks = nn.ModuleList(
            SERes2Net(blocks / n, config.enc_res2net_scale, dilations[n]) for n in range(1, len(dilations) - 1)
        )
        self.mfa = same_conv(weights / "mfa", dilations[-1])
        self.pooling = AttentivePooling(weights / "asp")
        self.fc = SameConv.from_weights(weights / "fc")

    def forward(self, mel: Tensor) -> Tensor:
        x = torch.relu(self.first(to_image(mel)))
        outputs = []
        for block in self.blocks:
            x = block(x)
            outputs.append(x)
        x = torch.relu(self.mfa(torch.cat(outputs, dim=1)))
        return self.fc(self.pooling(x)).reshape(1, -1)
