"""What a run of speech gives back."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.audio import save_audio
from qwen3_tts_ncnn.runtime.mat import Floats


@dataclass(frozen=True, eq=False)
class Speech:
    """One utterance.

    `samples` (1920 · T,) are float32 in ±1 at `sample_rate` Hz, `codes` (T, 16) the frames they were decoded from.
    `selections` (T + 1,) are all choices of codebook 0, the one that ended the run included; `stop` says what ended it:
    "eos" or "limit".
    """

    samples: Floats
    sample_rate: int
    codes: NDArray[np.int32]
    selections: NDArray[np.int32]
    stop: str

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sample_rate

    def save(self, path: str | Path, *, subtype: str = "pcm16") -> None:
        """Writes a WAV or FLAC file, by the suffix. Raises `OptionError` or `OutputError`."""
        save_audio(Path(path), self.samples, self.sample_rate, subtype=subtype)
