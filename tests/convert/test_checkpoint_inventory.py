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
    assert codec_tensors(read_config(REFERENCE / "configs" / name).codec) == expected


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
    assert codec_tensors(parsed(model_type).codec) == codec


def test_equal_widths_leave_out_the_projections_that_upstream_leaves_out(upstream: Any) -> None:
    config, codec = tiny_config(), tiny_codec()
    config["talker_config"]["code_predictor_config"]["hidden_size"] = config["talker_config"]["hidden_size"]
    codec["encoder_config"]["vector_quantization_hidden_dimension"] = codec["encoder_config"]["hidden_size"]
    codec["encoder_config"]["codebook_dim"] = codec["encoder_config"]["hidden_size"]
    parsed_config = CheckpointConfig.from_dict(config, codec, GENERATION)
    main, codec_shapes = upstream_shapes(upstream, config, codec)
    assert "talker.code_predictor.small_to_mtp_projection.weight" not in main
    assert main_tensors(parsed_config) == main
    assert codec_tensors(parsed_config.codec) == codec_shapes


@needs_reference
@pytest.mark.parametrize("name", ["0.6B-Base", "0.6B-CustomVoice", "1.7B-Base"])
def test_the_tensors_are_those_of_upstreams_modules_at_official_sizes(upstream: Any, name: str) -> None:
    folder = REFERENCE / "configs" / name
    config = json.loads((folder / "config.json").read_text())
    codec = json.loads((folder / "speech_tokenizer" / "config.json").read_text())
    main, codec_shapes = upstream_shapes(upstream, config, codec)
    assert main_tensors(read_config(folder)) == main
    assert codec_tensors(read_config(folder).codec) == codec_shapes


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


def test_a_tensor_that_is_left_unconverted_has_its_reason() -> None:
    """The tiny codec keeps 3 levels of codes, 1 of them semantic, and its encoder has 5."""
    codec = parsed().codec
    reasons = {name: unused_reason(name, codec) for name in codec_tensors(codec)}
    unused = {name: reason for name, reason in reasons.items() if reason is not None}
    semantic, acoustic = (f"encoder.quantizer.{half}_residual_vector_quantizer" for half in ("semantic", "acoustic"))
    looks_up, own_decoder = (
        "projects into the quantizer: decoding only looks codes up",
        "the codec has a decoder of its own",
    )
    beyond = "a level beyond those that upstream keeps of the codes (T:982)"
    books = [f"{semantic}.layers.0", f"{acoustic}.layers.0", f"{acoustic}.layers.1"]
    assert unused == {
        **{f"decoder.quantizer.rvq_{half}.input_proj.weight": looks_up for half in ("first", "rest")},
        **{
            f"{half}.output_proj.weight": f"leads out of the encoder's quantizer: {own_decoder}"
            for half in (semantic, acoustic)
        },
        **{f"{book}.codebook.initialized": "a flag of the training" for book in books},
        **{
            f"{acoustic}.layers.{level}.codebook.{name}": beyond
            for level in (2, 3)
            for name in ("initialized", "cluster_usage", "embed_sum")
        },
    }
    assert unused_reason("talker.codec_head.weight", codec) is None


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("use_conv_shortcut", True, "true, expected false"),
        ("attention_bias", True, "true, expected false"),
        ("use_causal_conv", False, "false, expected true"),
        ("hidden_act", "gelu_pytorch_tanh", '"gelu_pytorch_tanh", expected "gelu"'),
        ("pad_mode", "reflect", '"reflect", expected "constant"'),
        ("audio_channels", 2, "2, expected 1"),
        ("num_semantic_quantizers", 2, "2, expected 1"),
        ("num_key_value_heads", 1, "1, expected num_attention_heads, 3"),
    ],
)
def test_an_encoder_that_computes_something_else_than_the_released_one_is_refused(
    key: str, value: Any, said: str
) -> None:
    codec = tiny_codec()
    codec["encoder_config"][key] = value
    config = CheckpointConfig.from_dict(tiny_config(), codec, GENERATION)
    with pytest.raises(CheckpointError) as caught:
        codec_tensors(config.codec)
    assert str(caught.value).startswith(f"speech_tokenizer/config.json: encoder_config.{key} is {said}: use a ")


def test_what_an_encoder_s_configuration_leaves_out_is_as_released() -> None:
    codec = tiny_codec()
    for key in ("attention_bias", "hidden_act", "pad_mode", "use_causal_conv", "use_conv_shortcut"):
        codec["encoder_config"][key] = None
    assert codec_tensors(CheckpointConfig.from_dict(tiny_config(), codec, GENERATION).codec) == codec_tensors(
        parsed().codec
    )


def test_an_encoder_key_that_the_shapes_need_is_named_when_missing() -> None:
    codec = tiny_codec()
    del codec["encoder_config"]["num_filters"]
    config = CheckpointConfig.from_dict(tiny_config(), codec, GENERATION)
    with pytest.raises(CheckpointError, match=r"^speech_tokenizer/config.json: encoder_config.num_filters is missing"):
        codec_tensors(config.codec)
