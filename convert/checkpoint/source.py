"""From what a user calls a checkpoint to a folder on this machine: a path, a short name, or a Hugging Face id."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qwen3_tts_ncnn import models
from qwen3_tts_ncnn.convert.errors import CheckpointError

# Patterns match from the start of a path and "*" crosses folders. Left out on purpose: a fine-tune's intermediate
# checkpoints (checkpoint-500/model.safetensors), pickled weights, audio samples.
NEEDED_FILES = ("*.json", "merges.txt", "model*.safetensors", "speech_tokenizer/model*.safetensors")

_REPO_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


@dataclass(frozen=True)
class CheckpointSource:
    """Where a checkpoint lies and where it came from.

    ``repo`` and ``revision`` (a commit) are None for a folder of the user's own; ``name`` is the folder's name then,
    otherwise what the user asked for. No field but ``folder`` tells anything about this machine.
    """

    folder: Path
    repo: str | None
    revision: str | None
    name: str


def find_checkpoint(
    name: str, *, revision: str | None = None, progress: Callable[[str], None] | None = None
) -> CheckpointSource:
    """Find a checkpoint by name, downloading it if it has to.

    Tried in this order: an existing folder; a short name of `qwen3_tts_ncnn.models`, at the revision its descriptor
    names if there is one; a Hugging Face id ``owner/name``. Downloads land in Hugging Face's cache, go on where an
    earlier one broke off, and follow ``HF_ENDPOINT`` and ``HF_HUB_OFFLINE`` (huggingface_hub reads both once, when it
    is first imported) and ``HF_TOKEN``.

    Args:
        name: what the user calls the checkpoint.
        revision: a branch, tag or commit of the repository; for a folder an error.
        progress: gets one line of text before a download. The bytes' progress bars are huggingface_hub's own.

    Raises:
        CheckpointError: nothing has this name, or it cannot be downloaded.
    """
    folder = Path(name)
    if name and folder.is_dir():
        if revision is not None:
            raise CheckpointError(f"{name} is a folder, but revision {revision} was given: leave the revision out")
        return CheckpointSource(folder=folder, repo=None, revision=None, name=folder.resolve().name)
    if name and folder.exists():
        raise CheckpointError(f"{name} is a file, expected a checkpoint's folder: give the folder it lies in")
    model = models.find(name)
    if model is not None and model.name == name.casefold():
        return _download(model.repo, revision or model.revision, model.name, progress)
    if model is None and not _REPO_ID.fullmatch(name):
        short = ", ".join(known.name for known in models.descriptors())
        raise CheckpointError(
            f"no checkpoint {name!r}: there is no such folder, and it is neither a short name ({short}) "
            "nor a Hugging Face id (owner/name)"
        )
    return _download(name if model is None else model.repo, revision, name, progress)


def _download(repo: str, revision: str | None, name: str, progress: Callable[[str], None] | None) -> CheckpointSource:
    """Bring a repository's files into Hugging Face's cache, or find them there."""
    # Imported here: it reads the environment when imported, takes a moment, and a folder needs none of it.
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import HFValidationError

    if progress is not None and not constants.HF_HUB_OFFLINE:
        progress(f"fetching {repo} ({revision or 'main'}) from {constants.ENDPOINT}")
    try:
        folder = Path(snapshot_download(repo, revision=revision, allow_patterns=list(NEEDED_FILES)))
    except (OSError, HFValidationError) as error:  # every error of huggingface_hub and requests is an OSError
        raise _explain(error, repo, revision) from error
    return CheckpointSource(folder=folder, repo=repo, revision=folder.name, name=name)


def _explain(error: Exception, repo: str, revision: str | None) -> CheckpointError:
    """One line for what went wrong while downloading; the more special classes come first."""
    from huggingface_hub import constants
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if isinstance(error, HFValidationError):
        return CheckpointError(f"{repo!r} is no Hugging Face id: expected owner/name, or the path of a folder")
    if constants.HF_HUB_OFFLINE:
        return CheckpointError(
            f"{repo} ({revision or 'main'}) is not in the cache {constants.HF_HUB_CACHE}, and HF_HUB_OFFLINE forbids "
            "to download it: unset HF_HUB_OFFLINE, or give the path of a folder"
        )
    if isinstance(error, GatedRepoError):
        return CheckpointError(f"{repo} asks for consent: give it at {constants.ENDPOINT}/{repo} and set HF_TOKEN")
    if isinstance(error, RepositoryNotFoundError):
        return CheckpointError(
            f"no checkpoint {repo!r}: there is no such folder, and {constants.ENDPOINT} has no such repository, "
            "or not for you: check the name, or set HF_TOKEN if it is private"
        )
    if isinstance(error, RevisionNotFoundError):
        return CheckpointError(f"{repo} has no revision {revision!r}: give a branch, tag or commit that it has")
    if isinstance(error, LocalEntryNotFoundError):  # what remains after a look into the cache, whatever came before
        cause = _cause(error.__cause__ or error)
        return CheckpointError(
            f"{repo} is not in the cache and {constants.ENDPOINT} cannot be reached ({cause}): check the network and "
            "HF_ENDPOINT, or give the path of a folder"
        )
    if isinstance(error, HfHubHTTPError):
        return CheckpointError(f"{constants.ENDPOINT} refuses {repo} ({_cause(error)}): try again later")
    if type(error).__module__ == "builtins" and getattr(error, "errno", None) is not None:  # not the network
        return CheckpointError(
            f"{repo} cannot be written to the cache {constants.HF_HUB_CACHE} ({_cause(error)}): "
            "make room there, or set HF_HOME to another folder"
        )
    return CheckpointError(
        f"the download of {repo} broke off ({_cause(error)}): run the same command again, it goes on where it stopped"
    )


def _cause(error: BaseException) -> str:
    """A short reason: the system's words or the HTTP status where there is one, else the class of the error."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"HTTP {status}"
    words = getattr(error, "strerror", None)
    return words if isinstance(words, str) else type(error).__name__
