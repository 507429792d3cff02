"""The codec decoder as one stateful graph: codes and 37 states in, samples and 37 states out.

Zero states decode from the start; handing the states on continues the same signal exactly, in chunks of any size. The
order of the states is the order in which the layers ask for them, and is the graph's input and output order.

Source: T:826–900 (`Qwen3TTSTokenizerV2Decoder`), which has no state and decodes the whole or overlapping chunks.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.checkpoint.codec_config import CodecDecoderConfig
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.modules.codec_layers import (
    CausalConv,
    ConvNeXtBlock,
    SnakeBeta,
    SubPixelConv,
    UpsampleBlock,
    to_image,
    to_rows,
)
from qwen3_tts_ncnn.convert.modules.layers import (
    RMSNorm,
    SwiGLU,
    joined_linear,
    linear,
    linear_of,
    rotate,
    scaled_linear,
)


class StateTape:
    """Hands out the input states in order and collects the output states in the same order."""

    def __init__(self, states: Sequence[Tensor]) -> None:
        self._incoming = iter(states)
        self.outgoing: list[Tensor] = []

    def extend(self, x: Tensor, columns: int) -> Tensor:
        """A convolution's history: columns of an image (1, C, 1, T)."""
        extended = torch.cat((next(self._incoming), x), dim=3)
        self.outgoing.append(extended[..., -columns:])
        return extended

    def extend_rows(self, x: Tensor, rows: int) -> Tensor:
        """An attention's history: rows of keys or values (1, heads, T, d)."""
        extended = torch.cat((next(self._incoming), x), dim=2)
        self.outgoing.append(extended[:, :, -rows:])
        return extended


class ShapeTape(StateTape):
    """Stands in for the states on a first pass, to learn their shapes: every state is zero, of the size asked for."""

    def __init__(self) -> None:
        super().__init__(())
        self.shapes: list[tuple[int, ...]] = []

    def extend(self, x: Tensor, columns: int) -> Tensor:
        self.shapes.append((1, x.shape[1], 1, columns))
        return F.pad(x, (columns, 0))

    def extend_rows(self, x: Tensor, rows: int) -> Tensor:
        self.shapes.append((1, x.shape[1], rows, x.shape[3]))
        return F.pad(x, (0, 0, rows, 0))


class WindowedAttention(nn.Module):
    """Attention over this chunk and the last `window − 1` keys and values before it (T: `…DecoderAttention`).

    Not ncnn's cached SDPA: that cache cannot be trimmed, and this window slides.
    """

    def __init__(self, config: CodecDecoderConfig, weights: Weights, scale: Tensor) -> None:
        super().__init__()
        self.qkv_proj = joined_linear(*(weights / f"{name}_proj" for name in "qkv"))
        self.o_proj = scaled_linear(weights / "o_proj", scale)
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.head_dim, self.past = config.head_dim, config.sliding_window - 1

    def forward(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor, tape: StateTape) -> Tensor:
        widths = [heads * self.head_dim for heads in (self.heads, self.kv_heads, self.kv_heads)]
        q, k, v = self.qkv_proj(x).split(widths, dim=-1)
        q = q.view(1, -1, self.heads, self.head_dim).transpose(1, 2)
        k = k.view(1, -1, self.kv_heads, self.head_dim).transpose(1, 2)
        v = v.view(1, -1, self.kv_heads, self.head_dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = tape.extend_rows(k, self.past), tape.extend_rows(v, self.past)
        if self.heads != self.kv_heads:
            groups = self.heads // self.kv_heads
            k, v = k.repeat_interleave(groups, dim=-3), v.repeat_interleave(groups, dim=-3)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(attended.transpose(1, 2).reshape(1, -1, self.heads * self.head_dim))


class CodecTransformerLayer(nn.Module):
    """Pre-norm attention and SwiGLU.

    The scale per channel before each residual (LayerScale) is folded into the Linear before it.
    """

    def __init__(self, config: CodecDecoderConfig, weights: Weights) -> None:
        super().__init__()
        attention_scale, mlp_scale = ((weights / f"{part}_layer_scale").take("scale") for part in ("self_attn", "mlp"))
        self.input_layernorm = RMSNorm((weights / "input_layernorm").take("weight"), config.rms_norm_eps)
        self.self_attn = WindowedAttention(config, weights / "self_attn", attention_scale)
        self.post_attention_layernorm = RMSNorm(
            (weights / "post_attention_layernorm").take("weight"), config.rms_norm_eps
        )
        self.mlp = SwiGLU.from_weights(weights / "mlp", mlp_scale)

    def forward(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor, tape: StateTape) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), mask, cos, sin, tape)
        return x + self.mlp(self.post_attention_layernorm(x))


