"""The tensors of ``speech_tokenizer/model.safetensors``, as the configuration implies them.

Line marks: T = upstream's ``core/tokenizer_12hz/modeling_qwen3_tts_tokenizer_v2.py``, MIMI = transformers 4.57.3's
``models/mimi/modeling_mimi.py``, whose encoder half the codec uses as it is (T:899).
"""

from __future__ import annotations

import math

from qwen3_tts_ncnn.convert.checkpoint.codec_config import CodecConfig, CodecDecoderConfig
from qwen3_tts_ncnn.convert.checkpoint.fields import Fields
from qwen3_tts_ncnn.convert.checkpoint.main_inventory import Shapes
from qwen3_tts_ncnn.convert.checkpoint.refusals import refuse_other_encoders

_RESIDUAL_UNITS = 3  # dilations 1, 3, 9 (T:650)


def codec_tensors(codec: CodecConfig) -> Shapes:
    """Name → shape of every tensor of the codec's ``model.safetensors``: the decoder's and the encoder's.

    Raises:
        CheckpointError: the encoder's configuration lacks a key that its shapes depend on, or describes an encoder that
            cannot be converted.
    """
    decoder = codec.decoder
    shapes = _quantizer(decoder) | _pre_transformer(decoder) | _upsample(decoder) | _dac(decoder)
    encoder = Fields(codec.encoder, "speech_tokenizer/config.json: encoder_config")
    refuse_other_encoders(encoder)
    return {f"decoder.{name}": shape for name, shape in shapes.items()} | {
        f"encoder.{name}": shape
        for name, shape in (
            _seanet(encoder) | _mimi_transformer(encoder) | _downsample(encoder, codec) | _mimi_quantizer(encoder)
        ).items()
    }


def _quantizer(config: CodecDecoderConfig) -> Shapes:
    """Split RVQ (T:780): codebook rows are half as wide as the latent, each half projects back (T:831)."""
    width, rows = config.codebook_dim, config.codebook_dim // 2
    shapes: Shapes = {}
    for half, levels in (("rvq_first", 1), ("rvq_rest", config.num_quantizers - 1)):
        shapes[f"quantizer.{half}.input_proj.weight"] = (rows, width, 1)
        shapes[f"quantizer.{half}.output_proj.weight"] = (width, rows, 1)
        for level in range(levels):
            codebook = f"quantizer.{half}.vq.layers.{level}._codebook"
            shapes[f"{codebook}.cluster_usage"] = (config.codebook_size,)
            shapes[f"{codebook}.embedding_sum"] = (config.codebook_size, rows)
    return shapes


def _pre_transformer(config: CodecDecoderConfig) -> Shapes:
    """The causal conv into the transformer (T:839) and the transformer (T:476): no QK-norm, LayerScale instead."""
    hidden, inner = config.hidden_size, config.intermediate_size
    queries = config.num_attention_heads * config.head_dim
    keys = config.num_key_value_heads * config.head_dim
    layer: Shapes = {
        "input_layernorm.weight": (hidden,),
        "self_attn.q_proj.weight": (queries, hidden),
        "self_attn.k_proj.weight": (keys, hidden),
        "self_attn.v_proj.weight": (keys, hidden),
        "self_attn.o_proj.weight": (hidden, queries),
        "self_attn_layer_scale.scale": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
        "mlp_layer_scale.scale": (hidden,),
    }
    return {
        **_conv("pre_conv.conv", config.codebook_dim, config.latent_dim, 3),
        **_linear("pre_transformer.input_proj", config.latent_dim, hidden),
        **_linear("pre_transformer.output_proj", hidden, config.latent_dim),
        "pre_transformer.norm.weight": (hidden,),
        **_repeat("pre_transformer.layers", config.num_hidden_layers, layer),
    }


def _upsample(config: CodecDecoderConfig) -> Shapes:
    """For each ratio a transposed conv and a ConvNeXt block (T:846, T:211), all of the latent's width."""
    width, shapes = config.latent_dim, Shapes()
    for index, ratio in enumerate(config.upsampling_ratios):
        block = f"upsample.{index}.1"
        shapes |= _transposed_conv(f"upsample.{index}.0.conv", width, width, ratio)
        shapes |= _conv(f"{block}.dwconv.conv", 1, width, 7)  # depthwise
        shapes |= {f"{block}.norm.weight": (width,), f"{block}.norm.bias": (width,), f"{block}.gamma": (width,)}
        shapes |= _linear(f"{block}.pwconv1", width, 4 * width) | _linear(f"{block}.pwconv2", 4 * width, width)
    return shapes


