"""Samples become the codes that upstream finds: the quantizers on the host, and the whole of it on a real graph."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from qwen3_tts_ncnn.parity.oracle import Oracle
from qwen3_tts_ncnn.runtime import TTS, PackageError
from qwen3_tts_ncnn.runtime.codec_encoder import CodecEncoder, RVQTables, valid_columns
from qwen3_tts_ncnn.runtime.mat import Floats
from tests.runtime.manifests import CODEC_ENCODER
from tests.runtime.recordings import RATE, recording


def noise(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def one_by_one(codebooks: Floats, semantic: Floats, acoustic: Floats, latent: Floats) -> list[list[int]]:
    """Vector after vector, level after level, distance after distance."""
    frames = []
    for vector in latent.astype(np.float64):
        codes: list[int] = []
        residual = semantic.astype(np.float64) @ vector
        for level, codebook in enumerate(codebooks.astype(np.float64)):
            if level == 1:
                residual = acoustic.astype(np.float64) @ vector
            distances = [float(((residual - entry) ** 2).sum()) for entry in codebook]
            codes.append(distances.index(min(distances)))
            residual = residual - codebook[codes[-1]]
        frames.append(codes)
    return frames


@pytest.mark.parametrize(("levels", "entries", "dim", "width"), [(1, 7, 3, 5), (2, 32, 4, 4), (5, 20, 6, 9)])
def test_codes_are_those_of_one_vector_at_a_time(levels: int, entries: int, dim: int, width: int) -> None:
    tables = noise(levels, entries, dim), noise(dim, width, seed=1), noise(dim, width, seed=2)
    latent = noise(50, width, seed=3)
    codes = RVQTables(*tables).encode(latent)
    assert codes.shape == (50, levels)
    assert codes.dtype == np.int32
    assert codes.tolist() == one_by_one(*tables, latent)


def test_semantic_and_acoustic_levels_hear_the_same_latent_and_only_acoustic_ones_each_other() -> None:
    codebooks = np.array([[[1], [10]], [[100], [200]], [[3], [-4]]], dtype=np.float32)
    tables = RVQTables(codebooks, semantic=np.array([[1, 0]], np.float32), acoustic=np.array([[0, 1]], np.float32))
    # The semantic 9 is nearest to 10; the acoustic 195 to 200, which leaves −5, nearest to −4.
    assert tables.encode(np.array([[9, 195], [2, 104]], dtype=np.float32)).tolist() == [[1, 1, 1], [0, 0, 0]]


def test_of_equally_near_entries_the_first_counts() -> None:
    codebooks = np.array([[[1, 0], [-1, 0], [1, 0], [0, 1]]], dtype=np.float32)
    eye = np.eye(2, dtype=np.float32)
    assert RVQTables(codebooks, eye, eye).encode(np.array([[0, 0], [5, 0], [-5, 0]], np.float32)).tolist() == [
        *([0], [0], [1])
    ]


def test_a_narrow_gap_far_from_the_origin_is_decided_by_the_numbers() -> None:
    """In float32 the distances, near 2e8, would be 16 apart."""
    codebooks = np.array([[[10000.0], [10000.5]]], dtype=np.float32)
    one = np.ones((1, 1), dtype=np.float32)
    latent = np.array([[10000.2], [10000.3]], dtype=np.float32)
    assert RVQTables(codebooks, one, one).encode(latent).tolist() == [[0], [1]]


@pytest.mark.parametrize(
    ("samples", "padded", "ratios", "valid"),
    [
        # Whole frames: everything is the recording's.
        (24, 24, (3, 2), [24, 8, 4]),
        (48, 48, (3, 2), [48, 16, 8]),
        # One sample of the second frame: ceil at every convolution.
        (25, 48, (3, 2), [25, 9, 5]),
        (47, 48, (3, 2), [47, 16, 8]),
        (1, 24, (3, 2), [1, 1, 1]),
        (1921, 3840, (4, 5, 6, 8), [1921, 481, 97, 17, 3]),
        (3839, 3840, (4, 5, 6, 8), [3839, 960, 192, 32, 4]),
    ],
)
def test_valid_columns_are_the_recording_s(
    samples: int, padded: int, ratios: tuple[int, ...], valid: list[int]
) -> None:
    masks = valid_columns(samples, padded, ratios)
    columns = padded
    for mask, count, ratio in zip(masks, valid, (*ratios, 1), strict=True):
        assert mask.shape == (1, 1, columns)
        assert mask.dtype == np.float32
        assert mask.flatten().tolist() == [1] * count + [0] * (columns - count)
        columns //= ratio


class FakeGraph:
    """Remembers its inputs; the latent of frame t is [t, 0]."""

    def __init__(self) -> None:
        self.inputs: dict[str, NDArray[Any]] = {}

    def run(self, inputs: dict[str, NDArray[Any]], output: str) -> Floats:
        assert output == "latent"
        self.inputs = inputs
        frames = inputs["wave"].shape[1] // 1920
        return np.stack((np.arange(frames), np.zeros(frames))).astype(np.float32)


@pytest.mark.parametrize(("samples", "frames"), [(1, 1), (1919, 1), (1920, 1), (1921, 2), (3840, 2), (4800, 3)])
def test_the_graph_is_fed_whole_frames_and_told_where_the_recording_ends(samples: int, frames: int) -> None:
    graph: Any = FakeGraph()
    entries = np.array([[[0, 0], [1, 0], [2, 0]]], dtype=np.float32)
    eye = np.eye(2, dtype=np.float32)
    wave = recording(samples)
    assert CodecEncoder(graph, RVQTables(entries, eye, eye), CODEC_ENCODER).encode(wave).tolist() == [
        [t] for t in range(frames)
    ]
    inputs = graph.inputs
    assert np.array_equal(inputs["wave"][0], np.pad(wave, (0, 1920 * frames - samples)))
    assert inputs["mask"].shape == (2 * frames, 2 * frames)
    assert inputs["cos"].shape == inputs["sin"].shape == (2 * frames, 2)
    valid = [f"valid_{n}" for n in range(5)]
    assert list(inputs) == ["wave", "mask", "cos", "sin", *valid]
    assert [inputs[name].shape[2] for name in valid] == [frames * each for each in (1920, 480, 96, 16, 2)]
    assert inputs["valid_0"].sum() == samples


def test_no_samples_are_no_frames(tts: TTS) -> None:
    codes = tts.codec.encode_samples(np.zeros(0, dtype=np.float32))
    assert codes.shape == (0, 16)
    assert codes.dtype == np.int32


@pytest.mark.parametrize(
    "samples",
    [1, 2, 959, 960, 961, 1919, 1920, 1921, 2880, 2881, 3839, 3840, 3841, 24000, 24001, 11 * RATE + 7],
)
def test_codes_are_upstream_s_whatever_is_left_of_the_last_frame(tts: TTS, oracle: Oracle, samples: int) -> None:
    """11 seconds are beyond the attention window of 250 steps that the configuration names and nobody applies."""
    wave = recording(samples)
    codes = tts.codec.encode_samples(wave)
    assert codes.shape == (-(-samples // 1920), 16)
    assert np.array_equal(codes, oracle.encode(wave))


def test_every_level_of_a_recording_s_codes_says_something(tts: TTS) -> None:
    """Or else equal codes would prove little: random weights can collapse."""
    codes = tts.codec.encode_samples(recording(8 * RATE))
    assert all(len(set(level)) >= 20 for level in codes.T.tolist())


def test_tables_that_are_not_there_or_not_whole_are_one_line(tmp_path: Path) -> None:
    save_file({"codebooks": noise(1, 2, 3)}, tmp_path / "half.safetensors")
    (tmp_path / "cut.safetensors").write_bytes((tmp_path / "half.safetensors").read_bytes()[:-3])
    for name in ("half", "cut", "missing"):
        with pytest.raises(PackageError) as caught:
            RVQTables.load(tmp_path / f"{name}.safetensors")
        assert str(caught.value).startswith(f"{tmp_path / name}.safetensors cannot be read (")
        assert str(caught.value).endswith("): verify the package")
        assert "\n" not in str(caught.value)
