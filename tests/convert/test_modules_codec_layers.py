"""The codec's layers against the torch layers they stand for."""

from typing import Any

import pytest
import torch
from torch import nn

from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.modules.codec import ShapeTape, StateTape
from qwen3_tts_ncnn.convert.modules.codec_layers import (
    CausalConv,
    ConvNeXtBlock,
    SnakeBeta,
    SubPixelConv,
    to_image,
    to_rows,
)
from tests.convert.tensors import Dictionary, noise


def weights_of(module: nn.Module, scope: str = "") -> Weights:
    """The tensors of a torch module, as a checkpoint would hold them."""
    holder: Any = nn.ModuleDict({scope: module}) if scope else module
    return Weights(Dictionary(holder.state_dict()))


def randomized(module: nn.Module) -> nn.Module:
    for n, parameter in enumerate(module.parameters()):
        parameter.data = noise(*parameter.shape, seed=n + 10)
    return module.eval()


@pytest.mark.parametrize(("rate", "kernel"), [(2, 2), (8, 16), (5, 10), (4, 8), (3, 6)])
def test_a_sub_pixel_conv_is_the_transposed_conv_cut_on_the_right(rate: int, kernel: int) -> None:
    transposed = randomized(nn.ConvTranspose1d(6, 4, kernel, stride=rate))
    layer = SubPixelConv.from_weights(weights_of(transposed, "conv"), rate)
    assert layer.columns == kernel // rate - 1
    x = noise(1, 6, 9)
    with torch.no_grad():
        expected = transposed(x)[..., : 9 * rate]
        tape = StateTape([torch.zeros(1, 6, 1, layer.columns)] if layer.columns else [])
        ours = layer(x.unsqueeze(2), tape)
    assert ours.shape == (1, 4, 1, 9 * rate)
    assert (ours.squeeze(2) - expected).abs().max() < 1e-6 * expected.abs().max()
    assert len(tape.outgoing) == layer.columns


@pytest.mark.parametrize(("kernel", "dilation", "groups"), [(1, 1, 1), (3, 1, 1), (7, 3, 1), (7, 9, 1), (7, 1, 6)])
def test_a_causal_conv_hears_its_past_alone(kernel: int, dilation: int, groups: int) -> None:
    conv = randomized(nn.Conv1d(6, 12, kernel, dilation=dilation, groups=groups))
    layer = CausalConv.from_weights(weights_of(conv, "conv"), dilation=dilation, groups=groups)
    reach = (kernel - 1) * dilation
    assert layer.columns == reach
    past, x = noise(1, 6, reach), noise(1, 6, 60, seed=1)
    with torch.no_grad():
        expected = conv(torch.cat((past, x), dim=2))
        tape = StateTape([past.unsqueeze(2)] if reach else [])
        ours = layer(x.unsqueeze(2), tape).squeeze(2)
    assert ours.shape == (1, 12, 60)
    assert (ours - expected).abs().max() < 1e-6 * expected.abs().max()
    if reach:
        (state,) = tape.outgoing
        assert torch.equal(state.squeeze(2), torch.cat((past, x), dim=2)[..., -reach:])


def test_a_state_longer_than_its_chunk_keeps_what_it_had() -> None:
    tape = StateTape([torch.tensor([1.0, 2, 3, 4]).reshape(1, 1, 1, 4)])
    extended = tape.extend(torch.tensor([5.0]).reshape(1, 1, 1, 1), 4)
    assert extended.flatten().tolist() == [1, 2, 3, 4, 5]
    assert tape.outgoing[0].flatten().tolist() == [2, 3, 4, 5]


def test_keys_and_values_are_kept_by_rows() -> None:
    tape = StateTape([torch.tensor([[1.0, 10], [2, 20]]).reshape(1, 1, 2, 2)])
    extended = tape.extend_rows(torch.tensor([[3.0, 30]]).reshape(1, 1, 1, 2), 2)
    assert extended.flatten().tolist() == [1, 10, 2, 20, 3, 30]
    assert tape.outgoing[0].flatten().tolist() == [2, 20, 3, 30]


def test_a_shape_tape_says_what_would_be_asked_for() -> None:
    tape = ShapeTape()
    assert tape.extend(torch.ones(1, 5, 1, 2), 3).shape == (1, 5, 1, 5)
    assert tape.extend_rows(torch.ones(1, 2, 1, 4), 7).shape == (1, 2, 8, 4)
    assert tape.shapes == [(1, 5, 1, 3), (1, 2, 7, 4)]


def test_snake_beta_is_its_formula() -> None:
    class Scales(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.alpha, self.beta = nn.Parameter(noise(6)), nn.Parameter(noise(6, seed=1))

    scales = Scales()
    x = 3 * noise(1, 6, 1, 20, seed=2)
    alpha, beta = (p.detach().reshape(1, 6, 1, 1).double() for p in (scales.alpha, scales.beta))
    expected = x + torch.sin(x.double() * alpha.exp()).square() / (beta.exp() + 1e-9)
    with torch.no_grad():
        ours = SnakeBeta.from_weights(weights_of(scales))(x)
    assert (ours - expected).abs().max() < 1e-5


def test_snake_beta_survives_a_beta_that_vanishes() -> None:
    """e^−100 is 0 in float32: the 1e-9 keeps the quotient finite."""
    with torch.no_grad():
        ours = SnakeBeta(torch.zeros(1), torch.full((1,), -200.0))(torch.full((1, 1, 1, 1), 1.0))
    assert ours.item() == pytest.approx(1 + float(torch.sin(torch.tensor(1.0)).square()) * 1e9, rel=1e-5)


def test_a_convnext_block_is_upstream_s(upstream: Any) -> None:
    theirs = upstream.speech_tokenizer.model.decoder.upsample[0][1]
    ours = ConvNeXtBlock(weights_of(theirs))
    x = noise(1, theirs.gamma.shape[0], 30)
    with torch.no_grad():
        expected = theirs(x)
        result = ours(x.unsqueeze(2), StateTape([torch.zeros(1, x.shape[1], 1, 6)])).squeeze(2)
    assert (result - expected).abs().max() < 1e-5 * expected.abs().max()


def test_rows_and_images_are_each_other_s_reverse() -> None:
    x = noise(1, 3, 1, 5)
    assert to_rows(x).shape == (1, 5, 3)
    assert torch.equal(to_image(to_rows(x)), x)
