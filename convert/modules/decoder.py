"""The Qwen3 decoder that talker and predictor share, in the plain form that pnnx fuses.

Source: M:749–840 (`Qwen3TTSTalkerAttention`), M:906–1010 (`Qwen3TTSAttention`, `Qwen3TTSDecoderLayer`). The talker's
multimodal RoPE is plain RoPE, because its three position rows are always equal.
"""

from collections.abc import Sequence
from typing import Self

import torch.nn.functional as F
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.checkpoint.config import DecoderConfig
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.modules.layers import RMSNorm, SwiGLU, joined_linear, linear, rotate


class Attention(nn.Module):
    """Grouped-query attention with a norm on each query and key head."""

    def __init__(self, config: DecoderConfig, weights: Weights) -> None:
        super().__init__()
        self.qkv_proj = joined_linear(*(weights / f"{name}_proj" for name in "qkv"))
        self.o_proj = linear(weights / "o_proj")
        self.q_norm = RMSNorm((weights / "q_norm").take("weight"), config.rms_norm_eps)
        self.k_norm = RMSNorm((weights / "k_norm").take("weight"), config.rms_norm_eps)
        self.heads, self.kv_heads, self.head_dim = (
            config.num_attention_heads,
            config.num_key_value_heads,
            config.head_dim,
        )

    def forward(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        widths = [heads * self.head_dim for heads in (self.heads, self.kv_heads, self.kv_heads)]
        q, k, v = self.qkv_proj(x).split(widths, dim=-1)
        q = self.q_norm(q.view(1, -1, self.heads, self.head_dim)).transpose(1, 2)  # 1, heads, n, d
        k = self.k_norm(k.view(1, -1, self.kv_heads, self.head_dim)).transpose(1, 2)
        v = v.view(1, -1, self.kv_heads, self.head_dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        # pnnx folds this, and only this, form of grouped heads into SDPA; expand + reshape stays as layers.
        groups = self.heads // self.kv_heads
        k, v = k.repeat_interleave(groups, dim=-3), v.repeat_interleave(groups, dim=-3)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(attended.transpose(1, 2).reshape(1, -1, self.heads * self.head_dim))


class DecoderLayer(nn.Module):
    """Pre-norm attention and SwiGLU, each with its residual."""

    def __init__(self, config: DecoderConfig, weights: Weights) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm((weights / "input_layernorm").take("weight"), config.rms_norm_eps)
        self.self_attn = Attention(config, weights / "self_attn")
        self.post_attention_layernorm = RMSNorm(
            (weights / "post_attention_layernorm").take("weight"), config.rms_norm_eps
        )
        self.mlp = SwiGLU.from_weights(weights / "mlp")

    def forward(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), mask, cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    """hidden (1, n, H), mask (n, past + n), cos and sin (n, head_dim) → hidden after the final norm (1, n, H).

    `projection` maps the talker's width to the decoder's own in front (the 1.7B's 2048 → 1024, M:1172).
    """

    def __init__(self, layers: Sequence[DecoderLayer], norm: RMSNorm, projection: nn.Linear | None = None) -> None:
        super().__init__()
        self.projection = projection
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    @classmethod
    def from_weights(cls, config: DecoderConfig, weights: Weights, projection: Weights | None = None) -> Self:
        """Builds from a scope that holds `layers.N.*` and `norm.weight`."""
        layers = [DecoderLayer(config, weights / "layers" / n) for n in range(config.num_hidden_layers)]
        norm = RMSNorm((weights / "norm").take("weight"), config.rms_norm_eps)
        return cls(layers, norm, None if projection is None else linear(projection))

    def forward(self, hidden: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        if self.projection is not None:
            hidden = self.projection(hidden)
        for layer in self.layers:
            hidden = layer(hidden, mask, cos, sin)
        return self.norm(hidden)
