"""The manifest says what the checkpoint's configuration says, and nothing of its own."""

import hashlib
import json
import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from qwen3_tts_ncnn import models
from qwen3_tts_ncnn.convert.checkpoint import Checkpoint, CodecCheckpoint, open_checkpoint
from qwen3_tts_ncnn.convert.errors import CheckpointError
from qwen3_tts_ncnn.convert.manifest import build_codec_manifest, build_manifest, codec_record
from qwen3_tts_ncnn.convert.package_files import list_files
from qwen3_tts_ncnn.runtime.manifest import (
    CodecEncoderShape,
    CodecShape,
    FileInfo,
    Manifest,
    SamplingDefaults,
    Speaker,
    SpeakerEncoderShape,
    TextTable,
    read_manifest,
)


def codec_of(checkpoint: CodecCheckpoint) -> CodecShape:
    return codec_record(checkpoint.codec_config, ((1, 2, 3),), checkpoint.codec_sha256())


def manifest_of(checkpoint: Checkpoint) -> Manifest:
    return build_manifest(checkpoint, codec_of(checkpoint), ["talker_decoder"], "little-fp32")


def with_generation(checkpoint: Checkpoint, **changes: Any) -> Checkpoint:
    generation = {key: value for key, value in changes.items() if value is not ...}
    kept = {key: value for key, value in checkpoint.config.generation.items() if key not in changes}
    return replace(checkpoint, config=replace(checkpoint.config, generation=kept | generation))


def test_ids_and_names_are_the_configuration_s(checkpoint: Checkpoint, tiny_checkpoint: Path) -> None:
    config = json.loads((tiny_checkpoint / "config.json").read_text())
    talker, manifest = config["talker_config"], manifest_of(checkpoint)
    assert (manifest.type, manifest.size, manifest.name) == ("custom_voice", "0b6", "little-fp32")
    assert vars(manifest.text) == {
        "im_start": config["im_start_token_id"],
        "im_end": config["im_end_token_id"],
        "assistant": config["assistant_token_id"],
        "tts_pad": config["tts_pad_token_id"],
        "tts_bos": config["tts_bos_token_id"],
        "tts_eos": config["tts_eos_token_id"],
    }
    assert vars(manifest.codec_ids) == {
        "first_control": talker["vocab_size"] - 1024,
        "bos": talker["codec_bos_id"],
        "eos": talker["codec_eos_token_id"],
        "pad": talker["codec_pad_id"],
        "think": talker["codec_think_id"],
        "nothink": talker["codec_nothink_id"],
        "think_bos": talker["codec_think_bos_id"],
        "think_eos": talker["codec_think_eos_id"],
    }
    assert manifest.text_table == TextTable("text_embedding.bin", 151936, talker["text_hidden_size"], "bf16")
    assert manifest.talker.layers == talker["num_hidden_layers"]
    assert manifest.predictor.vocab_size == 2048
    assert manifest.codec == CodecShape(
        checkpoint_sha256=checkpoint.codec_sha256(),
        codebooks=16,
        codebook_size=2048,
        sample_rate=24000,
        samples_per_frame=1920,
        window=72,
        head_dim=32,
        rope_theta=10000.0,
        states=((1, 2, 3),),
    )
    assert manifest.codec_encoder == CodecEncoderShape(
        sample_rate=24000,
        samples_per_frame=1920,
        ratios=(4, 5, 6, 8),
        steps_per_frame=2,
        head_dim=32,
        rope_theta=10000.0,
        tables="rvq_encoder.safetensors",
    )


def test_only_a_base_checkpoint_s_manifest_has_a_speaker_encoder(
    checkpoint: Checkpoint, base_checkpoint: Checkpoint
) -> None:
    assert manifest_of(checkpoint).speaker_encoder is None
    manifest = manifest_of(base_checkpoint)
    assert (manifest.type, manifest.speakers, manifest.dialects) == ("base", {}, {})
    assert manifest.speaker_encoder == SpeakerEncoderShape(64, 24000, "mel_filters.safetensors")
    assert len(manifest.languages) == 10


def test_the_codec_alone_says_of_itself_what_a_checkpoint_says_of_it(
    checkpoint: Checkpoint, tiny_checkpoint: Path
) -> None:
    alone = open_checkpoint(tiny_checkpoint / "speech_tokenizer")
    manifest = build_codec_manifest(alone, codec_of(alone), ["codec_decoder"], "codec-fp32")
    whole = manifest_of(checkpoint)
    assert (manifest.type, manifest.name, list(manifest.graphs)) == ("codec", "codec-fp32", ["codec_decoder"])
    for field in ("format", "codec", "codec_encoder", "made_with"):
        assert getattr(manifest, field) == getattr(whole, field)
    assert manifest.origin.name == "speech_tokenizer"
    assert manifest.origin.files == {
        name: whole.origin.files[f"speech_tokenizer/{name}"] for name in ("config.json", "model.safetensors")
    }


def test_the_codec_s_sum_is_of_its_weights_and_its_configuration_as_it_was_understood(
    checkpoint: Checkpoint, base_checkpoint: Checkpoint
) -> None:
    """What changes no shape makes another codec too."""
    assert checkpoint.codec_sha256() == base_checkpoint.codec_sha256()
    assert re.fullmatch("[0-9a-f]{64}", checkpoint.codec_sha256())
    config = checkpoint.codec_config
    for changed in (
        replace(config, decoder=replace(config.decoder, rms_norm_eps=1e-4)),
        replace(config, encoder={**config.encoder, "norm_eps": 1e-4}),
    ):
        assert replace(checkpoint, codec_config=changed).codec_sha256() != checkpoint.codec_sha256()
    # What no graph reads does not keep a codec from being reused.
    noted = replace(config, encoder={**config.encoder, "sliding_window": 99, "torch_dtype": "float32"})
    assert replace(checkpoint, codec_config=noted).codec_sha256() == checkpoint.codec_sha256()


