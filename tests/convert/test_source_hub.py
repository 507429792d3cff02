"""Downloads from a hub on loopback: only what is needed, resumable, served from the cache offline, clear errors.

Each call runs in a process of its own, because huggingface_hub reads its environment once, when it is imported.
"""

import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.convert.hub_server import COMMIT, Hub, serve

REPO = "owner/tiny-voice"
FILES = {
    "config.json": b'{"a": 1}',
    "vocab.json": b"{}",
    "merges.txt": b"#version: 0.2\n",
    "model.safetensors": b"main",
    "speech_tokenizer/config.json": b'{"b": 2}',
    "speech_tokenizer/model.safetensors": b"codec",
    "README.md": b"not needed",
    "pytorch_model.bin": b"not needed",
    "checkpoint-500/model.safetensors": b"not needed",
}
NEEDED = [
    "config.json",
    "merges.txt",
    "model.safetensors",
    "speech_tokenizer/config.json",
    "speech_tokenizer/model.safetensors",
    "vocab.json",
]

PROGRAM = """
import json, sys
from qwen3_tts_ncnn.convert.checkpoint.source import find_checkpoint
from qwen3_tts_ncnn.convert.errors import CheckpointError
lines = []
try:
    found = find_checkpoint(sys.argv[1], revision=sys.argv[2] or None, progress=lines.append)
    answer = {"folder": str(found.folder), "repo": found.repo, "revision": found.revision, "name": found.name}
except CheckpointError as error:
    answer = {"error": str(error)}
print(json.dumps(answer | {"lines": lines}))
"""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serve(Hub(REPO, dict(FILES))) as hub:
        yield hub


def find(cache: Path, endpoint: str, name: str = REPO, revision: str = "", **environment: str) -> dict[str, object]:
    """Call `find_checkpoint` in a new process whose hub is ``endpoint``."""
    kept = {key: value for key, value in os.environ.items() if not key.upper().startswith(("HF_", "HTTP", "ALL_PROXY"))}
    kept |= {"HF_ENDPOINT": endpoint, "HF_HOME": str(cache), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-c", PROGRAM, name, revision]
    result = subprocess.run(command, env=kept | environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    answer: dict[str, object] = json.loads(result.stdout)
    assert "\n" not in str(answer.get("error", ""))
    return answer


def files_of(answer: dict[str, object]) -> dict[str, bytes]:
    folder = Path(str(answer["folder"]))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_only_the_needed_files_come_and_offline_they_are_served_from_the_cache(tmp_path: Path, hub: Hub) -> None:
    answer = find(tmp_path, hub.url)
    assert (answer["repo"], answer["revision"], answer["name"]) == (REPO, COMMIT, REPO)
    assert answer["lines"] == [f"fetching {REPO} (main) from {hub.url}"]
    assert files_of(answer) == {name: FILES[name] for name in NEEDED}
    assert sorted(name for name, _ in hub.downloads) == NEEDED
    hub.requests.clear()
    offline = find(tmp_path, hub.url, HF_HUB_OFFLINE="1")
    assert offline == answer | {"lines": []}
    assert hub.requests == []


def test_an_interrupted_download_goes_on_where_it_broke_off(tmp_path: Path, hub: Hub) -> None:
    # Larger than one chunk of the library, 10 MiB: what a chunk has not completed is not on the disk yet.
    content = random.Random(7).randbytes(12 << 20)
    hub.files["model.safetensors"] = content
    hub.breaks["model.safetensors"] = 11 << 20
    broken = find(tmp_path, hub.url)
    assert broken["error"] == (
        f"the download of {REPO} broke off (ChunkedEncodingError): run the same command again, "
        "it goes on where it stopped"
    )
    whole = find(tmp_path, hub.url)
    assert files_of(whole)["model.safetensors"] == content
    ranges = [wanted for name, wanted in hub.downloads if name == "model.safetensors"]
    assert ranges == [None, f"bytes={10 << 20}-"]


def test_a_revision_is_fetched_and_named_as_its_commit(tmp_path: Path, hub: Hub) -> None:
    answer = find(tmp_path, hub.url, revision=COMMIT)
    assert answer["revision"] == COMMIT
    assert any(request.endswith(f"/revision/{COMMIT}") for request in hub.requests)


def test_offline_and_not_in_the_cache_is_one_clear_line(tmp_path: Path, hub: Hub) -> None:
    assert find(tmp_path, hub.url, HF_HUB_OFFLINE="1")["error"] == (
        f"{REPO} (main) is not in the cache {tmp_path}/hub, and HF_HUB_OFFLINE forbids to download it: "
        "unset HF_HUB_OFFLINE, or give the path of a folder"
    )
    assert hub.requests == []


def test_a_repository_or_revision_that_is_not_there_is_one_clear_line(tmp_path: Path, hub: Hub) -> None:
    assert find(tmp_path, hub.url, "owner/other")["error"] == (
        f"no checkpoint 'owner/other': there is no such folder, and {hub.url} has no such repository, "
        "or not for you: check the name, or set HF_TOKEN if it is private"
    )
    assert find(tmp_path, hub.url, revision="v9")["error"] == (
        f"{REPO} has no revision 'v9': give a branch, tag or commit that it has"
    )


def test_a_gated_repository_and_a_failing_hub_are_one_clear_line(tmp_path: Path, hub: Hub) -> None:
    hub.denied["/api/"] = (403, "GatedRepo")
    assert find(tmp_path, hub.url)["error"] == (
        f"{REPO} asks for consent: give it at {hub.url}/{REPO} and set HF_TOKEN"
    )
    hub.denied["/api/"] = (503, "")
    assert find(tmp_path, hub.url)["error"] == (
        f"{REPO} is not in the cache and {hub.url} cannot be reached (HTTP 503): check the network and HF_ENDPOINT, "
        "or give the path of a folder"
    )


def test_a_network_that_is_down_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]  # free again, and refused, once the server is closed
    assert find(tmp_path, f"http://127.0.0.1:{port}")["error"] == (
        f"{REPO} is not in the cache and http://127.0.0.1:{port} cannot be reached (ConnectionError): "
        "check the network and HF_ENDPOINT, or give the path of a folder"
    )


def test_a_cache_that_cannot_be_written_is_one_clear_line(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / "hub").write_text("a file where the cache's folder should be")
    message = str(find(tmp_path, hub.url)["error"])
    assert message.startswith(f"{REPO} cannot be written to the cache {tmp_path}/hub (")
    assert message.endswith("make room there, or set HF_HOME to another folder")
