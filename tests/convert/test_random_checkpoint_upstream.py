"""Upstream loads a tiny checkpoint with no tensor missing or left over, and speaks from it as a model should."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from qwen3_tts_ncnn.convert.random_checkpoint import write_random_checkpoint
from qwen3_tts_ncnn.parity.upstream_stubs import import_upstream

TEXTS = ["Hello, this is a small test of the voice.", "你好,今天的天气真不错。", "Well... 3.14 × 2 = 6.28 (100%!)"]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """More threads than free cores make these small models a hundred times slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def load(folder: Path) -> Any:
    return import_upstream().from_pretrained(str(folder), dtype=torch.float32, attn_implementation="sdpa")


@pytest.fixture(scope="module")
def custom_voice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = write_random_checkpoint(tmp_path_factory.mktemp("upstream") / "tiny", "tiny", "custom_voice")
    return folder, load(folder)


def assert_same_tensors(module: torch.nn.Module, file: Path) -> None:
    written = load_file(file)
    loaded = module.state_dict()
    assert sorted(loaded) == sorted(written)
    for name, tensor in written.items():
        assert torch.equal(loaded[name], tensor.float()), name


def test_upstream_holds_every_tensor_of_the_files_and_no_other(custom_voice: tuple[Path, Any]) -> None:
    folder, model = custom_voice
    assert_same_tensors(model.model, folder / "model.safetensors")
    assert_same_tensors(model.model.speech_tokenizer.model, folder / "speech_tokenizer" / "model.safetensors")


@pytest.mark.parametrize(("preset", "model_type"), [("tiny", "base"), ("tiny-1.7b", "voice_design")])
def test_upstream_loads_the_other_types(preset: str, model_type: str, tmp_path: Path) -> None:
    folder = write_random_checkpoint(tmp_path / "checkpoint", preset, model_type)
    model = load(folder)
    assert_same_tensors(model.model, folder / "model.safetensors")
    assert model.model.tts_model_type == model_type


def test_upstream_tokenizes_the_template_into_role_text_and_end(custom_voice: tuple[Path, Any]) -> None:
    _, model = custom_voice
    ids = model._tokenize_texts(["<|im_start|>assistant\nHi<|im_end|>\n<|im_start|>assistant\n"])[0][0].tolist()
    assert ids == [151644, 77091, 198, 39, 72, 151645, 198, 151644, 77091, 198]


def test_greedy_runs_end_by_themselves_at_lengths_that_depend_on_the_text(custom_voice: tuple[Path, Any]) -> None:
    _, model = custom_voice
    waves, rate = model.generate_custom_voice(
        TEXTS, speaker=["ryan", "vivian", "eric"], language=["english", "chinese", "auto"], do_sample=False,
        subtalker_dosample=False, max_new_tokens=80,
    )  # fmt: skip
    frames = [len(wave) // 1920 for wave in waves]
    assert rate == 24000
    assert len(set(frames)) == 3
    assert all(2 <= count < 79 for count in frames), frames
    for wave in waves:
        assert 0.05 < float(np.sqrt((wave**2).mean())) < 0.4
        assert float((np.abs(wave) >= 1).mean()) < 0.002


def test_the_logits_are_apart_and_the_codes_many(custom_voice: tuple[Path, Any]) -> None:
    _, model = custom_voice
    logits: list[torch.Tensor] = []
    talker = model.model.talker
    handle = talker.codec_head.register_forward_hook(lambda _module, _args, out: logits.append(out[0, -1].clone()))
    try:
        model.generate_custom_voice(
            TEXTS[0], speaker="ryan", language="english", do_sample=False, subtalker_dosample=False, max_new_tokens=40
        )
    finally:
        handle.remove()
    rows = torch.stack(logits)[:, :2048]
    best = rows.topk(2, dim=-1).values
    assert 3 < float(rows.std()) < 5
    assert float((best[:, 0] - best[:, 1]).median()) > 0.4
    assert len(set(rows.argmax(-1).tolist())) >= 0.9 * len(rows) > 5
