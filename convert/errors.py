"""What can go wrong while a checkpoint becomes a package."""

from qwen3_tts_ncnn.runtime.errors import TTSError


class CheckpointError(TTSError):
    """A checkpoint cannot be found or read, or its files are not what its configuration says."""


class ConversionError(TTSError):
    """A converted graph failed one of its checks: it would not compute what the checkpoint computes."""
