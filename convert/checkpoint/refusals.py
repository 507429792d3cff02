"""What a configuration may say that this project does not convert, or that cannot be true at once."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qwen3_tts_ncnn.convert.checkpoint.fields import Fields
from qwen3_tts_ncnn.convert.errors import CheckpointError

if TYPE_CHECKING:
    from qwen3_tts_ncnn.convert.checkpoint.codec_config import CodecConfig, CodecDecoderConfig
    from qwen3_tts_ncnn.convert.checkpoint.config import (
        CheckpointConfig,
        DecoderConfig,
        SpeakerEncoderConfig,
        TalkerConfig,
    )

# What the graph of the codec's encoder is written for, wherever its configuration could say something else.
_ENCODER = {
    "attention_bias": False,
    "audio_channels": 1,
    "hidden_act": "gelu",
    "num_semantic_quantizers": 1,
    "pad_mode": "constant",
    "use_causal_conv": True,
    "use_conv_shortcut": False,
}

SAMPLE_RATE = 24000
"""Hz of every recording: upstream's speaker encoder takes no other (M:1942), and one resampling serves both."""

MEL_BINS = 128
"""Bins of the speaker encoder's mel: upstream computes as many, whatever the configuration says (M:1946)."""

TOKENIZER_TYPE = "qwen3_tts_tokenizer_12hz"
MODEL_TYPES = ("base", "custom_voice", "voice_design")


def refuse_other_models(data: Mapping[str, Any], codec: Mapping[str, Any] | None) -> None:
    """Refuse another model, the 25 Hz tokenizer and unknown checkpoint types, by the identity keys alone.

    Args:
        data: config.json.
        codec: speech_tokenizer/config.json, or None where it has not been read yet.
    """
    if data.get("model_type") == TOKENIZER_TYPE:
        raise CheckpointError(
            "config.json: model_type is the codec alone (Qwen3-TTS-Tokenizer-12Hz), expected a model that speaks: "
            "give a Base, CustomVoice or VoiceDesign checkpoint, which carry the codec in speech_tokenizer/"
        )
    fields = Fields(data, "config.json")
    if "model_type" in data and data["model_type"] != "qwen3_tts":
        raise fields.wrong("model_type", '"qwen3_tts"')
    if fields.string("tokenizer_type") != TOKENIZER_TYPE:
        raise CheckpointError(
            f"{fields.name('tokenizer_type')} is {data['tokenizer_type']!r}, expected {TOKENIZER_TYPE!r}: "
            "only 12 Hz checkpoints can be converted, pick one named Qwen3-TTS-12Hz-*"
        )
    if fields.string("tts_model_type") not in MODEL_TYPES:
        raise fields.wrong("tts_model_type", f"one of {', '.join(MODEL_TYPES)}")
    if codec is not None:
        codec_fields = Fields(codec, "speech_tokenizer/config.json")
        if codec_fields.string("model_type") != TOKENIZER_TYPE:
            raise codec_fields.wrong("model_type", f'"{TOKENIZER_TYPE}"')


def refuse_unsupported_attention(fields: Fields) -> None:
    """Refuse what would change the arithmetic of a transformer's layers: another RoPE, activation, or biases."""
    scaling = fields.data.get("rope_scaling")
    if scaling is not None:
        # The older key is "type" (upstream's configuration_qwen3_tts.py:243); mrope sections may stand beside it,
        # they change nothing here because the three position rows are always equal.
        kind = scaling.get("rope_type", scaling.get("type")) if isinstance(scaling, dict) else scaling
        if kind != "default":
            raise fields.wrong("rope_scaling", 'null or rope_type "default"')
    if fields.data.get("hidden_act", "silu") != "silu":
        raise fields.wrong("hidden_act", '"silu"')
    if fields.flag("attention_bias", False):
        raise fields.wrong("attention_bias", "false")


