"""What the project knows of each official checkpoint: one JSON descriptor per checkpoint, in this folder.

The descriptors say where a checkpoint is published and how large it is, so that ``convert 0.6b-customvoice`` works as
a short name. They hold nothing the conversion computes with: sizes, ids and speakers come from the checkpoint itself.
Converted packages land in sub-folders of this folder, which git ignores.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources

__all__ = ["ModelDescriptor", "descriptors", "find"]


@dataclass(frozen=True)
class ModelDescriptor:
    """An official checkpoint.

    ``tts_model_type`` and ``tts_model_size`` are those of its config.json, None for the codec alone. ``parameters`` is
    what its model.safetensors holds, the codec that lies beside it not included. ``revision`` is a commit known to
    exist, which the short name stands for; None: whatever the repository's main branch is.
    """

    name: str
    repo: str
    tts_model_type: str | None
    tts_model_size: str | None
    parameters: int
    licence: str
    revision: str | None


def descriptors() -> list[ModelDescriptor]:
    """Every descriptor, sorted by short name."""
    files = (entry for entry in resources.files(__name__).iterdir() if entry.name.endswith(".json"))
    models = [ModelDescriptor(**json.loads(entry.read_text(encoding="utf-8"))) for entry in files]
    return sorted(models, key=lambda model: model.name)


def find(name_or_repo: str) -> ModelDescriptor | None:
    """The descriptor with this short name or Hugging Face id, in any case; None if there is none."""
    wanted = name_or_repo.casefold()
    return next((model for model in descriptors() if wanted in (model.name, model.repo.casefold())), None)
