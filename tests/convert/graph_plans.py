"""The plans of a checkpoint, as the conversion makes them."""

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.checkpoint.weights import Shapes, Weights
from qwen3_tts_ncnn.convert.manifest import codec_record
from qwen3_tts_ncnn.convert.modules.codec import state_shapes
from qwen3_tts_ncnn.convert.plans import GraphPlan, core_plans


def plans_of(checkpoint: Checkpoint) -> dict[str, GraphPlan]:
    """The plans of a checkpoint's graphs, in their order, by name."""
    config = checkpoint.config
    shapes = state_shapes(config.codec.decoder, Weights(Shapes(checkpoint.codec.shapes)) / "decoder")
    record = codec_record(config.codec, shapes)
    listed = core_plans(config, Weights(checkpoint.main), Weights(checkpoint.codec), record)
    return {plan.name: plan for plan in listed}
