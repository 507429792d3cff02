"""The JSON files of an official 12 Hz checkpoint, as functions of the sizes that differ between checkpoints.

Values are those of the released files; what a released `config.json` merely repeats from transformers' defaults
(beam search options and the like in `code_predictor_config`) is left out, because nothing reads it.
"""

from typing import Any, Final, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]
ModelType: TypeAlias = Literal["base", "custom_voice", "voice_design"]

MODEL_TYPES: Final[tuple[ModelType, ...]] = ("base", "custom_voice", "voice_design")

LANGUAGES: Final[dict[str, int]] = {
    "chinese": 2055,
    "english": 2050,
    "german": 2053,
    "italian": 2070,
    "portuguese": 2071,
    "spanish": 2054,
    "japanese": 2058,
    "korean": 2064,
    "french": 2061,
    "russian": 2069,
}

DIALECTS: Final[dict[str, int]] = {"beijing_dialect": 2074, "sichuan_dialect": 2062}

# Speaker → (codec embedding row, dialect or False).
SPEAKERS: Final[dict[str, tuple[int, str | Literal[False]]]] = {
    "serena": (3066, False),
    "vivian": (3065, False),
    "uncle_fu": (3010, False),
    "ryan": (3061, False),
    "aiden": (2861, False),
    "ono_anna": (2873, False),
    "sohee": (2864, False),
    "eric": (2875, "sichuan_dialect"),
    "dylan": (2878, "beijing_dialect"),
}

GENERATION: Final[Json] = {
    "do_sample": True,
    "repetition_penalty": 1.05,
    "temperature": 0.9,
    "top_p": 1.0,
    "top_k": 50,
    "subtalker_dosample": True,
    "subtalker_temperature": 0.9,
    "subtalker_top_p": 1.0,
    "subtalker_top_k": 50,
    "max_new_tokens": 8192,
}

PREPROCESSOR: Final[Json] = {
    "padding_side": "left",
    "padding_value": 0.0,
    "processor_class": "Qwen3TTSProcessor",
    "return_attention_mask": True,
}

CODEC_PREPROCESSOR: Final[Json] = {
    "chunk_length_s": None,
    "feature_extractor_type": "EncodecFeatureExtractor",
    "feature_size": 1,
    "overlap": None,
    "padding_side": "right",
    "padding_value": 0.0,
    "return_attention_mask": True,
    "sampling_rate": 24000,
}

HUB: Final[Json] = {"framework": "Pytorch", "task": "text-to-speech"}
CODEC_HUB: Final[Json] = {"framework": "pytorch", "task": "feature-extraction", "allow_remote": True}


def main_config(model_type: ModelType, size: str, talker: Json, predictor: Json, speaker_encoder: Json) -> Json:
    """`config.json`: ids and languages of the type, sizes from the four last arguments.

    `talker` and `predictor` must at least name the keys that `talker_config` and `predictor_config` leave out.
    `speaker_encoder` is written for Base checkpoints only, as the released ones do.
    """
    config: Json = {
        "architectures": ["Qwen3TTSForConditionalGeneration"],
        "assistant_token_id": 77091,
        "im_end_token_id": 151645,
        "im_start_token_id": 151644,
        "tts_bos_token_id": 151672,
        "tts_eos_token_id": 151673,
        "tts_pad_token_id": 151671,
        "model_type": "qwen3_tts",
        "tokenizer_type": "qwen3_tts_tokenizer_12hz",
        "tts_model_size": size,
        "tts_model_type": model_type,
    }
    if model_type == "base":
        config["speaker_encoder_config"] = {"enc_dim": talker["hidden_size"], "sample_rate": 24000} | speaker_encoder
    config["talker_config"] = talker_config(model_type, predictor) | talker
    config["transformers_version"] = "4.57.3"
    return config


