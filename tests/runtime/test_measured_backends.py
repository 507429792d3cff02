"""What `bench --devices` measured is found again for such a package on such a machine, and for no other."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime import measured_backends
from qwen3_tts_ncnn.runtime.errors import OutputError
from qwen3_tts_ncnn.runtime.manifest import CodecManifest
from qwen3_tts_ncnn.runtime.measured_backends import fastest_backend, keep_fastest
from qwen3_tts_ncnn.runtime.package import Package
from tests.runtime.gpus import BUILT_IN, LARGE

MEASURED = {"cpu": 1.5, "hybrid:1": 0.6, "vulkan:1": 0.9}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        yield tmp_path / "cache"


@pytest.fixture(scope="module")
def manifest(tiny_package: Path) -> CodecManifest:
    return Package.open(tiny_package).manifest


def test_the_fastest_is_found_again_and_the_file_tells_all(manifest: CodecManifest, cache: Path) -> None:
    assert fastest_backend(manifest, [LARGE]) is None
    file = keep_fastest(manifest, [LARGE], MEASURED)
    assert file == cache / "qwen3-tts-ncnn" / "backends.json"
    assert fastest_backend(manifest, [LARGE]) == "hybrid:1"
    (entry,) = json.loads(file.read_text()).values()
    assert entry["package"] == manifest.name
    assert entry["devices"] == ["1 (GeForce RTX 4090)"]
    assert entry["total_rtf"] == MEASURED


def test_another_package_machine_or_gpu_has_not_been_measured(
    manifest: CodecManifest, tiny_int8_package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_fastest(manifest, [LARGE], MEASURED)
    assert fastest_backend(manifest, [BUILT_IN, LARGE]) is None
    assert fastest_backend(Package.open(tiny_int8_package).manifest, [LARGE]) is None
    monkeypatch.setattr(measured_backends, "processor_name", lambda: "Abacus 3000")
    assert fastest_backend(manifest, [LARGE]) is None


def test_a_second_measurement_takes_the_place_of_the_first_and_of_no_other(
    manifest: CodecManifest, tiny_int8_package: Path
) -> None:
    int8 = Package.open(tiny_int8_package).manifest
    keep_fastest(int8, [LARGE], {"cpu": 0.2, "hybrid:1": 0.3})
    for backend in ("vulkan:1", "cpu"):
        keep_fastest(manifest, [LARGE], MEASURED | {backend: 0.1})
    assert fastest_backend(manifest, [LARGE]) == "cpu"
    assert fastest_backend(int8, [LARGE]) == "cpu"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00"])
def test_a_file_that_is_none_is_written_anew(manifest: CodecManifest, text: str) -> None:
    file = keep_fastest(manifest, [LARGE], MEASURED)
    file.write_text(text)
    assert fastest_backend(manifest, [LARGE]) is None
    keep_fastest(manifest, [LARGE], MEASURED)
    assert fastest_backend(manifest, [LARGE]) == "hybrid:1"


def test_an_entry_of_another_form_is_as_none(manifest: CodecManifest) -> None:
    file = keep_fastest(manifest, [LARGE], MEASURED)
    (key,) = json.loads(file.read_text())
    for entry in (None, [], {"fastest": 1}, {}):
        file.write_text(json.dumps({key: entry}))
        assert fastest_backend(manifest, [LARGE]) is None


def test_where_it_cannot_be_kept_is_one_line(
    manifest: CodecManifest, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_text("no folder")
    with pytest.raises(OutputError, match=r"qwen3-tts-ncnn cannot be made \(Not a directory\): set XDG_CACHE_HOME$"):
        keep_fastest(manifest, [LARGE], MEASURED)
    monkeypatch.setattr(measured_backends, "cache_folder", lambda: None)
    assert fastest_backend(manifest, [LARGE]) is None
    with pytest.raises(OutputError, match=r"^there is no cache folder to keep it in: set XDG_CACHE_HOME$"):
        keep_fastest(manifest, [LARGE], MEASURED)
