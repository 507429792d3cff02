"""A checkpoint of a few kilobytes for the checkpoint tests. Every width differs, so that swapped sizes show."""

import copy
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from qwen3_tts_ncnn.convert.checkpoint.config import CheckpointConfig
from qwen3_tts_ncnn.convert.checkpoint.inventory import codec_tensors, main_tensors

REFERENCE = Path(__file__).resolve().parents[2].parent / "shared" / "reference"

_PREDICTOR = {
    "hidden_size": 16,
    "intermediate_size": 28,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 10,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000,
    "rope_scaling": None,
    "vocab_size": 32,
    "num_code_groups": 3,
    "hidden_act": "silu",
    "attention_bias": False,
}

_TALKER = {
    "code_predictor_config": _PREDICTOR,
    "hidden_size": 24,
    "intermediate_size": 44,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 3,
    "head_dim": 12,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000,
    "rope_scaling": {"interleaved": True, "mrope_section": [2, 2, 2], "rope_type": "default", "type": "default"},
    "vocab_size": 96,
    "num_code_groups": 3,
    "hidden_act": "silu",
    "attention_bias": False,
    "text_vocab_size": 52,
    "text_hidden_size": 20,
    "codec_bos_id": 49,
    "codec_eos_token_id": 50,
    "codec_pad_id": 48,
    "codec_think_id": 54,
    "codec_nothink_id": 55,
    "codec_think_bos_id": 56,
    "codec_think_eos_id": 57,
    "codec_language_id": {"english": 40, "chinese": 41, "sichuan_dialect": 42},
    "spk_id": {"ryan": 90, "eric": 91},
    "spk_is_dialect": {"ryan": False, "eric": "sichuan_dialect"},
}

_CONFIG = {
    "model_type": "qwen3_tts",
    "tokenizer_type": "qwen3_tts_tokenizer_12hz",
    "tts_model_size": "0b6",
    "tts_model_type": "custom_voice",
    "im_start_token_id": 44,
    "im_end_token_id": 45,
    "assistant_token_id": 7,
    "tts_pad_token_id": 46,
    "tts_bos_token_id": 47,
    "tts_eos_token_id": 48,
    "talker_config": _TALKER,
}

_CODEC = {
    "model_type": "qwen3_tts_tokenizer_12hz",
    "encoder_valid_num_quantizers": 3,
    "input_sample_rate": 24000,
    "output_sample_rate": 24000,
    "decode_upsample_rate": 12,
    "encode_downsample_rate": 12,
    "decoder_config": {
        "latent_dim": 14,
        "codebook_dim": 22,
        "codebook_size": 32,
        "decoder_dim": 16,
        "hidden_size": 10,
        "intermediate_size": 18,
        "head_dim": 8,
        "num_attention_heads": 3,
        "num_key_value_heads": 3,
        "num_hidden_layers": 2,
        "num_quantizers": 3,
        "num_semantic_quantizers": 1,
        "layer_scale_initial_scale": 0.01,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000,
        "sliding_window": 5,
        "upsample_rates": [3, 2],
        "upsampling_ratios": [2],
    },
    "encoder_config": {
        "_frame_rate": 2000.0,
        "audio_channels": 1,
        "codebook_dim": 6,
        "codebook_size": 32,
        "compress": 2,
        "head_dim": 4,
        "hidden_size": 12,
        "intermediate_size": 26,
        "kernel_size": 7,
        "last_kernel_size": 3,
        "num_attention_heads": 3,
        "num_filters": 4,
        "num_hidden_layers": 2,
        "num_key_value_heads": 3,
        "num_quantizers": 5,
        "num_residual_layers": 2,
        "num_semantic_quantizers": 1,
        "residual_kernel_size": 3,
        "sampling_rate": 24000,
        "upsample_groups": 12,
        "upsampling_ratios": [3, 2],
        "vector_quantization_hidden_dimension": 6,
    },
}

_SPEAKER_ENCODER = {
    "enc_dim": 24,
    "sample_rate": 24000,
    "mel_dim": 128,
    "enc_channels": [8, 8, 8, 16],
    "enc_kernel_sizes": [5, 3, 3, 1],
    "enc_dilations": [1, 2, 3, 1],
    "enc_attention_channels": 5,
    "enc_res2net_scale": 4,
    "enc_se_channels": 3,
}

GENERATION = {"do_sample": True, "temperature": 0.9, "top_k": 50, "max_new_tokens": 8192}


def tiny_config(model_type: str = "custom_voice") -> dict[str, Any]:
    """A config.json, free to be changed."""
    config = copy.deepcopy(_CONFIG) | {"tts_model_type": model_type}
    if model_type == "base":
        config["speaker_encoder_config"] = copy.deepcopy(_SPEAKER_ENCODER)
    return config


def tiny_codec() -> dict[str, Any]:
    """A speech_tokenizer/config.json, free to be changed."""
    return copy.deepcopy(_CODEC)


def parsed(model_type: str = "custom_voice") -> CheckpointConfig:
    """The tiny configuration, read."""
    return CheckpointConfig.from_dict(tiny_config(model_type), tiny_codec(), GENERATION)


def write_configs(folder: Path, config: dict[str, Any] | None = None, codec: dict[str, Any] | None = None) -> Path:
    """Write the three configuration files into ``folder``."""
    (folder / "speech_tokenizer").mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(tiny_config() if config is None else config))
    (folder / "generation_config.json").write_text(json.dumps(GENERATION))
    (folder / "speech_tokenizer" / "config.json").write_text(json.dumps(tiny_codec() if codec is None else codec))
    return folder


def main_zeros(config: CheckpointConfig) -> dict[str, torch.Tensor]:
    """Tensors of the right names and shapes for model.safetensors."""
    return {name: torch.zeros(shape, dtype=torch.bfloat16) for name, shape in main_tensors(config).items()}


def codec_zeros(config: CheckpointConfig) -> dict[str, torch.Tensor]:
    """Tensors of the right names and shapes for speech_tokenizer/model.safetensors."""
    return {name: torch.zeros(shape) for name, shape in codec_tensors(config.codec).items()}


def write_checkpoint(folder: Path, model_type: str = "custom_voice") -> Path:
    """Write a whole tiny checkpoint, tokenizer files included, into ``folder``."""
    write_configs(folder, tiny_config(model_type))
    config = parsed(model_type)
    save_file(main_zeros(config), folder / "model.safetensors")
    save_file(codec_zeros(config), folder / "speech_tokenizer" / "model.safetensors")
    (folder / "vocab.json").write_text('{"a": 0}')
    (folder / "merges.txt").write_text("#version: 0.2\n")
    (folder / "tokenizer_config.json").write_text("{}")
    return folder
