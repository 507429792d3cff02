"""The stateful codec is upstream's decoder, and its chunks are the whole."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.checkpoint.weights import Shapes, Weights
from qwen3_tts_ncnn.convert.modules.codec import CodecDecoder, rvq_tables, state_shapes
from qwen3_tts_ncnn.runtime.rope import rope_tables, window_mask
from tests.convert.tensors import Dictionary

FRAMES = 80  # beyond the window of 72


@pytest.fixture(scope="module")
def codec(checkpoint: Checkpoint) -> CodecDecoder:
    return CodecDecoder(checkpoint.config.codec.decoder, Weights(checkpoint.codec) / "decoder")


@pytest.fixture(scope="module")
def shapes(checkpoint: Checkpoint) -> tuple[tuple[int, ...], ...]:
    return state_shapes(checkpoint.config.codec.decoder, Weights(Shapes(checkpoint.codec.shapes)) / "decoder")


@pytest.fixture(scope="module")
def codes() -> Tensor:
    """Codes (frames, 16)."""
    return torch.randint(0, 2048, (FRAMES, 16), generator=torch.Generator().manual_seed(1))


def run(codec: CodecDecoder, codes: Tensor, position: int, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """One chunk: samples, and the states after it."""
    config, count, kind = codec.config, len(codes), codec.norm.weight
    ids = (codes + torch.arange(16) * config.codebook_size).reshape(1, -1)
    halves = rope_tables(position, count, config.head_dim, config.rope_theta)
    cos, sin = (torch.from_numpy(np.concatenate((half, half), axis=1)).to(kind) for half in halves)
    mask = torch.from_numpy(window_mask(position, count, config.sliding_window)).to(kind)
    with torch.no_grad():
        wave, *after = codec(ids, mask, cos, sin, *states)
    assert wave.shape == (1, 1920 * count)
    return wave[0], after


def feed(codec: CodecDecoder, codes: Tensor, shapes: tuple[tuple[int, ...], ...], *chunks: int) -> Tensor:
    states = [torch.zeros(1, *shape).to(codec.norm.weight) for shape in shapes]
    pieces, position = [], 0
    for chunk in codes.split(list(chunks)):
        wave, states = run(codec, chunk, position, states)
        assert [tuple(state.shape[1:]) for state in states] == list(shapes)
        position += len(chunk)
        pieces.append(wave)
    return torch.cat(pieces)


def snr(ours: Tensor, theirs: Tensor) -> float:
    noise = (ours.double() - theirs).square().sum()
    return float(10 * torch.log10(theirs.double().square().sum() / noise))


def test_zero_states_decode_what_upstream_decodes(
    codec: CodecDecoder, shapes: tuple[tuple[int, ...], ...], codes: Tensor, upstream: Any
) -> None:
    """In float32; measured 111 dB, the rounding of this random codec."""
    with torch.no_grad():
        theirs = upstream.speech_tokenizer.model.decoder(codes.T[None])[0, 0]
    assert snr(feed(codec, codes, shapes, FRAMES), theirs) > 100


def test_it_is_upstream_s_decoder_to_the_last_digits_of_float64(
    codec: CodecDecoder, shapes: tuple[tuple[int, ...], ...], codes: Tensor, upstream: Any
) -> None:
    """What is left is upstream's rotary tables of float32; an approximation in the module would show."""
    exact, theirs = copy.deepcopy(codec).double(), copy.deepcopy(upstream.speech_tokenizer.model.decoder).double()
    with torch.no_grad():
        wave = theirs(codes.T[None])[0, 0]
    assert snr(feed(exact, codes, shapes, FRAMES), wave) > 120


