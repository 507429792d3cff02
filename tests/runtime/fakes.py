"""Parts whose every answer is known beforehand: a talker, a predictor, a codec."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.codec_decoder import CodecDecoder
from qwen3_tts_ncnn.runtime.mat import Floats
from tests.runtime.manifests import CODEC, CODEC_IDS

WIDTH = 2


class FakeTalker:
    """Chooses `script[n]` at selection n: there, its logit is 9 and every other 0. EOS has `eos` elsewhere.

    A hidden state (1, 2) is [selection, 0]; E(id) is [0, id].
    """

    def __init__(self, script: list[int], eos: float = 0.0) -> None:
        self.script = script
        self.eos = eos
        self.starts: list[tuple[Floats, int]] = []
        self.steps: list[list[float]] = []

    def start(self, rows: Floats, capacity: int) -> tuple[Floats, str]:
        self.starts.append((rows, capacity))
        return np.zeros((1, WIDTH), dtype=np.float32), "the cache"

    def step(self, row: Floats, cache: Any) -> Floats:
        assert cache == "the cache"
        assert row.shape == (1, WIDTH)
        self.steps.append(row[0].tolist())
        return np.array([[len(self.steps), 0]], dtype=np.float32)

    def logits(self, hidden: Floats) -> Floats:
        scores = np.zeros(3072, dtype=np.float32)
        scores[CODEC_IDS.eos] = self.eos
        scores[self.script[int(hidden[0, 0])]] = 9
        return scores

    def codec_rows(self, ids: list[int]) -> Floats:
        return np.array([[0, id] for id in ids], dtype=np.float32)


class FakePredictor:
    """Fills a frame with 15 codes that count on from 100 · frame; its embeddings add up to [1000 · frame, code 0]."""

    def __init__(self) -> None:
        self.hidden: list[list[float]] = []
        self.chosen: list[int] = []

    def fill(self, hidden: Floats, first: Floats, choose: Any) -> tuple[list[int], Floats]:
        self.hidden.append(hidden[0].tolist())
        frame = len(self.hidden) - 1
        logits = np.zeros(2048, dtype=np.float32)
        logits[100 * frame] = 1
        self.chosen.append(choose(logits))
        codes = [100 * frame + n for n in range(15)]
        return codes, first + np.array([[1000 * frame, 0]], dtype=np.float32)


class ArithmeticDecoder(CodecDecoder):
    """A codec of two samples a frame that are a number of all frames since the signal began, and of nothing else.

    The number is a polynomial of the codes modulo a prime: one code that differs makes every later sample another.
    """

    def __init__(self) -> None:
        no_graph: Any = None
        super().__init__(no_graph, replace(CODEC, samples_per_frame=2))

    def zero_states(self) -> list[Any]:
        return [1, 0]

    def run(self, frames: NDArray[np.int32], position: int, states: list[Any]) -> tuple[Floats, list[Any]]:
        number, count = states
        assert position == count, "a run at another place than its states"
        samples = []
        for frame in frames @ np.arange(1, 17):
            number = (31 * number + int(frame)) % 65521
            samples += [number, number + 0.5]
        return np.array(samples, dtype=np.float32), [number, count + len(frames)]


def random_codes(frames: int, seed: int = 0) -> NDArray[np.int32]:
    """Codes (frames, 16)."""
    return np.random.default_rng((seed, frames)).integers(0, 2048, (frames, 16), dtype=np.int32)
