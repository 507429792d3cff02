"""What can go wrong in the parity room by a user's hand."""

from qwen3_tts_ncnn.runtime.errors import TTSError


class ParityError(TTSError):
    """The comparison cannot be made: upstream is missing, does not fit, or a run broke its own contract."""
