"""The codec goes on where a reference ended, and the cut between them is upstream's to the sample."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.cloning import PrimedReference, prime
from qwen3_tts_ncnn.runtime.mat import Floats
from tests.runtime.fakes import ArithmeticDecoder, random_codes

FRAME = 1920
CODEC = ArithmeticDecoder()


@pytest.mark.parametrize("frames", [1, 299, 300, 301, 340])
def test_a_stream_goes_on_as_if_all_had_been_decoded_whole(frames: int) -> None:
    """Behind a reference of more than 300 frames too, which upstream decodes with a seam."""
    said = random_codes(frames)
    reference = primed(said)
    for spoken in (1, 30):
        codes = random_codes(spoken, seed=spoken)
        whole = CODEC.decode(np.concatenate((said, codes)))
        assert np.array_equal(reference.stream().decode(codes), whole[frames * RATE :])


RATE = CODEC.shape.samples_per_frame


def first_sample(reference: int, spoken: int) -> int:
    """The number of the first sample that is heard, where the reference's own go up to its end."""
    no_stream: Any = None
    tail: Any = np.arange((reference - 1) * FRAME, reference * FRAME)
    no_rows = np.zeros((reference, 2), dtype=np.float32)
    codes = np.zeros((reference, 16), dtype=np.int32)
    lead_in = PrimedReference(codes, no_rows, tail, no_stream, no_stream).lead_in(spoken)
    first = reference * FRAME - len(lead_in)
    assert np.array_equal(lead_in, np.arange(first, reference * FRAME))
    return first


def upstream_s_cut(reference: int, total: int) -> int:
    """Q:628, in Python's float64."""
    return int(reference / total * (total * FRAME))


LENGTHS = [(reference, spoken) for reference in range(1, 36) for spoken in range(1, 36)]


def test_the_cut_is_upstream_s_for_many_lengths() -> None:
    for reference, spoken in LENGTHS:
        assert first_sample(reference, spoken) == upstream_s_cut(reference, reference + spoken)


def test_lengths_that_upstream_cuts_one_sample_short_are_among_them() -> None:
    """In float64 15 / 22 · 22 · 1920 is a little less than 28800: the last sample of the reference is heard."""
    short = [
        (reference, spoken)
        for reference, spoken in LENGTHS
        if upstream_s_cut(reference, reference + spoken) == reference * FRAME - 1
    ]
    exact = [pair for pair in LENGTHS if upstream_s_cut(pair[0], sum(pair)) == pair[0] * FRAME]
    assert len(short) + len(exact) == len(LENGTHS)
    assert (15, 7) in short
    for reference, spoken in short:
        assert first_sample(reference, spoken) == reference * FRAME - 1


def codec_rows(ids: NDArray[np.int32]) -> Floats:
    """E(id) = [id, 1]"""
    return np.stack((ids, np.ones_like(ids)), axis=1).astype(np.float32)


class Parts:
    """A talker and a predictor that embed, and nothing else."""

    codec_rows = staticmethod(codec_rows)

    @staticmethod
    def embed(codes: NDArray[np.int32]) -> Floats:
        assert codes.shape[1] == 15
        return np.stack((codes.sum(axis=1), np.full(len(codes), 15)), axis=1).astype(np.float32)


def primed(codes: NDArray[np.int32]) -> PrimedReference:
    parts: Any = Parts()
    return prime(codes, parts, parts, CODEC)


def speak(reference: PrimedReference, codes: NDArray[np.int32]) -> Floats:
    """What is heard of the codes when they are spoken after a reference, as `TTS` does it."""
    return np.concatenate((reference.lead_in(len(codes)), reference.chunked_stream().decode(codes)))


def test_a_row_is_the_sum_of_all_16_embeddings_of_its_frame() -> None:
    codes = random_codes(5)
    reference = primed(codes)
    assert reference.codes is codes
    assert reference.rows.tolist() == [[int(frame.sum()), 16] for frame in codes]


@pytest.mark.parametrize("frames", [1, 3, 40, 290, 299, 300, 301, 340])
def test_what_is_spoken_sounds_as_if_it_had_been_decoded_with_the_reference(frames: int) -> None:
    """Upstream's seams included, and after the seam at frame 300 too."""
    said = random_codes(frames)
    reference = primed(said)
    for number, spoken in enumerate((1, 7, 30)):
        codes = random_codes(spoken, seed=number + 1)
        whole = CODEC.decode_chunked(np.concatenate((said, codes)))
        cut = int(frames / (frames + spoken) * len(whole))
        assert np.array_equal(speak(reference, codes), whole[cut:])


def test_two_sentences_do_not_hear_each_other() -> None:
    reference, codes = primed(random_codes(20)), random_codes(9, seed=1)
    once = speak(reference, codes)
    speak(reference, random_codes(300, seed=2))
    assert np.array_equal(speak(reference, codes), once)
