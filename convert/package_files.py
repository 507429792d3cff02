"""The files of a package: listed with their sums, and shared between packages."""

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from qwen3_tts_ncnn.runtime.manifest import MANIFEST, FileInfo
from qwen3_tts_ncnn.runtime.package import file_sha256


def list_files(folder: Path, known: Mapping[str, FileInfo] = MappingProxyType({})) -> dict[str, FileInfo]:
    """Size and sha256 of every file of a package but its manifest, sorted by name; `known` ones are not read again."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and path.name != MANIFEST)
    return {path.name: known.get(path.name) or FileInfo(path.stat().st_size, file_sha256(path)) for path in paths}


def share_files(source: Path, target: Path, names: Iterable[str]) -> None:
    """Puts files of one package into another: as hard links, which take no space, or as copies where none can be.

    Of a symbolic link, such as Hugging Face's cache is made of, the file that it stands for is shared.
    """
    for name in names:
        file = (source / name).resolve()
        try:
            os.link(file, target / name)
        except OSError:
            shutil.copyfile(file, target / name)
