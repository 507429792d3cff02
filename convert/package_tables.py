"""The tables of a package that are no graphs: text embedding, the RVQ of the codec's encoder, mel filters."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save

from qwen3_tts_ncnn.convert.checkpoint.codec_config import CodecConfig
from qwen3_tts_ncnn.convert.checkpoint.tensors import Tensors
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.mel_filters import mel_filters

TEXT_TABLE = "text_embedding.bin"
TEXT_TENSOR = "talker.model.text_embedding.weight"
RVQ_TABLES = "rvq_encoder.safetensors"
MEL_FILTERS = "mel_filters.safetensors"

# Below this a codebook row's usage counts as this much (MIMI:1186).
_LEAST_USAGE = 1e-5


def write_text_table(tensors: Tensors, main: Weights, path: Path) -> None:
    """The text embedding as the checkpoint stores it: half the size of float32, and as exact."""
    main.mark(TEXT_TENSOR)
    tensors.raw(TEXT_TENSOR).contiguous().view(torch.uint8).numpy().tofile(path)


def write_rvq_tables(config: CodecConfig, weights: Weights, path: Path) -> None:
    """The codebooks that encoding uses (16, entries, dim), and both projections (dim, latent).

    The file stores 32 levels; upstream encodes to all and keeps the first 16 (T:982).
    """
    quantizer = weights / "encoder" / "quantizer"
    used = config.encoder_valid_num_quantizers
    halves = {"semantic": config.encoder["num_semantic_quantizers"]}
    halves["acoustic"] = used - halves["semantic"]
    codebooks, tables = [], {}
    for half, levels in halves.items():
        scope = quantizer / f"{half}_residual_vector_quantizer"
        tables[f"{half}_projection"] = _projection(scope, config)
        codebooks += [_codebook(scope / "layers" / level / "codebook") for level in range(levels)]
    _write({"codebooks": np.stack(codebooks), **tables}, path)


def write_mel_filters(path: Path) -> None:
    """The speaker encoder's mel filters (128, 513), so that the runtime needs no librosa."""
    _write({"filters": mel_filters()}, path)


def _write(tables: dict[str, NDArray[np.float32]], path: Path) -> None:
    """Not by safetensors' `save_file`: its files may be read by their owner alone, and a full disk is no OSError."""
    path.write_bytes(save(tables))


def _codebook(scope: Weights) -> NDArray[np.float32]:
    rows: NDArray[np.float32] = (
        scope.take("embed_sum") / scope.take("cluster_usage").clamp(min=_LEAST_USAGE)[:, None]
    ).numpy()
    return rows


def _projection(scope: Weights, config: CodecConfig) -> NDArray[np.float32]:
    """The half's projection into its space; the identity where latent and codebooks are of one width (MIMI:1261)."""
    if not (scope / "input_proj").has("weight"):
        return np.eye(config.encoder["hidden_size"], dtype=np.float32)
    weight: NDArray[np.float32] = (scope / "input_proj").take("weight").squeeze(2).numpy()
    return np.ascontiguousarray(weight)
