"""The numbers are the distributions they claim to be, bit for bit reproducible, and every tensor has its rule."""

import math

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.random_checkpoint.safetensors_file import bfloat16
from qwen3_tts_ncnn.convert.random_checkpoint.streams import Stream
from qwen3_tts_ncnn.convert.random_checkpoint.weights import RandomWeights

WEIGHTS = RandomWeights(seed=0, eos_id=3, eos_gain=2.0)


def test_normal_is_a_bell_of_the_width_asked_for() -> None:
    values = Stream(0, "x").normal(1_000_000, 0.5)
    assert values.dtype == np.float32
    assert abs(float(values.mean())) < 0.002
    assert float(values.std()) == pytest.approx(0.5, rel=0.003)
    assert float(np.abs(values).max()) <= 0.5 * math.sqrt(12)
    assert float((np.abs(values) < 0.5).mean()) == pytest.approx(0.6693, abs=0.002)  # 0.6827 for an exact normal
    assert abs(float(np.corrcoef(values[:-1], values[1:])[0, 1])) < 0.005


def test_uniform_fills_its_interval() -> None:
    values = Stream(0, "x").uniform(100_000, 0.7, 1.3)
    assert values.dtype == np.float32
    assert 0.7 <= float(values.min()) < 0.7001
    assert 1.2999 < float(values.max()) <= 1.3
    assert float(values.mean()) == pytest.approx(1.0, abs=0.002)


def test_a_stream_depends_on_seed_and_name_and_not_on_how_much_is_drawn() -> None:
    first = Stream(7, "a").normal(300_000)
    assert np.array_equal(first[:5], Stream(7, "a").normal(5))
    assert not np.array_equal(first[:5], Stream(8, "a").normal(5))
    assert not np.array_equal(first[:5], Stream(7, "b").normal(5))


def test_the_first_numbers_of_a_stream_are_pinned() -> None:
    assert Stream(0, "x").normal(3).view(np.uint32).tolist() == [1062172571, 1065919172, 1065922497]
    assert Stream(0, "x").uniform(3, 0.0, 1.0).view(np.uint32).tolist() == [1049944546, 1062861700, 1064568721]


def test_bfloat16_rounds_to_nearest_and_ties_to_even() -> None:
    values = np.array([1.0, 1.00390625, 1.01171875, 1.004, -2.5, 0.0], np.float32)
    assert bfloat16(values).tolist() == [0x3F80, 0x3F80, 0x3F82, 0x3F81, 0xC020, 0]


def test_the_end_of_speech_row_is_longer_by_its_gain() -> None:
    plain = RandomWeights(0, 3, 1.0).tensor("talker.codec_head.weight", (16, 64))
    longer = WEIGHTS.tensor("talker.codec_head.weight", (16, 64))
    assert np.array_equal(longer[3], 2 * plain[3])
    assert np.array_equal(np.delete(longer, 3, 0), np.delete(plain, 3, 0))
    assert float(plain.std()) == pytest.approx(4 / 8, rel=0.05)


def test_linear_layers_and_convolutions_keep_the_scale_of_their_input() -> None:
    projection = WEIGHTS.tensor("talker.model.layers.0.self_attn.q_proj.weight", (256, 400))
    assert float(projection.std()) == pytest.approx(1 / 20, rel=0.02)
    gate = WEIGHTS.tensor("talker.model.layers.0.mlp.gate_proj.weight", (256, 400))
    assert float(gate.std()) == pytest.approx(1.5 / 20, rel=0.02)
    convolution = WEIGHTS.tensor("decoder.pre_conv.conv.weight", (64, 100, 4))
    assert float(convolution.std()) == pytest.approx(1 / 20, rel=0.02)
    transposed = WEIGHTS.tensor("decoder.decoder.1.block.1.conv.weight", (200, 32, 16))
    assert float(transposed.std()) == pytest.approx(1 / 20, rel=0.02)


def test_codebook_rows_have_their_size_after_division_even_where_never_used() -> None:
    prefix = "decoder.quantizer.rvq_first.vq.layers.0._codebook"
    usage = WEIGHTS.tensor(f"{prefix}.cluster_usage", (2048,))
    unused = usage < 1e-5
    assert 30 < int(unused.sum()) < 100
    rows = WEIGHTS.tensor(f"{prefix}.embedding_sum", (2048, 32)) / np.maximum(usage, np.float32(1e-5))[:, None]
    assert float(rows.std()) == pytest.approx(1, rel=0.02)
    assert float(rows[unused].std()) == pytest.approx(1, rel=0.1)


def test_encoder_codebooks_and_the_projections_into_them_decay_over_channels() -> None:
    prefix = "encoder.quantizer.acoustic_residual_vector_quantizer"
    usage = WEIGHTS.tensor(f"{prefix}.layers.4.codebook.cluster_usage", (2048,))
    rows = WEIGHTS.tensor(f"{prefix}.layers.4.codebook.embed_sum", (2048, 16))
    widths = (rows / np.maximum(usage, np.float32(1e-5))[:, None]).std(0)
    assert widths / widths[0] == pytest.approx([math.exp(-channel / 4) for channel in range(16)], rel=0.1)
    projection = WEIGHTS.tensor(f"{prefix}.input_proj.weight", (16, 900, 1)).std((1, 2))
    assert projection / projection[0] == pytest.approx([math.exp(-channel / 4) for channel in range(16)], rel=0.1)


def test_a_name_without_a_rule_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"talker\.surprise: no rule says"):
        WEIGHTS.tensor("talker.surprise", (2,))