@pytest.mark.parametrize(
    "chunks", [[1] * FRAMES, [3] * 26 + [2], [25, 25, 25, 5], [1, 73, 6]], ids=["1", "3", "25", "beyond-the-window"]
)
def test_chunks_are_the_whole(
    codec: CodecDecoder, shapes: tuple[tuple[int, ...], ...], codes: Tensor, chunks: list[int]
) -> None:
    """In float64, where nothing but exactness gives 250 dB."""
    exact = copy.deepcopy(codec).double()
    assert snr(feed(exact, codes, shapes, *chunks), feed(exact, codes, shapes, FRAMES)) > 250


def test_a_frame_hears_72_frames_and_the_convolutions_before_them(
    codec: CodecDecoder, shapes: tuple[tuple[int, ...], ...], codes: Tensor
) -> None:
    """Eight layers of 72 reach far back, but not for ever, and never forward."""
    changed = codes.clone()
    changed[40] = (changed[40] + 1) % 2048
    one, other = feed(codec, codes, shapes, FRAMES), feed(codec, changed, shapes, FRAMES)
    assert torch.equal(one[: 40 * 1920], other[: 40 * 1920])
    assert not torch.equal(one[40 * 1920 : 41 * 1920], other[40 * 1920 : 41 * 1920])


def test_there_are_37_states_of_the_official_kinds(checkpoint: Checkpoint, shapes: tuple[tuple[int, ...], ...]) -> None:
    config = checkpoint.config.codec.decoder
    latent, width, heads, dim = config.latent_dim, config.decoder_dim, config.num_attention_heads, config.head_dim
    expected = [(config.codebook_dim, 1, 2), *[(heads, 71, dim)] * 16, (latent, 1, 6), (latent, 1, 6), (latent, 1, 6)]
    for _ in config.upsample_rates:
        # The transposed convolution; then the units of dilation 1, 3 and 9.
        expected += [(width, 1, 1), (width // 2, 1, 6), (width // 2, 1, 18), (width // 2, 1, 54)]
        width //= 2
    expected.append((width, 1, 6))
    assert len(expected) == 37
    assert list(shapes) == expected


def test_a_codebook_is_its_sum_over_its_usage_and_never_over_less_than_1e_5(checkpoint: Checkpoint) -> None:
    config, decoder = checkpoint.config.codec.decoder, "decoder.quantizer"
    table, projection = rvq_tables(config, Weights(checkpoint.codec) / "decoder" / "quantizer")
    rows = config.codebook_dim // 2
    assert table.shape == (16 * 2048, rows)
    assert projection.shape == (config.codebook_dim, 16 * rows)
    clamped = 0
    for n in range(16):
        half = f"{decoder}.rvq_first" if n == 0 else f"{decoder}.rvq_rest"
        book = f"{half}.vq.layers.{max(n - 1, 0)}._codebook"
        usage, total = (checkpoint.codec.load(f"{book}.{name}") for name in ("cluster_usage", "embedding_sum"))
        clamped += int((usage < 1e-5).sum())
        assert torch.equal(table[n * 2048 : (n + 1) * 2048], total / usage.clamp(min=1e-5)[:, None])
        assert torch.equal(
            projection[:, n * rows : (n + 1) * rows], checkpoint.codec.load(f"{half}.output_proj.weight")[:, :, 0]
        )
    assert clamped > 0, "the random checkpoint has no unused code, so that the clamp was not tried"


def test_the_clamp_is_at_1e_5() -> None:
    class Config:
        num_quantizers = 2

    tensors = {name: torch.ones(3, 2, 1) for name in ("rvq_first.output_proj.weight", "rvq_rest.output_proj.weight")}
    for half in ("rvq_first", "rvq_rest"):
        tensors[f"{half}.vq.layers.0._codebook.cluster_usage"] = torch.tensor([2.0, 0.0, 1e-5, 1e-6])
        tensors[f"{half}.vq.layers.0._codebook.embedding_sum"] = torch.full((4, 2), 1e-5)

    config: Any = Config()
    table, _ = rvq_tables(config, Weights(Dictionary(tensors)))
    assert table[:, 0].tolist() == [pytest.approx(value) for value in (5e-6, 1, 1, 1) * 2]
