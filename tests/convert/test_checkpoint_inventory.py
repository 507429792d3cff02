"""The expected tensors are the official files' and upstream's, name by name; any difference is one clear line."""

import importlib
import json
from typing import Any

import pytest
import torch

from qwen3_tts_ncnn.convert.checkpoint.config import CheckpointConfig, read_config
from qwen3_tts_ncnn.convert.checkpoint.inventory import (
    check_inventory,
    codec_tensors,
    main_tensors,
    unused_reason,
    unused_tensors,
)
from qwen3_tts_ncnn.convert.errors import CheckpointError
from qwen3_tts_ncnn.parity.upstream_stubs import import_upstream
from tests.convert.tiny_checkpoint import GENERATION, REFERENCE, parsed, tiny_codec, tiny_config

Shapes = dict[str, tuple[int, ...]]

needs_reference = pytest.mark.skipif(not REFERENCE.exists(), reason="no official inventories at ../shared/reference")


def official_inventory(name: str) -> Shapes:
    """The tensors of an official file, from its listing (name, dtype, shape as 2048x1024)."""
    rows = [line.split("\t") for line in (REFERENCE / name).read_text().splitlines()[1:]]
    return {name: tuple(int(size) for size in shape.split("x")) for name, _, shape in rows}


@needs_reference
def test_the_main_tensors_are_those_of_the_official_voice_design_file() -> None:
    expected = official_inventory("tensors_1.7B-VoiceDesign.tsv")
    assert len(expected) == 404
    assert main_tensors(read_config(REFERENCE / "configs" / "1.7B-VoiceDesign")) == expected


@needs_reference
@pytest.mark.parametrize("name", ["0.6B-Base", "0.6B-CustomVoice", "1.7B-Base", "1.7B-CustomVoice", "1.7B-VoiceDesign"])
def test_the_codec_tensors_are_those_of_the_official_codec_file(name: str) -> None:
    expected = official_inventory("tensors_speech_tokenizer.tsv")
    assert len(expected) == 496
    assert codec_tensors(read_config(REFERENCE / "configs" / name)) == expected


@pytest.fixture(scope="module")
def upstream() -> tuple[Any, Any]:
    """Upstream's modules of the main model, and those of the codec's configuration and modelling."""
    import_upstream()
    codec = "qwen_tts.core.tokenizer_12hz"
    return importlib.import_module("qwen_tts.core.models"), (
        importlib.import_module(f"{codec}.configuration_qwen3_tts_tokenizer_v2"),
        importlib.import_module(f"{codec}.modeling_qwen3_tts_tokenizer_v2"),
    )


def state_shapes(module: torch.nn.Module) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


def upstream_shapes(upstream: Any, config: dict[str, Any], codec: dict[str, Any]) -> tuple[Shapes, Shapes]:
    """What upstream's own modules hold for these configurations, built without memory on the meta device."""
    models, (codec_configuration, codec_modeling) = upstream
    with torch.device("meta"):
        main = models.Qwen3TTSForConditionalGeneration(models.Qwen3TTSConfig(**config))
        tokenizer = codec_modeling.Qwen3TTSTokenizerV2Model(codec_configuration.Qwen3TTSTokenizerV2Config(**codec))
    return state_shapes(main), state_shapes(tokenizer)


@pytest.mark.parametrize("model_type", ["base", "custom_voice", "voice_design"])
def test_the_tensors_are_those_of_upstreams_modules_at_sizes_that_all_differ(upstream: Any, model_type: str) -> None:
    main, codec = upstream_shapes(upstream, tiny_config(model_type), tiny_codec())
    assert main_tensors(parsed(model_type)) == main
    assert codec_tensors(parsed(model_type)) == codec


def test_equal_widths_leave_out_the_projections_that_upstream_leaves_out(upstream: Any) -> None:
    config, codec = tiny_config(), tiny_codec()
    config["talker_config"]["code_predictor_config"]["hidden_size"] = config["talker_config"]["hidden_size"]
    codec["encoder_config"]["vector_quantization_hidden_dimension"] = codec["encoder_config"]["hidden_size"]
    codec["encoder_config"]["codebook_dim"] = codec["encoder_config"]["hidden_size"]
    parsed_config = CheckpointConfig.from_dict(config, codec, GENERATION)
    main, codec_shapes = upstream_shapes(upstream, config, codec)
    assert "talker.code_predictor.small_to_mtp_projection.weight" not in main
    assert main_tensors(parsed_config) == main
    assert codec_tensors(parsed_config) == codec_shapes


