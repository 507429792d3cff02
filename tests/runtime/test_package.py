"""A package is whole, or one line says what is wrong with which file; nothing is hashed twice without need."""

import os
from pathlib import Path

import pytest

from qwen3_tts_ncnn.runtime import package as package_module
from qwen3_tts_ncnn.runtime.errors import ModeError, PackageError
from qwen3_tts_ncnn.runtime.manifest import MANIFEST
from qwen3_tts_ncnn.runtime.package import Package, file_sha256
from tests.runtime.manifests import codec_manifest, manifest, write_package

FILES = {"a.bin": b"weights", "a.param": b"7767517\n", "empty.bin": b""}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder for each test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_package(tmp_path / "package", FILES)


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are hashed, as they are."""
    names: list[str] = []

    def counted(path: Path) -> str:
        names.append(path.name)
        return file_sha256(path)

    monkeypatch.setattr(package_module, "file_sha256", counted)
    return names


def refusal(folder: Path) -> str:
    with pytest.raises(PackageError) as caught:
        Package.open(folder).verify_once()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_whole_package_opens_and_verifies(folder: Path) -> None:
    package = Package.open(folder)
    assert package.manifest.files.keys() == FILES.keys()
    assert package.verify() == 3


def test_a_package_of_a_model_speaks_and_one_of_the_codec_alone_does_not(folder: Path, tmp_path: Path) -> None:
    package = Package.open(folder)
    assert package.speech is package.manifest
    assert package.speech == manifest(files=package.manifest.files)
    codec = Package.open(write_package(tmp_path / "codec", FILES, codec_manifest()))
    with pytest.raises(ModeError) as caught:
        _ = codec.speech
    assert str(caught.value) == (
        f"{tmp_path / 'codec'} is a package of the codec alone, which does not speak: "
        "use it with `codec encode` and `codec decode`, or give the package of a model"
    )


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "a.param").unlink()
    expected = f"{folder / 'a.param'} is missing from the package: convert the checkpoint again"
    assert refusal(folder) == expected


def test_a_folder_in_place_of_a_file_is_a_missing_file(folder: Path) -> None:
    (folder / "a.bin").unlink()
    (folder / "a.bin").mkdir()
    assert "a.bin is missing from the package" in refusal(folder)


@pytest.mark.parametrize("content", [b"", b"weight", b"weights!"])
def test_a_file_of_another_size_is_named_with_both_sizes(folder: Path, content: bytes) -> None:
    (folder / "a.bin").write_bytes(content)
    assert refusal(folder) == (
        f"{folder / 'a.bin'} has {len(content)} bytes, the package's manifest says 7: "
        "copy the package again, or convert the checkpoint again"
    )


def test_a_changed_byte_is_found_by_verify_and_by_the_first_load(folder: Path) -> None:
    (folder / "a.bin").write_bytes(b"Weights")
    package = Package.open(folder)
    for check in (package.verify, package.verify_once):
        with pytest.raises(PackageError) as caught:
            check()
        assert str(caught.value) == (
            f"{folder / 'a.bin'} has changed since it was converted (its sha256 is not the manifest's): "
            "copy the package again, or convert the checkpoint again"
        )


def test_a_changed_package_is_not_remembered_as_verified(folder: Path) -> None:
    (folder / "a.bin").write_bytes(b"Weights")
    assert refusal(folder) == refusal(folder)


def test_the_first_load_hashes_every_file_and_the_second_none(folder: Path, hashed: list[str]) -> None:
    Package.open(folder).verify_once()
    assert sorted(hashed) == sorted(FILES)
    hashed.clear()
    Package.open(folder).verify_once()
    assert hashed == []


def test_verify_hashes_every_time(folder: Path, hashed: list[str]) -> None:
    for _ in range(2):
        assert Package.open(folder).verify() == 3
    assert len(hashed) == 6


def test_a_file_that_was_written_again_is_hashed_again(folder: Path, hashed: list[str]) -> None:
    Package.open(folder).verify_once()
    stat = (folder / "a.bin").stat()
    os.utime(folder / "a.bin", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    hashed.clear()
    Package.open(folder).verify_once()
    assert sorted(hashed) == sorted(FILES)


def test_a_byte_that_changes_after_the_first_load_is_found(folder: Path) -> None:
    Package.open(folder).verify_once()
    (folder / "a.bin").write_bytes(b"Weights")
    later = (folder / "a.param").stat().st_mtime_ns + 10**9
    os.utime(folder / "a.bin", ns=(later, later))
    assert "a.bin has changed since it was converted" in refusal(folder)


def test_another_manifest_is_verified_again(folder: Path, hashed: list[str]) -> None:
    Package.open(folder).verify_once()
    later = (folder / MANIFEST).stat().st_mtime_ns + 10**9
    os.utime(folder / MANIFEST, ns=(later, later))
    hashed.clear()
    Package.open(folder).verify_once()
    assert len(hashed) == 3


def test_two_packages_are_remembered_apart(folder: Path, tmp_path: Path, hashed: list[str]) -> None:
    Package.open(folder).verify_once()
    other = write_package(tmp_path / "other", FILES)
    hashed.clear()
    Package.open(other).verify_once()
    assert len(hashed) == 3


def test_a_package_by_another_path_to_it_is_the_same(
    folder: Path, tmp_path: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Package.open(folder).verify_once()
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    hashed.clear()
    for path in (tmp_path / "link", Path("package"), Path("./other/../package")):
        (tmp_path / "other").mkdir(exist_ok=True)
        Package.open(path).verify_once()
    assert hashed == []


def test_a_cache_that_cannot_be_written_hashes_every_time(folder: Path, cache: Path, hashed: list[str]) -> None:
    cache.write_text("a file where the folder should be")
    for _ in range(2):
        Package.open(folder).verify_once()
    assert len(hashed) == 6


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a.bin": 1}', "\ufffe"])
def test_a_broken_note_in_the_cache_hashes_again(folder: Path, cache: Path, hashed: list[str], content: str) -> None:
    Package.open(folder).verify_once()
    (note,) = cache.rglob("*.json")
    note.write_text(content, encoding="utf-16")
    hashed.clear()
    Package.open(folder).verify_once()
    assert len(hashed) == 3


def test_a_user_without_a_home_hashes_every_time(
    folder: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container's arbitrary user has neither HOME nor a line in passwd."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    for _ in range(2):
        Package.open(folder).verify_once()
    assert len(hashed) == 6


def test_a_graph_is_two_files_and_an_unknown_one_is_named(folder: Path) -> None:
    package = Package.open(folder)
    assert package.graph_files("talker_decoder") == (folder / "talker_decoder.param", folder / "talker_decoder.bin")
    with pytest.raises(PackageError, match=r"has no graph mimi_encoder: it has talker_decoder$"):
        package.graph_files("mimi_encoder")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"nowhere cannot be read \(No such file or directory\): copy the package"):
        file_sha256(tmp_path / "nowhere")


def test_the_sha256_is_the_known_one(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_sha256(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
