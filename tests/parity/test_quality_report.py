"""What was measured, as a table, as JSON and as the manifest's record."""

import hashlib
import io
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from rich.console import Console

from qwen3_tts_ncnn.parity.errors import ParityError
from qwen3_tts_ncnn.parity.quality import ForcedRun
from qwen3_tts_ncnn.parity.quality_report import check_origin, print_quality, quality_json, quality_of
from qwen3_tts_ncnn.runtime.manifest import Origin
from tests.parity.synthetic_traces import CASE, forced_run

SEEDED = [forced_run(replace(CASE, seed=seed), 2) for seed in (7, -1)]


def printed(runs: list[ForcedRun]) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    print_quality(quality_of(runs, "tiny"), runs, console)
    return console.export_text()


def test_the_record_counts_a_case_once_however_many_seeds_it_had() -> None:
    quality = quality_of(SEEDED, "tiny")
    assert (quality.checkpoint, quality.cases, quality.frames, quality.seeds) == ("tiny", 1, 4, (7, -1))
    assert quality_of([forced_run(CASE)], "tiny").seeds == ()


def test_the_table_has_a_row_a_codebook_and_one_of_all() -> None:
    rows = [line.split() for line in printed([forced_run(CASE, wrong=1)]).splitlines()]
    assert rows[1] == ["0", "5", "80.00%", "1.0e-01", "0.400", "2"]
    assert rows[2] == ["1", "4", "100.00%", "0.0e+00", "0.000", "0"]
    assert [row[0] for row in rows[1:18]] == [*map(str, range(16)), "all"]
    assert rows[17] == ["all", "65", "98.46%", "7.7e-03", "0.031", "2"]


def test_each_case_has_a_line_and_all_together_one() -> None:
    text = printed([forced_run(CASE), *SEEDED])
    assert "speaker, serena, auto, default, greedy: 4 frames, top-1 100.00%, KL 0.0e+00, worst rank 0\n" in text
    assert "speaker, serena, auto, default, seed -1: 2 frames" in text
    assert "teacher-forced by tiny: 1 cases, 4 frames, seeds 7, -1; top-1 100.00%" in printed(SEEDED)


def test_json_has_what_is_recorded_and_each_case() -> None:
    runs = [forced_run(CASE, wrong=1)]
    quality = quality_of(runs, "tiny")
    document = json.loads(quality_json(quality, runs))
    recorded = json.loads(json.dumps(asdict(quality)))
    assert document["teacher_forced"] == recorded
    (case,) = document["cases"]
    assert (case["text"], case["who"], case["seed"], case["frames"]) == ("Hi.", "serena", None, 4)
    assert {name: case[name] for name in recorded["total"]} == recorded["total"]


def test_a_checkpoint_is_the_package_s_where_every_file_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "codec").mkdir()
    names = ("config.json", "codec/model.safetensors")
    for name in names:
        (tmp_path / name).write_text(name)
    origin = Origin("tiny", None, None, None, {name: hashlib.sha256(name.encode()).hexdigest() for name in names})
    check_origin(origin, tmp_path)
    (tmp_path / names[1]).write_text("another")
    with pytest.raises(ParityError, match=r"codec/model\.safetensors is not the file .* give the checkpoint tiny"):
        check_origin(origin, tmp_path)
    (tmp_path / names[0]).unlink()
    with pytest.raises(ParityError, match=r"config\.json is missing, and the package was made from it: give"):
        check_origin(origin, tmp_path)
