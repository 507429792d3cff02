"""Reading a Qwen3-TTS checkpoint: where it is, what its configuration says, and its tensors."""

from qwen3_tts_ncnn.convert.checkpoint.checkpoint import Checkpoint, CodecCheckpoint, open_checkpoint
from qwen3_tts_ncnn.convert.checkpoint.source import CheckpointSource, find_checkpoint

__all__ = ["Checkpoint", "CheckpointSource", "CodecCheckpoint", "find_checkpoint", "open_checkpoint"]
