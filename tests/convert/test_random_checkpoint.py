"""A random checkpoint is a whole checkpoint in the official layout, the same bytes every time, or it is not there."""

import hashlib
import json
from pathlib import Path

import pytest

from qwen3_tts_ncnn.convert.checkpoint.config import read_config
from qwen3_tts_ncnn.convert.checkpoint.inventory import codec_tensors, main_tensors
from qwen3_tts_ncnn.convert.errors import CheckpointError
from qwen3_tts_ncnn.convert.random_checkpoint import MODEL_TYPES, PRESETS, write_random_checkpoint
from qwen3_tts_ncnn.convert.random_checkpoint import write as writing

MODEL = "model.safetensors"
CODEC = "speech_tokenizer/model.safetensors"

# Of the tiny CustomVoice checkpoint of seed 0. They change when what the weights are drawn from changes, and only then:
# a different machine, numpy or Python must give these.
TINY_SHA256 = {
    MODEL: "a7bab597aa13d905aa97432a4d2c6809bc80ce6b04b292b6516421c844e05f53",
    CODEC: "5535a005139acf6e73a49c200dc8a7116e8313f27768c8e6099bb79b0d2d4c19",
}


def header(path: Path) -> dict[str, dict[str, object]]:
    data = path.read_bytes()
    parsed: dict[str, dict[str, object]] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return parsed


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_checkpoint(tmp_path_factory.mktemp("checkpoints") / "tiny", "tiny", "custom_voice")


def test_the_folder_holds_the_official_files_and_nothing_else(tiny: Path) -> None:
    assert sorted(files(tiny)) == [
        "config.json",
        "configuration.json",
        "generation_config.json",
        "merges.txt",
        MODEL,
        "preprocessor_config.json",
        "speech_tokenizer/config.json",
        "speech_tokenizer/configuration.json",
        CODEC,
        "speech_tokenizer/preprocessor_config.json",
        "tokenizer_config.json",
        "vocab.json",
    ]
    assert [path.name for path in tiny.parent.iterdir()] == ["tiny"]


def test_two_writes_give_the_same_bytes(tiny: Path, tmp_path: Path) -> None:
    again = write_random_checkpoint(tmp_path / "again", "tiny", "custom_voice", seed=0)
    assert files(again) == files(tiny)


def test_the_weights_are_the_same_bytes_on_every_machine(tiny: Path) -> None:
    digests = {name: hashlib.sha256((tiny / name).read_bytes()).hexdigest() for name in TINY_SHA256}
    assert digests == TINY_SHA256


def test_another_seed_is_another_model_of_the_same_sizes(tiny: Path, tmp_path: Path) -> None:
    other = write_random_checkpoint(tmp_path / "other", "tiny", "custom_voice", seed=1)
    ours, theirs = files(tiny), files(other)
    assert {name for name in ours if ours[name] != theirs[name]} == {MODEL, CODEC}
    assert header(other / MODEL) == header(tiny / MODEL)


def test_the_types_of_a_preset_share_their_weights(tiny: Path, tmp_path: Path) -> None:
    design = write_random_checkpoint(tmp_path / "design", "tiny", "voice_design")
    assert (design / CODEC).read_bytes() == (tiny / CODEC).read_bytes()
    assert (design / MODEL).read_bytes() == (tiny / MODEL).read_bytes()


@pytest.mark.parametrize("preset", ["tiny", "tiny-1.7b"])
@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_a_tiny_checkpoint_holds_the_tensors_of_its_configuration(preset: str, model_type: str, tmp_path: Path) -> None:
    folder = write_random_checkpoint(tmp_path / "checkpoint", preset, model_type)
    config = read_config(folder)
    for name, dtype, expected in ((MODEL, "BF16", main_tensors(config)), (CODEC, "F32", codec_tensors(config.codec))):
        tensors = header(folder / name)
        assert tensors.pop("__metadata__") == {"format": "pt"}
        assert {tensor: tuple(entry["shape"]) for tensor, entry in tensors.items()} == expected  # type: ignore[arg-type]
        assert {entry["dtype"] for entry in tensors.values()} == {dtype}
    assert any(name.startswith("speaker_encoder.") for name in header(folder / MODEL)) == (model_type == "base")
    assert ("talker.code_predictor.small_to_mtp_projection.bias" in header(folder / MODEL)) == (preset == "tiny-1.7b")
    assert sum(path.stat().st_size for path in folder.rglob("*")) < 50e6


def test_progress_counts_the_bytes_of_both_files_up_to_their_totals(tmp_path: Path) -> None:
    heard: dict[str, list[tuple[int, int]]] = {}
    folder = write_random_checkpoint(
        tmp_path / "checkpoint",
        "tiny",
        "base",
        progress=lambda name, done, total: heard.setdefault(name, []).append((done, total)),
    )
    assert list(heard) == [MODEL, CODEC]
    for name, steps in heard.items():
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert len(steps) == len(header(folder / name)) - 1
        data = (folder / name).read_bytes()
        assert steps[-1] == (len(data) - 8 - int.from_bytes(data[:8], "little"),) * 2


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    assert write_random_checkpoint(folder, "tiny", "base") == folder
    assert (folder / "config.json").is_file()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "keep").touch()
    with pytest.raises(CheckpointError, match=r"is not empty: choose a new folder, or empty this one first$"):
        write_random_checkpoint(tmp_path, "tiny", "base")
    assert [path.name for path in tmp_path.iterdir()] == ["keep"]


def test_a_file_in_the_folders_place_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CheckpointError, match=r"file is a file: choose a new folder$"):
        write_random_checkpoint(tmp_path / "file", "tiny", "base")
    assert (tmp_path / "file").read_text() == "mine"


def test_an_unknown_preset_or_type_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError) as preset:
        write_random_checkpoint(tmp_path / "x", "huge", "base")
    assert str(preset.value) == "unknown preset 'huge': choose one of tiny, tiny-1.7b, 0.6b, 1.7b"
    with pytest.raises(CheckpointError) as kind:
        write_random_checkpoint(tmp_path / "x", "tiny", "clone")
    assert str(kind.value) == "unknown model type 'clone': choose one of base, custom_voice, voice_design"
    assert list(PRESETS) == ["tiny", "tiny-1.7b", "0.6b", "1.7b"]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "write_safetensors", full)
    with pytest.raises(CheckpointError, match=r"x cannot be written \(No space left on device\): free some space"):
        write_random_checkpoint(tmp_path / "x", "tiny", "base")
    assert list(tmp_path.iterdir()) == []
