"""The plans of a checkpoint, as the conversion makes them."""

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.checkpoint.weights import Shapes, Weights
from qwen3_tts_ncnn.convert.manifest import codec_encoder_record, codec_record
from qwen3_tts_ncnn.convert.modules.codec import state_shapes
from qwen3_tts_ncnn.convert.plans import GraphPlan, codec_plans, speech_plans


def plans_of(checkpoint: Checkpoint, main: Weights | None = None, codec: Weights | None = None) -> dict[str, GraphPlan]:
    """The plans of all of a checkpoint's graphs by name; `main` and `codec` record what the graphs take."""
    config = checkpoint.codec_config
    shapes = state_shapes(config.decoder, Weights(Shapes(checkpoint.codec.shapes)) / "decoder")
    record = codec_record(config, shapes, checkpoint.codec_sha256())
    speech = speech_plans(checkpoint.config, main or Weights(checkpoint.main))
    halves = codec_plans(config, codec or Weights(checkpoint.codec), record, codec_encoder_record(config))
    return {plan.name: plan for plan in (*speech, *halves)}
