"""Upstream's chunks, fed in any pieces: the seams lie where upstream's lie, exactly, on a codec that is arithmetic."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from qwen3_tts_ncnn.parity.upstream_stubs import import_upstream
from qwen3_tts_ncnn.runtime.codec_decoder import UPSTREAM_CHUNK, UPSTREAM_CONTEXT
from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.mat import Floats
from tests.runtime.fakes import ArithmeticDecoder, random_codes

Chunked = Callable[..., Floats]
CODEC = ArithmeticDecoder()
RATE = CODEC.shape.samples_per_frame


@pytest.fixture(scope="module")
def upstream() -> Chunked:
    """Upstream's own `chunked_decode` (T:886), around the same codec."""
    import_upstream()
    name = "qwen_tts.core.tokenizer_12hz.modeling_qwen3_tts_tokenizer_v2"
    theirs = importlib.import_module(name).Qwen3TTSTokenizerV2Decoder

    class Around:
        total_upsample = RATE

        def __call__(self, codes: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(CODEC.decode(codes[0].T.numpy()))[None, None]

    def decode(codes: Any, *sizes: int) -> Floats:
        samples: Floats = theirs.chunked_decode(Around(), torch.from_numpy(codes.T.copy())[None], *sizes)[0, 0].numpy()
        return samples

    return decode


def test_the_codec_that_is_arithmetic_hears_its_past_exactly() -> None:
    """Or else the tests here would say nothing: every sample tells all codes since the signal began."""
    codes = random_codes(120)
    whole = CODEC.decode(codes)
    changed = codes.copy()
    changed[3, 5] ^= 1
    other = CODEC.decode(changed)
    assert whole.shape == (120 * RATE,)
    assert np.array_equal(other[: 3 * RATE], whole[: 3 * RATE])
    assert (other[3 * RATE :] != whole[3 * RATE :]).all()
    assert not np.array_equal(CODEC.decode(codes[1:]), whole[RATE:])


@pytest.mark.parametrize("frames", [1, 9, 10, 11, 14, 15, 20, 21, 47])
@pytest.mark.parametrize(("chunk", "context"), [(10, 4), (10, 0), (1, 0), (1, 3), (4, 4), (4, 7), (4, 30), (50, 25)])
def test_chunks_are_upstream_s(upstream: Chunked, frames: int, chunk: int, context: int) -> None:
    codes = random_codes(frames)
    assert np.array_equal(CODEC.decode_chunked(codes, chunk, context), upstream(codes, chunk, context))


@pytest.mark.parametrize("frames", [299, 300, 301, 325, 600, 601, 650])
def test_upstream_s_own_sizes_are_the_default(upstream: Chunked, frames: int) -> None:
    codes = random_codes(frames)
    assert (UPSTREAM_CHUNK, UPSTREAM_CONTEXT) == (300, 25)
    samples = CODEC.decode_chunked(codes)
    assert np.array_equal(samples, upstream(codes))
    whole = CODEC.decode(codes)
    assert np.array_equal(samples[: 300 * RATE], whole[: 300 * RATE])
    assert not (samples[300 * RATE :] == whole[300 * RATE :]).any()


@given(
    pieces=st.lists(st.integers(0, 13), max_size=12),
    chunk=st.integers(1, 12),
    context=st.integers(0, 14),
)
def test_any_pieces_are_the_whole_in_chunks(pieces: list[int], chunk: int, context: int) -> None:
    codes = random_codes(sum(pieces))
    stream = CODEC.chunked_stream(chunk, context)
    samples = [stream.decode(part) for part in np.split(codes, np.cumsum(pieces)[:-1])] if pieces else []
    assert [len(part) for part in samples] == [RATE * piece for piece in pieces]
    assert np.array_equal(np.concatenate([*samples, []]), CODEC.decode_chunked(codes, chunk, context))


@given(
    said=st.integers(0, 25),
    lengths=st.lists(st.integers(0, 25), min_size=2, max_size=4),
    chunk=st.integers(1, 12),
    context=st.integers(0, 14),
)
def test_forks_go_on_alone_from_where_they_were_made(said: int, lengths: list[int], chunk: int, context: int) -> None:
    """Before, at and beyond a seam; the stream itself goes on as if nobody had forked it."""
    beginning = random_codes(said)
    stream = CODEC.chunked_stream(chunk, context)
    stream.decode(beginning)
    forks = [(stream.fork(), random_codes(length, seed=n)) for n, length in enumerate(lengths)]
    for codec, codes in [*forks, (stream, random_codes(20, seed=99))]:
        # In two pieces, one fork after the other.
        samples = np.concatenate([codec.decode(part) for part in (codes[:3], codes[3:])])
        whole = CODEC.decode_chunked(np.concatenate((beginning, codes)), chunk, context)
        assert np.array_equal(samples, whole[said * RATE :])


def test_a_fork_of_a_fork_across_the_seam_of_300_frames() -> None:
    codes = random_codes(330)
    stream = CODEC.chunked_stream()
    stream.decode(codes[:290])
    fork = stream.fork()
    fork.decode(codes[290:299])
    samples = fork.fork().decode(codes[299:])
    assert np.array_equal(samples, CODEC.decode_chunked(codes)[299 * RATE :])
    assert np.array_equal(stream.decode(codes[290:]), CODEC.decode_chunked(codes)[290 * RATE :])


@pytest.mark.parametrize(("chunk", "context"), [(0, 25), (-1, 0), (300, -1)])
def test_chunks_of_no_frames_are_refused(chunk: int, context: int) -> None:
    for decode in (CODEC.chunked_stream, lambda *sizes: CODEC.decode_chunked(random_codes(3), *sizes)):
        with pytest.raises(OptionError) as caught:
            decode(chunk, context)
        assert str(caught.value) == f"chunks are {chunk} frames with {context} before them, expected at least 1 and 0"
