"""The oracle is upstream itself: watched, not changed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.observe import observed, top_two
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.parity.quiet import quiet
from qwen3_tts_ncnn.parity.trace import OracleTrace
from tests.conftest import Oracles

EOS = 2150
CASES = (
    Case("Hello there, it's a fine day.", "serena", "english", False, 96),
    Case("今天天气很好。", "eric", "chinese", True, 96),
    Case("3.14, 2024!", "vivian", "auto", None, 6),
)


@pytest.fixture(scope="module")
def oracle(oracle_of: Oracles) -> Oracle:
    return oracle_of("tiny", "custom_voice")


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case.speaker}-{case.layout}")
def run(request: pytest.FixtureRequest, oracle: Oracle) -> tuple[Case, OracleTrace]:
    return request.param, oracle.speak(request.param)


def upstream_of(oracle: Oracle) -> Any:
    return oracle._upstream


def unwatched(oracle: Oracle, case: Case) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Codes and samples of upstream alone."""
    upstream = upstream_of(oracle)
    layout = {} if case.streaming_text is None else {"non_streaming_mode": not case.streaming_text}
    greedy = {"do_sample": False, "subtalker_dosample": False, "max_new_tokens": case.max_frames + 1}
    with quiet():
        ids = upstream._tokenize_texts([upstream._build_assistant_text(case.text)])
        codes, _ = upstream.model.generate(
            input_ids=ids,
            instruct_ids=[None],
            languages=[case.language],
            speakers=[case.speaker],
            **({"non_streaming_mode": True} | layout),
            **greedy,
        )
        waves, _ = upstream.generate_custom_voice(
            case.text, speaker=case.speaker, language=case.language, **layout, **greedy
        )
    return codes[0].numpy(), waves[0]


@pytest.mark.usefixtures("one_torch_thread")
def test_upstream_does_the_same_when_nobody_looks(oracle: Oracle, run: tuple[Case, OracleTrace]) -> None:
    case, trace = run
    codes, samples = unwatched(oracle, case)
    assert np.array_equal(trace.codes, codes)
    assert np.array_equal(trace.samples, samples)


def test_n_frames_come_from_n_plus_1_selections(run: tuple[Case, OracleTrace]) -> None:
    case, trace = run
    assert trace.selections.shape == (trace.frames + 1,)
    assert trace.samples.shape == (trace.frames * 1920,)
    assert trace.stop == ("eos" if trace.selections[-1] == EOS else "limit")
    if trace.stop == "limit":
        assert trace.frames == case.max_frames


def test_the_margins_are_of_the_scores_after_penalty_minimum_length_and_suppression(
    oracle: Oracle, run: tuple[Case, OracleTrace]
) -> None:
    """Recomputed from the raw logits: penalty 1.05 on what was chosen, no EOS in the first two, 2048 up suppressed."""
    case, trace = run
    logits: list[torch.Tensor] = []
    hook = upstream_of(oracle).model.talker.codec_head.register_forward_hook(
        lambda _module, _inputs, output: logits.append(output[0, -1].clone())
    )
    try:
        oracle.speak(case)
    finally:
        hook.remove()
    assert len(logits) == len(trace.selections)
    for step, row in enumerate(logits):
        chosen = sorted(set(trace.selections[:step].tolist()))
        row[chosen] = torch.where(row[chosen] < 0, row[chosen] * 1.05, row[chosen] / 1.05)
        eos = row[EOS].clone()
        row[2048:] = -torch.inf
        if step >= 2:
            row[EOS] = eos
        best, runner_up, margin = top_two(row)
        assert (best, runner_up) == (trace.selections[step], trace.runners_up[step, 0])
        assert margin == pytest.approx(float(trace.margins[step, 0]), abs=1e-6)


def test_every_choice_has_a_margin_and_a_runner_up_that_is_another_token(run: tuple[Case, OracleTrace]) -> None:
    _, trace = run
    grid = trace.grid()
    made = grid != -1
    assert made.sum() == 16 * trace.frames + 1
    assert np.array_equal(made, np.isfinite(trace.margins))
    assert np.array_equal(made, trace.runners_up != -1)
    assert (trace.margins[made] >= 0).all()
    assert (trace.runners_up[made] != grid[made]).all()


