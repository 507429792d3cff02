"""Speech from a Qwen3-TTS package with nothing but Python, numpy and ncnn."""

from qwen3_tts_ncnn.runtime.errors import ModeError, OptionError, OutputError, PackageError, TextError, TTSError
from qwen3_tts_ncnn.runtime.speech import Speech
from qwen3_tts_ncnn.runtime.tts import TTS

__all__ = ["TTS", "ModeError", "OptionError", "OutputError", "PackageError", "Speech", "TTSError", "TextError"]
