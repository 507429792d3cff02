"""How often a step waits for the GPU: once for each output that is taken, for no layer leaves it on the way."""

import numpy as np
import pytest

from qwen3_tts_ncnn.runtime.graph import GraphRun
from tests.vulkan.conftest import Pair

# Of the tiny model: layers of the talker and of the predictor, states of the codec.
LAYERS, PREDICTOR_LAYERS, STATES = 3, 2, 37

ROW = np.ones((1, 64), dtype=np.float32)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Outputs that are taken from graphs, in order."""
    names: list[str] = []
    mat = GraphRun.mat

    def counted(self: GraphRun, output: str, *, shared: bool = False) -> object:
        names.append(output)
        return mat(self, output, shared=shared)

    monkeypatch.setattr(GraphRun, "mat", counted)
    return names


@pytest.mark.parametrize(("gpu", "submits"), [(0, 1 + 2 * LAYERS + 1), (1, 2)], ids=["cpu", "gpu"])
def test_a_talker_step(pair: Pair, taken: list[str], gpu: int, submits: int) -> None:
    talker = pair("base")[gpu]._talker
    hidden, cache = talker.start(ROW, 4)
    taken.clear()
    talker.logits(talker.step(hidden, cache))
    assert len(taken) == submits


@pytest.mark.parametrize(("gpu", "submits"), [(0, 1 + 2 * PREDICTOR_LAYERS + 1), (1, 2)], ids=["cpu", "gpu"])
def test_a_predictor_step(pair: Pair, taken: list[str], gpu: int, submits: int) -> None:
    predictor = pair("base")[gpu]._predictor
    predictor.fill(ROW, ROW, lambda logits: int(logits.argmax()))
    assert len(taken) == submits * predictor.steps


@pytest.mark.parametrize(("gpu", "submits"), [(0, STATES + 1), (1, 1)], ids=["cpu", "gpu"])
def test_a_codec_chunk(pair: Pair, taken: list[str], gpu: int, submits: int) -> None:
    pair("base")[gpu].codec.decode(np.zeros((2, 16), dtype=np.int32))
    assert len(taken) == submits