@needs_reference
@pytest.mark.parametrize("name", ["0.6B-Base", "0.6B-CustomVoice", "1.7B-Base"])
def test_the_tensors_are_those_of_upstreams_modules_at_official_sizes(upstream: Any, name: str) -> None:
    folder = REFERENCE / "configs" / name
    config = json.loads((folder / "config.json").read_text())
    codec = json.loads((folder / "speech_tokenizer" / "config.json").read_text())
    main, codec_shapes = upstream_shapes(upstream, config, codec)
    assert main_tensors(read_config(folder)) == main
    assert codec_tensors(read_config(folder)) == codec_shapes


EXPECTED: Shapes = {"a.weight": (3, 4), "b.weight": (5,), "c.bias": (2,)}


def refusal(found: Shapes) -> str:
    with pytest.raises(CheckpointError) as error:
        check_inventory("model.safetensors", found, EXPECTED)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_exact_inventory_passes_in_any_order() -> None:
    check_inventory("model.safetensors", dict(reversed(EXPECTED.items())), EXPECTED)


def test_a_missing_tensor_is_named_with_its_shape_and_the_number_of_others() -> None:
    assert refusal({"b.weight": (5,)}).startswith(
        "model.safetensors lacks tensor a.weight of shape 3x4 (and 1 other), which the configuration implies"
    )
    assert "lacks tensor c.bias of shape 2 (no others)" in refusal({"a.weight": (3, 4), "b.weight": (5,)})


def test_a_surplus_tensor_is_named_with_its_shape_and_the_number_of_others() -> None:
    message = refusal(EXPECTED | {"z": (1,), "lora.A": (8, 4), "y": ()})
    assert message.startswith(
        "model.safetensors holds tensor lora.A of shape 8x4 (and 2 others), which the configuration does not imply"
    )


def test_a_shape_that_disagrees_is_named_with_both_shapes() -> None:
    message = refusal(EXPECTED | {"a.weight": (4, 3), "b.weight": (5, 1)})
    assert message.startswith(
        "model.safetensors: tensor a.weight has shape 4x3, the configuration implies 3x4 (and 1 other)"
    )


def test_every_tensor_is_converted_or_listed_as_unused_with_a_reason() -> None:
    config = parsed("base")
    unused = unused_tensors(config)
    names = {*main_tensors(config), *codec_tensors(config)}
    assert unused.keys() <= names
    expected_unused = {
        name
        for name in names
        if name.startswith(("encoder.", "speaker_encoder.")) or (name.startswith("decoder.q") and "input_proj" in name)
    }
    assert unused.keys() == expected_unused
    assert all(unused.values())
    assert unused_reason("talker.codec_head.weight") is None
    assert unused_reason("decoder.quantizer.rvq_first.output_proj.weight") is None
    assert unused_reason("decoder.quantizer.rvq_rest.input_proj.weight") is not None


@pytest.mark.parametrize("key", ["use_conv_shortcut", "attention_bias"])
def test_an_encoder_with_parts_the_released_one_lacks_is_refused(key: str) -> None:
    codec = tiny_codec()
    codec["encoder_config"][key] = True
    config = CheckpointConfig.from_dict(tiny_config(), codec, GENERATION)
    with pytest.raises(CheckpointError, match=f"encoder_config.{key} is true, expected false"):
        codec_tensors(config)


def test_an_encoder_key_that_the_shapes_need_is_named_when_missing() -> None:
    codec = tiny_codec()
    del codec["encoder_config"]["num_filters"]
    config = CheckpointConfig.from_dict(tiny_config(), codec, GENERATION)
    with pytest.raises(CheckpointError, match=r"^speech_tokenizer/config.json: encoder_config.num_filters is missing"):
        codec_tensors(config)