def refuse_other_encoders(encoder: Fields) -> None:
    """Refuse a Mimi encoder (``encoder_config``) that computes something else than the released one."""
    for key, expected in _ENCODER.items():
        found = encoder.data.get(key)
        if found is not None and found != expected:
            raise encoder.wrong(key, json.dumps(expected))
    heads = encoder.integer("num_attention_heads")
    if encoder.integer("num_key_value_heads", heads) != heads:
        raise encoder.wrong("num_key_value_heads", f"num_attention_heads, {heads}")


def refuse_contradictions(config: CheckpointConfig) -> None:
    """Refuse values that cannot all be true: widths that do not divide, ids outside their vocabulary, and so on."""
    talker = config.talker
    _check_heads("config.json: talker_config", talker.decoder)
    _check_heads("config.json: talker_config.code_predictor_config", talker.predictor)
    _check_talker_ids(talker)
    _check_text_ids(config)
    _check_codec(config)
    if config.speaker_encoder is not None:
        _check_speaker_encoder(config.speaker_encoder, talker.decoder.hidden_size)


def _check_sample_rate(name: str, rate: int) -> None:
    if rate != SAMPLE_RATE:
        raise CheckpointError(f"{name} is {rate}, expected {SAMPLE_RATE}: only models that hear 24 kHz are converted")


def _refuse(found: str, expected: str) -> CheckpointError:
    return CheckpointError(f"{found}, expected {expected}: the configuration contradicts itself, download it again")


def _check_heads(where: str, config: DecoderConfig | CodecDecoderConfig) -> None:
    heads, groups = config.num_attention_heads, config.num_key_value_heads
    if heads % groups:
        raise _refuse(f"{where}.num_attention_heads is {heads}", f"a multiple of num_key_value_heads, {groups}")
    if config.head_dim % 2:
        raise _refuse(f"{where}.head_dim is {config.head_dim}", "an even number (RoPE rotates halves)")


def _check_talker_ids(talker: TalkerConfig) -> None:
    where, vocabulary = "config.json: talker_config", talker.decoder.vocab_size
    ids = {
        "codec_bos_id": talker.codec_bos_id,
        "codec_eos_token_id": talker.codec_eos_token_id,
        "codec_pad_id": talker.codec_pad_id,
        "codec_think_id": talker.codec_think_id,
        "codec_nothink_id": talker.codec_nothink_id,
        "codec_think_bos_id": talker.codec_think_bos_id,
        "codec_think_eos_id": talker.codec_think_eos_id,
    }
    ids |= {f"codec_language_id.{name}": token for name, token in talker.codec_language_id.items()}
    ids |= {f"spk_id.{name}": token for name, token in talker.spk_id.items()}
    for name, token in ids.items():
        if token >= vocabulary:
            raise _refuse(f"{where}.{name} is {token}", f"an id below vocab_size, {vocabulary}")
    for speaker, dialect in talker.spk_is_dialect.items():
        if dialect is not False and dialect not in talker.codec_language_id:
            raise _refuse(f"{where}.spk_is_dialect.{speaker} is {dialect!r}", "false or a name in codec_language_id")


def _check_text_ids(config: CheckpointConfig) -> None:
    vocabulary = config.talker.text_vocab_size
    for name in (
        "im_start_token_id",
        "im_end_token_id",
        "assistant_token_id",
        "tts_pad_token_id",
        "tts_bos_token_id",
        "tts_eos_token_id",
    ):
        token = getattr(config, name)
        if token >= vocabulary:
            raise _refuse(f"config.json: {name} is {token}", f"an id below talker_config.text_vocab_size, {vocabulary}")


