"""The sizes a random checkpoint can have: the two official ones, and two that run in seconds.

The tiny ones keep the official topology: 16 codebooks of 2048, codec vocabulary 3072, the same ids, rates,
grouped-query ratio and number of codec layers, so that what works on them works on the real ones, but for time and
memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from qwen3_tts_ncnn.convert.random_checkpoint.layout import (
    CODEC_HUB,
    CODEC_PREPROCESSOR,
    GENERATION,
    HUB,
    PREPROCESSOR,
    Json,
    ModelType,
    codec_config,
    main_config,
)


@dataclass(frozen=True)
class Preset:
    """Sizes of one checkpoint. Every dictionary is written into the official configuration of its part as it is."""

    size: str
    """`tts_model_size`: "0b6" or "1b7"; a CustomVoice 0.6B takes no instruction (upstream Q:799)."""
    talker: Json
    predictor: Json
    codec_decoder: Json
    codec_encoder: Json
    eos_gain: float
    """How much longer the EOS row of the talker's head is than the others: sets how soon a run ends by itself."""
    first_seed: int = 0
    """What seed 0 stands for, chosen so that greedy runs of the default model end by themselves without a near tie."""
    speaker_encoder: Json = field(default_factory=dict)


def _attention(heads: int, head_dim: int) -> Json:
    return {"num_attention_heads": heads, "num_key_value_heads": heads // 2, "head_dim": head_dim}


def _talker(hidden: int, intermediate: int, layers: int, text_hidden: int, heads: int, mrope: list[int]) -> Json:
    return {
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "text_hidden_size": text_hidden,
        # The three sections add up to head_dim / 2. They change nothing (the three position rows are equal), but
        # upstream reads them (M:660).
        "rope_scaling": {"interleaved": True, "mrope_section": mrope, "rope_type": "default", "type": "default"},
        **_attention(heads, 2 * sum(mrope)),
    }


_OFFICIAL_PREDICTOR: Final[Json] = {
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 5,
    **_attention(16, 128),
}

_OFFICIAL_DECODER: Final[Json] = {
    "codebook_dim": 512,
    "decoder_dim": 1536,
    "head_dim": 64,
    "hidden_size": 512,
    "intermediate_size": 1024,
    "latent_dim": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "vector_quantization_hidden_dimension": 512,
}

_OFFICIAL_ENCODER: Final[Json] = {
    "codebook_dim": 256,
    "head_dim": 64,
    "hidden_size": 512,
    "intermediate_size": 2048,
    "num_attention_heads": 8,
    "num_filters": 64,
    "num_key_value_heads": 8,
    "upsample_groups": 512,
    "vector_quantization_hidden_dimension": 256,
}

_TINY_PREDICTOR: Final[Json] = {
    "hidden_size": 64,
    "intermediate_size": 192,
    "num_hidden_layers": 2,
    **_attention(4, 32),
}

_TINY_DECODER: Final[Json] = {
    "codebook_dim": 64,
    "decoder_dim": 128,
    "head_dim": 32,
    "hidden_size": 64,
    "intermediate_size": 128,
    "latent_dim": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vector_quantization_hidden_dimension": 64,
}

_TINY_ENCODER: Final[Json] = {
    "codebook_dim": 16,
    "head_dim": 32,
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_attention_heads": 2,
    "num_filters": 8,
    "num_key_value_heads": 2,
    "upsample_groups": 64,
    "vector_quantization_hidden_dimension": 16,
}

# The official files leave these to upstream's defaults (512, …, 1536).
_TINY_SPEAKER_ENCODER: Final[Json] = {
    "enc_channels": [64, 64, 64, 64, 192],
    "enc_attention_channels": 32,
    "enc_se_channels": 32,
}

PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "tiny": Preset(
            size="0b6",
            talker=_talker(hidden=64, intermediate=192, layers=3, text_hidden=32, heads=4, mrope=[6, 5, 5]),
            predictor=_TINY_PREDICTOR,
            codec_decoder=_TINY_DECODER,
            codec_encoder=_TINY_ENCODER,
            speaker_encoder=_TINY_SPEAKER_ENCODER,
            eos_gain=1.9,
        ),
        "tiny-1.7b": Preset(
            size="1b7",
            # Twice the predictor's width, so that small_to_mtp_projection exists.
            talker=_talker(hidden=128, intermediate=384, layers=3, text_hidden=32, heads=4, mrope=[6, 5, 5]),
            predictor=_TINY_PREDICTOR,
            codec_decoder=_TINY_DECODER,
            codec_encoder=_TINY_ENCODER,
            speaker_encoder=_TINY_SPEAKER_ENCODER,
            eos_gain=1.9,
            first_seed=6,
        ),
        "0.6b": Preset(
            size="0b6",
            talker=_talker(hidden=1024, intermediate=3072, layers=28, text_hidden=2048, heads=16, mrope=[24, 20, 20]),
            predictor=_OFFICIAL_PREDICTOR,
            codec_decoder=_OFFICIAL_DECODER,
            codec_encoder=_OFFICIAL_ENCODER,
            eos_gain=1.8,
        ),
        "1.7b": Preset(
            size="1b7",
            talker=_talker(hidden=2048, intermediate=6144, layers=28, text_hidden=2048, heads=16, mrope=[24, 20, 20]),
            predictor=_OFFICIAL_PREDICTOR,
            codec_decoder=_OFFICIAL_DECODER,
            codec_encoder=_OFFICIAL_ENCODER,
            eos_gain=1.8,
        ),
    }
)


def configuration_files(preset: Preset, model_type: ModelType) -> dict[str, Json]:
    """Every JSON file of the checkpoint but the tokenizer's, by its path inside the checkpoint folder."""
    return {
        "config.json": main_config(model_type, preset.size, preset.talker, preset.predictor, preset.speaker_encoder),
        "configuration.json": HUB,
        "generation_config.json": GENERATION,
        "preprocessor_config.json": PREPROCESSOR,
        "speech_tokenizer/config.json": codec_config(preset.codec_decoder, preset.codec_encoder),
        "speech_tokenizer/configuration.json": CODEC_HUB,
        "speech_tokenizer/preprocessor_config.json": CODEC_PREPROCESSOR,
    }
