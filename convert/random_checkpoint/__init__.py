"""Random checkpoints in the official layout: to try the tool without a download, and for every test to stand on."""

from qwen3_tts_ncnn.convert.random_checkpoint.layout import MODEL_TYPES
from qwen3_tts_ncnn.convert.random_checkpoint.presets import PRESETS
from qwen3_tts_ncnn.convert.random_checkpoint.write import write_random_checkpoint

__all__ = ["MODEL_TYPES", "PRESETS", "write_random_checkpoint"]
