"""The codec decoder: frames of 16 codes in, samples out, 1920 a frame.

The graph carries its causal history in states of fixed size. Zero states begin a signal; passing them on continues it
exactly, in chunks of any size.
"""

import math
from collections.abc import Sequence
from copy import copy
from typing import TypeAlias

import ncnn
import numpy as np
from numpy.typing import ArrayLike, NDArray

from qwen3_tts_ncnn.runtime.codes import check_codes
from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.manifest import CodecShape
from qwen3_tts_ncnn.runtime.mat import Floats, to_mat
from qwen3_tts_ncnn.runtime.rope import RopeTables, window_mask
from qwen3_tts_ncnn.runtime.vulkan_param import JOINED

# Upstream decodes 300 frames at a time, each with 25 before it as context, from nothing (T:886).
UPSTREAM_CHUNK, UPSTREAM_CONTEXT = 300, 25

# Frames a run of the graph takes at most. It bounds memory, 20 MB a frame, and changes no sample beyond rounding; 8 at
# once take 6 % less time and 50 MB more.
_FRAMES_PER_RUN = 5


States: TypeAlias = Sequence[ncnn.Mat | Floats]
"""Where a signal is. Never written to."""


def output_names(shape: CodecShape) -> list[str]:
    """The graph's outputs: the states, and the wave last."""
    return [*(f"state_out_{n}" for n in range(len(shape.states))), "wave"]


class CodecDecoder:
    """Codes (T, 16) to samples (1920 · T) in ±1, whole, as upstream chunks them, or as a stream."""

    def __init__(self, graph: Graph, shape: CodecShape) -> None:
        self._graph = graph
        self.shape = shape
        self._rope = RopeTables(shape.head_dim, shape.rope_theta)
        self._offsets = np.arange(shape.codebooks, dtype=np.int32) * shape.codebook_size
        self._ins = [f"state_in_{n}" for n in range(len(shape.states))]
        self._outs = output_names(shape)[:-1]

    def stream(self) -> "CodecStream":
        """A signal that begins now."""
        return CodecStream(self)

    def decode(self, codes: ArrayLike) -> Floats:
        """Decodes the whole as one signal, exactly as a stream does."""
        return self.stream().decode(codes)

    def decode_chunked(self, codes: ArrayLike, chunk: int = UPSTREAM_CHUNK, context: int = UPSTREAM_CONTEXT) -> Floats:
        """Decodes as upstream does, which differs from the whole for 100 to 200 frames after each seam.

        Raises `FormatError` as `check_codes` does, `OptionError` as `chunked_stream`.
        """
        return self.chunked_stream(chunk, context).decode(codes)

    def chunked_stream(self, chunk: int = UPSTREAM_CHUNK, context: int = UPSTREAM_CONTEXT) -> "ChunkedStream":
        """A signal that begins now, with upstream's seams in it. Raises `OptionError` for chunks of no frames."""
        if chunk < 1 or context < 0:
            raise OptionError(f"chunks are {chunk} frames with {context} before them, expected at least 1 and 0")
        return ChunkedStream(self, chunk, context)

    def check_codes(self, codes: ArrayLike) -> NDArray[np.int32]:
        """The codes as (T, 16) int32. Raises `FormatError` for another shape or a code outside the codebook."""
        return check_codes(codes, codebooks=self.shape.codebooks, codebook_size=self.shape.codebook_size)

    def run(self, frames: NDArray[np.int32], position: int, states: States) -> tuple[Floats, States]:
        """One run of the graph at an absolute position: samples, and the states after it."""
        count = len(frames)
        cos, sin = self._rope.at(position, count)
        run = self._graph.extractor(
            {
                "ids": (frames + self._offsets).reshape(-1).astype(np.int32),
                "mask": window_mask(position, count, self.shape.window),
                "cos": cos,
                "sin": sin,
            }
            | dict(zip(self._ins, states, strict=True))
        )
        if self._graph.device is not None:
            return self._cut(run.array(JOINED))
        # The states first, in their order: each lets go of a signal that would otherwise be held until the end.
        after = [run.mat(name) for name in self._outs]
        return run.array("wave").reshape(-1), after

    def _cut(self, joined: Floats) -> tuple[Floats, States]:
        """The outputs of a GPU, which come in one."""
        ends = np.cumsum([math.prod(shape) for shape in self.shape.states])
        *states, wave = np.split(joined, ends)
        return wave, [state.reshape(shape) for state, shape in zip(states, self.shape.states, strict=True)]

    def zero_states(self) -> States:
        """The states of a signal that begins."""
        return [to_mat(np.zeros(shape, dtype=np.float32)) for shape in self.shape.states]


class CodecStream:
    """One signal being decoded: feed it frames, it returns their samples."""

    def __init__(self, decoder: CodecDecoder) -> None:
        self._decoder = decoder
        self._states = decoder.zero_states()
        self.position = 0

    def decode(self, codes: ArrayLike) -> Floats:
        """The samples (1920 · T) of the next frames (T, 16). Raises `FormatError` as `check_codes` does."""
        frames = self._decoder.check_codes(codes)
        pieces = [np.zeros(0, dtype=np.float32)]
        for start in range(0, len(frames), _FRAMES_PER_RUN):
            piece = frames[start : start + _FRAMES_PER_RUN]
            samples, self._states = self._decoder.run(piece, self.position, self._states)
            self.position += len(piece)
            pieces.append(samples)
        return np.concatenate(pieces)

    def fork(self) -> "CodecStream":
        """The same signal at the same place, to be continued in another way. States are never written to, so shared."""
        return copy(self)


class ChunkedStream:
    """One signal with upstream's seams: every `chunk` frames it begins from nothing, with `context` frames before it.

    Exact parity needs the seams (T:886–897); a stream for listening is better without.
    """

    def __init__(self, decoder: CodecDecoder, chunk: int, context: int) -> None:
        self._decoder = decoder
        self._chunk, self._context = chunk, context
        self._stream = decoder.stream()
        self._room = chunk
        self._is_unbroken = True
        self._recent = np.zeros((0, decoder.shape.codebooks), dtype=np.int32)

    def decode(self, codes: ArrayLike) -> Floats:
        """The samples (1920 · T) of the next frames (T, 16). Raises `FormatError` as `check_codes` does."""
        frames = self._decoder.check_codes(codes)
        pieces = [np.zeros(0, dtype=np.float32)]
        while len(frames):
            if not self._room:
                self._stream, self._room, self._is_unbroken = self._decoder.stream(), self._chunk, False
                self._stream.decode(self._recent)
            piece, frames = frames[: self._room], frames[self._room :]
            pieces.append(self._stream.decode(piece))
            self._room -= len(piece)
            recent = np.concatenate((self._recent, piece))
            self._recent = recent[max(0, len(recent) - self._context) :]
        return np.concatenate(pieces)

    def unbroken(self) -> CodecStream | None:
        """The signal as decoded whole, while there is no seam in it yet; None after the first."""
        return self._stream.fork() if self._is_unbroken else None

    def fork(self) -> "ChunkedStream":
        """The same signal at the same place, to be continued in another way."""
        twin = copy(self)
        twin._stream = self._stream.fork()
        return twin
