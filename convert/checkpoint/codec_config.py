"""The configuration of the codec (``speech_tokenizer/config.json``), as ``config.py`` has the rest of a checkpoint.

Line marks: T = upstream's ``core/tokenizer_12hz/modeling_qwen3_tts_tokenizer_v2.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qwen3_tts_ncnn.convert.checkpoint.fields import Fields
from qwen3_tts_ncnn.convert.checkpoint.refusals import refuse_unsupported_attention

CODEC_CONFIG = "speech_tokenizer/config.json"


@dataclass(frozen=True)
class CodecDecoderConfig:
    """``decoder_config`` of the speech tokenizer: codes (T, num_quantizers) → samples (T * samples_per_frame)."""

    latent_dim: int
    codebook_dim: int  # width of the dequantized latent; a codebook's rows are half as wide (T:831)
    codebook_size: int
    decoder_dim: int
    hidden_size: int
    intermediate_size: int
    head_dim: int
    num_attention_heads: int
    num_key_value_heads: int
    num_hidden_layers: int
    num_quantizers: int
    rms_norm_eps: float
    rope_theta: float
    sliding_window: int  # frames a frame attends to, itself included
    upsample_rates: tuple[int, ...]
    upsampling_ratios: tuple[int, ...]

    @property
    def samples_per_frame(self) -> int:
        """Samples one frame of codes becomes: 1920 in the released codec."""
        return math.prod(self.upsample_rates) * math.prod(self.upsampling_ratios)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = f"{CODEC_CONFIG}: decoder_config") -> CodecDecoderConfig:
        """Read ``decoder_config``; ``where`` is what errors call it."""
        fields = Fields(data, where)
        refuse_unsupported_attention(fields)
        if fields.integer("num_semantic_quantizers", 1) != 1:
            raise fields.wrong("num_semantic_quantizers", "1 (upstream builds one, T:833)")
        return cls(
            latent_dim=fields.integer("latent_dim"),
            codebook_dim=fields.integer("codebook_dim"),
            codebook_size=fields.integer("codebook_size"),
            decoder_dim=fields.integer("decoder_dim"),
            hidden_size=fields.integer("hidden_size"),
            intermediate_size=fields.integer("intermediate_size"),
            head_dim=fields.integer("head_dim"),
            num_attention_heads=fields.integer("num_attention_heads"),
            num_key_value_heads=fields.integer("num_key_value_heads"),
            num_hidden_layers=fields.integer("num_hidden_layers"),
            num_quantizers=fields.integer("num_quantizers", at_least=2),
            rms_norm_eps=fields.positive("rms_norm_eps"),
            rope_theta=fields.positive("rope_theta"),
            sliding_window=fields.integer("sliding_window"),
            upsample_rates=fields.integers("upsample_rates"),
            upsampling_ratios=fields.integers("upsampling_ratios"),
        )


@dataclass(frozen=True)
class MimiShape:
    """What of `encoder_config` the graph needs."""

    ratios: tuple[int, ...]  # of the strided convolutions, in the encoder's order
    steps_per_frame: int  # 2: attention runs at 25 Hz, the downsampling after it makes 12.5
    residual_layers: int
    dilation_growth: int
    layers: int
    heads: int
    head_dim: int
    rope_theta: float
    norm_eps: float

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> MimiShape:
        """Reads `encoder_config`. Raises `CheckpointError` for a key that is missing or of another type."""
        fields = Fields(config, f"{CODEC_CONFIG}: encoder_config")
        return cls(
            ratios=tuple(reversed(fields.integers("upsampling_ratios"))),
            steps_per_frame=2,
            residual_layers=fields.integer("num_residual_layers"),
            dilation_growth=fields.integer("dilation_growth_rate"),
            layers=fields.integer("num_hidden_layers"),
            heads=fields.integer("num_attention_heads"),
            head_dim=fields.integer("head_dim"),
            rope_theta=fields.positive("rope_theta"),
            norm_eps=fields.positive("norm_eps"),
        )


@dataclass(frozen=True)
class CodecConfig:
    """``speech_tokenizer/config.json``. The encoder's part (Mimi) is kept as the file has it."""

    decoder: CodecDecoderConfig
    encoder: Mapping[str, Any]
    encoder_valid_num_quantizers: int
    input_sample_rate: int
    output_sample_rate: int
    decode_upsample_rate: int
    encode_downsample_rate: int

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = CODEC_CONFIG) -> CodecConfig:
        """Read the whole of ``speech_tokenizer/config.json``; ``where`` is what errors call it."""
        fields = Fields(data, where)
        return cls(
            decoder=CodecDecoderConfig.from_dict(fields.object("decoder_config"), fields.name("decoder_config")),
            encoder=fields.object("encoder_config"),
            encoder_valid_num_quantizers=fields.integer("encoder_valid_num_quantizers"),
            input_sample_rate=fields.integer("input_sample_rate"),
            output_sample_rate=fields.integer("output_sample_rate"),
            decode_upsample_rate=fields.integer("decode_upsample_rate"),
            encode_downsample_rate=fields.integer("encode_downsample_rate"),
        )
