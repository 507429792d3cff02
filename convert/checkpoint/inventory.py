"""Which tensors a checkpoint must hold, which of them this version leaves unconverted, and the check of both.

Nothing is loaded by luck: a tensor the configuration does not imply is as much an error as one that is missing, because
either means that the file is not the model its configuration describes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from qwen3_tts_ncnn.convert.checkpoint.codec_config import CodecConfig
from qwen3_tts_ncnn.convert.checkpoint.codec_inventory import codec_tensors
from qwen3_tts_ncnn.convert.checkpoint.main_inventory import Shapes, main_tensors
from qwen3_tts_ncnn.convert.errors import CheckpointError

__all__ = ["Shapes", "check_inventory", "codec_tensors", "main_tensors", "unused_reason"]

_ENCODING_SIDE = "projects into the quantizer: decoding only looks codes up"
_DECODING_SIDE = "leads out of the encoder's quantizer: the codec has a decoder of its own"
_TRAINING_FLAG = "a flag of the training"
_UNUSED_LEVEL = "a level beyond those that upstream keeps of the codes (T:982)"

_UNUSED = {
    r"decoder\.quantizer\.rvq_(first|rest)\.input_proj\..*": _ENCODING_SIDE,
    r"encoder\.quantizer\..*\.output_proj\..*": _DECODING_SIDE,
    r"encoder\.quantizer\..*\.codebook\.initialized": _TRAINING_FLAG,
}
_ACOUSTIC_LEVEL = re.compile(r"encoder\.quantizer\.acoustic_residual_vector_quantizer\.layers\.(\d+)\..*")


def unused_reason(name: str, codec: CodecConfig) -> str | None:
    """Why this version does not convert the tensor ``name``; None for one that it converts."""
    level = _ACOUSTIC_LEVEL.fullmatch(name)
    used = codec.encoder_valid_num_quantizers - codec.encoder["num_semantic_quantizers"]
    if level and int(level[1]) >= used:
        return _UNUSED_LEVEL
    return next((reason for pattern, reason in _UNUSED.items() if re.fullmatch(pattern, name)), None)


def check_inventory(file_label: str, found: Mapping[str, tuple[int, ...]], expected: Shapes) -> None:
    """Compare what a file holds with what its configuration implies.

    Args:
        file_label: what errors call the file, e.g. ``"speech_tokenizer/model.safetensors"``.
        found: name → shape, as the file has them.
        expected: name → shape, from `main_tensors` or `codec_tensors`.

    Raises:
        CheckpointError: a tensor is missing, surplus, or of another shape. Names the first such tensor and the number
            of others.
    """
    missing = [name for name in expected if name not in found]
    if missing:
        raise CheckpointError(
            f"{file_label} lacks tensor {missing[0]} of shape {_shape(expected[missing[0]])} {_others(missing)}, "
            "which the configuration implies: the file is incomplete or belongs to another config.json"
        )
    surplus = sorted(name for name in found if name not in expected)
    if surplus:
        raise CheckpointError(
            f"{file_label} holds tensor {surplus[0]} of shape {_shape(found[surplus[0]])} {_others(surplus)}, which "
            "the configuration does not imply: the file belongs to another config.json or to a model not supported here"
        )
    wrong = [name for name, shape in expected.items() if tuple(found[name]) != shape]
    if wrong:
        raise CheckpointError(
            f"{file_label}: tensor {wrong[0]} has shape {_shape(found[wrong[0]])}, the configuration implies "
            f"{_shape(expected[wrong[0]])} {_others(wrong)}: the file belongs to another config.json"
        )


def _others(names: list[str]) -> str:
    return f"(and {len(names) - 1} others)" if len(names) > 2 else "(and 1 other)" if len(names) == 2 else "(no others)"


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape) or "scalar"
