"""The descriptors name the released checkpoints, agree with their configurations, and are found by either name."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from qwen3_tts_ncnn import models
from qwen3_tts_ncnn.convert.checkpoint.config import read_config
from qwen3_tts_ncnn.convert.checkpoint.inventory import codec_tensors, main_tensors

REFERENCE = Path(__file__).resolve().parents[2].parent / "shared" / "reference"

OFFICIAL = {
    "0.6b-base": "Qwen/Qwen3-TTS-12Hz-0.6B-Base",
    "0.6b-customvoice": "Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice",
    "1.7b-base": "Qwen/Qwen3-TTS-12Hz-1.7B-Base",
    "1.7b-customvoice": "Qwen/Qwen3-TTS-12Hz-1.7B-CustomVoice",
    "1.7b-voicedesign": "Qwen/Qwen3-TTS-12Hz-1.7B-VoiceDesign",
    "tokenizer-12hz": "Qwen/Qwen3-TTS-Tokenizer-12Hz",
}

FOLDERS = ["0.6B-Base", "0.6B-CustomVoice", "1.7B-Base", "1.7B-CustomVoice", "1.7B-VoiceDesign"]


def test_there_is_one_descriptor_for_each_released_checkpoint() -> None:
    assert {model.name: model.repo for model in models.descriptors()} == OFFICIAL
    assert [model.name for model in models.descriptors()] == sorted(OFFICIAL)
    assert {model.licence for model in models.descriptors()} == {"Apache-2.0"}


@pytest.mark.parametrize("name", OFFICIAL)
def test_a_descriptor_is_found_by_short_name_and_by_repository_in_any_case(name: str) -> None:
    model = models.find(name)
    assert model is not None
    assert model.name == name
    assert models.find(name.upper()) == models.find(OFFICIAL[name]) == models.find(OFFICIAL[name].lower()) == model


def test_an_unknown_name_is_not_found() -> None:
    assert models.find("2b-custom") is None
    assert models.find("") is None


@pytest.mark.skipif(not REFERENCE.exists(), reason="no official configurations at ../shared/reference")
@pytest.mark.parametrize("folder", FOLDERS)
def test_type_size_and_parameters_are_those_of_the_official_configuration(folder: str) -> None:
    model, config = models.find(folder.lower()), read_config(REFERENCE / "configs" / folder)
    assert model is not None
    assert (model.tts_model_type, model.tts_model_size) == (config.tts_model_type, config.tts_model_size)
    assert model.parameters == sum(math.prod(shape) for shape in main_tensors(config).values())
    codec = models.find("tokenizer-12hz")
    assert codec is not None
    assert codec.parameters == sum(math.prod(shape) for shape in codec_tensors(config.codec).values())


def test_the_package_needs_nothing_but_the_standard_library() -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        "from qwen3_tts_ncnn import models; models.descriptors()\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new - set(sys.stdlib_module_names)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(result.stdout.split()) <= {"qwen3_tts_ncnn"}
