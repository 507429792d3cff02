"""A configuration is read as its files state it, and refused with one clear line where it cannot be converted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qwen3_tts_ncnn.convert.checkpoint.config import (
    CheckpointConfig,
    DecoderConfig,
    SpeakerEncoderConfig,
    is_codec_alone,
    read_codec_config,
    read_config,
)
from qwen3_tts_ncnn.convert.errors import CheckpointError
from tests.convert.tiny_checkpoint import GENERATION, REFERENCE, parsed, tiny_codec, tiny_config, write_configs

Change = Callable[[dict[str, Any], dict[str, Any]], object]


def refusal(change: Change, model_type: str = "custom_voice") -> str:
    """The message with which a changed configuration is refused, after checking that it is one line."""
    config, codec = tiny_config(model_type), tiny_codec()
    change(config, codec)
    with pytest.raises(CheckpointError) as error:
        CheckpointConfig.from_dict(config, codec, GENERATION)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_configuration_is_read_as_its_files_state_it() -> None:
    config = parsed()
    assert (config.tts_model_type, config.tts_model_size) == ("custom_voice", "0b6")
    assert config.talker.decoder == DecoderConfig(24, 44, 2, 6, 3, 12, 1e-6, 1e6, 96)
    assert config.talker.predictor == DecoderConfig(16, 28, 1, 4, 2, 10, 1e-6, 1e6, 32)
    assert config.talker.codec_eos_token_id == 50
    assert config.talker.codec_language_id == {"english": 40, "chinese": 41, "sichuan_dialect": 42}
    assert config.talker.spk_id == {"ryan": 90, "eric": 91}
    assert config.talker.spk_is_dialect == {"ryan": False, "eric": "sichuan_dialect"}
    assert config.assistant_token_id == 7
    assert config.codec.decoder.upsample_rates == (3, 2)
    assert config.codec.decoder.samples_per_frame == 12
    assert config.speaker_encoder is None
    assert config.generation == GENERATION


def test_unknown_keys_of_a_fine_tune_are_ignored() -> None:
    config, codec = tiny_config(), tiny_codec()
    config["my_note"] = config["talker_config"]["pad_token_id"] = codec["decoder_config"]["extra"] = 1
    assert CheckpointConfig.from_dict(config, codec, GENERATION) == parsed()


def test_the_released_speaker_encoder_states_two_sizes_and_upstream_supplies_the_rest() -> None:
    config = SpeakerEncoderConfig.from_dict({"enc_dim": 1024, "sample_rate": 24000})
    assert config.enc_channels == (512, 512, 512, 512, 1536)
    assert (config.mel_dim, config.enc_res2net_scale, config.enc_se_channels) == (128, 8, 128)


def test_a_speaker_without_a_dialect_entry_has_no_dialect() -> None:
    config = tiny_config()
    config["talker_config"]["spk_is_dialect"] = {"eric": "sichuan_dialect"}
    talker = CheckpointConfig.from_dict(config, tiny_codec(), GENERATION).talker
    assert talker.spk_is_dialect == {"ryan": False, "eric": "sichuan_dialect"}
    config["talker_config"]["spk_is_dialect"] = None
    talker = CheckpointConfig.from_dict(config, tiny_codec(), GENERATION).talker
    assert talker.spk_is_dialect == {"ryan": False, "eric": False}


TALKER_KEYS = [key for key in tiny_config()["talker_config"] if key not in {"rope_scaling", "spk_is_dialect"}]
OPTIONAL = {"hidden_act", "attention_bias", "rope_scaling"}


@pytest.mark.parametrize("key", [key for key in TALKER_KEYS if key not in OPTIONAL])
def test_a_missing_talker_key_is_named_with_its_file(key: str) -> None:
    message = refusal(lambda config, _: config["talker_config"].pop(key))
    assert message.startswith(f"config.json: talker_config.{key} is missing, expected ")


@pytest.mark.parametrize("key", [key for key in tiny_config() if key not in {"model_type"}])
def test_a_missing_top_level_key_is_named_with_its_file(key: str) -> None:
    assert refusal(lambda config, _: config.pop(key)).startswith(f"config.json: {key} is missing, expected ")


@pytest.mark.parametrize(
    "key", [key for key in tiny_config()["talker_config"]["code_predictor_config"] if key not in OPTIONAL]
)
def test_a_missing_predictor_key_is_named_with_its_path(key: str) -> None:
    message = refusal(lambda config, _: config["talker_config"]["code_predictor_config"].pop(key))
    assert message.startswith(f"config.json: talker_config.code_predictor_config.{key} is missing")


@pytest.mark.parametrize(
    "key", sorted(set(tiny_codec()["decoder_config"]) - {"num_semantic_quantizers", "layer_scale_initial_scale"})
)
def test_a_missing_codec_key_is_named_with_its_file(key: str) -> None:
    message = refusal(lambda _, codec: codec["decoder_config"].pop(key))
    assert message.startswith(f"speech_tokenizer/config.json: decoder_config.{key} is missing")


def test_a_base_checkpoint_needs_a_speaker_encoder() -> None:
    message = refusal(lambda config, _: config.pop("speaker_encoder_config"), "base")
    assert message.startswith("config.json: speaker_encoder_config is missing, expected an object")


def set_talker(**values: Any) -> Change:
    return lambda config, _: config["talker_config"].update(values)


def set_predictor(**values: Any) -> Change:
    return lambda config, _: config["talker_config"]["code_predictor_config"].update(values)


def set_codec(**values: Any) -> Change:
    return lambda _, codec: codec["decoder_config"].update(values)


@pytest.mark.parametrize(
    ("change", "start"),
    [
        (set_talker(hidden_size="24"), 'config.json: talker_config.hidden_size is "24", expected an integer'),
        (set_talker(hidden_size=True), "config.json: talker_config.hidden_size is true, expected an integer"),
        (set_talker(hidden_size=0), "config.json: talker_config.hidden_size is 0, expected an integer of at least 1"),
        (set_talker(rope_theta=-1), "config.json: talker_config.rope_theta is -1, expected a number above 0"),
        (set_talker(rms_norm_eps="x"), 'config.json: talker_config.rms_norm_eps is "x", expected a number'),
        (set_talker(spk_id={"a": "b"}), 'config.json: talker_config.spk_id is {"a": "b"}, expected an object'),
        (set_talker(spk_id=[]), "config.json: talker_config.spk_id is [], expected an object"),
        (set_talker(spk_is_dialect={"ryan": True}), "config.json: talker_config.spk_is_dialect is "),
        (set_talker(code_predictor_config=3), "config.json: talker_config.code_predictor_config is 3, expected an"),
        (set_talker(attention_bias="no"), 'config.json: talker_config.attention_bias is "no", expected true or false'),
        (set_codec(upsample_rates=8), "speech_tokenizer/config.json: decoder_config.upsample_rates is 8, expected a"),
        (set_codec(upsample_rates=[8, 0]), "speech_tokenizer/config.json: decoder_config.upsample_rates is [8, 0]"),
    ],
)
def test_a_value_of_the_wrong_type_is_named_with_what_was_expected(change: Change, start: str) -> None:
    assert refusal(change).startswith(start)


@pytest.mark.parametrize(
    ("change", "start"),
    [
        (set_talker(rope_scaling={"type": "yarn"}), 'config.json: talker_config.rope_scaling is {"type": "yarn"}'),
        (set_talker(rope_scaling="linear"), 'config.json: talker_config.rope_scaling is "linear", expected null or'),
        (set_predictor(hidden_act="gelu"), 'config.json: talker_config.code_predictor_config.hidden_act is "gelu"'),
        (set_predictor(attention_bias=True), "config.json: talker_config.code_predictor_config.attention_bias is true"),
        (set_codec(attention_bias=True), "speech_tokenizer/config.json: decoder_config.attention_bias is true"),
        (set_talker(use_sliding_window=True), "config.json: talker_config.use_sliding_window is true, expected full"),
        (
            set_predictor(layer_types=["sliding_attention"]),
            "config.json: talker_config.code_predictor_config.layer_types is ",
        ),
        (set_talker(tie_word_embeddings=True), "config.json: talker_config.tie_word_embeddings is true"),
        (set_codec(num_semantic_quantizers=2), "speech_tokenizer/config.json: decoder_config.num_semantic_quantizers"),
    ],
)
def test_what_would_change_the_arithmetic_is_refused(change: Change, start: str) -> None:
    assert refusal(change).startswith(start)


@pytest.mark.parametrize(
    ("change", "found", "expected"),
    [
        (set_talker(num_attention_heads=7), "talker_config.num_attention_heads is 7", "num_key_value_heads, 3"),
        (set_predictor(head_dim=5), "code_predictor_config.head_dim is 5", "an even number"),
        (set_codec(num_key_value_heads=2), "decoder_config.num_attention_heads is 3", "num_key_value_heads, 2"),
        (set_talker(codec_eos_token_id=4198), "codec_eos_token_id is 4198", "below vocab_size, 96"),
        (set_talker(spk_id={"ryan": 96}), "spk_id.ryan is 96", "below vocab_size, 96"),
        (set_talker(codec_language_id={"x": 99}), "codec_language_id.x is 99", "below vocab_size, 96"),
        (set_talker(spk_is_dialect={"eric": "?"}), "spk_is_dialect.eric is '?'", "codec_language_id"),
        (set_talker(text_vocab_size=40), "im_start_token_id is 44", "text_vocab_size, 40"),
        (set_predictor(num_code_groups=16), "code_predictor_config.num_code_groups is 16", "the talker's 3"),
        (
            lambda _, codec: (
                codec["decoder_config"].update(num_quantizers=4) or codec.update(encoder_valid_num_quantizers=4)
            ),
            "decoder_config.num_quantizers is 4",
            "num_code_groups, 3",
        ),
        (set_predictor(vocab_size=33), "code_predictor_config.vocab_size is 33", "codebook_size, 32"),
        (set_codec(upsampling_ratios=[3]), "decode_upsample_rate is 12", "upsampling_ratios, 18"),
        (set_codec(codebook_dim=21), "decoder_config.codebook_dim is 21", "an even number"),
        (set_codec(decoder_dim=18), "decoder_config.decoder_dim is 18", "a multiple of 4"),
        (
            lambda _, codec: codec.update(encoder_valid_num_quantizers=2),
            "encoder_valid_num_quantizers is 2",
            "num_quantizers, 3",
        ),
        (
            lambda _, codec: codec.update(encode_downsample_rate=6),
            "encode_downsample_rate is 6",
            "twice the product of encoder_config.upsampling_ratios, 12",
        ),
    ],
)
def test_values_that_contradict_each_other_are_refused(change: Change, found: str, expected: str) -> None:
    message = refusal(change)
    assert found in message.split(", expected ")[0]
    assert expected in message.split(", expected ")[1]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"enc_dim": 23}, "enc_dim is 23"),
        ({"enc_dilations": [1, 2]}, "enc_channels has 4 entries"),
        ({"enc_channels": [8, 8, 8, 24]}, "enc_channels ends in 24"),
        ({"enc_res2net_scale": 3}, "enc_channels is [8, 8, 8, 16]"),
    ],
)
def test_a_speaker_encoder_that_cannot_be_built_is_refused(values: dict[str, Any], found: str) -> None:
    assert found in refusal(lambda config, _: config["speaker_encoder_config"].update(values), "base")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda config, _: config["speaker_encoder_config"].update(mel_dim=80),
            "config.json: speaker_encoder_config.mel_dim is 80, expected 128: upstream computes no other mel",
        ),
        (
            lambda config, _: config["speaker_encoder_config"].update(sample_rate=16000),
            "config.json: speaker_encoder_config.sample_rate is 16000, expected 24000: only models that hear 24 kHz "
            "are converted",
        ),
        (
            lambda _, codec: codec.update(input_sample_rate=48000),
            "speech_tokenizer/config.json: input_sample_rate is 48000, expected 24000: only models that hear 24 kHz "
            "are converted",
        ),
    ],
)
def test_what_hears_another_rate_or_another_mel_is_refused(change: Change, line: str) -> None:
    assert refusal(change, "base") == line


@pytest.mark.parametrize("changes", [{"encode_downsample_rate": 6}, {"decode_upsample_rate": 6}])
def test_the_codec_alone_is_checked_as_the_codec_of_a_checkpoint_is(tmp_path: Path, changes: dict[str, Any]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(tiny_codec()))
    assert read_codec_config(tmp_path) == parsed().codec
    (tmp_path / "config.json").write_text(json.dumps(tiny_codec() | changes))
    ((key, value),) = changes.items()
    with pytest.raises(CheckpointError) as error:
        read_codec_config(tmp_path)
    assert str(error.value).startswith(f"config.json: {key} is {value}, expected ")


def test_the_codec_alone_is_told_from_a_model_by_its_type(tmp_path: Path) -> None:
    for content, alone in ((tiny_codec(), True), (tiny_config(), False), ({}, False)):
        (tmp_path / "config.json").write_text(json.dumps(content))
        assert is_codec_alone(tmp_path) == alone
    with pytest.raises(CheckpointError, match=r"nowhere does not exist, expected the folder of a Qwen3-TTS checkpoint"):
        is_codec_alone(tmp_path / "nowhere")


def test_the_25_hz_tokenizer_is_refused_by_name_before_anything_else_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"tokenizer_type": "qwen3_tts_tokenizer_25hz"}))
    with pytest.raises(CheckpointError) as error:
        read_config(tmp_path)
    assert str(error.value) == (
        "config.json: tokenizer_type is 'qwen3_tts_tokenizer_25hz', expected 'qwen3_tts_tokenizer_12hz': "
        "only 12 Hz checkpoints can be converted, pick one named Qwen3-TTS-12Hz-*"
    )


def test_the_codec_alone_and_other_models_are_refused_as_what_they_are() -> None:
    assert "the codec alone" in refusal(lambda config, _: config.update(model_type="qwen3_tts_tokenizer_12hz"))
    assert 'model_type is "qwen3", expected "qwen3_tts"' in refusal(lambda config, _: config.update(model_type="qwen3"))
    assert 'tts_model_type is "singer", expected one of base, custom_voice, voice_design' in refusal(
        lambda config, _: config.update(tts_model_type="singer")
    )
    assert "speech_tokenizer/config.json: model_type" in refusal(lambda _, codec: codec.update(model_type="mimi"))


def test_a_missing_folder_and_a_file_in_its_place_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"nowhere does not exist, expected the folder of a Qwen3-TTS checkpoint"):
        read_config(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"file is a file, expected the folder"):
        read_config(tmp_path / "file")


@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "speech_tokenizer/config.json"])
def test_a_missing_or_broken_configuration_file_is_named(tmp_path: Path, name: str) -> None:
    path = write_configs(tmp_path) / name
    for content, expected in [
        (b'{"a": ', "is not valid JSON (line 1: "),
        (b"\xff\xfe", "is not valid JSON (not UTF-8 text)"),
        (b"[1]", "holds a JSON list, expected an object"),
        (b"[" * 100_000, "is not valid JSON"),
    ]:
        path.write_bytes(content)
        with pytest.raises(CheckpointError) as error:
            read_config(tmp_path)
        assert str(error.value).startswith(f"{path} {expected}")
        assert "\n" not in str(error.value)
    path.unlink()
    with pytest.raises(CheckpointError) as error:
        read_config(tmp_path)
    assert str(error.value).startswith(f"{path} is missing")


@pytest.mark.skipif(not REFERENCE.exists(), reason="no official configurations at ../shared/reference")
@pytest.mark.parametrize(
    ("name", "model_type", "hidden", "speakers"),
    [
        ("0.6B-Base", "base", 1024, 0),
        ("0.6B-CustomVoice", "custom_voice", 1024, 9),
        ("1.7B-Base", "base", 2048, 0),
        ("1.7B-CustomVoice", "custom_voice", 2048, 9),
        ("1.7B-VoiceDesign", "voice_design", 2048, 0),
    ],
)
def test_every_official_configuration_is_read(name: str, model_type: str, hidden: int, speakers: int) -> None:
    config = read_config(REFERENCE / "configs" / name)
    assert config.tts_model_type == model_type
    assert config.talker.decoder == DecoderConfig(hidden, 3 * hidden, 28, 16, 8, 128, 1e-6, 1e6, 3072)
    assert config.talker.predictor == DecoderConfig(1024, 3072, 5, 16, 8, 128, 1e-6, 1e6, 2048)
    assert (config.talker.codec_eos_token_id, config.tts_eos_token_id) == (2150, 151673)
    assert len(config.talker.spk_id) == speakers
    assert (config.codec.decoder.samples_per_frame, config.codec.decoder.sliding_window) == (1920, 72)
    assert config.generation["max_new_tokens"] == 8192
    assert (config.speaker_encoder is not None) == (model_type == "base")