def _dac(config: CodecDecoderConfig) -> Shapes:
    """The wave stack (T:857, T:638): each rate halves the channels; the last SnakeBeta and conv make the samples."""
    width = config.decoder_dim
    shapes = _conv("decoder.0.conv", config.latent_dim, width, 7)
    for index, rate in enumerate(config.upsample_rates):
        block = f"decoder.{index + 1}.block"
        shapes |= _snake(f"{block}.0", width) | _transposed_conv(f"{block}.1.conv", width, width // 2, 2 * rate)
        width //= 2
        for unit in (f"{block}.{2 + number}" for number in range(_RESIDUAL_UNITS)):
            shapes |= _snake(f"{unit}.act1", width) | _conv(f"{unit}.conv1.conv", width, width, 7)
            shapes |= _snake(f"{unit}.act2", width) | _conv(f"{unit}.conv2.conv", width, width, 1)
    stages = len(config.upsample_rates)
    return shapes | _snake(f"decoder.{stages + 1}", width) | _conv(f"decoder.{stages + 2}.conv", width, 1, 7)


def _seanet(config: Fields) -> Shapes:
    """SEANet (MIMI:444). Its numbering counts the ELUs, which have no weights."""
    width, layer = config.integer("num_filters"), 1
    shapes = _conv("encoder.layers.0.conv", config.integer("audio_channels"), width, config.integer("kernel_size"))
    for ratio in reversed(config.integers("upsampling_ratios")):
        for _ in range(config.integer("num_residual_layers")):
            block, inner = f"encoder.layers.{layer}.block", width // config.integer("compress")
            shapes |= _conv(f"{block}.1.conv", width, inner, config.integer("residual_kernel_size"))
            shapes |= _conv(f"{block}.3.conv", inner, width, 1)
            layer += 1
        shapes |= _conv(f"encoder.layers.{layer + 1}.conv", width, 2 * width, 2 * ratio)
        layer, width = layer + 2, 2 * width
    last = _conv(
        f"encoder.layers.{layer + 1}.conv", width, config.integer("hidden_size"), config.integer("last_kernel_size")
    )
    return shapes | last


def _mimi_transformer(config: Fields) -> Shapes:
    """MIMI:922: LayerNorms with biases, a two-layer MLP and LayerScale; no norm after the last layer."""
    hidden, inner = config.integer("hidden_size"), config.integer("intermediate_size")
    heads = config.integer("num_attention_heads")
    head_dim = config.integer("head_dim", max(hidden // heads, 1))
    queries, keys = heads * head_dim, config.integer("num_key_value_heads") * head_dim
    layer: Shapes = {
        "input_layernorm.weight": (hidden,),
        "input_layernorm.bias": (hidden,),
        "self_attn.q_proj.weight": (queries, hidden),
        "self_attn.k_proj.weight": (keys, hidden),
        "self_attn.v_proj.weight": (keys, hidden),
        "self_attn.o_proj.weight": (hidden, queries),
        "self_attn_layer_scale.scale": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
        "post_attention_layernorm.bias": (hidden,),
        "mlp.fc1.weight": (inner, hidden),
        "mlp.fc2.weight": (hidden, inner),
        "mlp_layer_scale.scale": (hidden,),
    }
    return _repeat("encoder_transformer.layers", config.integer("num_hidden_layers"), layer)


def _downsample(config: Fields, codec: CodecConfig) -> Shapes:
    """The conv to the codec's frame rate (MIMI:1406): kernel twice the factor that SEANet leaves, no bias."""
    hidden = config.integer("hidden_size")
    left = codec.encode_downsample_rate // math.prod(config.integers("upsampling_ratios"))
    return {"downsample.conv.weight": (hidden, hidden, 2 * left)}


def _mimi_quantizer(config: Fields) -> Shapes:
    """MIMI:1303: two RVQs side by side; ``initialized`` is a training flag that the file carries."""
    hidden, inner = config.integer("hidden_size"), config.integer("vector_quantization_hidden_dimension")
    rows, size = config.integer("codebook_dim", hidden), config.integer("codebook_size")
    semantic = config.integer("num_semantic_quantizers")
    shapes: Shapes = {}
    for half, levels in (("semantic", semantic), ("acoustic", config.integer("num_quantizers") - semantic)):
        prefix = f"quantizer.{half}_residual_vector_quantizer"
        if inner != hidden:  # MIMI:1261
            shapes[f"{prefix}.input_proj.weight"] = (inner, hidden, 1)
            shapes[f"{prefix}.output_proj.weight"] = (hidden, inner, 1)
        codebook: Shapes = {
            "codebook.initialized": (1,),
            "codebook.cluster_usage": (size,),
            "codebook.embed_sum": (size, rows),
        }
        shapes |= _repeat(f"{prefix}.layers", levels, codebook)
    return shapes


def _repeat(prefix: str, count: int, layer: Shapes) -> Shapes:
    return {f"{prefix}.{index}.{name}": shape for index in range(count) for name, shape in layer.items()}


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _conv(name: str, inputs: int, outputs: int, kernel: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs, kernel), f"{name}.bias": (outputs,)}


def _transposed_conv(name: str, inputs: int, outputs: int, kernel: int) -> Shapes:
    return {f"{name}.weight": (inputs, outputs, kernel), f"{name}.bias": (outputs,)}


def _snake(name: str, width: int) -> Shapes:
    return {f"{name}.alpha": (width,), f"{name}.beta": (width,)}
