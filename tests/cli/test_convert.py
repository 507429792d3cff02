"""`convert` and `checkpoint` make what was asked for, and tell how far they are."""

import filecmp
import json
from pathlib import Path

import pytest
import soundfile

from qwen3_tts_ncnn.convert import cli
from qwen3_tts_ncnn.convert.random_checkpoint import MODEL_TYPES, PRESETS
from tests.cli.command_line import refusal, run
from tests.cli.damage import linked_copy

GRAPHS = [
    "talker_text_embed",
    "talker_codec_embed",
    "talker_codec_head",
    "predictor_embeds",
    "predictor_heads",
    "predictor_decoder",
    "mimi_encoder",
    "codec_decoder",
    "talker_decoder",
]


def same_files(first: Path, second: Path) -> bool:
    names = sorted(path.name for path in first.iterdir())
    compared = filecmp.cmpfiles(first, second, names, shallow=False)
    return sorted(path.name for path in second.iterdir()) == names and compared == (names, [], [])


@pytest.mark.usefixtures("quick_graphs")
def test_the_package_is_the_library_s(tiny_checkpoint: Path, tiny_package: Path, tmp_path: Path) -> None:
    package = tmp_path / "new" / "package"
    assert run("convert", tiny_checkpoint, "-o", package).exit_code == 0
    assert same_files(package, tiny_package)


@pytest.mark.usefixtures("quick_graphs")
def test_one_line_for_each_finished_graph_and_one_at_the_end(tiny_checkpoint: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    result = run("convert", tiny_checkpoint, "-o", package)
    *graphs, last = result.stderr.splitlines()
    bounds = dict.fromkeys(GRAPHS, "relative error 1.25e-07 (at most 1e-05)")
    bounds |= dict.fromkeys(("predictor_decoder", "talker_decoder"), "relative error 1.25e-07 (at most 2e-05)")
    bounds["mimi_encoder"] = "relative error 1.25e-07 (at most 5e-05)"
    bounds["codec_decoder"] = "SNR (dB) 95.5 (at least 90)"
    assert graphs == [f"[{n}/9] {name}: {bounds[name]}" for n, name in enumerate(GRAPHS, 1)]
    size = sum(path.stat().st_size for path in package.iterdir())
    assert last.startswith(f"wrote {package}: 9 graphs, {size / 1e6:.1f} MB in ")
    assert result.stdout == ""


@pytest.mark.usefixtures("quick_graphs")
def test_json_is_all_there_is_on_standard_output(tiny_checkpoint: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    record = json.loads(run("convert", tiny_checkpoint, "-o", package, "--json").stdout)
    assert (record["package"], record["bytes"]) == (
        str(package),
        sum(path.stat().st_size for path in package.iterdir()),
    )
    assert [graph["name"] for graph in record["graphs"]] == GRAPHS
    codec = {"name": "codec_decoder", "measure": "SNR (dB)", "value": 95.5, "bound": 90.0}
    assert record["graphs"][7] == codec
    assert record["codec_from"] is None


@pytest.mark.usefixtures("quick_graphs")
def test_the_default_place_is_models_and_the_checkpoint_s_name(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = linked_copy(tiny_checkpoint, tmp_path / "My-Voice")
    monkeypatch.chdir(tmp_path)
    assert run("convert", "My-Voice").exit_code == 0
    assert run("info", "models/my-voice-fp32").stdout.splitlines()[0].split() == ["package", "my-voice-fp32"]
    monkeypatch.chdir(checkpoint)
    assert run("convert", ".", "-o", tmp_path / "dot").exit_code == 0
    assert same_files(tmp_path / "dot", tmp_path / "models" / "my-voice-fp32")


@pytest.mark.usefixtures("quick_graphs")
def test_overwrite_replaces_the_old_package(tiny_checkpoint: Path, tiny_package: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "model.json").write_text("an old one")
    (package / "old.bin").write_bytes(b"old")
    assert run("convert", tiny_checkpoint, "-o", package, "--overwrite").exit_code == 0
    assert same_files(package, tiny_package)
    assert list(tmp_path.iterdir()) == [package]


@pytest.mark.usefixtures("quick_graphs")
def test_what_was_converted_speaks(tiny_checkpoint: Path, tmp_path: Path) -> None:
    package, wav = tmp_path / "package", tmp_path / "a.wav"
    run("convert", tiny_checkpoint, "-o", package)
    options = ("--speaker", "ryan", "--threads", "1", "--greedy", "--max-frames", "2", "-o", wav)
    assert run("speak", package, "Hello.", *options).exit_code == 0
    assert soundfile.info(wav).frames == 2 * 1920


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("0.6b-customvoice", "models/qwen3-tts-12hz-0.6b-customvoice-fp32"),
        ("Someone/My-Voice", "models/my-voice-fp32"),
        ("tokenizer-12hz", "models/qwen3-tts-tokenizer-12hz-fp32"),
    ],
)
def test_the_place_is_checked_before_anything_is_fetched(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(*_arguments: object, **_named: object) -> None:
        raise AssertionError("fetched before it was refused")

    monkeypatch.setattr("qwen3_tts_ncnn.convert.checkpoint.find_checkpoint", find)
    monkeypatch.chdir(tmp_path)
    Path(package).mkdir(parents=True)
    (Path(package) / "model.json").touch()
    assert refusal("convert", name) == (
        f"{package} is not empty: choose a new folder, or replace the package with --overwrite"
    )


def test_a_random_checkpoint_is_written_and_called_noise(tiny_checkpoint: Path, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    result = run("checkpoint", folder, "--preset", "tiny", "--type", "custom_voice", "--seed", "0")
    assert result.exit_code == 0
    assert result.stdout == ""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert result.stderr == (
        f"wrote {folder}: tiny custom_voice, {size / 1e6:.1f} MB of random weights, so what it says will be noise\n"
    )
    for name in ("config.json", "model.safetensors", "speech_tokenizer/model.safetensors"):
        assert filecmp.cmp(folder / name, tiny_checkpoint / name, shallow=False), name


def test_another_seed_is_another_checkpoint(tiny_checkpoint: Path, tmp_path: Path) -> None:
    run("checkpoint", tmp_path / "checkpoint", "--seed", "1")
    name = "model.safetensors"
    assert not filecmp.cmp(tmp_path / "checkpoint" / name, tiny_checkpoint / name, shallow=False)


def test_the_choices_of_checkpoint_are_what_can_be_written() -> None:
    # The command names them itself, so that its help needs no safetensors.
    assert tuple(PRESETS) == cli.PRESETS
    assert tuple(MODEL_TYPES) == cli.MODEL_TYPES
