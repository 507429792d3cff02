"""The codec's encoder gives upstream's codes, at any length."""

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.clips import speech_like
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.runtime import TTS, codec_encoder
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.rope import HIDDEN, causal_mask

# 0.1 to 30 s, and less than a frame: whole frames of 1920 samples, one sample more and less, and lengths by no rule.
COUNTS = (
    *(1, 1919, 1920, 1921, 2400, 3839, 3840, 3841, 4799, 9600, 12_345, 19_199, 19_200, 19_201, 31_337),
    *(48_001, 72_011, 96_007, 120_000, 191_999, 192_001, 264_011, 360_001, 480_000, 600_001, 719_999, 720_000),
)
# A random codebook has near ties: in 28,000 codes some two entries are as far away but for 5e-6 of it, which rounding
# may turn round. So each clip has a seed with which no two come nearer than 3.7e-5: 0, or for these 1.
SEEDS = dict.fromkeys((120_000, 360_001, 719_999, 720_000), 1)
SECONDS = 24_000
WINDOW = 250  # steps of 40 ms: `encoder_config.sliding_window`


def first_difference(ours: np.ndarray, theirs: np.ndarray) -> tuple[int, int] | None:
    """(frame, codebook) of the first code that differs."""
    places = np.argwhere(ours != theirs)
    return (int(places[0][0]), int(places[0][1])) if len(places) else None


@pytest.mark.parametrize("count", COUNTS)
def test_the_codes_of_any_number_of_samples_are_upstreams(base_tts: TTS, base_oracle: Oracle, count: int) -> None:
    samples = speech_like(count, SECONDS, SEEDS.get(count, 0))
    ours, theirs = base_tts.codec.encode_samples(samples), base_oracle.encode(samples)
    assert ours.shape == theirs.shape == (-(-count // 1920), 16)
    assert first_difference(ours, theirs) is None


def test_the_clips_are_more_than_twenty_from_a_tenth_of_a_second_to_thirty() -> None:
    counts = [count for count in COUNTS if count >= 0.1 * SECONDS]
    assert (min(counts), max(counts)) == (2400, 30 * SECONDS)
    assert len([count for count in counts if count % 1920]) > 10
    assert {count % 1920 for count in counts} >= {0, 1, 1919}


def test_attention_reaches_back_beyond_the_configs_window(
    base_tts: TTS, base_oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upstream's codes are those without the window; with it, all goes wrong once there are more than 250 steps."""
    samples = speech_like(30 * SECONDS, SECONDS, seed=1)
    theirs = base_oracle.encode(samples)
    assert np.array_equal(base_tts.codec.encode_samples(samples), theirs)

    def windowed(past: int, rows: int) -> Floats:
        steps = np.arange(rows)
        return np.where(steps[:, None] - steps >= WINDOW, HIDDEN, causal_mask(past, rows))

    monkeypatch.setattr(codec_encoder, "causal_mask", windowed)
    ours = base_tts.codec.encode_samples(samples)
    assert np.array_equal(ours[: WINDOW // 2], theirs[: WINDOW // 2])
    assert (ours[WINDOW // 2 :] != theirs[WINDOW // 2 :]).any(axis=1).mean() > 0.5
