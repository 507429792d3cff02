"""An fp32 package becomes one with smaller weights: what changes, what is shared, and what is refused."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.precision import change, rewrite
from qwen3_tts_ncnn.convert.precision.blocks import quantize_blocks
from qwen3_tts_ncnn.convert.precision.change import convert_package, package_name
from qwen3_tts_ncnn.convert.precision.formats import RECOMMENDED, parse_formats
from qwen3_tts_ncnn.convert.report import GraphReport, Step
from qwen3_tts_ncnn.runtime import TTS
from qwen3_tts_ncnn.runtime.errors import ModeError, OutputError, PackageError
from qwen3_tts_ncnn.runtime.manifest import MANIFEST, Figures, GraphInfo, Quality, record_quality
from qwen3_tts_ncnn.runtime.package import Package
from tests.convert.stand_ins import contents

CHANGED = {f"{graph}.{ending}" for graph in RECOMMENDED for ending in ("param", "bin")}


def made(source: Path, package: Path, *words: str, overwrite: bool = False) -> Sequence[GraphReport]:
    return convert_package(source, package, *parse_formats(words), overwrite=overwrite)


def linked(source: Path, copy: Path) -> Path:
    """The same package again, in links that each may be replaced by another file."""
    return Path(shutil.copytree(source, copy, copy_function=os.link))


def inodes(package: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in package.iterdir()}


def test_the_package_is_whole_and_smaller(tiny_package: Path, tiny_int8_package: Path) -> None:
    assert Package.open(tiny_int8_package).verify() == len(list(tiny_package.iterdir())) - 1
    for name in CHANGED:
        ours, theirs = ((package / name).stat().st_size for package in (tiny_int8_package, tiny_package))
        assert ours < theirs / 3 if name.endswith(".bin") else ours > theirs


def test_every_other_file_is_the_source_s_own(tiny_package: Path, tiny_int8_package: Path) -> None:
    ours, theirs = inodes(tiny_int8_package), inodes(tiny_package)
    assert ours.keys() == theirs.keys()
    assert {name for name in ours if ours[name] != theirs[name]} == {*CHANGED, MANIFEST}


def test_the_source_stays_as_it_was(tiny_package: Path, tmp_path: Path) -> None:
    source = linked(tiny_package, tmp_path / "source")
    before, files = contents(source), inodes(source)
    made(source, tmp_path / "int8", "int8")
    assert (contents(source), inodes(source)) == (before, files)


def test_of_a_package_of_links_the_files_are_taken(tiny_package: Path, tmp_path: Path) -> None:
    """As Hugging Face's cache has them: relative links to files that have other names, in a folder beside it."""
    stored, source = tmp_path / "blobs", tmp_path / "snapshot"
    stored.mkdir()
    source.mkdir()
    for number, file in enumerate(tiny_package.iterdir()):
        os.link(file, stored / f"{number}")
        (source / file.name).symlink_to(Path("..", "blobs", f"{number}"))
    made(source, tmp_path / "bf16", "bf16")
    shutil.rmtree(source)
    shutil.rmtree(stored)
    package = Package.open(tmp_path / "bf16")
    assert package.verify() == len(list(tiny_package.iterdir())) - 1
    assert not any(file.is_symlink() for file in package.folder.iterdir())
    assert inodes(package.folder)["codec_decoder.bin"] == inodes(tiny_package)["codec_decoder.bin"]


def test_the_manifest_says_how_each_graph_is_stored(tiny_package: Path, tiny_int8_package: Path) -> None:
    source, manifest = Package.open(tiny_package).speech, Package.open(tiny_int8_package).speech
    assert manifest.name == "tiny-customvoice-int8"
    fp32 = dict.fromkeys(source.graphs, GraphInfo("fp32"))
    assert source.graphs == fp32
    assert manifest.graphs == fp32 | {
        name: GraphInfo(weights.precision, weights.block) for name, weights in RECOMMENDED.items()
    }
    assert list(manifest.graphs) == list(source.graphs)
    assert manifest.origin == source.origin


def test_graphs_may_differ(tiny_package: Path, tmp_path: Path) -> None:
    words = ("int8/32", "predictor_heads=fp32", "talker_codec_head=bf16", "predictor_decoder=int8/row")
    reports = made(tiny_package, tmp_path / "mixed", *words)
    assert [report.name for report in reports] == ["talker_decoder", "talker_codec_head", "predictor_decoder"]
    assert all(0.99 < report.measured <= 1 and report.bound.limit == 0.95 for report in reports)
    manifest = Package.open(tmp_path / "mixed").speech
    assert manifest.name == "tiny-customvoice-int8"
    assert {name: manifest.graphs[name] for name in RECOMMENDED} == {
        "talker_decoder": GraphInfo("int8", 32),
        "talker_codec_head": GraphInfo("bf16"),
        "predictor_decoder": GraphInfo("int8", None),
        "predictor_heads": GraphInfo("fp32"),
    }
    shared = inodes(tmp_path / "mixed").items() & inodes(tiny_package).items()
    assert {"predictor_heads.bin", "predictor_heads.param", "codec_decoder.bin"} <= {name for name, _ in shared}


