"""The tables beside the graphs are the checkpoint's, and what the runtime makes of them is what upstream does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch import Tensor

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint
from qwen3_tts_ncnn.convert.checkpoint.weights import Weights
from qwen3_tts_ncnn.convert.mel_filters import mel_filters
from qwen3_tts_ncnn.convert.package_tables import TEXT_TENSOR, write_mel_filters, write_rvq_tables, write_text_table
from qwen3_tts_ncnn.runtime.codec_encoder import RVQTables
from qwen3_tts_ncnn.runtime.speaker_encoder import load_mel
from tests.convert.tensors import Dictionary, noise

HALVES = [("semantic", 0), *(("acoustic", level) for level in range(15))]


@pytest.fixture(scope="module")
def rvq(checkpoint: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "rvq.safetensors"
    write_rvq_tables(checkpoint.codec_config, Weights(checkpoint.codec), path)
    return path


def test_the_first_16_of_32_levels_are_kept_the_semantic_one_first(checkpoint: Checkpoint, rvq: Path) -> None:
    tables = load_file(rvq)
    assert tables.keys() == {"codebooks", "semantic_projection", "acoustic_projection"}
    assert {table.dtype for table in tables.values()} == {np.dtype(np.float32)}
    assert tables["codebooks"].shape == (16, 2048, 16)
    for n, (half, level) in enumerate(HALVES):
        book = f"encoder.quantizer.{half}_residual_vector_quantizer.layers.{level}.codebook"
        usage, total = (checkpoint.codec.load(f"{book}.{name}") for name in ("cluster_usage", "embed_sum"))
        assert np.array_equal(tables["codebooks"][n], (total / usage.clamp(min=1e-5)[:, None]).numpy())
    for half in ("semantic", "acoustic"):
        name = f"encoder.quantizer.{half}_residual_vector_quantizer.input_proj.weight"
        assert np.array_equal(tables[f"{half}_projection"], checkpoint.codec.load(name)[:, :, 0].numpy())
    assert "encoder.quantizer.acoustic_residual_vector_quantizer.layers.30.codebook.embed_sum" in checkpoint.codec.names


def test_codes_are_those_of_upstream_s_quantizer(rvq: Path, upstream: Any) -> None:
    """MimiSplitResidualVectorQuantizer on vectors of the latent's size, whole and small and large."""
    quantizer = upstream.speech_tokenizer.model.encoder.quantizer
    tables = RVQTables.load(rvq)
    for scale in (0.1, 1.0, 5.0):
        latent = scale * noise(200, 64, seed=int(10 * scale))
        with torch.no_grad():
            expected = quantizer.encode(latent.T[None], 16)[:, 0].T
            everything = quantizer.encode(latent.T[None])[:, 0].T
        assert everything.shape == (200, 32)
        assert torch.equal(everything[:, :16], expected), "the levels left out change nothing of those before them"
        codes = tables.encode(latent.numpy())
        assert codes.tolist() == expected.tolist()
        assert len(np.unique(codes)) > 100


def config_of(checkpoint: Checkpoint, **changes: Any) -> Any:
    config = checkpoint.codec_config
    return replace(config, encoder_valid_num_quantizers=2, encoder={**config.encoder, **changes})


def quantizer(usage: Tensor, *, projected: bool) -> Dictionary:
    tensors = {}
    for half in ("semantic", "acoustic"):
        scope = f"encoder.quantizer.{half}_residual_vector_quantizer"
        tensors[f"{scope}.layers.0.codebook.cluster_usage"] = usage
        tensors[f"{scope}.layers.0.codebook.embed_sum"] = torch.full((len(usage), 3), 1e-5)
        if projected:
            tensors[f"{scope}.input_proj.weight"] = torch.ones(3, 4, 1)
    return Dictionary(tensors)


def test_a_codebook_is_never_divided_by_less_than_1e_5(checkpoint: Checkpoint, tmp_path: Path) -> None:
    usage = torch.tensor([2.0, 1e-5, 1e-6, 0.0, -1.0])
    weights = Weights(quantizer(usage, projected=True))
    write_rvq_tables(config_of(checkpoint), weights, tmp_path / "rvq")
    codebooks = load_file(tmp_path / "rvq")["codebooks"]
    assert codebooks.shape == (2, 5, 3)
    assert codebooks[:, :, 0].tolist() == [[pytest.approx(value) for value in (5e-6, 1, 1, 1, 1)]] * 2
    assert weights.left_over() == []


def test_a_codec_whose_latent_is_as_wide_as_its_codebooks_has_no_projection(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    """MIMI:1261: there is none in the checkpoint then."""
    weights = Weights(quantizer(torch.ones(5), projected=False))
    write_rvq_tables(config_of(checkpoint, hidden_size=3), weights, tmp_path / "rvq")
    tables = load_file(tmp_path / "rvq")
    for half in ("semantic", "acoustic"):
        assert np.array_equal(tables[f"{half}_projection"], np.eye(3, dtype=np.float32))
    assert RVQTables.load(tmp_path / "rvq").encode(np.zeros((2, 3), np.float32)).tolist() == [[0, 0], [0, 0]]


def test_the_text_table_is_the_checkpoint_s_bytes(checkpoint: Checkpoint, tmp_path: Path) -> None:
    main = Weights(checkpoint.main)
    write_text_table(checkpoint.main, main, tmp_path / "text")
    raw = checkpoint.main.raw(TEXT_TENSOR)
    assert raw.dtype == torch.bfloat16
    assert (tmp_path / "text").read_bytes() == raw.view(torch.uint8).numpy().tobytes()
    assert TEXT_TENSOR not in main.left_over()


def test_the_mel_filters_are_librosa_s_and_the_runtime_reads_them(tmp_path: Path) -> None:
    write_mel_filters(tmp_path / "mel")
    tables = load_file(tmp_path / "mel")
    assert list(tables) == ["filters"]
    assert np.array_equal(tables["filters"], mel_filters())
    assert load_mel(tmp_path / "mel")(np.zeros(24000, np.float32)).shape == (93, 128)


@pytest.mark.parametrize("table", ["rvq", "mel"])
def test_a_table_written_twice_is_the_same_bytes(checkpoint: Checkpoint, tmp_path: Path, table: str) -> None:
    for name in ("one", "two"):
        if table == "rvq":
            write_rvq_tables(checkpoint.codec_config, Weights(checkpoint.codec), tmp_path / name)
        else:
            write_mel_filters(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
