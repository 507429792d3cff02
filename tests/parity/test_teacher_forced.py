"""The package, fed upstream's codes: fp32 chooses as upstream does, and disturbed weights show where they are."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.cli import parity
from qwen3_tts_ncnn.parity.clips import synthetic_references
from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.parity.quality import per_codebook, total
from qwen3_tts_ncnn.parity.settings import SamplingSettings
from qwen3_tts_ncnn.parity.teacher_forced import force, forced_logits
from qwen3_tts_ncnn.runtime import TTS
from qwen3_tts_ncnn.runtime.errors import OutputError
from qwen3_tts_ncnn.runtime.manifest import MANIFEST, Manifest, read_manifest
from qwen3_tts_ncnn.runtime.package import Package, file_sha256
from tests.cli.damage import linked_copy, rewrite, rewrite_json
from tests.conftest import THREADS
from tests.parity.conftest import Sides

TOLD = Case("Hello there.", "serena", "english", max_frames=8)
CLONED = Case("Hello there.", language="english", max_frames=5, reference=synthetic_references()[2])
SETTINGS = SamplingSettings(temperature=1.3, top_k=5, repetition_penalty=1.2, predictor_temperature=0.5)
HEADS = "predictor_heads.bin"


@pytest.fixture(scope="module")
def disturbed_package(tiny_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny package with noise in the weights of its predictor's 15 heads."""
    package = linked_copy(tiny_package, tmp_path_factory.mktemp("disturbed") / "tiny-disturbed")
    random = np.random.default_rng(0)

    def disturb(content: bytes) -> bytes:
        # Each head is 4 bytes of tag and its float32 weights.
        heads = np.frombuffer(content, dtype="<f4").reshape(15, -1).copy()
        weights = heads[:, 1:]
        weights += (0.2 * weights.std() * random.standard_normal(weights.shape)).astype(np.float32)
        return heads.tobytes()

    rewrite(package / HEADS, disturb)
    sha256 = file_sha256(package / HEADS)
    rewrite_json(package / MANIFEST, lambda data: data["files"][HEADS].update(sha256=sha256))
    return package


@pytest.fixture(scope="module")
def disturbed(disturbed_package: Path, sides: Sides) -> tuple[TTS, Oracle]:
    oracle = sides("tiny", "custom_voice")[1]
    return TTS.load(disturbed_package, threads=THREADS, pretokenizer=oracle.pretokenizer), oracle


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        ("custom_voice", TOLD),
        ("custom_voice", Case("今天天气很好。", "eric", "chinese", True, max_frames=8)),
        ("custom_voice", Case("Hello.", "ryan", max_frames=8, seed=3)),
        ("custom_voice", Case("Hello.", "ryan", max_frames=8, seed=4, settings=SETTINGS)),
        ("base", CLONED),
        ("base", Case("Hello.", max_frames=5, reference=synthetic_references()[2].without_transcript())),
    ],
    ids=["greedy", "greedy, streaming text", "sampled", "other settings", "in context", "x-vector"],
)
def test_fp32_chooses_as_upstream_does(sides: Sides, kind: str, case: Case) -> None:
    run = force(*sides("tiny", kind), case)
    found = total([run])
    assert found.choices == 16 * run.frames + 1 > 16
    assert (found.agreement, found.mean_rank, found.worst_rank) == (1.0, 0.0, 0)
    assert found.kl < 1e-9


def test_disturbed_heads_show_in_their_codebooks_alone(disturbed: tuple[TTS, Oracle]) -> None:
    run = force(*disturbed, TOLD)
    # Upstream's codes go into the talker whatever the heads say.
    first, *rest = per_codebook([run])
    assert (first.agreement, first.worst_rank) == (1.0, 0)
    assert first.kl < 1e-9
    assert min(codebook.kl for codebook in rest) > 1e-3
    found = total([run])
    assert 0.3 < found.agreement < 1
    assert found.worst_rank >= found.mean_rank > 0


def test_the_codes_taught_are_those_of_the_run_and_not_the_package_s_own(disturbed: tuple[TTS, Oracle]) -> None:
    tts, oracle = disturbed
    prompt = tts.prompt(TOLD.text, speaker=TOLD.speaker, language=TOLD.language)
    codes = oracle.speak(TOLD).codes
    whole = forced_logits(tts._talker, tts._predictor, prompt, codes)
    assert (whole.talker.shape, whole.predictor.shape) == ((len(codes) + 1, 3072), (len(codes), 15, 2048))
    changed = codes.copy()
    changed[2, 9] = (changed[2, 9] + 1) % 2048
    other = forced_logits(tts._talker, tts._predictor, prompt, changed)
    # Row 8 of the predictor chooses codebook 9; what comes after it has heard another code.
    assert np.array_equal(whole.predictor[:2], other.predictor[:2])
    assert np.array_equal(whole.predictor[2, :9], other.predictor[2, :9])
    assert not np.array_equal(whole.predictor[2, 9], other.predictor[2, 9])
    assert np.array_equal(whole.talker[:3], other.talker[:3])
    assert not np.array_equal(whole.talker[3], other.talker[3])


