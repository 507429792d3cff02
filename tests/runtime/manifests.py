"""A manifest small enough to write by hand, and a package folder of a few bytes around it."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from qwen3_tts_ncnn.runtime.manifest import (
    CODEC_TYPE,
    FORMAT,
    CodecEncoderShape,
    CodecIds,
    CodecManifest,
    CodecShape,
    Decoder,
    FileInfo,
    GraphInfo,
    Manifest,
    Origin,
    SamplingDefaults,
    Speaker,
    SpeakerEncoderShape,
    TextIds,
    TextTable,
    write_manifest,
)

CODEC_IDS = CodecIds(
    first_control=2048, bos=2149, eos=2150, pad=2148, think=2154, nothink=2155, think_bos=2156, think_eos=2157
)

SAMPLING = SamplingDefaults(
    do_sample=True,
    temperature=0.9,
    top_k=50,
    top_p=1.0,
    repetition_penalty=1.05,
    predictor_do_sample=True,
    predictor_temperature=0.8,
    predictor_top_k=40,
    predictor_top_p=0.95,
    max_new_tokens=8192,
)

CODEC = CodecShape(
    checkpoint_sha256="cd" * 32,
    codebooks=16,
    codebook_size=2048,
    sample_rate=24000,
    samples_per_frame=1920,
    window=72,
    head_dim=4,
    rope_theta=1e4,
    states=((64, 1, 2), (4, 71, 4)),
)

CODEC_ENCODER = CodecEncoderShape(
    sample_rate=24000,
    samples_per_frame=1920,
    ratios=(4, 5, 6, 8),
    steps_per_frame=2,
    head_dim=4,
    rope_theta=1e4,
    tables="rvq_encoder.safetensors",
)

SPEAKER_ENCODER = SpeakerEncoderShape(width=8, sample_rate=24000, mel_filters="mel_filters.safetensors")

_MANIFEST = Manifest(
    format=FORMAT,
    name="little-fp32",
    type="custom_voice",
    size="0b6",
    origin=Origin(name="little", repo=None, revision=None, licence="Apache-2.0", files={"config.json": "ab" * 32}),
    text=TextIds(im_start=151644, im_end=151645, assistant=77091, tts_pad=151671, tts_bos=151672, tts_eos=151673),
    text_table=TextTable(file="text_embedding.bin", rows=4, width=2, dtype="bf16"),
    codec_ids=CODEC_IDS,
    talker=Decoder(layers=2, hidden_size=8, head_dim=4, rope_theta=1e6, vocab_size=3072),
    predictor=Decoder(layers=1, hidden_size=8, head_dim=4, rope_theta=1e6, vocab_size=2048),
    codec=CODEC,
    codec_encoder=CODEC_ENCODER,
    speakers={"Ryan": Speaker(3061), "Uncle_Fu": Speaker(3010), "Eric": Speaker(2875, "sichuan_dialect")},
    languages={"chinese": 2055, "english": 2050},
    dialects={"sichuan_dialect": 2062},
    sampling=SAMPLING,
    graphs={"talker_decoder": GraphInfo(precision="fp32")},
    made_with={"ncnn": "1.0.20261020"},
    files={},
)


def manifest(**changes: Any) -> Manifest:
    """The manifest with some fields changed."""
    return replace(_MANIFEST, **changes)


def base_manifest(**changes: Any) -> Manifest:
    """The manifest of a Base package, which has no speakers and clones voices of 8 values, with some fields changed."""
    return manifest(**{"type": "base", "speakers": {}, "speaker_encoder": SPEAKER_ENCODER} | changes)


def codec_manifest(**changes: Any) -> CodecManifest:
    """The manifest of a package of the codec alone, with some fields changed."""
    shared = {name: getattr(_MANIFEST, name) for name in CodecManifest.__dataclass_fields__}
    return CodecManifest(**shared | {"type": CODEC_TYPE} | changes)


def write_package(folder: Path, files: dict[str, bytes], written: CodecManifest = _MANIFEST) -> Path:
    """A folder that holds these files and a manifest that lists them."""
    folder.mkdir(parents=True)
    infos = {}
    for name, content in files.items():
        (folder / name).write_bytes(content)
        infos[name] = FileInfo(len(content), hashlib.sha256(content).hexdigest())
    write_manifest(replace(written, files=infos), folder)
    return folder
