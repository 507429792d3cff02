"""A checkpoint is opened whole or not at all, and its identity is the hash of every file that is read."""

import hashlib
import json
from pathlib import Path

import pytest
from safetensors.torch import save_file

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint, CheckpointSource
from qwen3_tts_ncnn.convert.errors import CheckpointError
from tests.convert.tiny_checkpoint import codec_zeros, main_zeros, parsed, tiny_codec, tiny_config, write_checkpoint


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as error:
        Checkpoint.open(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("model_type", ["base", "custom_voice", "voice_design"])
def test_a_checkpoint_of_every_type_opens(tmp_path: Path, model_type: str) -> None:
    checkpoint = Checkpoint.open(write_checkpoint(tmp_path / "mine", model_type))
    assert checkpoint.config == parsed(model_type)
    assert checkpoint.source == CheckpointSource(tmp_path / "mine", repo=None, revision=None, name="mine")
    assert checkpoint.main.dtype("talker.codec_head.weight") == "BF16"
    assert checkpoint.main.load("talker.codec_head.weight").shape == (96, 24)
    assert checkpoint.codec.shape("decoder.pre_conv.conv.weight") == (14, 22, 3)


def test_a_checkpoint_opens_from_what_find_checkpoint_returns(tmp_path: Path) -> None:
    source = CheckpointSource(write_checkpoint(tmp_path), repo="owner/name", revision="0" * 40, name="owner/name")
    assert Checkpoint.open(source).source is source


def test_a_tensor_missing_from_either_file_refuses_the_checkpoint(tmp_path: Path) -> None:
    main, codec = main_zeros(parsed()), codec_zeros(parsed())
    write_checkpoint(tmp_path)
    del main["talker.codec_head.weight"]
    save_file(main, tmp_path / "model.safetensors")
    assert refusal(tmp_path).startswith(f"{tmp_path}/model.safetensors lacks tensor talker.codec_head.weight of shape")
    write_checkpoint(tmp_path)
    del codec["encoder.downsample.conv.weight"]
    save_file(codec, tmp_path / "speech_tokenizer" / "model.safetensors")
    assert refusal(tmp_path).startswith(
        f"{tmp_path}/speech_tokenizer/model.safetensors lacks tensor encoder.downsample.conv.weight of shape 12x12x4"
    )


def test_a_speaker_encoder_in_a_custom_voice_checkpoint_is_surplus(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    save_file(main_zeros(parsed("base")), tmp_path / "model.safetensors")
    assert "holds tensor speaker_encoder.asp.conv.bias of shape 16 (and " in refusal(tmp_path)


def test_a_shape_that_disagrees_with_the_configuration_refuses_the_checkpoint(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    config = tiny_config()
    config["talker_config"]["text_vocab_size"] = 53
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert refusal(tmp_path).startswith(
        f"{tmp_path}/model.safetensors: tensor talker.model.text_embedding.weight has shape 52x20, "
        "the configuration implies 53x20 (no others)"
    )


def test_the_hashes_cover_every_file_that_is_read_and_no_other(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    (tmp_path / "README.md").write_text("not read")
    (tmp_path / "speech_tokenizer" / "configuration.json").write_text("{}")
    hashes = Checkpoint.open(tmp_path).file_hashes()
    assert list(hashes) == [
        "config.json",
        "generation_config.json",
        "merges.txt",
        "model.safetensors",
        "speech_tokenizer/config.json",
        "speech_tokenizer/model.safetensors",
        "tokenizer_config.json",
        "vocab.json",
    ]
    for name, digest in hashes.items():
        assert digest == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()


def test_the_hashes_of_a_sharded_checkpoint_cover_index_and_shards(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "model-00001-of-00001.safetensors")
    weight_map = dict.fromkeys(main_zeros(parsed()), "model-00001-of-00001.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    hashes = Checkpoint.open(tmp_path).file_hashes()
    assert {"model-00001-of-00001.safetensors", "model.safetensors.index.json"} <= hashes.keys()


def test_a_file_that_goes_before_it_is_hashed_is_one_clear_line(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(write_checkpoint(tmp_path))
    (tmp_path / "speech_tokenizer" / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"config.json cannot be read \(No such file or directory\)"):
        checkpoint.file_hashes()


def test_the_codec_configuration_of_another_codec_is_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    codec = tiny_codec() | {"model_type": "mimi"}
    (tmp_path / "speech_tokenizer" / "config.json").write_text(json.dumps(codec))
    assert refusal(tmp_path).startswith('speech_tokenizer/config.json: model_type is "mimi"')
