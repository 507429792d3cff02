"""A package's figures in its manifest: optional, written whole or not at all, and nothing else changes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime.errors import OutputError, PackageError
from qwen3_tts_ncnn.runtime.manifest import (
    MANIFEST,
    Figures,
    Quality,
    read_manifest,
    record_quality,
    write_manifest,
)
from qwen3_tts_ncnn.runtime.package import Package
from tests.cli.command_line import run
from tests.runtime.manifests import codec_manifest, manifest, write_package

FIGURES = Figures(choices=1000, agreement=0.99875, kl=0.0002, mean_rank=0.002, worst_rank=3)
QUALITY = Quality(
    checkpoint="little",
    cases=7,
    frames=62,
    seeds=(1, 2**64 - 1),
    total=FIGURES,
    codebooks=(FIGURES,) * 16,
    measured_with={"ncnn": "1.0.20261020"},
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return write_package(tmp_path / "little", {"talker_decoder.bin": b"weights"})


def edit(package: Path, **changes: object) -> None:
    path = package / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_what_is_recorded_is_what_is_read(package: Path) -> None:
    before = read_manifest(package)
    record_quality(package, QUALITY)
    assert read_manifest(package) == replace(before, quality=QUALITY)


def test_recording_gives_the_bytes_that_writing_gives(package: Path, tmp_path: Path) -> None:
    record_quality(package, QUALITY)
    write_manifest(read_manifest(package), tmp_path)
    assert (tmp_path / MANIFEST).read_bytes() == (package / MANIFEST).read_bytes()


def test_a_package_stays_verified(package: Path) -> None:
    record_quality(package, QUALITY)
    assert Package.open(package).verify() == 1


def test_a_manifest_of_before_there_were_figures_is_read_and_takes_them(package: Path) -> None:
    data = json.loads((package / MANIFEST).read_text())
    del data["quality"]
    (package / MANIFEST).write_text(json.dumps(data))
    before = read_manifest(package)
    assert before == replace(manifest(files=before.files), quality=None)
    record_quality(package, QUALITY)
    assert read_manifest(package) == replace(before, quality=QUALITY)


def test_later_figures_replace_earlier_ones(package: Path) -> None:
    record_quality(package, QUALITY)
    record_quality(package, replace(QUALITY, cases=9))
    assert read_manifest(package) == manifest(files=read_manifest(package).files, quality=replace(QUALITY, cases=9))


def test_keys_that_this_version_does_not_know_stay(package: Path) -> None:
    edit(package, later={"a": 1})
    record_quality(package, QUALITY)
    assert json.loads((package / MANIFEST).read_text())["later"] == {"a": 1}


def test_a_manifest_that_cannot_be_written_stays_as_it_was(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (package / MANIFEST).read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        record_quality(package, QUALITY)
    assert (package / MANIFEST).read_bytes() == before
    assert {path.name for path in package.iterdir()} == {MANIFEST, "talker_decoder.bin"}


def test_figures_of_no_package_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="is not a package"):
        record_quality(tmp_path, QUALITY)
    assert list(tmp_path.iterdir()) == []


def test_a_broken_record_names_its_field(package: Path) -> None:
    record_quality(package, QUALITY)
    data = json.loads((package / MANIFEST).read_text())["quality"]
    data["codebooks"][3]["worst_rank"] = "3"
    edit(package, quality=data)
    with pytest.raises(
        PackageError, match=r"quality\.codebooks\[3\]\.worst_rank is the str '3'|worst_rank is a string"
    ):
        read_manifest(package)


def test_info_tells_figures_where_they_were_measured(package: Path) -> None:
    assert "quality" not in run("info", package).stdout
    assert json.loads(run("info", package, "--json").stdout)["quality"] is None
    record_quality(package, QUALITY)
    lines = run("info", package).stdout
    assert "99.88% of upstream's first choices, KL 2.0e-04, worst rank 3;" in lines.replace("\n", " ")
    told = json.loads(run("info", package, "--json").stdout)["quality"]
    assert told == json.loads((package / MANIFEST).read_text())["quality"]
    assert (told["total"]["agreement"], len(told["codebooks"]), told["seeds"]) == (0.99875, 16, [1, 2**64 - 1])


def test_a_codec_alone_has_no_figures_to_tell(tmp_path: Path) -> None:
    package = write_package(tmp_path / "codec", {}, codec_manifest(graphs={}))
    assert "quality" not in json.loads(run("info", package, "--json").stdout)
