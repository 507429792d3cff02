"""The report says what differs to a person, and is valid JSON for a program."""

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from qwen3_tts_ncnn.parity.cases import Case
from qwen3_tts_ncnn.parity.compare import CaseReport, compare
from qwen3_tts_ncnn.parity.report import print_table, to_json
from qwen3_tts_ncnn.parity.settings import SamplingSettings
from qwen3_tts_ncnn.parity.trace import Heard
from tests.parity.synthetic_traces import CASE, CLONING, heard, oracle_trace, package_trace, with_token


def reports() -> list[CaseReport]:
    """An equal case, a bug and a near tie."""
    oracle, narrow = oracle_trace(4), oracle_trace(4, margin=5e-4)
    return [
        compare(CASE, package_trace(oracle), oracle),
        compare(Case("[bold]你好[/bold]", "eric", "chinese", True), with_token(oracle, 2, 3, 9), oracle),
        compare(CASE, with_token(narrow, 1, 0, 101), narrow),
    ]


def printed(of: list[CaseReport]) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    print_table(of, console)
    return console.export_text()


def strict(text: str) -> Any:
    """Parse JSON, refusing the NaN and Infinity that Python's own parser lets through."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_a_bug_and_a_near_tie_look_different() -> None:
    text = printed(reports())
    assert (
        "case 2: different: first at frame 2, codebook 3: package 9 (not its runner-up 204), "
        "upstream 203 by a margin of 0.5" in text
    )
    assert (
        "case 3: near tie: first at frame 1, codebook 0: package 101 (its runner-up), "
        "upstream 100 by a margin of 0.0005" in text
    )


def test_the_summary_counts_cases_and_tokens() -> None:
    assert "1 of 3 cases equal, 193 of 195 tokens, 3 ended by EOS" in printed(reports())


def test_the_table_has_a_row_for_each_case_with_the_text_as_it_is() -> None:
    rows = printed(reports()).splitlines()
    assert [row.split()[:3] for row in rows[1:4]] == [["1", "4", "65/65"], ["2", "4", "64/65"], ["3", "4", "64/65"]]
    assert "speaker  eric    chinese   streaming  greedy  different  [bold]你好[/bold]" in rows[2]


def test_json_of_identical_waves_is_valid_and_says_inf() -> None:
    document = strict(to_json(reports()[:1]))
    assert document["equal"] is True
    assert document["cases"][0]["wave"] == {
        "samples": 7680,
        "oracle_samples": 7680,
        "snr_db": "inf",
        "pcm16_lsb": 0,
    }
    assert document["summary"]["worst_snr_db"] == "inf"


def test_json_names_the_first_mismatch() -> None:
    document = strict(to_json(reports()))
    assert document["equal"] is False
    assert document["cases"][2]["tokens"] == {
        "equal": 64,
        "total": 65,
        "first_mismatch": {
            "frame": 1,
            "codebook": 0,
            "ours": 101,
            "oracle": 100,
            "oracle_runner_up": 101,
            "oracle_margin": 5e-4,
            "near_tie": True,
        },
    }
    assert [case["verdict"] for case in document["cases"]] == ["equal", "different", "near tie"]


def sampled() -> list[CaseReport]:
    """An equal case as told, and one of a described voice with another draw."""
    oracle = oracle_trace(4)
    settings = SamplingSettings(temperature=0.3, predictor_top_k=1)
    told = Case("Hi.", "eric", instruct="Slowly.", seed=2**40)
    designed = Case("Hi.", instruct="A calm old man, a bit tired.", seed=0, settings=settings)
    return [
        compare(told, package_trace(oracle), oracle),
        compare(designed, with_token(oracle, 2, 3, 204), oracle),
    ]


def test_the_table_tells_seed_and_mode_and_shortens_a_description() -> None:
    rows = printed(sampled()).splitlines()
    assert rows[1].split("  eos   ")[1].split("  ")[:2] == ["speaker + instruction", "eric"]
    assert rows[1].rstrip().endswith("default  1099511627776  equal      Hi.")
    assert "design                 A calm old man, a b…  auto      default  0              different  Hi." in rows[2]


def test_another_draw_is_told_without_a_margin() -> None:
    text = printed(sampled())
    assert "case 2: different: first at frame 2, codebook 3: package 204, upstream drew 203\n" in text


def test_json_has_seed_instruction_and_settings() -> None:
    greedy = strict(to_json(reports()))["cases"][0]
    assert (greedy["seed"], greedy["instruct"], greedy["settings"]) == (None, None, {})
    told, designed = strict(to_json(sampled()))["cases"]
    assert (told["mode"], told["seed"], told["instruct"]) == ("speaker + instruction", 2**40, "Slowly.")
    assert (designed["mode"], designed["seed"], designed["speaker"]) == ("design", 0, None)
    assert designed["settings"] == {"temperature": 0.3, "predictor_top_k": 1}


def test_json_stays_valid_where_nothing_else_could_be_drawn() -> None:
    oracle = oracle_trace(4)
    alone = replace(oracle, margins=oracle.margins * np.inf, runners_up=np.full_like(oracle.runners_up, -1))
    document = strict(to_json([compare(replace(CASE, seed=0), with_token(alone, 1, 0, 9), alone)]))
    first = document["cases"][0]["tokens"]["first_mismatch"]
    assert (first["oracle_runner_up"], first["oracle_margin"], first["near_tie"]) == (None, "inf", False)


def cloned() -> list[CaseReport]:
    """An equal case in context, and one whose reference was heard otherwise."""
    oracle = replace(oracle_trace(4), heard=heard(2))
    codes = heard(2).codes.copy()
    codes[1, 9] = 7
    other = Heard(-heard(2).x_vector, codes)
    return [
        compare(CLONING, package_trace(oracle), oracle),
        compare(CLONING, package_trace(oracle, heard=other), oracle),
    ]


def test_the_table_tells_mode_and_reference_of_cloned_voices() -> None:
    rows = printed(cloned()).splitlines()
    assert "x-vector  ref. codes" in rows[0]
    assert "1−0e+00       32/32" in rows[1]
    assert "in context  me.wav  auto" in rows[1]
    assert "x-vector" not in printed(reports())


def test_a_reference_heard_otherwise_is_explained() -> None:
    text = printed(cloned())
    assert (
        "case 2: different: x-vector of cosine -1.0000000; 31 of 32 reference codes equal, 2 frames, upstream 2; "
        "first at reference frame 1, codebook 9: package 7, upstream 59" in text
    )
    assert "63 of 64 reference codes, worst x-vector cosine -1.00000000" in text


def test_json_has_the_mode_and_what_was_heard_of_the_reference() -> None:
    document = strict(to_json(cloned()))
    assert [case["mode"] for case in document["cases"]] == ["in context"] * 2
    first, second = (case["reference"] for case in document["cases"])
    assert first.pop("x_vector_cosine") == pytest.approx(1, abs=1e-12)
    assert first == {
        "name": "me.wav",
        "seconds": 1.5,
        "rate": 24_000,
        "transcript": "Hello.",
        "frames": 2,
        "oracle_frames": 2,
        "codes": {"equal": 32, "total": 32, "first_mismatch": None},
    }
    assert second["codes"]["first_mismatch"] == {"frame": 1, "codebook": 9, "ours": 7, "oracle": 59}
    assert document["summary"]["worst_x_vector_cosine"] == pytest.approx(-1, abs=1e-12)
    assert (document["summary"]["reference_codes"], document["summary"]["equal_reference_codes"]) == (64, 63)


def test_json_of_a_speaker_has_no_reference() -> None:
    document = strict(to_json(reports()))
    assert {(case["mode"], case["reference"]) for case in document["cases"]} == {("speaker", None)}
    assert "reference_codes" not in document["summary"]


def test_json_stays_valid_with_nan_on_the_package_s_side() -> None:
    oracle = oracle_trace(4)
    broken = package_trace(oracle, prompt=oracle.prompt * np.nan, samples=oracle.samples * np.nan)
    document = strict(to_json([compare(CASE, broken, oracle)]))
    assert document["cases"][0]["prompt"]["relative"] is None
    assert document["summary"]["worst_snr_db"] is None


def test_versions_are_named_and_no_path_is() -> None:
    document = strict(to_json(reports()))
    assert set(document["versions"]) == {"qwen3-tts-ncnn", "ncnn", "torch", "transformers", "qwen-tts"}
    assert not any("/" in version for version in document["versions"].values())
    assert "ncnn 1.0.20261020" in printed(reports())
