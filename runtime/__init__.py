"""Speech from a Qwen3-TTS package with nothing but Python, numpy and ncnn."""

from qwen3_tts_ncnn.runtime.codec import Codec
from qwen3_tts_ncnn.runtime.errors import (
    AudioError,
    DeviceError,
    FormatError,
    ModeError,
    OptionError,
    OutputError,
    PackageError,
    TextError,
    TTSError,
)
from qwen3_tts_ncnn.runtime.speech import Speech
from qwen3_tts_ncnn.runtime.speech_options import SpeechOptions
from qwen3_tts_ncnn.runtime.speech_stream import SpeechStream
from qwen3_tts_ncnn.runtime.speech_warning import SpeechWarning
from qwen3_tts_ncnn.runtime.tts import TTS, ReferenceWarning
from qwen3_tts_ncnn.runtime.voice import Voice

__all__ = [
    "TTS",
    "AudioError",
    "Codec",
    "DeviceError",
    "FormatError",
    "ModeError",
    "OptionError",
    "OutputError",
    "PackageError",
    "ReferenceWarning",
    "Speech",
    "SpeechOptions",
    "SpeechStream",
    "SpeechWarning",
    "TTSError",
    "TextError",
    "Voice",
]
