"""Writing a random checkpoint folder: all of it, or nothing."""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from qwen3_tts_ncnn.convert.checkpoint.config import CheckpointConfig, read_config
from qwen3_tts_ncnn.convert.checkpoint.inventory import codec_tensors, main_tensors
from qwen3_tts_ncnn.convert.errors import CheckpointError
from qwen3_tts_ncnn.convert.random_checkpoint.layout import MODEL_TYPES, ModelType
from qwen3_tts_ncnn.convert.random_checkpoint.presets import PRESETS, Preset, configuration_files
from qwen3_tts_ncnn.convert.random_checkpoint.safetensors_file import Dtype, write_safetensors
from qwen3_tts_ncnn.convert.random_checkpoint.vocabulary import tokenizer_files
from qwen3_tts_ncnn.convert.random_checkpoint.weights import RandomWeights
from qwen3_tts_ncnn.runtime.files import cannot_be_written

Progress = Callable[[str, int, int], None]
"""Called with a file's name, the bytes of it written so far, and the bytes it will have."""


def write_random_checkpoint(
    folder: Path, preset: str, model_type: str, *, seed: int = 0, progress: Progress | None = None
) -> Path:
    """Write a checkpoint of random weights in the official layout, and return its folder.

    The same arguments give the same bytes on every run and machine. The folder appears when it is complete.

    Args:
        folder: absent, or empty.
        preset: a key of `PRESETS`.
        model_type: one of `MODEL_TYPES`.
        seed: another seed is another model, of the same sizes.

    Raises:
        CheckpointError: an unknown preset or type, a folder with something in it, or a disk that takes no more.
    """
    sizes = PRESETS.get(preset)
    if sizes is None:
        raise CheckpointError(f"unknown preset {preset!r}: choose one of {', '.join(PRESETS)}")
    kind = next((known for known in MODEL_TYPES if known == model_type), None)
    if kind is None:
        raise CheckpointError(f"unknown model type {model_type!r}: choose one of {', '.join(MODEL_TYPES)}")
    _refuse_occupied(folder)
    temporary = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        content = temporary / "checkpoint"
        _write_configuration(content, sizes, kind)
        _write_weights(content, read_config(content), sizes, seed, progress)
        content.replace(folder)  # replaces an empty folder too
    except OSError as error:
        raise CheckpointError(str(cannot_be_written(folder, error))) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _refuse_occupied(folder: Path) -> None:
    if folder.is_dir():
        if any(folder.iterdir()):
            raise CheckpointError(f"{folder} is not empty: choose a new folder, or empty this one first")
    elif folder.exists() or folder.is_symlink():
        raise CheckpointError(f"{folder} is a file: choose a new folder")


def _write_configuration(folder: Path, preset: Preset, model_type: ModelType) -> None:
    (folder / "speech_tokenizer").mkdir(parents=True)
    for name, content in configuration_files(preset, model_type).items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    for name, text in tokenizer_files().items():
        (folder / name).write_text(text, encoding="utf-8")


def _write_weights(
    folder: Path, config: CheckpointConfig, preset: Preset, seed: int, progress: Progress | None
) -> None:
    weights = RandomWeights(preset.first_seed + seed, config.talker.codec_eos_token_id, preset.eos_gain)

    def write(name: str, dtype: Dtype, shapes: Mapping[str, tuple[int, ...]]) -> None:
        report = None if progress is None else partial(progress, name)
        write_safetensors(folder / name, shapes, dtype, lambda each: weights.tensor(each, shapes[each]), report)

    # The released files' types: the language side in bfloat16, the codec in float32.
    write("model.safetensors", "BF16", main_tensors(config))
    write("speech_tokenizer/model.safetensors", "F32", codec_tensors(config.codec))
