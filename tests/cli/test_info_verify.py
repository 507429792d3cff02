"""`info` says what a package is, `verify` that it is whole."""

import json
from pathlib import Path

from tests.cli.command_line import process, run


def test_info_names_everything_a_user_may_ask_for(tiny_package: Path) -> None:
    result = run("info", tiny_package)
    rows = {line[:12].strip(): line[12:].strip() for line in result.stdout.partition("\n\n")[0].splitlines()}
    assert result.exit_code == 0
    assert rows["package"] == "tiny-customvoice-fp32"
    assert rows["type"] == "custom_voice, 0.6B"
    assert rows["checkpoint"] == "the folder tiny-customvoice"
    assert rows["speakers"] == (
        "serena, vivian, uncle_fu, ryan, aiden, ono_anna, sohee, eric (sichuan_dialect), dylan (beijing_dialect)"
    )
    assert rows["cloning"] == "none"
    assert rows["codec"] == "12.5 frames a second of 16 codes below 2048, 24000 Hz"
    assert rows["languages"] == (
        "auto, chinese, english, german, italian, portuguese, spanish, japanese, korean, french, russian"
    )
    assert rows["sampling"] == (
        "temperature 0.9, top-k 50, top-p 1, repetition penalty 1.05; predictor: temperature 0.9, top-k 50, top-p 1"
    )
    assert rows["limit"] == "8191 frames, 655 s of speech"
    assert "ncnn 1.0.20261020" in rows["made with"]


def test_info_says_that_a_base_package_clones(tiny_base_package: Path) -> None:
    lines = run("info", tiny_base_package).stdout.splitlines()
    rows = {line[:12].strip(): line[12:].strip() for line in lines}
    assert (rows["type"], rows["speakers"]) == ("base, 0.6B", "none")
    assert rows["cloning"] == "speaker encoder, x-vectors of width 64"
    assert any(line.startswith("mel_filters.safetensors ") for line in lines)
    record = json.loads(run("info", tiny_base_package, "--json").stdout)
    assert record["speaker_encoder"] == {"width": 64, "sample_rate": 24000, "mel_filters": "mel_filters.safetensors"}
    assert len(record["graphs"]) == 10


def test_info_lists_graphs_with_precision_and_sizes(tiny_package: Path) -> None:
    lines = [line.split() for line in run("info", tiny_package).stdout.partition("\n\n")[2].splitlines()]
    table = {line[0]: line[1:] for line in lines}
    graph = sum((tiny_package / f"predictor_heads.{ending}").stat().st_size for ending in ("param", "bin"))
    total = sum(path.stat().st_size for path in tiny_package.iterdir())
    assert table["predictor_heads"] == ["fp32", f"{graph / 1e6:.1f}", "MB"]
    assert table["text_embedding.bin"][0] == "bf16"
    assert table["total"] == [f"{total / 1e6:.1f}", "MB"]


def test_info_as_json_has_the_same_in_bytes(tiny_package: Path) -> None:
    record = json.loads(run("info", tiny_package, "--json").stdout)
    assert record["type"] == "custom_voice"
    assert record["origin"]["name"] == "tiny-customvoice"
    assert record["speakers"]["eric"]["dialect"] == "sichuan_dialect"
    assert record["languages"][:3] == ["auto", "chinese", "english"]
    assert record["sampling"]["temperature"] == 0.9
    assert record["speaker_encoder"] is None
    assert record["codec"]["codebooks"] == 16
    assert record["graphs"]["talker_decoder"]["precision"] == "fp32"
    assert len(record["graphs"]) == 9
    assert sum(record["files"].values()) + (tiny_package / "model.json").stat().st_size == record["total_bytes"]


def test_verify_counts_the_files(tiny_package: Path) -> None:
    count = len(list(tiny_package.iterdir())) - 1  # model.json, which lists the others
    assert run("verify", tiny_package).stdout == f"all {count} files are as converted\n"
    assert json.loads(run("verify", tiny_package, "--json").stdout) == {
        "package": str(tiny_package),
        "name": "tiny-customvoice-fp32",
        "files": count,
        "as_converted": True,
    }


def test_a_process_of_its_own_says_nothing_else(tiny_package: Path) -> None:
    done = process("verify", tiny_package)
    assert (done.returncode, done.stderr) == (0, "")
