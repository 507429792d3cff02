"""The export decoder is upstream's talker, and upstream's predictor, on the same weights."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.checkpoint.config import DecoderConfig
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.modules.decoder import Decoder
from qwen3_tts_ncnn.runtime.rope import causal_mask, rope_tables


def tables(config: DecoderConfig, start: int, count: int) -> tuple[Tensor, Tensor]:
    halves = rope_tables(start, count, config.head_dim, config.rope_theta)
    cos, sin = (torch.from_numpy(np.concatenate((half, half), axis=1)) for half in halves)
    return cos, sin


def run(decoder: Decoder, config: DecoderConfig, hidden: Tensor) -> Tensor:
    n = hidden.shape[1]
    cos, sin = (table.to(hidden) for table in tables(config, 0, n))
    with torch.no_grad():
        return decoder(hidden, torch.from_numpy(causal_mask(0, n)).to(hidden), cos, sin)


def rows(count: int, width: int) -> Tensor:
    return torch.randn(1, count, width, generator=torch.Generator().manual_seed(count))


def error(ours: Tensor, theirs: Tensor) -> float:
    assert ours.shape == theirs.shape
    return float((ours - theirs).abs().max() / theirs.abs().max())


@pytest.fixture(params=["talker", "predictor"])
def case(request: pytest.FixtureRequest, checkpoint: Checkpoint, upstream: Any) -> tuple[DecoderConfig, Decoder, Any]:
    """The configuration, our module, and upstream's."""
    talker = Weights(checkpoint.main) / "talker"
    if request.param == "talker":
        config = checkpoint.config.talker.decoder
        return config, Decoder.from_weights(config, talker / "model"), upstream.talker.model
    config = checkpoint.config.talker.predictor
    scope = talker / "code_predictor" / "model"
    return config, Decoder.from_weights(config, scope), upstream.talker.code_predictor.model


@pytest.mark.parametrize("count", [1, 2, 16, 40])
def test_hidden_states_are_upstream_s(case: tuple[DecoderConfig, Decoder, Any], count: int) -> None:
    """In float32; measured 1e-6 at most."""
    config, decoder, upstream = case
    hidden = rows(count, config.hidden_size)
    with torch.no_grad():
        theirs = upstream(inputs_embeds=hidden, use_cache=False).last_hidden_state
    assert error(run(decoder, config, hidden), theirs) < 5e-6


def test_they_are_upstream_s_to_the_last_digits_of_float64(case: tuple[DecoderConfig, Decoder, Any]) -> None:
    """What is left is upstream's table of float32; an approximation in the module would show."""
    config, decoder, upstream = case
    hidden = rows(33, config.hidden_size).double()
    with torch.no_grad():
        theirs = copy.deepcopy(upstream).double()(inputs_embeds=hidden, use_cache=False).last_hidden_state
    assert error(run(copy.deepcopy(decoder).double(), config, hidden), theirs) < 1e-6


def test_a_row_does_not_hear_what_comes_after(case: tuple[DecoderConfig, Decoder, Any]) -> None:
    config, decoder, _ = case
    hidden = rows(12, config.hidden_size)
    changed = hidden.clone()
    changed[:, 8:] += 1
    one, other = run(decoder, config, hidden), run(decoder, config, changed)
    assert torch.equal(one[:, :8], other[:, :8])
    assert (one[:, 8:] != other[:, 8:]).any(dim=2).all()


def test_a_projection_comes_first(case: tuple[DecoderConfig, Decoder, Any], checkpoint: Checkpoint) -> None:
    """The 1.7B's 2048 → 1024 in front of its predictor (M:1172)."""
    config, decoder, _ = case
    weight, bias = torch.randn(config.hidden_size, 2 * config.hidden_size), torch.randn(config.hidden_size)

    class Source:
        names = ("p.weight", "p.bias")

        def load(self, name: str) -> Tensor:
            return weight if name == "p.weight" else bias

    scope = Weights(checkpoint.main) / "talker"
    scope = scope / "model" if config == checkpoint.config.talker.decoder else scope / "code_predictor" / "model"
    projected = Decoder.from_weights(config, scope, Weights(Source()) / "p")
    hidden = rows(7, 2 * config.hidden_size)
    assert torch.equal(run(projected, config, hidden), run(decoder, config, hidden @ weight.T + bias))
