"""A conversion takes the codec of a package that has the same one, and of no other. The graphs are stand-ins."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from qwen3_tts_ncnn.convert.checkpoint import Checkpoint, CodecCheckpoint, open_checkpoint
from qwen3_tts_ncnn.convert.codec_reuse import CODEC_FILES
from qwen3_tts_ncnn.convert.conversion import convert_checkpoint
from qwen3_tts_ncnn.convert.package_files import list_files
from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.manifest import read_manifest, write_manifest
from qwen3_tts_ncnn.runtime.package import Package
from tests.convert.stand_ins import contents, make_quick


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_quick(monkeypatch)


@pytest.fixture(scope="module")
def converted(checkpoint: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of the CustomVoice checkpoint. Read it, never change it."""
    package = tmp_path_factory.mktemp("converted") / "package"
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch)
        convert_checkpoint(checkpoint, package)
    return package


@pytest.fixture
def donor(converted: Path, tmp_path: Path) -> Path:
    """A copy of the package."""
    return shutil.copytree(converted, tmp_path / "donor")


def inodes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in folder.iterdir()}


def test_the_codec_s_files_are_the_donor_s_and_take_no_space(
    base_checkpoint: Checkpoint, donor: Path, tmp_path: Path
) -> None:
    reports = convert_checkpoint(base_checkpoint, tmp_path / "base", codec_from=donor)
    assert [report.name for report in reports] == [
        *("talker_text_embed", "talker_codec_embed", "talker_codec_head", "predictor_embeds", "predictor_heads"),
        *("speaker_encoder", "predictor_decoder", "talker_decoder"),
    ]
    ours, theirs = inodes(tmp_path / "base"), inodes(donor)
    assert {name for name in ours if ours[name] == theirs.get(name)} == set(CODEC_FILES)


def test_the_package_is_the_one_that_a_whole_conversion_makes(
    base_checkpoint: Checkpoint, donor: Path, tmp_path: Path
) -> None:
    convert_checkpoint(base_checkpoint, tmp_path / "reused", codec_from=donor)
    convert_checkpoint(base_checkpoint, tmp_path / "whole")
    assert contents(tmp_path / "reused") == contents(tmp_path / "whole")
    package = Package.open(tmp_path / "reused")
    assert package.verify() == len(package.manifest.files)


def test_where_links_are_impossible_files_are_copied(
    base_checkpoint: Checkpoint, donor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file system, or one without links."""

    def impossible(*_: object, **__: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(os, "link", impossible)
    convert_checkpoint(base_checkpoint, tmp_path / "base", codec_from=donor)
    ours, theirs = inodes(tmp_path / "base"), inodes(donor)
    for name in CODEC_FILES:
        assert (tmp_path / "base" / name).read_bytes() == (donor / name).read_bytes()
        assert ours[name] != theirs[name]


def test_the_donor_may_be_the_package_that_is_replaced(checkpoint: Checkpoint, donor: Path) -> None:
    before = contents(donor)
    convert_checkpoint(checkpoint, donor, codec_from=donor, overwrite=True)
    assert contents(donor) == before
    assert [path.name for path in donor.parent.iterdir()] == ["donor"]


def test_the_codec_alone_gives_its_codec_and_takes_one(
    checkpoint: Checkpoint, tiny_checkpoint: Path, donor: Path, tmp_path: Path
) -> None:
    """Its files are hashed without the name of the folder they lie in."""
    alone = open_checkpoint(tiny_checkpoint / "speech_tokenizer")
    convert_checkpoint(alone, tmp_path / "codec")
    assert convert_checkpoint(alone, tmp_path / "taken", codec_from=donor) == []
    assert contents(tmp_path / "taken") == contents(tmp_path / "codec")
    convert_checkpoint(checkpoint, tmp_path / "speech", codec_from=tmp_path / "codec")
    assert contents(tmp_path / "speech") == contents(donor)


def refusal(checkpoint: CodecCheckpoint, donor: Path, output: Path) -> str:
    def no_graph(*_: object) -> None:
        raise AssertionError("a graph was begun")

    with pytest.raises(PackageError) as caught:
        convert_checkpoint(checkpoint, output, codec_from=donor, on_graph=no_graph)
    assert "\n" not in str(caught.value)
    assert not output.exists()
    return str(caught.value)


def other_weights(folder: Path) -> None:
    path = folder / "speech_tokenizer" / "model.safetensors"
    tensors = load_file(path)
    tensors["decoder.pre_conv.conv.bias"][0] += 1
    save_file(tensors, path)


def other_configuration(folder: Path) -> None:
    """One that changes what the encoder computes and no shape."""
    path = folder / "speech_tokenizer" / "config.json"
    text = path.read_text()
    assert '"norm_eps": 1e-05' in text
    path.write_text(text.replace('"norm_eps": 1e-05', '"norm_eps": 1e-04'))


@pytest.mark.parametrize("change", [other_weights, other_configuration])
def test_a_codec_of_other_weights_is_refused(
    tiny_checkpoint: Path, donor: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "checkpoint")
    change(folder)
    assert refusal(Checkpoint.open(folder), donor, tmp_path / "out") == (
        f"the codec of {donor} was made from other weights than this checkpoint's: convert without --codec-from"
    )


def test_what_another_version_made_is_refused(checkpoint: Checkpoint, donor: Path, tmp_path: Path) -> None:
    manifest = read_manifest(donor)
    ours = ", ".join(f"{name} {version}" for name, version in manifest.made_with.items())
    manifest.made_with["pnnx"] = "20250101"
    theirs = ", ".join(f"{name} {version}" for name, version in manifest.made_with.items())
    write_manifest(manifest, donor)
    assert refusal(checkpoint, donor, tmp_path / "out") == (
        f"{donor} was made with {theirs}, this is {ours}: convert without --codec-from"
    )


@pytest.mark.parametrize("name", CODEC_FILES)
def test_a_donor_whose_file_has_changed_is_refused(
    checkpoint: Checkpoint, donor: Path, tmp_path: Path, name: str
) -> None:
    data = bytearray((donor / name).read_bytes())
    data[-1] ^= 1
    (donor / name).write_bytes(data)
    assert refusal(checkpoint, donor, tmp_path / "out") == (
        f"{donor / name} has changed since it was converted: convert without --codec-from"
    )


def test_a_donor_that_does_not_list_a_file_is_refused(checkpoint: Checkpoint, donor: Path, tmp_path: Path) -> None:
    manifest = read_manifest(donor)
    del manifest.files["mimi_encoder.bin"]
    write_manifest(manifest, donor)
    assert refusal(checkpoint, donor, tmp_path / "out") == (
        f"{donor / 'mimi_encoder.bin'} has changed since it was converted: convert without --codec-from"
    )


def test_a_donor_s_other_files_may_have_changed(checkpoint: Checkpoint, donor: Path, tmp_path: Path) -> None:
    """They are not what is taken."""
    data = (donor / "talker_decoder.bin").read_bytes()
    (donor / "talker_decoder.bin").write_bytes(bytes(reversed(data)))
    convert_checkpoint(checkpoint, tmp_path / "out", codec_from=donor)
    assert list_files(tmp_path / "out")["talker_decoder.bin"] == read_manifest(donor).files["talker_decoder.bin"]


def test_what_is_no_package_is_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert refusal(checkpoint, tmp_path / "nowhere", tmp_path / "out").startswith(
        f"package {tmp_path / 'nowhere'} does not exist: "
    )
    assert refusal(checkpoint, tmp_path / "empty", tmp_path / "out").startswith(
        f"{tmp_path / 'empty'} has no model.json, so it is not a package: "
    )
