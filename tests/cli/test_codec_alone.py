"""The checkpoint of the codec alone: converted, told, verified, and refused where speech is asked for."""

import filecmp
import json
import shutil
from pathlib import Path

import pytest

from qwen3_tts_ncnn.convert.checkpoint import CheckpointSource
from qwen3_tts_ncnn.convert.codec_reuse import CODEC_FILES
from tests.cli.command_line import refusal, run


def test_the_codec_of_a_model_is_the_same_files(codec_package: Path, tiny_package: Path) -> None:
    """Converted by themselves, in full: what `--codec-from` shares is what a conversion makes."""
    assert sorted(path.name for path in codec_package.iterdir()) == sorted((*CODEC_FILES, "model.json"))
    assert filecmp.cmpfiles(codec_package, tiny_package, CODEC_FILES, shallow=False) == (list(CODEC_FILES), [], [])


@pytest.mark.usefixtures("quick_graphs")
def test_its_short_name_is_downloaded_and_converted(
    codec_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def find(name: str, **_named: object) -> CheckpointSource:
        asked.append(name)
        return CheckpointSource(codec_checkpoint, "Qwen/Qwen3-TTS-Tokenizer-12Hz", "0" * 40, name)

    monkeypatch.setattr("qwen3_tts_ncnn.convert.checkpoint.find_checkpoint", find)
    monkeypatch.chdir(tmp_path)
    result = run("convert", "tokenizer-12hz")
    *graphs, last = result.stderr.splitlines()
    assert result.exit_code == 0
    assert asked == ["tokenizer-12hz"]
    assert [line.partition(":")[0] for line in graphs] == ["[1/2] mimi_encoder", "[2/2] codec_decoder"]
    assert last.startswith("wrote models/qwen3-tts-tokenizer-12hz-fp32: 2 graphs, ")
    rows = run("info", "models/qwen3-tts-tokenizer-12hz-fp32").stdout.splitlines()
    assert rows[0].split() == ["package", "qwen3-tts-tokenizer-12hz-fp32"]
    assert rows[2].split(maxsplit=1)[1].rstrip() == (f"Qwen/Qwen3-TTS-Tokenizer-12Hz at {'0' * 40}, licence Apache-2.0")


def test_info_tells_the_codec_and_no_speech(codec_package: Path) -> None:
    result = run("info", codec_package)
    facts, files = result.stdout.split("\n\n")
    rows = {line[:12].strip(): line[12:].strip() for line in facts.splitlines()}
    assert result.exit_code == 0
    assert rows.pop("made with").startswith("qwen3-tts-ncnn ")
    assert rows == {
        "package": "tiny-codec-fp32",
        "type": "codec alone, it does not speak",
        "checkpoint": "the folder tiny-codec",
        "codec": "12.5 frames a second of 16 codes below 2048, 24000 Hz",
    }
    names = [line.split()[0] for line in files.splitlines()[1:]]
    assert names == ["mimi_encoder", "codec_decoder", "rvq_encoder.safetensors", "total"]


def test_info_as_json(codec_package: Path) -> None:
    record = json.loads(run("info", codec_package, "--json").stdout)
    assert record.keys() == {"name", "format", "type", "origin", "made_with", "codec", "graphs", "files", "total_bytes"}
    assert record["type"] == "codec"
    assert record["codec"]["samples_per_frame"] == 1920
    assert sum(record["files"].values()) + (codec_package / "model.json").stat().st_size == record["total_bytes"]


def test_verify_reads_all_of_it(codec_package: Path) -> None:
    assert run("verify", codec_package).stdout == "all 5 files are as converted\n"


@pytest.mark.usefixtures("nothing_is_loaded")
def test_it_neither_speaks_nor_clones(codec_package: Path, reference: Path, tmp_path: Path) -> None:
    line = (
        f"{codec_package} is a package of the codec alone, which does not speak: use it with `codec encode` and "
        "`codec decode`, or give the package of a model"
    )
    wav = ("-o", tmp_path / "a.wav")
    assert refusal("speak", codec_package, "Hi.", *wav) == line
    assert refusal("speak", codec_package, "Hi.", "--speaker", "ryan", *wav) == line
    assert refusal("speak", codec_package, "Hi.", "--reference", reference, *wav) == line
    assert refusal("clone", codec_package, reference, "-o", tmp_path / "me.voice") == line


def test_a_changed_table_is_refused(codec_package: Path, reference: Path, tmp_path: Path) -> None:
    package = Path(shutil.copytree(codec_package, tmp_path / "package"))
    table = package / "rvq_encoder.safetensors"
    table.write_bytes(table.read_bytes()[:-1] + b"\x55")
    line = refusal("codec", "encode", package, reference, "-o", tmp_path / "a.rvq")
    assert line == refusal("verify", package)
    assert line.startswith(f"{table} has changed since it was converted")
