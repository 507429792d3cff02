"""The ten graphs: what each is called, how it is traced, and that its checks can fail."""

from pathlib import Path

import torch

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.checkpoint.codec_inventory import codec_tensors
from qwen3_tts_ncnn.convert.checkpoint.config import CheckpointConfig
from qwen3_tts_ncnn.convert.checkpoint.weights import Shapes, Weights
from qwen3_tts_ncnn.convert.export.bound import Bound
from qwen3_tts_ncnn.convert.export.graph_export import TRACED, export_graph
from qwen3_tts_ncnn.convert.modules.codec import state_shapes
from qwen3_tts_ncnn.convert.modules.decoder import Decoder
from qwen3_tts_ncnn.convert.plans import GraphPlan
from qwen3_tts_ncnn.convert.random_checkpoint import write_random_checkpoint
from qwen3_tts_ncnn.convert.random_checkpoint.presets import PRESETS, configuration_files
from qwen3_tts_ncnn.runtime.param import read_param
from tests.convert.graph_plans import plans_of

SMALL, DECODER, ENCODER = (Bound("relative error", limit) for limit in (1e-5, 2e-5, 5e-5))
CODEC = Bound("SNR (dB)", 90.0, at_least=True)
ROWS = ("hidden", "mask", "cos", "sin")
STATES = tuple(f"state_in_{n}" for n in range(37)), tuple(f"state_out_{n}" for n in range(37))


def test_there_are_ten_of_known_names_inputs_outputs_and_bounds(
    base_plans: dict[str, GraphPlan], plans: dict[str, GraphPlan]
) -> None:
    """The bounds are the project's promise: 1e-5, 2e-5 and 90 dB (issue 2)."""
    assert plans.keys() == base_plans.keys() - {"speaker_encoder"}
    assert {name: (plan.inputs, plan.outputs, plan.bound) for name, plan in base_plans.items()} == {
        "talker_text_embed": (("rows",), ("embeddings",), SMALL),
        "talker_codec_embed": (("ids",), ("embeddings",), SMALL),
        "talker_codec_head": (("hidden",), ("logits",), SMALL),
        "predictor_embeds": (("ids",), ("embeddings",), SMALL),
        "predictor_heads": (("hidden",), tuple(f"logits_{n}" for n in range(15)), SMALL),
        "speaker_encoder": (("mel",), ("x_vector",), SMALL),
        "predictor_decoder": (ROWS, ("hidden_out",), DECODER),
        "mimi_encoder": (("wave", *ROWS[1:], *(f"valid_{n}" for n in range(5))), ("latent",), ENCODER),
        "codec_decoder": (("ids", *ROWS[1:], *STATES[0]), ("wave", *STATES[1]), CODEC),
        "talker_decoder": (ROWS, ("hidden_out",), DECODER),
    }


def test_only_the_two_decoders_have_a_kv_cache(base_plans: dict[str, GraphPlan], checkpoint: Checkpoint) -> None:
    talker = checkpoint.config.talker
    cached = {name: plan.cached_layers for name, plan in base_plans.items() if plan.cached_layers}
    assert cached == {
        "predictor_decoder": talker.predictor.num_hidden_layers,
        "talker_decoder": talker.decoder.num_hidden_layers,
    }


def test_each_is_checked_at_two_lengths_that_were_not_traced(base_plans: dict[str, GraphPlan]) -> None:
    for plan in base_plans.values():
        assert len({*plan.checked, *TRACED}) == 4
    assert max(base_plans["codec_decoder"].checked) > 72, "the window must slide in the check"


def test_an_example_is_the_same_for_the_same_length_and_has_what_the_module_takes(
    base_plans: dict[str, GraphPlan],
) -> None:
    for plan in base_plans.values():
        one, same, longer = plan.example(5), plan.example(5), plan.example(6)
        assert len(one) == len(plan.inputs)
        assert all(torch.equal(a, b) for a, b in zip(one, same, strict=True))
        assert one[0].shape != longer[0].shape
        assert not torch.equal(one[0].flatten()[:5], longer[0].flatten()[:5])


def test_the_codec_s_lengths_are_known_at_every_rate(plans: dict[str, GraphPlan]) -> None:
    """16 ids a frame; then ×2, ×2, ×8, ×5, ×4, ×3 up to 1920 samples. The encoder comes down from there."""
    assert plans["codec_decoder"].rates == (16, 1, 2, 4, 32, 160, 640, 1920)
    assert plans["mimi_encoder"].rates == (1, 1920, 480, 96, 16, 2)


def test_a_wave_is_checked_with_a_last_frame_that_is_not_whole(plans: dict[str, GraphPlan]) -> None:
    """And with an odd number of steps before the downsampling, so that its last one is repeated."""
    plan = plans["mimi_encoder"]
    for length in (*TRACED, *plan.checked):
        wave, mask, cos, sin, *valid = plan.example(length)
        samples = 1920 * length - 1280
        assert (tuple(wave.shape), int(wave.ne(0).sum())) == ((1, 1920 * length), samples)
        assert mask.shape == (2 * length, 2 * length)
        assert cos.shape == sin.shape == (2 * length, 32)
        assert [tuple(each.shape) for each in valid] == [
            (1, 1, 1, columns * length) for columns in (1920, 480, 96, 16, 2)
        ]
        assert [int(each.sum()) for each in valid[:1] + valid[-1:]] == [samples, 2 * length - 1]


def test_the_codec_of_official_size_has_37_states() -> None:
    """From its configuration alone: nothing of it is computed or loaded."""
    files = configuration_files(PRESETS["0.6b"], "custom_voice")
    names = ("config.json", "speech_tokenizer/config.json", "generation_config.json")
    config = CheckpointConfig.from_dict(*(files[name] for name in names))
    shapes = state_shapes(config.codec.decoder, Weights(Shapes(codec_tensors(config.codec))) / "decoder")
    assert len(shapes) == 37
    assert shapes[:2] == ((512, 1, 2), (16, 71, 64))
    assert shapes[17:21] == ((1024, 1, 6), (1024, 1, 6), (1024, 1, 6), (1536, 1, 1))
    assert shapes[-4:] == ((96, 1, 6), (96, 1, 18), (96, 1, 54), (96, 1, 6))


def test_the_predictor_of_the_1_7b_maps_the_talker_s_width_to_its_own(tmp_path: Path) -> None:
    """2048 → 1024 there, 128 → 64 here; the export is checked against the module as always."""
    checkpoint = Checkpoint.open(write_random_checkpoint(tmp_path / "checkpoint", "tiny-1.7b", "custom_voice"))
    plan = plans_of(checkpoint)["predictor_decoder"]
    decoder = plan.build()
    assert isinstance(decoder, Decoder)
    assert decoder.projection is not None
    assert tuple(decoder.projection.weight.shape) == (64, 128)
    assert plan.example(5)[0].shape == (1, 5, 128)
    (tmp_path / "package").mkdir()
    assert export_graph(plan, tmp_path / "package") <= DECODER.limit
    assert sorted(path.name for path in (tmp_path / "package").iterdir()) == [
        "predictor_decoder.bin",
        "predictor_decoder.param",
    ]
    gemm = read_param((tmp_path / "package" / "predictor_decoder.param").read_text()).of_type("Gemm")[0]
    assert (gemm.inputs, gemm.params[9], gemm.params[8]) == (["hidden"], 128, 64)


def test_the_predictor_of_the_0_6b_has_no_projection(plans: dict[str, GraphPlan]) -> None:
    decoder = plans["predictor_decoder"].build()
    assert isinstance(decoder, Decoder)
    assert decoder.projection is None