class CodecDecoder(nn.Module):
    """ids (1, 16 · T), mask (T, window − 1 + T), cos and sin (T, head_dim), states → wave (1, 1920 · T), states.

    The ids are time-major (frame by frame, codebook by codebook), each offset by its codebook × codebook size.
    """

    def __init__(self, config: CodecDecoderConfig, weights: Weights) -> None:
        super().__init__()
        self.config = config
        table, projection = rvq_tables(config, weights / "quantizer")
        self.embedding = nn.Embedding.from_pretrained(table)
        self.rvq_projection = linear_of(projection)
        self.pre_conv = CausalConv.from_weights(weights / "pre_conv")
        transformer = weights / "pre_transformer"
        self.input_proj, self.output_proj = linear(transformer / "input_proj"), linear(transformer / "output_proj")
        self.layers = nn.ModuleList(
            CodecTransformerLayer(config, transformer / "layers" / n) for n in range(config.num_hidden_layers)
        )
        self.norm = RMSNorm((transformer / "norm").take("weight"), config.rms_norm_eps)
        upsample = weights / "upsample"
        ratios = config.upsampling_ratios
        self.upsample = nn.ModuleList(SubPixelConv.from_weights(upsample / n / 0, r) for n, r in enumerate(ratios))
        self.convnext = nn.ModuleList(ConvNeXtBlock(upsample / n / 1) for n in range(len(ratios)))
        dac, rates = weights / "decoder", config.upsample_rates
        self.conv_in = CausalConv.from_weights(dac / 0)
        self.blocks = nn.ModuleList(UpsampleBlock(dac / (1 + n), rate) for n, rate in enumerate(rates))
        self.act_out = SnakeBeta.from_weights(dac / (1 + len(rates)))
        self.conv_out = CausalConv.from_weights(dac / (2 + len(rates)))

    def forward(self, ids: Tensor, mask: Tensor, cos: Tensor, sin: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        tape = StateTape(states)
        return (self.decode(ids, mask, cos, sin, tape), *tape.outgoing)

    def decode(self, ids: Tensor, mask: Tensor, cos: Tensor, sin: Tensor, tape: StateTape) -> Tensor:
        """The samples of one chunk; the tape carries what came before it."""
        rows = self.embedding(ids).reshape(1, -1, self.rvq_projection.in_features)  # 1, T, codebooks · dim
        x = self.pre_conv(to_image(self.rvq_projection(rows)), tape)
        h = self.input_proj(to_rows(x))
        for layer in self.layers:
            h = layer(h, mask, cos, sin, tape)
        x = to_image(self.output_proj(self.norm(h)))
        for up, convnext in zip(self.upsample, self.convnext, strict=True):
            x = convnext(up(x, tape), tape)
        x = self.conv_in(x, tape)
        for block in self.blocks:
            x = block(x, tape)
        x = self.conv_out(self.act_out(x), tape)
        return x.reshape(1, -1).clamp(min=-1.0, max=1.0)


def state_shapes(config: CodecDecoderConfig, weights: Weights) -> tuple[tuple[int, ...], ...]:
    """The shape (channels, rows, columns) of every state, in order, learned from a pass over one frame of nothing.

    `weights` may be of shapes alone (`Shapes`).
    """
    decoder, tape = CodecDecoder(config, weights), ShapeTape()
    device, past = decoder.embedding.weight.device, config.sliding_window - 1
    ids = torch.zeros(1, config.num_quantizers, dtype=torch.long, device=device)
    tables = torch.zeros(1, config.head_dim, device=device)
    with torch.no_grad():
        decoder.decode(ids, torch.zeros(1, past + 1, device=device), tables, tables, tape)
    return tuple(shape[1:] for shape in tape.shapes)


def rvq_tables(config: CodecDecoderConfig, weights: Weights) -> tuple[Tensor, Tensor]:
    """All codebooks end to end (16 · 2048, 256), and one projection (512, 16 · 256) that sums their contributions.

    A codebook is embedding_sum / max(cluster_usage, 1e-5) (T: `EuclideanCodebook.decode`). The acoustic codebooks share
    one output projection, so it is repeated for each: `stack` + `sum` in the graph breaks in pnnx 20261020.
    """
    codebooks, projections = [], []
    for name, count in (("rvq_first", 1), ("rvq_rest", config.num_quantizers - 1)):
        quantizer = weights / name
        projection = (quantizer / "output_proj").take("weight").squeeze(2)
        for level in range(count):
            codebook = quantizer / "vq" / "layers" / level / "_codebook"
            usage = codebook.take("cluster_usage").clamp(min=1e-5)
            codebooks.append(codebook.take("embedding_sum") / usage[:, None])
            projections.append(projection)
    return torch.cat(codebooks), torch.cat(projections, dim=1)
