"""Speaking with a cloned voice: the rows its reference becomes, and the codec that goes on where it ended."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.codec_decoder import ChunkedStream, CodecDecoder, CodecStream
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.predictor import Predictor
from qwen3_tts_ncnn.runtime.talker import Talker


@dataclass(eq=False)
class PrimedReference:
    """A reference that talker and codec have heard: nothing of it is computed again for a second sentence.

    `codes` (T, 16) are its own, `rows` (T, H) what the talker reads of it; `tail` are its last samples.
    """

    codes: NDArray[np.int32]
    rows: Floats
    tail: Floats
    _codec: CodecDecoder
    _chunked: ChunkedStream
    _whole: CodecStream | None = field(default=None, init=False)

    def chunked_stream(self) -> ChunkedStream:
        """The codec behind the reference, with upstream's seams in it."""
        return self._chunked.fork()

    def stream(self) -> CodecStream:
        """The codec behind the reference, decoded whole."""
        if self._whole is None:
            self._whole = self._chunked.unbroken()
        if self._whole is None:
            self._whole = self._codec.stream()
            self._whole.decode(self.codes)
        return self._whole.fork()

    def lead_in(self, frames: int) -> Floats:
        """What of the reference's end upstream leaves in front of `frames` frames spoken after it: one sample or none.

        It cuts the whole at a float64 product, which in 3.8 % of cases falls one sample short (Q:628).
        """
        frame, count = len(self.tail), len(self.codes)
        end = count * frame
        cut = int(count / (count + frames) * (end + frames * frame))
        return self.tail[frame - (end - cut) :]


def prime(codes: NDArray[np.int32], talker: Talker, predictor: Predictor, codec: CodecDecoder) -> PrimedReference:
    """Lets talker and codec hear the codes (T, 16) of a reference."""
    stream = codec.chunked_stream()
    samples = stream.decode(codes)
    rows = talker.codec_rows(codes[:, 0]) + predictor.embed(codes[:, 1:])
    return PrimedReference(codes, rows, samples[-codec.shape.samples_per_frame :], codec, stream)
