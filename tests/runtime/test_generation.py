"""The frame loop: N + 1 selections for N frames, and what ends a run."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qwen3_tts_ncnn.runtime.errors import NumericalError
from qwen3_tts_ncnn.runtime.generation import Generation, GenerationOptions, process_talker_logits
from qwen3_tts_ncnn.runtime.mat import Floats
from qwen3_tts_ncnn.runtime.prompt import Prompt
from qwen3_tts_ncnn.runtime.sampling import Sampling
from tests.runtime.fakes import FakePredictor, FakeTalker
from tests.runtime.manifests import CODEC_IDS

EOS = CODEC_IDS.eos
GREEDY = Sampling(greedy=True)


def array(*rows: list[float]) -> Any:
    return np.array(rows, dtype=np.float32)


PROMPT = Prompt(rows=array([1, 1], [2, 2], [3, 3]), trailing=array([0.1, 0], [0.2, 0]), pad=array([0.9, 0]))


def generation(talker: FakeTalker, max_frames: int = 50, penalty: float = 1.0, **changes: Any) -> Generation:
    options = GenerationOptions(GREEDY, GREEDY, repetition_penalty=penalty, max_frames=max_frames)
    parts: dict[str, Any] = {"predictor": FakePredictor(), "options": options, "source": None} | changes
    fake: Any = talker
    return Generation(fake, parts["predictor"], PROMPT, CODEC_IDS, parts["options"], parts["source"])


def test_eos_ends_a_run_and_becomes_no_frame() -> None:
    run = generation(FakeTalker([7, 8, 9, EOS]))
    frames = list(run)
    assert run.stop == "eos"
    assert run.selections == [7, 8, 9, EOS]
    assert [frame.tolist() for frame in frames] == [
        [7, *range(15)],
        [8, *range(100, 115)],
        [9, *range(200, 215)],
    ]
    assert all(frame.dtype == np.int32 for frame in frames)


def test_the_limit_ends_a_run_and_drops_one_selection() -> None:
    run = generation(FakeTalker([7, 8, 9, 10, 11]), max_frames=3)
    assert len(list(run)) == 3
    assert (run.stop, run.selections) == ("limit", [7, 8, 9, 10])


def test_eos_at_the_limit_is_eos() -> None:
    run = generation(FakeTalker([7, 8, 9, EOS]), max_frames=3)
    assert len(list(run)) == 3
    assert (run.stop, run.selections) == ("eos", [7, 8, 9, EOS])


def test_a_run_is_run_once() -> None:
    run = generation(FakeTalker([7, 8, 9, EOS]))
    frames = list(run)
    with pytest.raises(RuntimeError, match="was begun before"):
        next(iter(run))
    assert (len(frames), run.stop, run.selections) == (3, "eos", [7, 8, 9, EOS])


def test_one_frame_takes_two_selections() -> None:
    talker = FakeTalker([7, 8])
    run = generation(talker, max_frames=1)
    assert [frame[0] for frame in run] == [7]
    assert (run.stop, run.selections, len(talker.steps)) == ("limit", [7, 8], 1)


def test_eos_is_impossible_for_two_selections() -> None:
    """EOS is the likeliest from the start; the next likeliest is taken twice, then EOS is let through."""
    run = generation(FakeTalker([7, 8, 9, 10], eos=20.0))
    assert [frame[0] for frame in run] == [7, 8]
    assert (run.stop, run.selections) == ("eos", [7, 8, EOS])


def test_one_frame_never_ends_by_eos() -> None:
    run = generation(FakeTalker([7, 8], eos=20.0), max_frames=1)
    assert len(list(run)) == 1
    assert (run.stop, run.selections) == ("limit", [7, 8])


def test_each_step_hears_its_frame_and_its_text_row_then_padding() -> None:
    talker = FakeTalker([7, 8, 9, 10, EOS])
    list(generation(talker))
    expected = [[0.1, 7], [1000.2, 8], [2000.9, 9], [3000.9, 10]]
    assert talker.steps == [[np.float32(a), b] for a, b in expected]


def test_the_predictor_hears_the_hidden_state_that_chose_the_frame() -> None:
    predictor = FakePredictor()
    list(generation(FakeTalker([7, 8, 9, EOS]), predictor=predictor))
    assert predictor.hidden == [[0, 0], [1, 0], [2, 0]]
    assert predictor.chosen == [0, 100, 200]


def test_the_prompt_is_prefilled_once_into_a_cache_with_room_for_the_run() -> None:
    for max_frames, capacity in ((5, 3 + 5), (512, 3 + 512), (8191, 3 + 512)):
        talker = FakeTalker([7, 8, EOS])
        list(generation(talker, max_frames=max_frames))
        assert [(rows.tolist(), given) for rows, given in talker.starts] == [(PROMPT.rows.tolist(), capacity)]


def test_frames_come_one_at_a_time() -> None:
    """A stream must have its first frame before the second is computed."""
    talker = FakeTalker([7, 8, 9, EOS])
    run = generation(talker)
    assert talker.starts == []
    frames = iter(run)
    assert next(frames)[0] == 7
    assert (talker.steps, run.selections, run.stop) == ([], [7], None)
    assert next(frames)[0] == 8
    assert (len(talker.steps), run.selections) == (1, [7, 8])


def test_what_was_chosen_before_is_penalized() -> None:
    class Undecided(FakeTalker):
        def logits(self, hidden: Any) -> Any:
            scores = np.zeros(3072, dtype=np.float32)
            scores[[5, 6, 7]] = [3.0, 2.9, 2.8]
            return scores

    options = {"max_frames": 4}
    assert [frame[0] for frame in generation(Undecided([]), penalty=1.0, **options)] == [5, 5, 5, 5]
    # 3.0 / 1.05 = 2.857, 2.9 / 1.05 = 2.762: each falls behind once it has been chosen.
    assert [frame[0] for frame in generation(Undecided([]), penalty=1.05, **options)] == [5, 6, 5, 5]


def test_one_source_serves_talker_and_predictor_in_turn() -> None:
    class Counting:
        def __init__(self) -> None:
            self.counts: list[int] = []

        def exponential(self, count: int) -> NDArray[np.floating]:
            self.counts.append(count)
            return np.ones(count)

    source, drawn = Counting(), Sampling(greedy=False, temperature=0.1)
    options = GenerationOptions(drawn, drawn, repetition_penalty=1.0, max_frames=9)
    run = generation(FakeTalker([7, 8, EOS]), options=options, source=source)
    assert len(list(run)) == 2
    assert source.counts == [3072, 2048, 3072, 2048, 3072]


@pytest.mark.parametrize("selections", [[], [3], [3, 3]])
def test_control_tokens_are_never_chosen(selections: list[int]) -> None:
    logits = np.arange(3072, dtype=np.float32)
    scores = process_talker_logits(logits, selections, CODEC_IDS, 1.0)
    possible = np.flatnonzero(np.isfinite(scores)).tolist()
    assert possible == [*range(2048), *([EOS] if len(selections) == 2 else [])]
    assert logits.tolist() == list(range(3072))


def test_a_penalty_falls_before_the_bans() -> None:
    logits = np.full(3072, -1, dtype=np.float32)
    scores = process_talker_logits(logits, [3, 4, 4], CODEC_IDS, 2.0)
    assert scores[[2, 3, 4, 5]].tolist() == [-1, -2, -2, -1]
    assert scores[EOS] == -1


class BrokenTalker(FakeTalker):
    """Its logits are NaN after two steps."""

    def logits(self, hidden: Floats) -> Floats:
        return super().logits(hidden) * (np.float32(np.nan) if len(self.steps) == 2 else np.float32(1))


class BrokenPredictor(FakePredictor):
    """Chooses codebooks 1 to 15 one by one; in frame 1, the logits of codebook 5 are NaN."""

    def fill(self, hidden: Floats, first: Floats, choose: Any) -> tuple[list[int], Floats]:
        self.hidden.append(hidden[0].tolist())
        bad = (len(self.hidden) - 1, 5)
        logits = np.zeros(2048, dtype=np.float32)
        codes = [choose(np.full_like(logits, np.nan) if (1, book) == bad else logits) for book in range(1, 16)]
        return codes, first


def test_logits_that_are_no_numbers_are_an_error_that_names_the_step() -> None:
    with pytest.raises(NumericalError) as caught:
        list(generation(BrokenTalker([7, 8, 9, EOS])))
    assert str(caught.value).startswith("frame 2, codebook 0: the highest of 3072 logits is nan, expected")
    with pytest.raises(NumericalError) as caught:
        list(generation(FakeTalker([7, 8, 9, EOS]), predictor=BrokenPredictor()))
    assert str(caught.value).startswith("frame 1, codebook 5: the highest of 2048 logits is nan, expected")
