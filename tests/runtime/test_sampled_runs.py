"""Whole sampled runs: a seed gives the codes that upstream gives after `torch.manual_seed` of it."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from qwen3_tts_ncnn.parity.quiet import quiet
from qwen3_tts_ncnn.runtime import TTS
from qwen3_tts_ncnn.runtime.generation import Generation, GenerationOptions
from qwen3_tts_ncnn.runtime.request import generation_options
from qwen3_tts_ncnn.runtime.sampling import Sampling
from qwen3_tts_ncnn.runtime.torch_random import TorchSource
from tests.conftest import Oracles, Sides

GREEDY = Sampling(greedy=True)
DEFAULT = Sampling(greedy=False, temperature=0.9, top_k=50)
COLD = Sampling(greedy=False, temperature=0.3, top_k=50)
HOT = Sampling(greedy=False, temperature=1.5, top_k=0)
NUCLEUS = Sampling(greedy=False, temperature=0.9, top_k=0, top_p=0.8)
HOT_NUCLEUS = Sampling(greedy=False, temperature=1.5, top_k=100, top_p=0.5)
ONE = Sampling(greedy=False, temperature=0.9, top_k=1)


@dataclass(frozen=True)
class Run:
    """One sampled run of both sides."""

    seed: int
    talker: Sampling = DEFAULT
    predictor: Sampling = DEFAULT
    repetition_penalty: float = 1.05
    text: str = "Hello there, it's a fine day."
    speaker: str = "serena"
    language: str = "english"
    streaming_text: bool = False
    max_frames: int = 16


RUNS = (
    Run(0),
    Run(1, streaming_text=True),
    Run(2**31, text="今天天气很好。", speaker="eric", language="chinese"),
    Run(2**32 - 1, text="3.14, 2024!", speaker="vivian", language="auto"),
    Run(2**40 + 5),
    Run(-1, streaming_text=True),
    Run(2, COLD, COLD),
    Run(3, HOT, HOT, 1.0),
    Run(4, NUCLEUS, HOT_NUCLEUS),
    Run(5, HOT_NUCLEUS, NUCLEUS, 1.3),
    Run(6, ONE, DEFAULT),
    Run(7, DEFAULT, ONE),
    Run(8, GREEDY, DEFAULT),
    Run(9, DEFAULT, GREEDY),
    Run(10, max_frames=1),
)


@dataclass
class Seen:
    """What one side made.

    Attributes:
        codes: (T, 16) the frames.
        selections: (T + 1,) every codebook-0 code chosen.
    """

    codes: NDArray[Any]
    selections: list[int]


def upstream_options(run: Run) -> dict[str, Any]:
    return {
        "do_sample": not run.talker.greedy,
        "temperature": run.talker.temperature,
        "top_k": run.talker.top_k,
        "top_p": run.talker.top_p,
        "subtalker_dosample": not run.predictor.greedy,
        "subtalker_temperature": run.predictor.temperature,
        "subtalker_top_k": run.predictor.top_k,
        "subtalker_top_p": run.predictor.top_p,
        "repetition_penalty": run.repetition_penalty,
        # The selection after the last frame counts as a new token too.
        "max_new_tokens": run.max_frames + 1,
    }


def run_upstream(upstream: Any, run: Run) -> Seen:
    talker, selections = upstream.model.talker, []
    generate = talker.generate

    def noted(**options: Any) -> Any:
        result = generate(**options)
        selections.extend(result.sequences[0].tolist())
        return result

    ids = upstream._tokenize_texts([upstream._build_assistant_text(run.text)])
    talker.generate = noted
    try:
        with quiet():
            torch.manual_seed(run.seed)
            codes, _ = upstream.model.generate(
                input_ids=ids,
                instruct_ids=[None],
                languages=[run.language],
                speakers=[run.speaker],
                non_streaming_mode=not run.streaming_text,
                **upstream_options(run),
            )
    finally:
        del talker.generate
    return Seen(codes[0].numpy(), selections)


def run_package(tts: TTS, run: Run) -> tuple[Seen, str | None]:
    prompt = tts.prompt(run.text, speaker=run.speaker, language=run.language, streaming_text=run.streaming_text)
    options = GenerationOptions(run.talker, run.predictor, run.repetition_penalty, run.max_frames)
    generation = Generation(tts._talker, tts._predictor, prompt, tts.manifest.codec_ids, options, TorchSource(run.seed))
    codes = np.stack(list(generation))
    return Seen(codes, generation.selections), generation.stop


@pytest.fixture(scope="module")
def upstream(oracle_of: Oracles) -> Iterator[Any]:
    oracle, threads = oracle_of("tiny", "custom_voice"), torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        yield oracle._upstream
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def tts(sides: Sides) -> TTS:
    return sides("tiny", "custom_voice")[0]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"seed {run.seed}")
def test_a_seed_gives_all_16_codebooks_of_upstream_and_its_stop(tts: TTS, upstream: Any, run: Run) -> None:
    theirs, (ours, stop) = run_upstream(upstream, run), run_package(tts, run)
    assert ours.selections == theirs.selections
    assert np.array_equal(ours.codes, theirs.codes)
    assert stop == ("eos" if theirs.selections[-1] == tts.manifest.codec_ids.eos else "limit")


def test_the_runs_end_both_ways_and_are_not_alike(tts: TTS) -> None:
    runs = [run_package(tts, replace(RUNS[0], seed=seed, max_frames=7)) for seed in range(4)]
    assert {stop for _, stop in runs} == {"eos", "limit"}
    assert len({tuple(seen.selections) for seen, _ in runs}) == 4


def test_a_seed_gives_the_same_run_again(tts: TTS) -> None:
    run = Run(12, HOT, HOT_NUCLEUS)
    assert np.array_equal(run_package(tts, run)[0].codes, run_package(tts, run)[0].codes)


def test_a_seed_gives_the_same_run_on_two_threads(tts: TTS, tiny_package: Path) -> None:
    """One frame: where the second core is busy, a step on two threads takes a hundred times as long."""
    run = Run(12, HOT, HOT_NUCLEUS, max_frames=1)
    two_threads = TTS.load(tiny_package, threads=2, pretokenizer="directory")
    (one, _), (two, _) = run_package(tts, run), run_package(two_threads, run)
    assert one.selections == two.selections
    assert np.array_equal(one.codes, two.codes)


def test_the_checkpoint_s_defaults_are_upstream_s(tts: TTS, upstream: Any) -> None:
    """generation_config.json is what upstream's own call without options goes by (Q: `_merge_generate_kwargs`)."""
    names = [name for name in inspect.signature(generation_options).parameters if name not in ("defaults", "greedy")]
    none: dict[str, Any] = dict.fromkeys(names)
    options = generation_options(tts.manifest.sampling, greedy=False, **none)
    theirs = upstream._merge_generate_kwargs()
    run = Run(0, options.talker, options.predictor, options.repetition_penalty, max_frames=options.max_frames)
    assert {name: theirs[name] for name in upstream_options(run)} == upstream_options(run)
