"""The tensors of ``model.safetensors``, as the configuration implies them.

Line marks: M = upstream's ``core/models/modeling_qwen3_tts.py``.
"""

from __future__ import annotations

from qwen3_tts_ncnn.convert.checkpoint.config import (
    CheckpointConfig,
    DecoderConfig,
    SpeakerEncoderConfig,
    TalkerConfig,
)

Shapes = dict[str, tuple[int, ...]]


def main_tensors(config: CheckpointConfig) -> Shapes:
    """Name → shape of every tensor of ``model.safetensors``: talker, code predictor, text side, speaker encoder."""
    shapes = _talker(config.talker) | _predictor(config.talker)
    if config.speaker_encoder is not None:
        shapes |= _speaker_encoder(config.speaker_encoder)
    return shapes


def _talker(talker: TalkerConfig) -> Shapes:
    """M:1427 and M:1564."""
    hidden, text = talker.decoder.hidden_size, talker.text_hidden_size
    return {
        "talker.model.codec_embedding.weight": (talker.decoder.vocab_size, hidden),
        "talker.model.text_embedding.weight": (talker.text_vocab_size, text),
        "talker.text_projection.linear_fc1.weight": (text, text),
        "talker.text_projection.linear_fc1.bias": (text,),
        "talker.text_projection.linear_fc2.weight": (hidden, text),
        "talker.text_projection.linear_fc2.bias": (hidden,),
        "talker.codec_head.weight": (talker.decoder.vocab_size, hidden),
        **_qwen3_layers("talker.model", talker.decoder),
    }


def _predictor(talker: TalkerConfig) -> Shapes:
    """M:1015 and M:1156: its tables have the talker's width, its layers and heads its own."""
    predictor, talker_hidden = talker.predictor, talker.decoder.hidden_size
    prefix = "talker.code_predictor"
    shapes = _qwen3_layers(f"{prefix}.model", predictor)
    for index in range(talker.num_code_groups - 1):
        shapes[f"{prefix}.model.codec_embedding.{index}.weight"] = (predictor.vocab_size, talker_hidden)
        shapes[f"{prefix}.lm_head.{index}.weight"] = (predictor.vocab_size, predictor.hidden_size)
    if predictor.hidden_size != talker_hidden:  # otherwise an Identity without weights (M:1171)
        shapes[f"{prefix}.small_to_mtp_projection.weight"] = (predictor.hidden_size, talker_hidden)
        shapes[f"{prefix}.small_to_mtp_projection.bias"] = (predictor.hidden_size,)
    return shapes


def _qwen3_layers(prefix: str, config: DecoderConfig) -> Shapes:
    """Decoder layers with QK-norm and SwiGLU, and the norm after them (M:727, M:842, M:885)."""
    hidden, inner = config.hidden_size, config.intermediate_size
    queries = config.num_attention_heads * config.head_dim
    keys = config.num_key_value_heads * config.head_dim
    layer: Shapes = {
        "input_layernorm.weight": (hidden,),
        "self_attn.q_proj.weight": (queries, hidden),
        "self_attn.k_proj.weight": (keys, hidden),
        "self_attn.v_proj.weight": (keys, hidden),
        "self_attn.o_proj.weight": (hidden, queries),
        "self_attn.q_norm.weight": (config.head_dim,),
        "self_attn.k_norm.weight": (config.head_dim,),
        "post_attention_layernorm.weight": (hidden,),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
    }
    shapes = {
        f"{prefix}.layers.{index}.{name}": shape
        for index in range(config.num_hidden_layers)
        for name, shape in layer.items()
    }
    return shapes | {f"{prefix}.norm.weight": (hidden,)}


def _speaker_encoder(config: SpeakerEncoderConfig) -> Shapes:
    """ECAPA-TDNN (M:311): a TDNN block, SE-Res2Net blocks, aggregation, attentive pooling, a projection."""
    channels, kernels = config.enc_channels, config.enc_kernel_sizes
    shapes = _conv1d("blocks.0.conv", config.mel_dim, channels[0], kernels[0])
    for index in range(1, len(channels) - 1):
        block, width = f"blocks.{index}", channels[index]
        part = width // config.enc_res2net_scale
        shapes |= _conv1d(f"{block}.tdnn1.conv", channels[index - 1], width, 1)
        for branch in range(config.enc_res2net_scale - 1):  # the first part of the split passes through as it is
            shapes |= _conv1d(f"{block}.res2net_block.blocks.{branch}.conv", part, part, kernels[index])
        shapes |= _conv1d(f"{block}.tdnn2.conv", width, width, 1)
        shapes |= _conv1d(f"{block}.se_block.conv1", width, config.enc_se_channels, 1)
        shapes |= _conv1d(f"{block}.se_block.conv2", config.enc_se_channels, width, 1)
    last = channels[-1]
    shapes |= _conv1d("mfa.conv", last, last, kernels[-1])
    shapes |= _conv1d("asp.tdnn.conv", 3 * last, config.enc_attention_channels, 1)  # features, mean and deviation
    shapes |= _conv1d("asp.conv", config.enc_attention_channels, last, 1)
    shapes |= _conv1d("fc", 2 * last, config.enc_dim, 1)  # mean and deviation
    return {f"speaker_encoder.{name}": shape for name, shape in shapes.items()}


def _conv1d(name: str, inputs: int, outputs: int, kernel: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs, kernel), f"{name}.bias": (outputs,)}
