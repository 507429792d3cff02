"""The oracle draws as upstream does after `torch.manual_seed`, and knows designed voices and instructions."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.clips import ReferenceClip, speech_like
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.parity.quiet import quiet
from qwen3_tts_ncnn.parity.settings import SamplingSettings
from tests.conftest import Oracles

SETTINGS = SamplingSettings(temperature=1.5, top_k=0, predictor_top_p=0.7)
DESIGN = Case("Hello.", None, "english", False, 6, instruct="A calm old man.", seed=7, settings=SETTINGS)
CLIP = ReferenceClip("me", speech_like(9600, 24_000, seed=0), 24_000, "Good morning!")


@pytest.fixture(scope="module")
def oracle(oracle_of: Oracles) -> Oracle:
    return oracle_of("tiny", "voice_design")


@pytest.mark.usefixtures("one_torch_thread")
def test_upstream_does_the_same_when_nobody_looks(oracle: Oracle) -> None:
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        waves, _ = oracle._upstream.generate_voice_design(
            "Hello.",
            instruct="A calm old man.",
            language="english",
            non_streaming_mode=True,
            do_sample=True,
            temperature=1.5,
            top_k=0,
            subtalker_dosample=True,
            subtalker_top_p=0.7,
            max_new_tokens=7,
        )
    assert np.array_equal(oracle.speak(DESIGN).samples, waves[0])


def test_a_seed_draws_what_greedy_would_not_choose(oracle: Oracle) -> None:
    drawn, greedy = oracle.speak(DESIGN), oracle.speak(replace(DESIGN, seed=None))
    assert not np.array_equal(drawn.grid(), greedy.grid())
    assert np.array_equal(drawn.grid(), oracle.speak(DESIGN).grid())
    assert not np.array_equal(drawn.grid(), oracle.speak(replace(DESIGN, seed=8)).grid())


def test_with_a_top_k_of_1_there_is_no_runner_up(oracle: Oracle) -> None:
    trace = oracle.speak(replace(DESIGN, settings=SamplingSettings(top_k=1)))
    assert (trace.runners_up[:, 0] == -1).all()
    assert np.isinf(trace.margins[:, 0]).all()
    assert (trace.runners_up[:-1, 1:] >= 0).all()


def test_the_settings_reach_both_talker_and_predictor(oracle: Oracle) -> None:
    """Half the temperature doubles the distance of the two best logits, and so tells its own."""
    one = SamplingSettings(temperature=1, predictor_temperature=1)
    cases = [
        replace(DESIGN, max_frames=1, settings=settings)
        for settings in (one, replace(one, temperature=0.5), replace(one, predictor_temperature=0.5))
    ]
    talker, predictor = zip(
        *((trace.margins[0, 0], trace.margins[0, 1]) for trace in map(oracle.speak, cases)), strict=True
    )
    assert talker[1] / talker[0] == pytest.approx(2, rel=1e-5)
    assert (talker[2], predictor[2] / predictor[0]) == (talker[0], pytest.approx(2, rel=1e-5))
    assert predictor[0] > 0


def test_torch_s_generator_is_where_it_was_after_a_run(oracle: Oracle) -> None:
    before = torch.get_rng_state()
    oracle.speak(replace(DESIGN, max_frames=1))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("preset", ["tiny", "tiny-1.7b"])
def test_it_says_what_takes_an_instruction(oracle_of: Oracles, preset: str) -> None:
    takes = {kind: oracle_of(preset, kind).takes_instructions for kind in ("base", "custom_voice", "voice_design")}
    assert takes == {"base": False, "custom_voice": preset == "tiny-1.7b", "voice_design": True}


@pytest.mark.parametrize(
    "case",
    [Case("Hi."), Case("Hi.", instruct=""), Case("Hi.", "serena", instruct="Slowly."), Case("Hi.", reference=CLIP)],
)
def test_a_voice_design_checkpoint_needs_an_instruction_alone(oracle: Oracle, case: Case) -> None:
    with pytest.raises(ParityError, match="it needs an instruction, and no speaker and no reference") as caught:
        oracle.speak(case)
    assert "\n" not in str(caught.value)
