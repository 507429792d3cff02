"""The manifest of a package from the configuration of its checkpoint."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

from qwen3_tts_ncnn import models
from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.checkpoint.config import CheckpointConfig, CodecConfig, DecoderConfig
from qwen3_tts_ncnn.convert.errors import CheckpointError
from qwen3_tts_ncnn.runtime import manifest as records
from qwen3_tts_ncnn.runtime.package import file_sha256

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

TEXT_TABLE = "text_embedding.bin"
TEXT_TENSOR = "talker.model.text_embedding.weight"


def codec_record(config: CodecConfig, states: tuple[tuple[int, ...], ...]) -> records.Codec:
    """The codec's part of the manifest."""
    decoder = config.decoder
    return records.Codec(
        codebooks=decoder.num_quantizers,
        codebook_size=decoder.codebook_size,
        sample_rate=config.output_sample_rate,
        samples_per_frame=decoder.samples_per_frame,
        window=decoder.sliding_window,
        head_dim=decoder.head_dim,
        rope_theta=decoder.rope_theta,
        states=states,
    )


def build_manifest(checkpoint: Checkpoint, codec: records.Codec, graphs: list[str], name: str) -> records.Manifest:
    """Everything but the files, which `list_files` adds when they are there."""
    config = checkpoint.config
    talker = config.talker
    dialects = {name for name in talker.spk_is_dialect.values() if name}
    languages = {name: id for name, id in talker.codec_language_id.items() if "dialect" not in name}
    return records.Manifest(
        format=records.FORMAT,
        name=name,
        type=config.tts_model_type,
        size=config.tts_model_size,
        origin=_origin(checkpoint),
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
        codec_ids=records.CodecIds(
            first_control=talker.decoder.vocab_size - _CONTROL_IDS,
            bos=talker.codec_bos_id,
            eos=talker.codec_eos_token_id,
            pad=talker.codec_pad_id,
            think=talker.codec_think_id,
            nothink=talker.codec_nothink_id,
            think_bos=talker.codec_think_bos_id,
            think_eos=talker.codec_think_eos_id,
        ),
        talker=_decoder(talker.decoder),
        predictor=_decoder(talker.predictor),
        codec=codec,
        speakers={
            name: records.Speaker(id, talker.spk_is_dialect.get(name) or None) for name, id in talker.spk_id.items()
        },
        languages=languages,
        dialects={name: id for name, id in talker.codec_language_id.items() if name in dialects},
        sampling=_sampling(config),
        graphs={graph: records.GraphInfo(precision="fp32") for graph in graphs},
        made_with={package: version(package) for package in ("qwen3-tts-ncnn", "pnnx", "ncnn", "torch")},
    )


def list_files(folder: Path) -> dict[str, records.FileInfo]:
    """Size and sha256 of every file of a package but its manifest, sorted by name."""
    paths = sorted(path for path in folder.iterdir() if path.name != records.MANIFEST)
    return {path.name: records.FileInfo(path.stat().st_size, file_sha256(path)) for path in paths}


def _origin(checkpoint: Checkpoint) -> records.Origin:
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
