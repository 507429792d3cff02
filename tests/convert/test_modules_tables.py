"""The small modules, and the scopes of weights they are made from."""

from typing import Any

import pytest
import torch

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.checkpoint.weights import Shapes, Weights
from qwen3_tts_ncnn.convert.errors import CheckpointError
from qwen3_tts_ncnn.convert.modules.tables import Heads, Table, TextProjection


def test_the_text_projection_is_upstream_s(checkpoint: Checkpoint, upstream: Any) -> None:
    ours = TextProjection.from_weights(Weights(checkpoint.main) / "talker" / "text_projection")
    rows = torch.randn(9, checkpoint.config.talker.text_hidden_size, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(ours(rows), upstream.talker.text_projection(rows), rtol=0, atol=1e-6)


def test_tables_laid_end_to_end_are_looked_up_by_offset() -> None:
    table = Table(torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([[5.0, 6], [7, 8]]))
    assert table(torch.tensor([[3, 0]])).tolist() == [[[7, 8], [1, 2]]]


def test_one_head_is_one_tensor_and_several_are_a_tuple() -> None:
    hidden = torch.tensor([[1.0, 2]])
    first, second = torch.tensor([[1.0, 0], [0, 1], [1, 1]]), torch.tensor([[2.0, 0], [0, 2], [2, 2]])
    assert Heads(first)(hidden).tolist() == [[1, 2, 3]]
    one, two = Heads(first, second)(hidden)
    assert (one.tolist(), two.tolist()) == ([[1, 2, 3]], [[2, 4, 6]])


def test_a_scope_goes_deeper_as_the_names_do() -> None:
    weights = Weights(Shapes({"a.0.weight": (2, 3), "a.1.weight": (4,), "b": (1,)}))
    scope = weights / "a" / 0
    assert (scope.has("weight"), scope.has("bias"), weights.has("b")) == (True, False, True)
    assert tuple(scope.take("weight").shape) == (2, 3)
    assert weights.left_over() == ["a.1.weight", "b"]
    (weights / "a").mark("1.weight")
    assert scope.left_over() == ["b"]


def test_a_missing_tensor_is_one_line() -> None:
    scope = Weights(Shapes({"a.weight": (1,)})) / "a"
    with pytest.raises(
        CheckpointError, match=r"^tensor a\.bias is missing: the checkpoint is incomplete, fetch it again$"
    ):
        scope.take("bias")
