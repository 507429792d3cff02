"""The speaker encoder is upstream's ECAPA-TDNN, layer by layer."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.modules.codec_layers import to_image
from qwen3_tts_ncnn.convert.modules.speaker_encoder import AttentivePooling, SameConv, SpeakerEncoder
from tests.convert.tensors import Dictionary, noise, observed, relative

BOUND = 2e-6  # of the largest value; rounding alone

# Mel frames: 18 are the shortest recording's 0.2 s, 187 two seconds.
LENGTHS = [18, 19, 40, 187, 563]


@pytest.fixture(scope="module")
def encoder(base_checkpoint: Checkpoint) -> SpeakerEncoder:
    config = base_checkpoint.config.speaker_encoder
    assert config is not None
    return SpeakerEncoder(config, Weights(base_checkpoint.main) / "speaker_encoder").eval()


@pytest.fixture(scope="module")
def theirs(upstream_base: Any) -> Any:
    return upstream_base.speaker_encoder


def mel_of(frames: int) -> Tensor:
    """Log-mel frames (1, n, 128) of the level that speech has."""
    return 2 * noise(1, frames, 128, seed=frames) - 4


@pytest.mark.parametrize("frames", LENGTHS)
def test_the_x_vector_is_upstream_s(encoder: SpeakerEncoder, theirs: Any, frames: int) -> None:
    mel = mel_of(frames)
    with torch.no_grad():
        x_vector = encoder(mel)
        assert x_vector.shape == (1, 64)
        assert relative(x_vector, theirs(mel)) <= BOUND


@pytest.mark.parametrize("frames", LENGTHS)
def test_every_layer_is_upstream_s(encoder: SpeakerEncoder, theirs: Any, frames: int) -> None:
    """Each given what upstream's is given, so that errors do not add up."""
    blocks = range(1, len(theirs.blocks))
    expected = observed(
        {"first": theirs.blocks[0], "mfa": theirs.mfa, "pooling": theirs.asp, "fc": theirs.fc}
        | {f"block{n}": theirs.blocks[n] for n in blocks}
        | {f"res2net{n}": theirs.blocks[n].res2net_block for n in blocks},
        lambda: theirs(mel_of(frames)),
    )
    layers: dict[str, Any] = {
        "first": lambda x: torch.relu(encoder.first(x)),
        "mfa": lambda x: torch.relu(encoder.mfa(x)),
        "pooling": encoder.pooling,
        "fc": encoder.fc,
    }
    layers |= {f"block{n}": encoder.blocks[n - 1] for n in blocks}
    layers |= {f"res2net{n}": encoder.blocks[n - 1].res2net for n in blocks}
    errors = {}
    with torch.no_grad():
        for name, (given, returned) in expected.items():
            errors[name] = relative(layers[name](given.unsqueeze(2)).squeeze(2), returned)
    assert len(errors) == 4 + 2 * len(encoder.blocks) == 10
    assert max(errors.values()) <= BOUND, errors


def test_it_is_upstream_s_encoder_to_the_last_digits_of_float64(encoder: SpeakerEncoder, theirs: Any) -> None:
    with torch.no_grad():
        exact = copy.deepcopy(encoder).double()(mel_of(100).double())
        expected = copy.deepcopy(theirs).double()(mel_of(100).double())
    assert relative(exact, expected) < 1e-13


def test_the_frames_are_heard(encoder: SpeakerEncoder) -> None:
    """Two recordings differ: the tests above would pass on an encoder that always says the same."""
    with torch.no_grad():
        one, other = encoder(mel_of(100)), encoder(mel_of(101) + 2)
    assert relative(one, other) > 1e-3


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (5, 1), (3, 4)])
def test_a_conv_keeps_its_length_and_reflects_at_both_ends(kernel: int, dilation: int) -> None:
    conv = nn.Conv1d(3, 4, kernel, dilation=dilation, padding="same", padding_mode="reflect")
    ours = SameConv.from_weights(Weights(Dictionary(conv.state_dict())), dilation)
    x = noise(1, 3, 20)
    with torch.no_grad():
        result = ours(x.unsqueeze(2)).squeeze(2)
        assert relative(result, conv(x)) <= BOUND


def test_a_signal_that_never_changes_has_the_least_deviation(encoder: SpeakerEncoder) -> None:
    """1e-6, the root of the clamp at 1e-12 (M:229), not the root of a rounding error below 0."""
    pooling: AttentivePooling = encoder.pooling
    channels = pooling.of_x.in_channels
    x = to_image(noise(1, 1, channels).repeat(1, 30, 1))
    with torch.no_grad():
        pooled = pooling(x).flatten()
    assert torch.allclose(pooled[:channels], x[0, :, 0, 0], atol=1e-6)
    assert torch.allclose(pooled[channels:], torch.tensor(1e-6), rtol=0, atol=1e-6)
