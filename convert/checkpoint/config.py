"""A checkpoint's configuration: frozen dataclasses with the checkpoint's own key names.

The files are the only authority: upstream's Python defaults are wrong for the released models (its default EOS is
4198, every checkpoint says 2150), so a key that the conversion needs and a file lacks is an error, not a default.
Unknown keys are ignored, because fine-tunes carry extra ones. Line marks: M = upstream's
``core/models/modeling_qwen3_tts.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from qwen3_tts_ncnn.convert.checkpoint.codec_config import CODEC_CONFIG, CodecConfig
from qwen3_tts_ncnn.convert.checkpoint.fields import Fields, read_json_object
from qwen3_tts_ncnn.convert.checkpoint.refusals import (
    TOKENIZER_TYPE,
    refuse_codec_contradictions,
    refuse_contradictions,
    refuse_other_models,
    refuse_unsupported_attention,
)
from qwen3_tts_ncnn.convert.errors import CheckpointError

CONFIG = "config.json"
GENERATION_CONFIG = "generation_config.json"


@dataclass(frozen=True)
class DecoderConfig:
    """A stack of Qwen3 decoder layers: the talker's, or the code predictor's."""

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    vocab_size: int

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = CONFIG) -> DecoderConfig:
        """Read ``talker_config`` or its ``code_predictor_config``; ``where`` is what errors call it."""
        fields = Fields(data, where)
        refuse_unsupported_attention(fields)
        if fields.flag("use_sliding_window", False) or "sliding_attention" in (data.get("layer_types") or []):
            key = "use_sliding_window" if fields.flag("use_sliding_window", False) else "layer_types"
            raise fields.wrong(key, "full attention in every layer")
        if fields.flag("tie_word_embeddings", False):
            raise fields.wrong("tie_word_embeddings", "false (the heads have weights of their own)")
        return cls(
            hidden_size=fields.integer("hidden_size"),
            intermediate_size=fields.integer("intermediate_size"),
            num_hidden_layers=fields.integer("num_hidden_layers"),
            num_attention_heads=fields.integer("num_attention_heads"),
            num_key_value_heads=fields.integer("num_key_value_heads"),
            head_dim=fields.integer("head_dim"),
            rms_norm_eps=fields.positive("rms_norm_eps"),
            rope_theta=fields.positive("rope_theta"),
            vocab_size=fields.integer("vocab_size"),
        )


@dataclass(frozen=True)
class TalkerConfig:
    """``talker_config``: the talker, the code predictor below it, and every codec-side id."""

    decoder: DecoderConfig
    predictor: DecoderConfig
    num_code_groups: int
    text_vocab_size: int
    text_hidden_size: int
    codec_bos_id: int
    codec_eos_token_id: int
    codec_pad_id: int
    codec_think_id: int
    codec_nothink_id: int
    codec_think_bos_id: int
    codec_think_eos_id: int
    codec_language_id: Mapping[str, int]  # dialects included
    spk_id: Mapping[str, int]
    spk_is_dialect: Mapping[str, str | Literal[False]]  # speaker → a key of codec_language_id, or False

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = f"{CONFIG}: talker_config") -> TalkerConfig:
        """Read ``talker_config``; ``where`` is what errors call it."""
        fields = Fields(data, where)
        predictor_key = "code_predictor_config"
        predictor = Fields(fields.object(predictor_key), fields.name(predictor_key))
        num_code_groups = fields.integer("num_code_groups", at_least=2)
        if predictor.integer("num_code_groups") != num_code_groups:
            raise predictor.wrong("num_code_groups", f"the talker's {num_code_groups}")
        return cls(
            decoder=DecoderConfig.from_dict(data, where),
            predictor=DecoderConfig.from_dict(predictor.data, predictor.where),
            num_code_groups=num_code_groups,
            text_vocab_size=fields.integer("text_vocab_size"),
            text_hidden_size=fields.integer("text_hidden_size"),
            codec_bos_id=fields.integer("codec_bos_id", at_least=0),
            codec_eos_token_id=fields.integer("codec_eos_token_id", at_least=0),
            codec_pad_id=fields.integer("codec_pad_id", at_least=0),
            codec_think_id=fields.integer("codec_think_id", at_least=0),
            codec_nothink_id=fields.integer("codec_nothink_id", at_least=0),
            codec_think_bos_id=fields.integer("codec_think_bos_id", at_least=0),
            codec_think_eos_id=fields.integer("codec_think_eos_id", at_least=0),
            codec_language_id=fields.ids("codec_language_id"),
            spk_id=fields.ids("spk_id"),
            spk_is_dialect=_dialects(fields),
        )


def _dialects(fields: Fields) -> dict[str, str | Literal[False]]:
    # Upstream looks a speaker up here only when the language asked is chinese or auto (M:2118), so a fine-tune that
    # names a speaker in spk_id alone works there for every other language: no entry means no dialect.
    stated = {} if fields.data.get("spk_is_dialect") is None else fields.object("spk_is_dialect")
    if not all(dialect is False or isinstance(dialect, str) for dialect in stated.values()):
        raise fields.wrong("spk_is_dialect", "an object of speakers, each with false or a dialect's name")
    return {**dict.fromkeys(fields.ids("spk_id"), False), **stated}


@dataclass(frozen=True)
class SpeakerEncoderConfig:
    """``speaker_encoder_config`` of a Base checkpoint: the ECAPA-TDNN that turns a mel into an x-vector.

    The released files state the first two; the rest are upstream's defaults (``configuration_qwen3_tts.py:47``).
    """

    enc_dim: int
    sample_rate: int
    mel_dim: int = 128
    enc_channels: tuple[int, ...] = (512, 512, 512, 512, 1536)
    enc_kernel_sizes: tuple[int, ...] = (5, 3, 3, 3, 1)
    enc_dilations: tuple[int, ...] = (1, 2, 3, 4, 1)
    enc_attention_channels: int = 128
    enc_res2net_scale: int = 8
    enc_se_channels: int = 128

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], where: str = f"{CONFIG}: speaker_encoder_config"
    ) -> SpeakerEncoderConfig:
        """Read ``speaker_encoder_config``; ``where`` is what errors call it."""
        fields = Fields(data, where)
        return cls(
            enc_dim=fields.integer("enc_dim"),
            sample_rate=fields.integer("sample_rate"),
            mel_dim=fields.integer("mel_dim", cls.mel_dim),
            enc_channels=fields.integers("enc_channels", cls.enc_channels),
            enc_kernel_sizes=fields.integers("enc_kernel_sizes", cls.enc_kernel_sizes),
            enc_dilations=fields.integers("enc_dilations", cls.enc_dilations),
            enc_attention_channels=fields.integer("enc_attention_channels", cls.enc_attention_channels),
            enc_res2net_scale=fields.integer("enc_res2net_scale", cls.enc_res2net_scale, at_least=2),
            enc_se_channels=fields.integer("enc_se_channels", cls.enc_se_channels),
        )


@dataclass(frozen=True)
class CheckpointConfig:
    """Everything the three configuration files of a checkpoint say."""

    tts_model_type: str  # base, custom_voice or voice_design
    tts_model_size: str  # "0b6", "1b7", or what a fine-tune calls itself
    tokenizer_type: str
    im_start_token_id: int
    im_end_token_id: int
    assistant_token_id: int
    tts_pad_token_id: int
    tts_bos_token_id: int
    tts_eos_token_id: int
    talker: TalkerConfig
    codec: CodecConfig
    speaker_encoder: SpeakerEncoderConfig | None  # Base checkpoints only
    generation: Mapping[str, Any]  # generation_config.json as it is

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], codec: Mapping[str, Any], generation: Mapping[str, Any]
    ) -> CheckpointConfig:
        """Assemble the configuration from the contents of its three files.

        Raises:
            CheckpointError: a needed key is missing or has another type; the checkpoint is of another kind; or values
                contradict each other.
        """
        refuse_other_models(data, codec)
        fields = Fields(data, CONFIG)
        encoder = None
        if fields.string("tts_model_type") == "base":
            encoder = SpeakerEncoderConfig.from_dict(fields.object("speaker_encoder_config"))
        config = cls(
            tts_model_type=fields.string("tts_model_type"),
            tts_model_size=fields.string("tts_model_size"),
            tokenizer_type=fields.string("tokenizer_type"),
            im_start_token_id=fields.integer("im_start_token_id", at_least=0),
            im_end_token_id=fields.integer("im_end_token_id", at_least=0),
            assistant_token_id=fields.integer("assistant_token_id", at_least=0),
            tts_pad_token_id=fields.integer("tts_pad_token_id", at_least=0),
            tts_bos_token_id=fields.integer("tts_bos_token_id", at_least=0),
            tts_eos_token_id=fields.integer("tts_eos_token_id", at_least=0),
            talker=TalkerConfig.from_dict(fields.object("talker_config")),
            codec=CodecConfig.from_dict(codec),
            speaker_encoder=encoder,
            generation=dict(generation),
        )
        refuse_contradictions(config)
        return config


def is_codec_alone(folder: Path) -> bool:
    """Whether ``folder`` holds the codec without a model that speaks (Qwen3-TTS-Tokenizer-12Hz).

    Raises:
        CheckpointError: there is no such folder, or no config.json in it that can be read.
    """
    _check_folder(folder)
    return read_json_object(folder / CONFIG).get("model_type") == TOKENIZER_TYPE


def read_codec_config(folder: Path) -> CodecConfig:
    """Read and check the configuration of the codec alone in ``folder``.

    Raises:
        CheckpointError: the folder or the file is missing or broken, or says something this project cannot convert.
    """
    _check_folder(folder)
    config = CodecConfig.from_dict(read_json_object(folder / CONFIG), CONFIG)
    refuse_codec_contradictions(config, CONFIG)
    return config


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "does not exist"
        raise CheckpointError(f"{folder} {found}, expected the folder of a Qwen3-TTS checkpoint: check the path")


def read_config(folder: Path) -> CheckpointConfig:
    """Read and check the three configuration files of the checkpoint in ``folder``.

    Raises:
        CheckpointError: the folder or a file is missing or broken, or says something this project cannot convert.
    """
    _check_folder(folder)
    data = read_json_object(folder / CONFIG)
    # Before the other files are looked for: a 25 Hz checkpoint should hear what it is, not which file it lacks.
    refuse_other_models(data, None)
    return CheckpointConfig.from_dict(
        data, read_json_object(folder / CODEC_CONFIG), read_json_object(folder / GENERATION_CONFIG)
    )