def refuse_codec_contradictions(codec: CodecConfig, where: str) -> None:
    """Refuse values of the codec's configuration that cannot all be true; ``where`` is what errors call the file."""
    decoder = codec.decoder
    _check_heads(f"{where}: decoder_config", decoder)
    _check_sample_rate(f"{where}: input_sample_rate", codec.input_sample_rate)
    if codec.encoder_valid_num_quantizers != decoder.num_quantizers:
        raise _refuse(
            f"{where}: encoder_valid_num_quantizers is {codec.encoder_valid_num_quantizers}",
            f"decoder_config.num_quantizers, {decoder.num_quantizers}",
        )
    if codec.decode_upsample_rate != decoder.samples_per_frame:
        raise _refuse(
            f"{where}: decode_upsample_rate is {codec.decode_upsample_rate}",
            f"the product of upsample_rates and upsampling_ratios, {decoder.samples_per_frame}",
        )
    if decoder.codebook_dim % 2:
        raise _refuse(f"{where}: decoder_config.codebook_dim is {decoder.codebook_dim}", "an even number")
    halvings = 2 ** len(decoder.upsample_rates)
    if decoder.decoder_dim % halvings:
        raise _refuse(f"{where}: decoder_config.decoder_dim is {decoder.decoder_dim}", f"a multiple of {halvings}")
    encoder = Fields(codec.encoder, f"{where}: encoder_config")
    samples = 2 * math.prod(encoder.integers("upsampling_ratios"))
    if codec.encode_downsample_rate != samples:
        raise _refuse(
            f"{where}: encode_downsample_rate is {codec.encode_downsample_rate}",
            f"twice the product of encoder_config.upsampling_ratios, {samples}",
        )


def _check_codec(config: CheckpointConfig) -> None:
    """The codec against the talker."""
    talker, codec = config.talker, config.codec
    where, decoder = "speech_tokenizer/config.json", codec.decoder
    refuse_codec_contradictions(codec, where)
    if decoder.num_quantizers != talker.num_code_groups:
        raise _refuse(
            f"{where}: decoder_config.num_quantizers is {decoder.num_quantizers}",
            f"config.json's talker_config.num_code_groups, {talker.num_code_groups}",
        )
    if talker.predictor.vocab_size != decoder.codebook_size:
        raise _refuse(
            f"config.json: talker_config.code_predictor_config.vocab_size is {talker.predictor.vocab_size}",
            f"the codec's decoder_config.codebook_size, {decoder.codebook_size}",
        )
    if talker.decoder.vocab_size < decoder.codebook_size:
        raise _refuse(
            f"config.json: talker_config.vocab_size is {talker.decoder.vocab_size}",
            f"at least the codec's decoder_config.codebook_size, {decoder.codebook_size}",
        )


def _check_speaker_encoder(encoder: SpeakerEncoderConfig, talker_hidden: int) -> None:
    where = "config.json: speaker_encoder_config"
    _check_sample_rate(f"{where}.sample_rate", encoder.sample_rate)
    if encoder.mel_dim != MEL_BINS:
        raise CheckpointError(
            f"{where}.mel_dim is {encoder.mel_dim}, expected {MEL_BINS}: upstream computes no other mel"
        )
    if encoder.enc_dim != talker_hidden:
        raise _refuse(f"{where}.enc_dim is {encoder.enc_dim}", f"talker_config.hidden_size, {talker_hidden}")
    channels = encoder.enc_channels
    if len(channels) < 3 or not len(channels) == len(encoder.enc_kernel_sizes) == len(encoder.enc_dilations):
        raise _refuse(
            f"{where}.enc_channels has {len(channels)} entries",
            "at least 3, and as many in enc_kernel_sizes and enc_dilations",
        )
    if channels[-1] != sum(channels[1:-1]):
        raise _refuse(f"{where}.enc_channels ends in {channels[-1]}", f"the sum of its blocks, {sum(channels[1:-1])}")
    if any(width != channels[0] for width in channels[1:-1]) or channels[0] % encoder.enc_res2net_scale:
        raise _refuse(
            f"{where}.enc_channels is {list(channels)}",
            f"blocks of one width that enc_res2net_scale, {encoder.enc_res2net_scale}, divides",
        )
