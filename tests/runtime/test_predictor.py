"""A frame is filled code by code, each from its own table and head."""

from typing import Any

import numpy as np

from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.predictor import Predictor


class Embeds:
    """Row id is [id, 1]."""

    def __init__(self) -> None:
        self.ids: list[int] = []

    def rows(self, ids: Any) -> Floats:
        self.ids += list(ids)
        return np.array([[id, 1] for id in ids], dtype=np.float32)


class Decoder:
    """Returns the rows it is given."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def cache(self, capacity: int) -> "Decoder":
        self.calls.append(("cache", capacity))
        return self

    def clear(self) -> None:
        self.calls.append("clear")

    def forward(self, rows: Floats, cache: "Decoder") -> Floats:
        self.calls.append(rows.tolist())
        return rows


class Heads:
    """Head s answers with s and the first number of its row."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[list[float]]]] = []

    def run(self, inputs: dict[str, Any], output: str) -> Floats:
        self.calls.append((output, inputs["hidden"].tolist()))
        return np.array([[int(output.removeprefix("logits_")), inputs["hidden"][0, 0]]], dtype=np.float32)


def test_step_s_embeds_code_s_with_table_s_minus_1_and_reads_head_s() -> None:
    embeds, decoder, heads = Embeds(), Decoder(), Heads()
    fakes: Any = (embeds, decoder, heads)
    predictor = Predictor(*fakes, steps=3, vocab_size=10)
    hidden, first = np.array([[50, 0]], dtype=np.float32), np.array([[60, 0]], dtype=np.float32)
    answers = iter([4, 5, 6])
    seen: list[list[float]] = []

    def choose(logits: Floats) -> int:
        seen.append(logits.tolist())
        return next(answers)

    codes, total = predictor.fill(hidden, first, choose)
    assert codes == [4, 5, 6]
    assert embeds.ids == [4, 15, 26]
    # A fresh cache with room for the two rows of the prefill and two steps; then the rows as they come.
    assert decoder.calls == [("cache", 4), "clear", [[50, 0], [60, 0]], [[4, 1]], [[15, 1]]]
    assert heads.calls == [("logits_0", [[60, 0]]), ("logits_1", [[4, 1]]), ("logits_2", [[15, 1]])]
    assert seen == [[0, 60], [1, 4], [2, 15]]
    # The sum of all embeddings, the first code's included, which the talker hears next; what came in is as it was.
    assert total.tolist() == [[60 + 4 + 15 + 26, 3]]
    assert (hidden.tolist(), first.tolist()) == ([[50, 0]], [[60, 0]])


def test_every_frame_begins_with_an_empty_cache() -> None:
    decoder = Decoder()
    fakes: Any = (Embeds(), decoder, Heads())
    predictor = Predictor(*fakes, steps=1, vocab_size=10)
    rows = np.zeros((1, 2), dtype=np.float32)
    for _ in range(3):
        predictor.fill(rows, rows, lambda _logits: 0)
    assert decoder.calls.count("clear") == 3
    assert decoder.calls.count(("cache", 2)) == 1


def test_the_embeddings_of_a_reference_s_codes_are_summed_frame_by_frame() -> None:
    """Table n for codebook n + 1, as the codes of its own frames are embedded."""
    embeds = Embeds()
    fakes: Any = (embeds, Decoder(), Heads())
    predictor = Predictor(*fakes, steps=3, vocab_size=10)
    rows = predictor.embed(np.array([[4, 5, 6], [7, 8, 9]], dtype=np.int32))
    assert embeds.ids == [4, 15, 26, 7, 18, 29]
    assert rows.tolist() == [[4 + 15 + 26, 3], [7 + 18 + 29, 3]]
