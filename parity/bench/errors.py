"""What can go wrong in a benchmark by a user's hand."""

from qwen3_tts_ncnn.runtime.errors import TTSError


class BenchError(TTSError):
    """The benchmark cannot be run: a contestant cannot be loaded, refuses the text, or died."""