def test_speakers_languages_and_dialects_are_told_apart(checkpoint: Checkpoint, tiny_checkpoint: Path) -> None:
    talker = json.loads((tiny_checkpoint / "config.json").read_text())["talker_config"]
    manifest = manifest_of(checkpoint)
    assert {name: speaker.id for name, speaker in manifest.speakers.items()} == talker["spk_id"]
    assert manifest.speakers["eric"] == Speaker(talker["spk_id"]["eric"], "sichuan_dialect")
    assert manifest.speakers["ryan"] == Speaker(talker["spk_id"]["ryan"], None)
    ids = talker["codec_language_id"]
    assert manifest.languages | manifest.dialects == ids
    assert manifest.dialects == {name: ids[name] for name in ids if name.endswith("_dialect")}
    assert len(manifest.languages) == 10


def test_sampling_defaults_are_the_generation_config_s(checkpoint: Checkpoint) -> None:
    expected = SamplingDefaults(True, 0.9, 50, 1.0, 1.05, True, 0.9, 50, 1.0, 8192)
    assert manifest_of(checkpoint).sampling == expected
    changed = with_generation(checkpoint, do_sample=False, temperature=1, subtalker_top_k=7, max_new_tokens=100)
    assert manifest_of(changed).sampling == replace(
        expected, do_sample=False, temperature=1.0, predictor_top_k=7, max_new_tokens=100
    )


def test_what_generation_config_leaves_out_is_upstream_s_default(checkpoint: Checkpoint) -> None:
    """Q:318-331; null counts as left out."""
    bare = replace(checkpoint, config=replace(checkpoint.config, generation={"top_k": None}))
    assert manifest_of(bare).sampling == SamplingDefaults(True, 0.9, 50, 1.0, 1.05, True, 0.9, 50, 1.0, 2048)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"temperature": "hot"}, "temperature is 'hot', expected a float"),
        ({"top_k": 50.5}, "top_k is 50.5, expected a int"),
        ({"top_k": True}, "top_k is True, expected a int"),
        ({"temperature": True}, "temperature is True, expected a float"),
        ({"do_sample": 1}, "do_sample is 1, expected a bool"),
        ({"subtalker_top_p": []}, "subtalker_top_p is [], expected a float"),
    ],
)
def test_a_wrong_value_in_generation_config_is_one_line(
    checkpoint: Checkpoint, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(CheckpointError) as caught:
        manifest_of(with_generation(checkpoint, **changes))
    assert str(caught.value) == f"generation_config.json: {said}: mend the file"


def test_the_origin_is_the_folder_or_the_repository(checkpoint: Checkpoint, tiny_checkpoint: Path) -> None:
    origin = manifest_of(checkpoint).origin
    assert (origin.name, origin.repo, origin.revision, origin.licence) == (tiny_checkpoint.name, None, None, None)
    known = models.descriptors()[0]
    source = replace(checkpoint.source, repo=known.repo, revision="abc", name=known.name)
    origin = manifest_of(replace(checkpoint, source=source)).origin
    assert (origin.name, origin.repo, origin.revision) == (known.name, known.repo, "abc")
    assert origin.licence == known.licence == "Apache-2.0"
    stranger = replace(checkpoint.source, repo="somebody/else", revision="abc")
    assert manifest_of(replace(checkpoint, source=stranger)).origin.licence is None


def test_the_origin_s_files_are_hashed(checkpoint: Checkpoint, tiny_checkpoint: Path) -> None:
    files = manifest_of(checkpoint).origin.files
    assert {"config.json", "model.safetensors", "speech_tokenizer/model.safetensors", "vocab.json"} <= files.keys()
    for name, sha256 in files.items():
        assert hashlib.sha256((tiny_checkpoint / name).read_bytes()).hexdigest() == sha256


def test_it_was_made_with_the_installed_versions(checkpoint: Checkpoint) -> None:
    made_with = manifest_of(checkpoint).made_with
    assert made_with == {name: version(name) for name in ("qwen3-tts-ncnn", "pnnx", "ncnn", "torch")}


def test_files_are_listed_by_name_without_the_manifest(tmp_path: Path) -> None:
    for name in ("b.bin", "a.bin", "model.json"):
        (tmp_path / name).write_bytes(b"abc")
    abc = FileInfo(3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    files = list_files(tmp_path)
    assert list(files) == ["a.bin", "b.bin"]
    assert files == {"a.bin": abc, "b.bin": abc}


def test_a_package_s_manifest_is_its_checkpoint_s_and_lists_what_is_there(
    checkpoint: Checkpoint, tiny_package: Path
) -> None:
    manifest = read_manifest(tiny_package)
    expected = manifest_of(checkpoint)
    changing = ("name", "codec", "graphs", "files")
    assert {key: value for key, value in vars(manifest).items() if key not in changing} == {
        key: value for key, value in vars(expected).items() if key not in changing
    }
    assert manifest.name == f"{checkpoint.source.name}-fp32"
    assert len(manifest.codec.states) == 37
    assert {info.precision for info in manifest.graphs.values()} == {"fp32"}
    assert manifest.files == list_files(tiny_package)
    pairs = {f"{graph}.{suffix}" for graph in manifest.graphs for suffix in ("param", "bin")}
    assert manifest.files.keys() == pairs | {"tokenizer.json", "text_embedding.bin", "rvq_encoder.safetensors"}
    assert sorted(path.name for path in tiny_package.iterdir()) == sorted([*manifest.files, "model.json"])
