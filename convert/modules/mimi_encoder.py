"""The codec's encoder, Mimi up to its quantizers: a wave to one latent vector a frame.

Source: transformers 4.57.3 `modeling_mimi.py` (`MimiEncoder`, `MimiTransformerModel`, `MimiModel._encode_frame`) as
T:900 builds it. The wave comes padded to whole frames, so that every convolution's padding on the left is static.
Attention is fully causal: the configuration's window of 250 is applied by transformers neither under sdpa nor eager.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.checkpoint.codec_config import MimiShape
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.modules.codec_layers import conv_of, to_image, to_rows
from qwen3_tts_ncnn.convert.modules.layers import linear, rotate


class PaddedConv(nn.Module):
    """A strided causal convolution: kernel − stride columns of padding on the left, zeros or the first column."""

    def __init__(self, weights: Weights, *, stride: int = 1, dilation: int = 1, mode: str = "constant") -> None:
        super().__init__()
        scope = weights / "conv"
        bias = scope.take("bias") if scope.has("bias") else None
        self.conv = conv_of(scope.take("weight"), bias, dilation=dilation)
        self.conv.stride = (1, stride)
        self.padding = (self.conv.kernel_size[1] - 1) * dilation + 1 - stride
        self.mode = mode

    def forward(self, x: Tensor) -> Tensor:
        if self.padding:
            x = F.pad(x, (self.padding, 0, 0, 0), mode=self.mode)
        return self.conv(x)


class ResidualBlock(nn.Module):
    """x + pointwise(elu(conv(elu(x))))."""

    def __init__(self, weights: Weights, dilation: int) -> None:
        super().__init__()
        block = weights / "block"
        self.conv1, self.conv2 = PaddedConv(block / 1, dilation=dilation), PaddedConv(block / 3)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv2(F.elu(self.conv1(F.elu(x))))


class MimiAttention(nn.Module):
    """Plain causal attention over the whole recording."""

    def __init__(self, shape: MimiShape, weights: Weights) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            linear(weights / f"{name}_proj") for name in ("q", "k", "v", "o")
        )
        self.heads, self.head_dim = shape.heads, shape.head_dim

    def forward(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q, k, v = (
            projection(x).view(1, -1, self.heads, self.head_dim).transpose(1, 2)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        attended = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, attn_mask=mask)
        return self.o_proj(attended.transpose(1, 2).reshape(1, -1, self.heads * self.head_dim))


class MimiLayer(nn.Module):
    """Pre-norm attention and erf-GELU MLP, each scaled per channel before its residual."""

    def __init__(self, shape: MimiShape, weights: Weights) -> None:
        super().__init__()
        self.input_layernorm = layer_norm(weights / "input_layernorm", shape.norm_eps)
        self.post_attention_layernorm = layer_norm(weights / "post_attention_layernorm", shape.norm_eps)
        self.self_attn = MimiAttention(shape, weights / "self_attn")
        self.fc1, self.fc2 = linear(weights / "mlp" / "fc1"), linear(weights / "mlp" / "fc2")
        self.self_attn_layer_scale = nn.Parameter((weights / "self_attn_layer_scale").take("scale"))
        self.mlp_layer_scale = nn.Parameter((weights / "mlp_layer_scale").take("scale"))

    def forward(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn_layer_scale * self.self_attn(self.input_layernorm(x), mask, cos, sin)
        return x + self.mlp_layer_scale * self.fc2(F.gelu(self.fc1(self.post_attention_layernorm(x))))


def layer_norm(weights: Weights, eps: float) -> nn.LayerNorm:
    """A LayerNorm of the scope's weight and bias."""
    weight, bias = weights.take("weight"), weights.take("bias")
    norm = nn.LayerNorm(weight.shape[0], eps=eps)
    norm.weight, norm.bias = nn.Parameter(weight), nn.Parameter(bias)
    return norm


class MimiEncoder(nn.Module):
    """wave (1, 1920 · T), mask (2T, 2T), cos and sin (2T, head_dim), valid → latent (1, 512, T).

    A recording seldom fills its last frame. Upstream then pads each strided convolution's own input, with zeros and in
    the last one by repeating the last step (MIMI:303), which is not what a padded wave becomes on its way through
    biases. `valid` says for each strided convolution which of its input columns (1, 1, 1, columns) are the recording's:
    1 for those, 0 for the rest.
    """

    def __init__(self, shape: MimiShape, weights: Weights) -> None:
        super().__init__()
        layers = weights / "encoder" / "layers"
        self.conv_in = PaddedConv(layers / 0)
        self.residuals, self.downs, index = nn.ModuleList(), nn.ModuleList(), 1
        for ratio in shape.ratios:
            blocks = nn.Sequential()
            for step in range(shape.residual_layers):
                blocks.append(ResidualBlock(layers / index, shape.dilation_growth**step))
                index += 1
            self.residuals.append(blocks)
            self.downs.append(PaddedConv(layers / (index + 1), stride=ratio))  # index itself is an ELU
            index += 2
        self.conv_out = PaddedConv(layers / (index + 1))
        transformer = weights / "encoder_transformer" / "layers"
        self.transformer = nn.ModuleList(MimiLayer(shape, transformer / n) for n in range(shape.layers))
        self.downsample = PaddedConv(weights / "downsample", stride=shape.steps_per_frame, mode="replicate")
        self.repeat_last = RepeatLast(self.downsample.conv.in_channels)

    def forward(self, wave: Tensor, mask: Tensor, cos: Tensor, sin: Tensor, *valid: Tensor) -> Tensor:
        x = self.conv_in(wave.reshape(1, 1, 1, -1))
        for residual, down, own in zip(self.residuals, self.downs, valid[:-1], strict=True):
            x = down(F.elu(residual(x)) * own)
        h = to_rows(self.conv_out(F.elu(x)))
        for layer in self.transformer:
            h = layer(h, mask, cos, sin)
        return self.downsample(self.repeat_last(to_image(h), valid[-1])).squeeze(2)


class RepeatLast(nn.Module):
    """x (1, C, 1, columns) with a last column that is not valid replaced by the one before it.

    The columns before come from a depthwise convolution: pnnx 20261020 drops the slice [..., :-1] without a word, and
    leaves a pad that cuts (F.pad with −1) unconverted.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        weight = torch.tensor([1.0, 0.0]).repeat(channels, 1, 1)
        self.before = conv_of(weight, None, groups=channels)

    def forward(self, x: Tensor, valid: Tensor) -> Tensor:
        return x * valid + self.before(F.pad(x, (1, 0, 0, 0))) * (1 - valid)
