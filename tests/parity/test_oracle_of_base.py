"""The oracle of a Base checkpoint is upstream's own cloning: watched, not changed."""

import json
from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.clips import ReferenceClip, speech_like, synthetic_references
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.parity.quiet import quiet
from qwen3_tts_ncnn.parity.trace import OracleTrace
from tests.conftest import Oracles

CLIP = ReferenceClip("me", speech_like(30_011, 16_000, seed=0), 16_000, "Good morning!")
CASES = (
    Case("Hello there, it's a fine day.", None, "english", True, 24, CLIP),
    Case("今天天气很好。", None, "chinese", False, 24, CLIP.without_transcript()),
)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.mode)
def run(request: pytest.FixtureRequest, base_oracle: Oracle) -> tuple[Case, OracleTrace]:
    return request.param, base_oracle.speak(request.param)


@pytest.mark.usefixtures("one_torch_thread")
def test_upstream_does_the_same_when_nobody_looks(base_oracle: Oracle, run: tuple[Case, OracleTrace]) -> None:
    case, trace = run
    with quiet():
        waves, _ = base_oracle._upstream.generate_voice_clone(
            case.text,
            language=case.language,
            ref_audio=(CLIP.samples, CLIP.rate),
            ref_text=case.reference.transcript,
            x_vector_only_mode=case.mode == "x-vector",
            non_streaming_mode=not case.streaming_text,
            do_sample=False,
            subtalker_dosample=False,
            max_new_tokens=case.max_frames + 1,
        )
    assert np.array_equal(trace.samples, waves[0])


def test_what_upstream_heard_of_the_reference_is_in_the_trace(
    base_oracle: Oracle, run: tuple[Case, OracleTrace]
) -> None:
    case, trace = run
    assert trace.heard.x_vector.shape == trace.prompt.shape[1:]
    again = base_oracle.hear(case.reference)
    assert np.array_equal(again.x_vector, trace.heard.x_vector)
    if case.mode == "x-vector":
        assert trace.heard.codes is again.codes is None
    else:
        assert trace.heard.codes.shape == (24, 16)  # 45,017 samples at 24 kHz
        assert np.array_equal(again.codes, trace.heard.codes)


def test_encode_gives_the_codes_of_a_clone(base_oracle: Oracle) -> None:
    samples = speech_like(20_001, 24_000, seed=1)
    codes = base_oracle.encode(samples)
    assert codes.shape == (11, 16)
    assert np.array_equal(codes, base_oracle.hear(ReferenceClip("me", samples, 24_000, "Hello.")).codes)


def test_a_stereo_reference_is_heard_by_its_mean(base_oracle: Oracle) -> None:
    stereo = synthetic_references()[2]
    mono = ReferenceClip("mono", stereo.mono, stereo.rate, stereo.transcript)
    assert np.array_equal(base_oracle.hear(stereo).codes, base_oracle.hear(mono).codes)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("Hi.", "serena"), "it speaks with a reference, not as a speaker"),
        (Case("Hi."), "it speaks with a reference, not as a speaker"),
        (Case("Hi.", "serena", reference=CLIP), "it speaks with a reference, not as a speaker"),
        (Case("Hi.", reference=CLIP, instruct="Slowly."), "and takes no instruction"),
        (Case("Hi.", language="klingon", reference=CLIP), r"^language 'klingon' is not in the checkpoint; it has auto"),
    ],
)
def test_what_a_base_checkpoint_cannot_do_is_one_line(base_oracle: Oracle, case: Case, message: str) -> None:
    with pytest.raises(ParityError, match=message) as caught:
        base_oracle.speak(case)
    assert "\n" not in str(caught.value)


def test_a_reference_for_a_custom_voice_checkpoint_is_one_line(oracle_of: Oracles) -> None:
    with pytest.raises(ParityError, match="it speaks as a speaker, not with a reference"):
        oracle_of("tiny", "custom_voice").speak(CASES[0])


def test_a_checkpoint_of_an_unknown_type_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    for path in tiny_checkpoint.iterdir():
        (tmp_path / path.name).symlink_to(path)
    config = json.loads((tiny_checkpoint / "config.json").read_text())
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").write_text(json.dumps(config | {"tts_model_type": "singing"}))
    with pytest.raises(ParityError, match=r"is a singing checkpoint; parity compares base, custom_voice, voice_design"):
        Oracle.load(tmp_path, threads=1)
