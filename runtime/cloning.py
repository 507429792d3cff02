"""Speaking with a cloned voice: the rows its reference becomes, and the codec that goes on where it ended."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.codec_decoder import ChunkedStream, CodecDecoder
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.predictor import Predictor
from qwen3_tts_ncnn.runtime.talker import Talker


@dataclass(frozen=True)
class PrimedReference:
    """A reference that talker and codec have heard: nothing of it is computed again for a second sentence.

    `rows` (T, H) are what the talker reads of it; `stream` is the codec behind it; `tail` are its last samples.
    """

    frames: int
    rows: Floats
    stream: ChunkedStream
    tail: Floats

    def lead_in(self, frames: int) -> Floats:
        """What of the reference's end upstream leaves in front of `frames` frames spoken after it: one sample or none.

        It cuts the whole at a float64 product, which in 3.8 % of cases falls one sample short (Q:628).
        """
        frame = len(self.tail)
        end = self.frames * frame
        cut = int(self.frames / (self.frames + frames) * (end + frames * frame))
        return self.tail[frame - (end - cut) :]


def prime(codes: NDArray[np.int32], talker: Talker, predictor: Predictor, codec: CodecDecoder) -> PrimedReference:
    """Lets talker and codec hear the codes (T, 16) of a reference."""
    stream = codec.chunked_stream()
    samples = stream.decode(codes)
    rows = talker.codec_rows(codes[:, 0]) + predictor.embed(codes[:, 1:])
    return PrimedReference(len(codes), rows, stream, samples[-codec.shape.samples_per_frame :])
