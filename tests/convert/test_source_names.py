"""A checkpoint's name is a folder, a short name or a Hugging Face id, in this order, and nothing else."""

import socket
from pathlib import Path

import pytest

from qwen3_tts_ncnn.convert.checkpoint import CheckpointSource, find_checkpoint, source
from qwen3_tts_ncnn.convert.errors import CheckpointError

Asked = list[tuple[str, str | None, str]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What would be downloaded: repository, revision and name. Nothing is."""
    calls: Asked = []

    def download(repo: str, revision: str | None, name: str, progress: object) -> CheckpointSource:
        calls.append((repo, revision, name))
        return CheckpointSource(Path("cache"), repo, revision, name)

    monkeypatch.setattr(source, "_download", download)
    return calls


def refusal(name: str, revision: str | None = None) -> str:
    with pytest.raises(CheckpointError) as error:
        find_checkpoint(name, revision=revision)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_existing_folder_comes_first_and_tells_nothing_about_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    for name in ("0.6b-base", "Qwen/Qwen3-TTS-12Hz-0.6B-Base"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert find_checkpoint("0.6b-base") == CheckpointSource(Path("0.6b-base"), None, None, "0.6b-base")
    assert find_checkpoint("Qwen/Qwen3-TTS-12Hz-0.6B-Base").repo is None
    assert find_checkpoint(f"{tmp_path}/0.6b-base/").name == "0.6b-base"
    assert find_checkpoint("0.6b-base/..").name == tmp_path.name
    assert asked == []


def test_a_short_name_stands_for_its_repository_at_the_known_revision(asked: Asked) -> None:
    find_checkpoint("0.6b-customvoice")
    find_checkpoint("1.7B-Base")
    find_checkpoint("0.6b-customvoice", revision="main")
    assert asked == [
        ("Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice", "85e237c12c027371202489a0ec509ded67b5e4b5", "0.6b-customvoice"),
        ("Qwen/Qwen3-TTS-12Hz-1.7B-Base", None, "1.7b-base"),
        ("Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice", "main", "0.6b-customvoice"),
    ]


def test_a_hugging_face_id_is_taken_as_it_is_at_the_revision_asked(asked: Asked) -> None:
    find_checkpoint("some-one/my.fine_tune-v2")
    find_checkpoint("qwen/qwen3-tts-12hz-0.6b-customvoice", revision="v1")
    assert asked == [
        ("some-one/my.fine_tune-v2", None, "some-one/my.fine_tune-v2"),
        ("Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice", "v1", "qwen/qwen3-tts-12hz-0.6b-customvoice"),
    ]


@pytest.mark.parametrize(
    "name", ["", "2b-base", "./mine", "/no/such/folder", "a/b/c", "owner/", "a b/c", "é/b", "../x"]
)
def test_a_name_that_is_none_of_these_lists_the_short_names(name: str, asked: Asked) -> None:
    assert refusal(name) == (
        f"no checkpoint {name!r}: there is no such folder, and it is neither a short name (0.6b-base, "
        "0.6b-customvoice, 1.7b-base, 1.7b-customvoice, 1.7b-voicedesign, tokenizer-12hz) "
        "nor a Hugging Face id (owner/name)"
    )
    assert asked == []


def test_a_file_and_a_folder_with_a_revision_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").touch()
    assert "is a file, expected a checkpoint's folder" in refusal(str(tmp_path / "model.safetensors"))
    assert "is a folder, but revision main was given" in refusal(str(tmp_path), "main")


def test_a_folder_is_found_without_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*args: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_network)
    assert find_checkpoint(str(tmp_path)).folder == tmp_path
