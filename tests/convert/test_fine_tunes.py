"""A fine-tuned custom_voice checkpoint becomes a package with its own speakers, whatever else its files carry."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.errors import CheckpointError
from qwen3_tts_ncnn.convert.manifest import build_manifest, codec_record
from qwen3_tts_ncnn.runtime.errors import ModeError
from qwen3_tts_ncnn.runtime.manifest import Manifest, Speaker, read_manifest, write_manifest
from qwen3_tts_ncnn.runtime.request import check_mode, language_id, speaker_name

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def fine_tune(tiny_checkpoint: Path, tmp_path: Path) -> Callable[[Change], Manifest]:
    """Makes a copy of the tiny checkpoint with another config.json, and the manifest of its package."""

    def make(change: Change) -> Manifest:
        folder = tmp_path / "my-voice"
        shutil.copytree(tiny_checkpoint, folder, copy_function=os.symlink)
        config = json.loads((folder / "config.json").read_text())
        change(config)
        (folder / "config.json").unlink()
        (folder / "config.json").write_text(json.dumps(config))
        checkpoint = Checkpoint.open(folder)
        codec = codec_record(checkpoint.codec_config, ((1, 2),), checkpoint.codec_sha256())
        write_manifest(build_manifest(checkpoint, codec, ["talker_decoder"], "my-voice-fp32"), tmp_path)
        manifest = read_manifest(tmp_path)
        assert isinstance(manifest, Manifest)
        return manifest

    return make


def speakers(ids: Mapping[str, object], dialects: object) -> Change:
    """Speakers in place of the official ones; `...` for no dialect entry at all."""

    def change(config: dict[str, Any]) -> None:
        talker = config["talker_config"]
        talker["spk_id"] = dict(ids)
        talker["spk_is_dialect"] = dialects
        if dialects is ...:
            del talker["spk_is_dialect"]

    return change


@pytest.mark.parametrize("dialects", [{"Mein_Sprecher": False}, {"mein_sprecher": False}, {}, None, ...])
def test_one_own_speaker_with_or_without_a_dialect_entry(
    fine_tune: Callable[[Change], Manifest], dialects: object
) -> None:
    """Upstream's own fine-tuning script writes {name: 3000} and {name: false}."""
    manifest = fine_tune(speakers({"Mein_Sprecher": 3000}, dialects))
    assert manifest.speakers == {"Mein_Sprecher": Speaker(3000, None)}
    assert manifest.dialects == {}
    assert speaker_name(manifest, "MEIN_SPRECHER") == "Mein_Sprecher"
    check_mode(manifest, "Mein_Sprecher", None, None)
    assert language_id(manifest, "zh-CN", "Mein_Sprecher") == manifest.languages["chinese"]
    assert language_id(manifest, "auto", "Mein_Sprecher") is None
    with pytest.raises(ModeError) as caught:
        speaker_name(manifest, "ryan")
    assert str(caught.value) == "my-voice-fp32 has no speaker 'ryan': choose one of Mein_Sprecher"


def test_speakers_of_which_one_has_a_dialect_and_one_no_entry(fine_tune: Callable[[Change], Manifest]) -> None:
    manifest = fine_tune(speakers({"one": 3000, "two": 3001}, {"two": "sichuan_dialect"}))
    assert manifest.speakers == {"one": Speaker(3000, None), "two": Speaker(3001, "sichuan_dialect")}
    assert list(manifest.dialects) == ["sichuan_dialect"]
    assert language_id(manifest, "auto", "two") == manifest.dialects["sichuan_dialect"]
    assert language_id(manifest, "de", "two") == manifest.languages["german"]
    assert language_id(manifest, "auto", "one") is None


def test_a_language_of_its_own_is_asked_for_by_name_and_code(fine_tune: Callable[[Change], Manifest]) -> None:
    def change(config: dict[str, Any]) -> None:
        config["talker_config"]["codec_language_id"]["Dutch"] = 2090

    manifest = fine_tune(change)
    assert manifest.languages["Dutch"] == 2090
    assert {language_id(manifest, asked, "ryan") for asked in ("dutch", "nl", "nl-BE", "DUT")} == {2090}


def test_extra_keys_change_nothing(fine_tune: Callable[[Change], Manifest], checkpoint: Checkpoint) -> None:
    def change(config: dict[str, Any]) -> None:
        config.update(my_note="mine", _name_or_path="my/voice", transformers_version="9.9")
        config["talker_config"].update(lora_rank=8, pad_token_id=0)
        config["talker_config"]["code_predictor_config"]["notes"] = [1, {"a": None}]

    manifest = fine_tune(change)
    codec = codec_record(checkpoint.codec_config, ((1, 2),), checkpoint.codec_sha256())
    plain = build_manifest(checkpoint, codec, ["talker_decoder"], "my-voice-fp32")
    changing = ("origin", "files")
    assert {name: value for name, value in vars(manifest).items() if name not in changing} == {
        name: value for name, value in vars(plain).items() if name not in changing
    }
    assert manifest.origin.name == "my-voice"


def test_what_a_fine_tune_calls_its_size_is_kept_and_it_may_follow_instructions(
    fine_tune: Callable[[Change], Manifest],
) -> None:
    """Only the size that upstream drops instructions for is refused."""
    manifest = fine_tune(lambda config: config.update(tts_model_size="my-own"))
    assert manifest.size == "my-own"
    check_mode(manifest, "ryan", None, "Softly.")


@pytest.mark.parametrize(
    ("change", "start"),
    [
        (speakers({"me": 3072}, {}), "config.json: talker_config.spk_id"),
        (speakers({"me": "3000"}, {}), 'config.json: talker_config.spk_id is {"me": "3000"}, expected an object'),
        (speakers({"me": 3000}, {"me": "klingon_dialect"}), "config.json: talker_config.spk_is_dialect"),
        (speakers({"me": 3000}, {"me": True}), "config.json: talker_config.spk_is_dialect is "),
    ],
)
def test_speakers_that_cannot_speak_are_one_line(
    fine_tune: Callable[[Change], Manifest], change: Change, start: str
) -> None:
    with pytest.raises(CheckpointError) as caught:
        fine_tune(change)
    assert str(caught.value).startswith(start), str(caught.value)
    assert "\n" not in str(caught.value)
