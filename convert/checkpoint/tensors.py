"""Tensors by name from a folder's safetensors, single or sharded, loaded one at a time.

Opening reads headers only, and finds every way the files can be incomplete; loading happens when a graph asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError, safe_open

from qwen3_tts_ncnn.convert.checkpoint.fields import Fields, read_json_object
from qwen3_tts_ncnn.convert.checkpoint.safetensors_header import TensorEntry, read_header
from qwen3_tts_ncnn.convert.errors import CheckpointError

if TYPE_CHECKING:  # safe_open imports it when a tensor is loaded: finding and checking a checkpoint needs no torch
    import torch

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"


class Tensors:
    """The tensors of one model. Make it with `open_tensors`."""

    def __init__(self, entries: Mapping[str, TensorEntry], files: tuple[Path, ...]) -> None:
        self._entries = entries
        self.files = files  # every file read, the index of a sharded model included

    @property
    def names(self) -> tuple[str, ...]:
        """Every tensor's name, sorted."""
        return tuple(sorted(self._entries))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name → shape of every tensor."""
        return {name: entry.shape for name, entry in self._entries.items()}

    def shape(self, name: str) -> tuple[int, ...]:
        """A tensor's shape, from the header."""
        return self._entry(name).shape

    def dtype(self, name: str) -> str:
        """A tensor's stored dtype as safetensors names it: ``"BF16"``, ``"F16"`` or ``"F32"``."""
        return self._entry(name).dtype

    def load(self, name: str) -> torch.Tensor:
        """A tensor in float32. Widening BF16 or F16 is exact; NaN and infinity pass as they are.

        Raises:
            CheckpointError: there is no such tensor, or its file has gone or changed since it was opened.
        """
        return self.raw(name).float()

    def raw(self, name: str) -> torch.Tensor:
        """A tensor in its stored dtype. Raises as `load` does."""
        entry = self._entry(name)
        try:
            with safe_open(entry.file, framework="pt", device="cpu") as file:
                tensor: torch.Tensor = file.get_tensor(name)
        except (OSError, SafetensorError) as error:
            reason = " ".join(str(error).split())
            raise CheckpointError(
                f"tensor {name} cannot be read from {entry.file} any more ({reason}): do not change the checkpoint "
                "while it is being converted"
            ) from None
        return tensor

    def _entry(self, name: str) -> TensorEntry:
        try:
            return self._entries[name]
        except KeyError:
            raise CheckpointError(
                f"{self.files[0]} has no tensor {name}: the checkpoint is incomplete, download it again"
            ) from None


def open_tensors(folder: Path) -> Tensors:
    """Open ``model.safetensors``, or the shards of ``model.safetensors.index.json``, in ``folder``.

    Where both are there the single file counts, as it does for transformers.

    Raises:
        CheckpointError: a file is missing, truncated, corrupt or of an unsupported dtype; or index and shards disagree.
    """
    single, index = folder / SINGLE, folder / INDEX
    if single.exists():
        return Tensors(read_header(single), (single,))
    if not index.exists():
        raise CheckpointError(
            f"{single} is missing, and so is {INDEX}: a checkpoint needs one of them, download it again"
        )
    return _open_shards(index)


def _open_shards(index: Path) -> Tensors:
    """The tensors of the shards an index names; the index and each shard must agree on what is where."""
    weight_map = _weight_map(index)
    shards = tuple(index.parent / name for name in sorted(set(weight_map.values())))
    entries: dict[str, TensorEntry] = {}
    for shard in shards:
        if not shard.exists():
            raise CheckpointError(f"{shard} is missing, but {index.name} names it: download the missing shard")
        for name, entry in read_header(shard).items():
            if name in entries:
                raise _disagreement(index, f"tensor {name} is in both {entries[name].file.name} and {shard.name}")
            entries[name] = entry
    for name, file in weight_map.items():
        if name not in entries:
            raise _disagreement(index, f"tensor {name} is not in {file}, where the index says it is")
        if entries[name].file.name != file:
            raise _disagreement(index, f"tensor {name} is in {entries[name].file.name}, the index says {file}")
    for name, entry in entries.items():
        if name not in weight_map:
            raise _disagreement(index, f"tensor {name} of {entry.file.name} is not in the index")
    return Tensors(entries, (index, *shards))


def _weight_map(index: Path) -> dict[str, str]:
    """Tensor name → shard file name, plain names beside the index only."""
    fields = Fields(read_json_object(index), str(index))
    weight_map = fields.object("weight_map")
    for file in weight_map.values():
        # A path could lead out of the checkpoint's folder.
        if not isinstance(file, str) or Path(file).name != file or "\\" in file or not file.endswith(".safetensors"):
            raise fields.wrong("weight_map", "tensor names and names of .safetensors files beside the index")
    if not weight_map:
        raise fields.wrong("weight_map", "at least one tensor")
    return dict(weight_map)


def _disagreement(index: Path, what: str) -> CheckpointError:
    return CheckpointError(f"{index} and its shards disagree: {what}: download the whole checkpoint again")