def test_a_limit_cuts_the_run_and_keeps_the_dropped_selection(oracle: Oracle) -> None:
    long = Case("Hello there, it's a fine day.", "serena", "english", False, 96)
    whole, cut = oracle.speak(long), oracle.speak(Case(long.text, long.speaker, long.language, False, 3))
    assert whole.frames > 3
    assert (cut.stop, cut.frames) == ("limit", 3)
    assert np.array_equal(cut.codes, whole.codes[:3])
    assert np.array_equal(cut.selections, whole.selections[:4])


def test_one_frame_is_the_shortest_run(oracle: Oracle) -> None:
    trace = oracle.speak(Case("Hi.", "serena", "auto", False, 1))
    assert (trace.frames, trace.stop, len(trace.selections)) == (1, "limit", 2)


def test_the_dialect_takes_the_place_of_auto(oracle: Oracle) -> None:
    """A language makes the codec prefix one row longer than auto does."""
    rows = {name: len(oracle.speak(Case("Hi.", name, "auto", False, 1)).prompt) for name in ("serena", "eric")}
    assert rows["eric"] == rows["serena"] + 1
    assert oracle.speakers["eric"] == "sichuan_dialect"
    assert oracle.speakers["serena"] is None
    assert not any("dialect" in language for language in oracle.languages)


def test_the_text_trails_only_in_the_streaming_layout(oracle: Oracle) -> None:
    """Streaming: all text but its first token, and tts_eos, trail. Whole: one row of padding does."""
    whole, streaming = (oracle.speak(Case("Hello.", "serena", "auto", layout, 1)) for layout in (False, True))
    assert len(whole.trailing) == 1
    assert len(whole.prompt) + len(whole.trailing) == len(streaming.prompt) + len(streaming.trailing) + 2
    assert np.array_equal(whole.prompt[:7], streaming.prompt[:7])


def test_decode_gives_the_wave_of_the_run(oracle: Oracle, run: tuple[Case, OracleTrace]) -> None:
    _, trace = run
    assert np.array_equal(oracle.decode(trace.codes), trace.samples)


def test_everything_is_put_back_even_after_an_error(oracle: Oracle) -> None:
    model = upstream_of(oracle).model
    with pytest.raises(ZeroDivisionError), observed(model, greedy=True):
        raise ZeroDivisionError
    watched = (model, model.talker, model.talker.code_predictor)
    assert not any("generate" in vars(module) for module in watched)
    assert not model.talker.codec_head._forward_hooks


def test_threads_are_torch_s_own_again_after_a_run(oracle: Oracle) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        oracle.speak(Case("Hi.", "serena", "auto", False, 1))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_nothing_is_said_on_the_terminal(tiny_checkpoint: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Oracle.load(tiny_checkpoint, threads=1).speak(Case("Hi.", "serena", "auto", False, 2))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("Hi.", "nobody"), r"^speaker 'nobody' is not in the checkpoint; it has .*serena"),
        (Case("Hi.", "serena", "klingon"), r"^language 'klingon' is not in the checkpoint; it has auto, .*english"),
        (Case("Hi.", "eric", "sichuan_dialect"), r"^language 'sichuan_dialect' is not in the checkpoint"),
        (Case("Hi.", "serena", max_frames=0), r"^max_frames is 0, expected at least 1"),
        (
            Case("Hi.", "serena", seed=2**64),
            r"^seed is 18446744073709551616, expected -2\^63 to 2\^64 - 1, as torch takes",
        ),
        (Case("Hi.", "serena", instruct="Slowly."), r"^the checkpoint is of 0\.6B: upstream drops an instruction"),
        (Case("Hi.", instruct="Slowly."), "it speaks as a speaker, not with a reference"),
    ],
)
def test_what_the_checkpoint_cannot_do_is_one_line(oracle: Oracle, case: Case, message: str) -> None:
    with pytest.raises(ParityError, match=message) as caught:
        oracle.speak(case)
    assert "\n" not in str(caught.value)


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ParityError, match=r"^no checkpoint at .*nowhere: expected a folder with config\.json"):
        Oracle.load(tmp_path / "nowhere")


def test_a_folder_upstream_cannot_load_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ParityError, match=r"^upstream cannot load ") as caught:
        Oracle.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_it_says_how_its_tokenizer_splits_words(oracle: Oracle) -> None:
    assert oracle.pretokenizer == "directory"  # loaded from a folder, with a vocabulary beyond 100,000 tokens