def talker_config(model_type: ModelType, predictor: Json) -> Json:
    """`talker_config` without its sizes: ids, languages, and the speakers of a CustomVoice checkpoint."""
    speakers = SPEAKERS if model_type == "custom_voice" else {}
    return {
        "attention_bias": False,
        "attention_dropout": 0,
        "code_predictor_config": predictor_config(predictor),
        "codec_bos_id": 2149,
        "codec_eos_token_id": 2150,
        "codec_think_id": 2154,
        "codec_language_id": LANGUAGES | (DIALECTS if speakers else {}),
        "codec_nothink_id": 2155,
        "codec_pad_id": 2148,
        "codec_think_bos_id": 2156,
        "codec_think_eos_id": 2157,
        "spk_id": {name: row for name, (row, _) in speakers.items()},
        "spk_is_dialect": {name: dialect for name, (_, dialect) in speakers.items()},
        "hidden_act": "silu",
        "initializer_range": 0.02,
        "max_position_embeddings": 32768,
        "model_type": "qwen3_tts_talker",
        "num_code_groups": 16,
        "position_id_per_seconds": 13,
        "rms_norm_eps": 1e-06,
        "rope_theta": 1000000,
        "sliding_window": None,
        "text_vocab_size": 151936,
        "use_cache": True,
        "use_sliding_window": False,
        "vocab_size": 3072,
    }


def predictor_config(sizes: Json) -> Json:
    """`code_predictor_config`: what all checkpoints share, and `sizes`."""
    return {
        "attention_bias": False,
        "attention_dropout": 0,
        "hidden_act": "silu",
        "initializer_range": 0.02,
        "layer_types": ["full_attention"] * int(sizes["num_hidden_layers"]),
        "max_position_embeddings": 65536,
        "max_window_layers": 28,
        "model_type": "qwen3_tts_talker_code_predictor",
        "num_code_groups": 16,
        "rms_norm_eps": 1e-06,
        "rope_scaling": None,
        "rope_theta": 1000000,
        "sliding_window": None,
        "tie_word_embeddings": False,
        "use_cache": True,
        "use_sliding_window": False,
        "vocab_size": 2048,
    } | sizes


def codec_config(decoder: Json, encoder: Json) -> Json:
    """`speech_tokenizer/config.json`: rates and codebooks that all checkpoints share, and the two parts' sizes."""
    return {
        "architectures": ["Qwen3TTSTokenizerV2Model"],
        "model_type": "qwen3_tts_tokenizer_12hz",
        "encoder_valid_num_quantizers": 16,
        "input_sample_rate": 24000,
        "output_sample_rate": 24000,
        "decode_upsample_rate": 1920,
        "encode_downsample_rate": 1920,
        "decoder_config": codec_decoder_config() | decoder,
        "encoder_config": codec_encoder_config() | encoder,
        "transformers_version": "4.57.3",
    }


def codec_decoder_config() -> Json:
    """`decoder_config` of the codec, without its sizes."""
    return {
        "attention_bias": False,
        "attention_dropout": 0.0,
        "codebook_size": 2048,
        "hidden_act": "silu",
        "layer_scale_initial_scale": 0.01,
        "max_position_embeddings": 8000,
        "num_hidden_layers": 8,
        "num_quantizers": 16,
        "num_semantic_quantizers": 1,
        "rms_norm_eps": 1e-05,
        "rope_theta": 10000,
        "semantic_codebook_size": 4096,
        "sliding_window": 72,
        "upsample_rates": [8, 5, 4, 3],
        "upsampling_ratios": [2, 2],
    }


def codec_encoder_config() -> Json:
    """`encoder_config` of the codec (Mimi), without its sizes."""
    return {
        "_frame_rate": 12.5,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "audio_channels": 1,
        "codebook_size": 2048,
        "compress": 2,
        "dilation_growth_rate": 2,
        "dtype": "float32",
        "hidden_act": "gelu",
        "initializer_range": 0.02,
        "kernel_size": 7,
        "last_kernel_size": 3,
        "layer_scale_initial_scale": 0.01,
        "max_position_embeddings": 8000,
        "norm_eps": 1e-05,
        "normalize": False,
        "num_hidden_layers": 8,
        "num_quantizers": 32,
        "num_residual_layers": 1,
        "num_semantic_quantizers": 1,
        "pad_mode": "constant",
        "residual_kernel_size": 3,
        "rope_theta": 10000.0,
        "sampling_rate": 24000,
        "sliding_window": 250,
        "transformers_version": "4.57.0.dev0",
        "trim_right_ratio": 1.0,
        "upsampling_ratios": [8, 6, 5, 4],
        "use_cache": False,
        "use_causal_conv": True,
        "use_conv_shortcut": False,
        "use_streaming": False,
    }
