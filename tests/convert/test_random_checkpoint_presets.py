"""The official presets say what the official files say, and the tiny ones keep the official topology."""

import json
from pathlib import Path
from typing import Any

import pytest

from qwen3_tts_ncnn.convert.checkpoint.config import CheckpointConfig
from qwen3_tts_ncnn.convert.checkpoint.inventory import codec_tensors, main_tensors
from qwen3_tts_ncnn.convert.random_checkpoint.layout import MODEL_TYPES, ModelType
from qwen3_tts_ncnn.convert.random_checkpoint.presets import PRESETS, configuration_files
from qwen3_tts_ncnn.convert.random_checkpoint.vocabulary import tokenizer_config

REFERENCE = Path(__file__).resolve().parents[2].parent / "shared" / "reference"

RELEASED: list[tuple[str, str, ModelType]] = [
    ("0.6B-Base", "0.6b", "base"),
    ("0.6B-CustomVoice", "0.6b", "custom_voice"),
    ("1.7B-Base", "1.7b", "base"),
    ("1.7B-CustomVoice", "1.7b", "custom_voice"),
    ("1.7B-VoiceDesign", "1.7b", "voice_design"),
]

needs_reference = pytest.mark.skipif(not REFERENCE.is_dir(), reason="the official files are not on this machine")


def parsed(preset: str, model_type: ModelType) -> CheckpointConfig:
    files = configuration_files(PRESETS[preset], model_type)
    return CheckpointConfig.from_dict(
        files["config.json"], files["speech_tokenizer/config.json"], files["generation_config.json"]
    )


def official_tensors(name: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    rows = [line.split("\t") for line in (REFERENCE / name).read_text().splitlines()[1:]]
    return {name: (dtype, tuple(map(int, shape.split("x")))) for name, dtype, shape in rows}


@needs_reference
@pytest.mark.parametrize(("folder", "preset", "model_type"), RELEASED)
def test_an_official_preset_equals_the_released_files(folder: str, preset: str, model_type: ModelType) -> None:
    files: dict[str, Any] = configuration_files(PRESETS[preset], model_type)
    files["tokenizer_config.json"] = tokenizer_config()
    for name, ours in files.items():
        released = json.loads((REFERENCE / "configs" / folder / name).read_text(encoding="utf-8"))
        if name == "config.json":
            # The released predictor's configuration also repeats transformers' defaults, which nothing reads.
            predictor = released["talker_config"]["code_predictor_config"]
            kept = ours["talker_config"]["code_predictor_config"].keys()
            released["talker_config"]["code_predictor_config"] = {key: predictor[key] for key in kept}
        assert ours == released, name


@needs_reference
def test_the_official_sizes_have_the_official_tensors() -> None:
    config = parsed("1.7b", "voice_design")
    assert {name: ("BF16", shape) for name, shape in main_tensors(config).items()} == official_tensors(
        "tensors_1.7B-VoiceDesign.tsv"
    )
    for preset in ("0.6b", "1.7b"):
        codec = codec_tensors(parsed(preset, "custom_voice").codec)
        assert {name: ("F32", shape) for name, shape in codec.items()} == official_tensors(
            "tensors_speech_tokenizer.tsv"
        )


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_every_preset_keeps_codebooks_rates_ids_and_vocabularies(preset: str, model_type: ModelType) -> None:
    config = parsed(preset, model_type)
    talker, codec = config.talker, config.codec
    assert (talker.num_code_groups, talker.decoder.vocab_size, talker.predictor.vocab_size) == (16, 3072, 2048)
    assert (talker.text_vocab_size, config.tts_pad_token_id, talker.codec_eos_token_id) == (151936, 151671, 2150)
    assert (codec.decoder.upsample_rates, codec.decoder.upsampling_ratios) == ((8, 5, 4, 3), (2, 2))
    assert (codec.decoder.num_hidden_layers, codec.decoder.sliding_window) == (8, 72)
    assert (codec.decoder.num_quantizers, codec.decoder.codebook_size) == (16, 2048)
    assert (codec.encoder["num_quantizers"], codec.encoder["upsampling_ratios"]) == (32, [8, 6, 5, 4])
    for stack in (talker.decoder, talker.predictor):
        assert stack.num_attention_heads == 2 * stack.num_key_value_heads
    assert (config.speaker_encoder is not None) == (model_type == "base")


@pytest.mark.parametrize("preset", PRESETS)
def test_rotary_sections_fill_half_a_head(preset: str) -> None:
    talker = PRESETS[preset].talker
    assert sum(talker["rope_scaling"]["mrope_section"]) == talker["head_dim"] // 2


def test_custom_voice_has_the_nine_speakers_and_two_dialects() -> None:
    talker = parsed("tiny", "custom_voice").talker
    assert sorted(talker.spk_id) == sorted(
        ["serena", "vivian", "uncle_fu", "ryan", "aiden", "ono_anna", "sohee", "eric", "dylan"]
    )
    assert talker.spk_is_dialect["eric"] == "sichuan_dialect"
    assert talker.spk_is_dialect["dylan"] == "beijing_dialect"
    assert {"sichuan_dialect", "beijing_dialect"} < set(talker.codec_language_id)


@pytest.mark.parametrize("model_type", ["base", "voice_design"])
def test_the_other_types_have_neither_speakers_nor_dialects(model_type: ModelType) -> None:
    talker = parsed("tiny", model_type).talker
    assert talker.spk_id == {}
    assert talker.spk_is_dialect == {}
    assert len(talker.codec_language_id) == 10


def test_only_the_large_presets_are_wider_than_their_predictor() -> None:
    wider = {
        name
        for name, preset in PRESETS.items()
        if "talker.code_predictor.small_to_mtp_projection.weight" in main_tensors(parsed(name, "base"))
    }
    assert wider == {"tiny-1.7b", "1.7b"}