def test_logits_are_recorded_only_when_asked_for_and_change_nothing(sides: Sides) -> None:
    oracle = sides("tiny", "custom_voice")[1]
    without, with_logits = oracle.speak(TOLD), oracle.speak(TOLD, logits=True)
    assert without.logits is None
    assert with_logits.logits is not None
    assert np.array_equal(without.codes, with_logits.codes)
    assert np.array_equal(with_logits.logits.predictor.argmax(axis=2), with_logits.codes[:, 1:])


def test_a_package_of_another_checkpoint_is_told(sides: Sides) -> None:
    tts, oracle = sides("tiny", "custom_voice")
    wider = oracle.speak(TOLD, logits=True)
    wider = replace(wider, prompt=np.concatenate((wider.prompt, wider.prompt), axis=1))
    another: Any = SimpleNamespace(speak=lambda case, logits: wider)
    with pytest.raises(
        ParityError, match=r"prompt has shape \(\d+, 64\), upstream's \(\d+, 128\): .* it was made from"
    ):
        force(tts, another, TOLD)


def measure(package: Path, checkpoint: Path, *options: str) -> Result:
    few = ("--cases", "2", "--max-frames", "3", "--threads", str(THREADS))
    return CliRunner().invoke(parity, [str(package), str(checkpoint), "--teacher-forced", *few, *options])


def test_what_is_recorded_is_read_again_and_the_package_stays_whole(
    disturbed_package: Path, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    package = linked_copy(disturbed_package, tmp_path / "package")
    before = read_manifest(package)
    assert isinstance(before, Manifest)
    assert before.quality is None
    result = measure(package, tiny_checkpoint, "--record", "--json")
    assert (result.exit_code, result.stderr) == (0, f"recorded in the model.json of {package}\n")
    after = read_manifest(package)
    assert isinstance(after, Manifest)
    quality = after.quality
    assert quality is not None
    assert (quality.checkpoint, quality.cases, quality.frames, quality.seeds) == ("tiny-customvoice", 2, 6, ())
    assert quality.total.choices == sum(codebook.choices for codebook in quality.codebooks) == 2 * (3 * 16 + 1)
    assert 0 < quality.total.agreement < 1
    assert set(quality.measured_with) >= {"qwen3-tts-ncnn", "ncnn", "torch"}
    document = json.loads(result.stdout)
    assert document["teacher_forced"] == json.loads((package / MANIFEST).read_text())["quality"]
    assert [case["choices"] for case in document["cases"]] == [49, 49]
    assert Package.open(package).verify() == len(before.files)
    assert {path.name for path in package.iterdir()} == {path.name for path in disturbed_package.iterdir()}


def test_nothing_is_recorded_unless_asked(disturbed_package: Path, tiny_checkpoint: Path) -> None:
    before = (disturbed_package / MANIFEST).read_bytes()
    result = measure(disturbed_package, tiny_checkpoint, "--seed", "1")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.split()[0] for line in result.stdout.splitlines()[1:18]] == [*map(str, range(16)), "all"]
    assert "2 cases, 6 frames, seeds 1; top-1 " in result.stdout
    assert (disturbed_package / MANIFEST).read_bytes() == before


def test_figures_against_another_checkpoint_are_not_recorded(tiny_package: Path, tiny_base_checkpoint: Path) -> None:
    result = measure(tiny_package, tiny_base_checkpoint, "--record")
    assert isinstance(result.exception, ParityError)
    assert str(result.exception) == (
        f"{tiny_base_checkpoint / 'config.json'} is not the file that the package was made from: "
        "give the checkpoint tiny-customvoice, or leave --record out"
    )


def test_a_package_that_cannot_be_written_is_told_before_anything_is_measured(
    tiny_package: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    monkeypatch.setattr("qwen3_tts_ncnn.parity.cli.run_cases", lambda *_: pytest.fail("it was measured"))
    assert isinstance(measure(tiny_package, tiny_checkpoint, "--record").exception, OutputError)


def test_a_free_run_says_where_disturbed_weights_first_part_from_upstream(
    disturbed_package: Path, tiny_checkpoint: Path
) -> None:
    options = ["--cases", "2", "--max-frames", "3", "--threads", str(THREADS)]
    sides = [str(disturbed_package), str(tiny_checkpoint)]
    result = CliRunner().invoke(parity, [*sides, *options])
    found = CliRunner().invoke(parity, [*sides, *options, "--json"])
    assert (result.exit_code, found.exit_code) == (1, 1)
    for number, case in enumerate(json.loads(found.stdout)["cases"], 1):
        first = case["tokens"]["first_mismatch"]
        assert first["codebook"] > 0
        assert first["ours"] != first["oracle"]
        line = f"case {number}: different: first at frame {first['frame']}, codebook {first['codebook']}: "
        assert f"{line}package {first['ours']} (" in result.stdout
        assert f", upstream {first['oracle']} by a margin of {first['oracle_margin']:.2g}" in result.stdout
