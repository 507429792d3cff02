"""The codec as users have it, `tts.codec`: a recording to codes, codes to samples."""

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.codec_decoder import CodecDecoder
from qwen3_tts_ncnn.runtime.lazy import Lazy
from qwen3_tts_ncnn.runtime.loader import Loader
from qwen3_tts_ncnn.runtime.placement import Backend
from qwen3_tts_ncnn.runtime.reference_audio import LONGEST_SECONDS, Source, read_reference


class Codec(CodecDecoder):
    """Decodes, and encodes once it is asked to: the encoder is loaded then. Load one with `Codec.load`."""

    def __init__(self, loader: Loader) -> None:
        super().__init__(loader.codec_decoder(), loader.package.manifest.codec)
        self._encoder = Lazy(loader.codec_encoder)

    @classmethod
    def load(
        cls, package: str | Path, *, backend: Backend = "cpu", threads: int | None = None, verbose: bool = False
    ) -> Self:
        """Loads the codec of any package, one of the codec alone included.

        `backend` and `verbose` as in `TTS.load`. Raises `PackageError`, `OptionError` for a backend or a thread count
        that cannot be, or `DeviceError`.
        """
        return cls(Loader.open(package, backend=backend, threads=threads, verbose=verbose))

    def encode(self, source: Source, *, max_seconds: float = LONGEST_SECONDS) -> NDArray[np.int32]:
        """Codes (T, 16) of a recording: a path, a sound file's bytes, an open file, or (samples, rate).

        Raises `AudioError` or `OptionError` as `read_reference` does.
        """
        return self.encode_samples(read_reference(source, max_seconds=max_seconds).samples)

    def encode_samples(self, samples: NDArray[np.float32]) -> NDArray[np.int32]:
        """Codes (T, 16) of mono samples (n,) at 24 kHz."""
        return self._encoder.get().encode(samples)

    def drop_encoder(self) -> None:
        """Frees the encoder's memory, until something is encoded again."""
        self._encoder.drop()
