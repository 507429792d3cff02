"""What a run of speech gives back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.audio import save_audio
from qwen3_tts_ncnn.runtime.mat import Floats

# Between two pieces of a long text.
PAUSE_SECONDS = 0.25


@dataclass(frozen=True, eq=False)
class Speech:
    """One utterance, or the pieces of a long text one after another.

    `samples` (n,) are float32 in ±1 at `sample_rate` Hz, `codes` (T, 16) the frames they were decoded from, 1920 each.
    `selections` are all choices of codebook 0: N + 1 for N frames of a piece, the one that ended it included. `stop`
    says what ended it: "eos" (the model), "limit" (as many frames as allowed), "repeat" or "silence" (the watchdog); of
    several pieces, the first that is not "eos". `seed` repeats it; None where nothing was drawn.
    """

    samples: Floats
    sample_rate: int
    codes: NDArray[np.int32]
    selections: NDArray[np.int32]
    stop: str
    seed: int | None = None

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sample_rate

    def save(self, path: str | Path, *, subtype: str = "pcm16") -> None:
        """Writes a WAV or FLAC file, by the suffix. Raises `OptionError` or `OutputError`."""
        save_audio(Path(path), self.samples, self.sample_rate, subtype=subtype)


def join(pieces: Sequence[Speech], seed: int | None) -> Speech:
    """Several utterances as one, with a short pause between them."""
    if len(pieces) == 1:
        return replace(pieces[0], seed=seed)
    rate = pieces[0].sample_rate
    waves = [part for piece in pieces for part in (silence(rate), piece.samples)][1:]
    return Speech(
        samples=np.concatenate(waves),
        sample_rate=rate,
        codes=np.concatenate([piece.codes for piece in pieces]),
        selections=np.concatenate([piece.selections for piece in pieces]),
        stop=first_stop([piece.stop for piece in pieces]),
        seed=seed,
    )


def silence(sample_rate: int) -> Floats:
    """The pause between two pieces."""
    return np.zeros(int(PAUSE_SECONDS * sample_rate), dtype=np.float32)


def first_stop(stops: Sequence[str]) -> str:
    """What ended several pieces: the first that is not "eos"."""
    return next((stop for stop in stops if stop != "eos"), "eos")