def test_two_conversions_are_the_same_to_the_byte(tiny_package: Path, tiny_int8_package: Path, tmp_path: Path) -> None:
    made(tiny_package, tmp_path / "again", "int8")
    assert contents(tmp_path / "again") == contents(tiny_int8_package)


def test_figures_of_the_fp32_package_are_not_this_one_s(tiny_package: Path, tmp_path: Path) -> None:
    source = linked(tiny_package, tmp_path / "source")
    figures = Figures(choices=1, agreement=1.0, kl=0.0, mean_rank=0.0, worst_rank=0)
    record_quality(source, Quality("checkpoint", 1, 1, (), figures, (figures,) * 16, {}))
    assert Package.open(source).speech.quality is not None
    made(source, tmp_path / "int8", "int8")
    assert Package.open(tmp_path / "int8").speech.quality is None


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("Qwen/Qwen3-TTS-12Hz-0.6B-Base", "qwen3-tts-12hz-0.6b-base-int8"),
        ("qwen3-tts-12hz-0.6b-base-fp32", "qwen3-tts-12hz-0.6b-base-int8"),
        ("My-Voice", "my-voice-int8"),
    ],
)
def test_the_name_ends_in_the_precision_once(origin: str, expected: str) -> None:
    assert package_name(origin, "int8") == expected


def test_each_graph_is_told_before_and_after(tiny_package: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int, str, bool]] = []

    def on_graph(number: int, total: int, step: Step, measured: float | None) -> None:
        told.append((number, total, step.name, measured is not None))

    mix, formats = parse_formats(["talker_codec_head=int8", "predictor_heads=bf16"])
    convert_package(tiny_package, tmp_path / "package", mix, formats, on_graph=on_graph)
    assert told == [
        (1, 2, "talker_codec_head", False),
        (1, 2, "talker_codec_head", True),
        (2, 2, "predictor_heads", False),
        (2, 2, "predictor_heads", True),
    ]


@pytest.mark.parametrize("word", ["int8/32", "int8/64", "int8/128", "int8/row", "bf16"])
def test_a_package_of_smaller_weights_speaks(tiny_package: Path, tmp_path: Path, word: str) -> None:
    made(tiny_package, tmp_path / "package", word)
    tts = TTS.load(tmp_path / "package", threads=1)
    with tts.stream("Hello.", speaker="ryan", greedy=True, max_frames=5) as stream:
        samples = next(stream)
    assert len(samples) == 4 * 1920
    assert np.isfinite(samples).all()
    assert 0 < np.abs(samples).max() <= 1


def test_a_package_that_is_not_fp32_is_refused(tiny_int8_package: Path, tmp_path: Path) -> None:
    with pytest.raises(ModeError) as caught:
        made(tiny_int8_package, tmp_path / "again", "bf16")
    assert str(caught.value) == (
        f"{tiny_int8_package} has talker_codec_head in int8: the precision of an fp32 package alone can be changed"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_package_may_be_replaced_but_not_by_itself(tiny_package: Path, tmp_path: Path) -> None:
    source, package = linked(tiny_package, tmp_path / "source"), tmp_path / "package"
    made(source, package, "bf16")
    with pytest.raises(OutputError, match=r"package is not empty: choose a new folder, or replace the package with"):
        made(source, package, "int8")
    made(source, package, "int8/64", overwrite=True)
    assert Package.open(package).speech.graphs["talker_decoder"] == GraphInfo("int8", 64)
    before = contents(source)
    with pytest.raises(OutputError) as caught:
        made(source, tmp_path / "package" / ".." / "source", "int8", overwrite=True)
    assert str(caught.value).endswith("source is the package itself: choose another folder")
    assert contents(source) == before


def test_a_package_that_is_not_whole_is_refused(tiny_package: Path, tmp_path: Path) -> None:
    source = linked(tiny_package, tmp_path / "source")
    (source / "codec_decoder.bin").unlink()
    with pytest.raises(PackageError, match=r"codec_decoder\.bin"):
        made(source, tmp_path / "int8", "int8")
    assert list(tmp_path.iterdir()) == [source]


def test_a_graph_that_computes_something_else_leaves_nothing(
    tiny_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def upside_down(weight: NDArray[np.float32], block: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        values, scales = quantize_blocks(weight, block)
        return values[::-1], scales

    monkeypatch.setattr(rewrite, "quantize_blocks", upside_down)
    line = (
        r"^graph talker_decoder in int8 does not compute what it does in fp32: cosine \S+, expected at least 0\.95; "
        "please report it$"
    )
    with pytest.raises(ConversionError, match=line):
        made(tiny_package, tmp_path / "int8", "int8")
    assert list(tmp_path.iterdir()) == []


def test_a_graph_that_ncnn_cannot_run_leaves_nothing(
    tiny_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(name: str, _source: Path, target: Path, _weights: object) -> None:
        (target / f"{name}.param").write_text("nonsense")
        (target / f"{name}.bin").touch()

    monkeypatch.setattr(change, "rewrite_graph", broken)
    with pytest.raises(ConversionError) as caught:
        made(tiny_package, tmp_path / "int8", "int8")
    stored = RECOMMENDED["talker_decoder"]
    assert str(caught.value).startswith(f"graph talker_decoder cannot be run in {stored} (ncnn cannot load ")
    assert list(tmp_path.iterdir()) == []
