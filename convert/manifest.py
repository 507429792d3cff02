"""The manifest of a package from the configuration of its checkpoint."""

from importlib.metadata import version
from typing import Any

from qwen3_tts_ncnn import models
from qwen3_tts_ncnn.convert.checkpoint import Checkpoint, CodecCheckpoint
from qwen3_tts_ncnn.convert.checkpoint.codec_config import CodecConfig, MimiShape
from qwen3_tts_ncnn.convert.checkpoint.config import CheckpointConfig, DecoderConfig, SpeakerEncoderConfig, TalkerConfig
from qwen3_tts_ncnn.convert.errors import CheckpointError
from qwen3_tts_ncnn.convert.package_tables import MEL_FILTERS, RVQ_TABLES, TEXT_TABLE, TEXT_TENSOR
from qwen3_tts_ncnn.runtime import manifest as records

# Upstream suppresses the last 1024 ids of the codec vocabulary, EOS apart (M:2262).
_CONTROL_IDS = 1024

# Upstream's own defaults, for a checkpoint whose generation_config leaves something out (Q:318–331).
_SAMPLING_DEFAULTS = {
    "do_sample": True,
    "temperature": 0.9,
    "top_k": 50,
    "top_p": 1.0,
    "repetition_penalty": 1.05,
    "subtalker_dosample": True,
    "subtalker_temperature": 0.9,
    "subtalker_top_k": 50,
    "subtalker_top_p": 1.0,
    "max_new_tokens": 2048,
}


def codec_record(config: CodecConfig, states: tuple[tuple[int, ...], ...], sha256: str) -> records.CodecShape:
    """The codec decoder's part of the manifest."""
    decoder = config.decoder
    return records.CodecShape(
        checkpoint_sha256=sha256,
        codebooks=decoder.num_quantizers,
        codebook_size=decoder.codebook_size,
        sample_rate=config.output_sample_rate,
        samples_per_frame=decoder.samples_per_frame,
        window=decoder.sliding_window,
        head_dim=decoder.head_dim,
        rope_theta=decoder.rope_theta,
        states=states,
    )


def codec_encoder_record(config: CodecConfig) -> records.CodecEncoderShape:
    """The codec encoder's part of the manifest."""
    shape = MimiShape.from_dict(config.encoder)
    return records.CodecEncoderShape(
        sample_rate=config.input_sample_rate,
        samples_per_frame=config.encode_downsample_rate,
        ratios=shape.ratios,
        steps_per_frame=shape.steps_per_frame,
        head_dim=shape.head_dim,
        rope_theta=shape.rope_theta,
        tables=RVQ_TABLES,
    )


def build_codec_manifest(
    checkpoint: CodecCheckpoint, codec: records.CodecShape, graphs: list[str], name: str
) -> records.CodecManifest:
    """The manifest of a package of the codec alone, without its files, which `list_files` adds when they are there."""
    return records.CodecManifest(type=records.CODEC_TYPE, **_common(checkpoint, codec, graphs, name))


def build_manifest(checkpoint: Checkpoint, codec: records.CodecShape, graphs: list[str], name: str) -> records.Manifest:
    """The manifest of a package that speaks, without its files."""
    config = checkpoint.config
    talker = config.talker
    dialects = {name for name in talker.spk_is_dialect.values() if name}
    return records.Manifest(
        type=config.tts_model_type,
        **_common(checkpoint, codec, graphs, name),
        size=config.tts_model_size,
        text=records.TextIds(
            im_start=config.im_start_token_id,
            im_end=config.im_end_token_id,
            assistant=config.assistant_token_id,
            tts_pad=config.tts_pad_token_id,
            tts_bos=config.tts_bos_token_id,
            tts_eos=config.tts_eos_token_id,
        ),
        text_table=records.TextTable(
            TEXT_TABLE, talker.text_vocab_size, talker.text_hidden_size, checkpoint.main.dtype(TEXT_TENSOR).lower()
        ),
        codec_ids=_codec_ids(talker),
        talker=_decoder(talker.decoder),
        predictor=_decoder(talker.predictor),
        speaker_encoder=_speaker_encoder(config.speaker_encoder),
        speakers={
            name: records.Speaker(id, talker.spk_is_dialect.get(name) or None) for name, id in talker.spk_id.items()
        },
        languages={name: id for name, id in talker.codec_language_id.items() if "dialect" not in name},
        dialects={name: id for name, id in talker.codec_language_id.items() if name in dialects},
        sampling=_sampling(config),
    )


def _common(checkpoint: CodecCheckpoint, codec: records.CodecShape, graphs: list[str], name: str) -> dict[str, Any]:
    return {
        "format": records.FORMAT,
        "name": name,
        "origin": _origin(checkpoint),
        "codec": codec,
        "codec_encoder": codec_encoder_record(checkpoint.codec_config),
        "graphs": {graph: records.GraphInfo(precision="fp32") for graph in graphs},
        "made_with": made_with(),
    }


def made_with() -> dict[str, str]:
    """Versions of all that shapes a package."""
    return {package: version(package) for package in ("qwen3-tts-ncnn", "pnnx", "ncnn", "torch")}


def _codec_ids(talker: TalkerConfig) -> records.CodecIds:
    return records.CodecIds(
        first_control=talker.decoder.vocab_size - _CONTROL_IDS,
        bos=talker.codec_bos_id,
        eos=talker.codec_eos_token_id,
        pad=talker.codec_pad_id,
        think=talker.codec_think_id,
        nothink=talker.codec_nothink_id,
        think_bos=talker.codec_think_bos_id,
        think_eos=talker.codec_think_eos_id,
    )


def _speaker_encoder(config: SpeakerEncoderConfig | None) -> records.SpeakerEncoderShape | None:
    return None if config is None else records.SpeakerEncoderShape(config.enc_dim, config.sample_rate, MEL_FILTERS)


def _origin(checkpoint: CodecCheckpoint) -> records.Origin:
    source = checkpoint.source
    known = models.find(source.repo) if source.repo else None
    return records.Origin(
        name=source.name,
        repo=source.repo,
        revision=source.revision,
        licence=known.licence if known else None,
        files=checkpoint.file_hashes(),
    )


def _decoder(config: DecoderConfig) -> records.Decoder:
    return records.Decoder(
        layers=config.num_hidden_layers,
        hidden_size=config.hidden_size,
        head_dim=config.head_dim,
        rope_theta=config.rope_theta,
        vocab_size=config.vocab_size,
    )


def _sampling(config: CheckpointConfig) -> records.SamplingDefaults:
    def get(key: str) -> Any:
        default, value = _SAMPLING_DEFAULTS[key], config.generation.get(key)
        value = default if value is None else value
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if type(value) is not type(default):
            raise CheckpointError(
                f"generation_config.json: {key} is {value!r}, expected a {type(default).__name__}: mend the file"
            )
        return value

    return records.SamplingDefaults(
        do_sample=get("do_sample"),
        temperature=get("temperature"),
        top_k=get("top_k"),
        top_p=get("top_p"),
        repetition_penalty=get("repetition_penalty"),
        predictor_do_sample=get("subtalker_dosample"),
        predictor_temperature=get("subtalker_temperature"),
        predictor_top_k=get("subtalker_top_k"),
        predictor_top_p=get("subtalker_top_p"),
        max_new_tokens=get("max_new_tokens"),
    )
