"""A package folder: is it whole, and where are its parts."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from qwen3_tts_ncnn.runtime.errors import ModeError, PackageError
from qwen3_tts_ncnn.runtime.manifest import MANIFEST, CodecManifest, Manifest, read_manifest
from qwen3_tts_ncnn.runtime.user_cache import cache_folder

TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class Package:
    """An opened package. Every file the manifest names is there and of the size it says."""

    folder: Path
    manifest: CodecManifest

    @classmethod
    def open(cls, folder: Path) -> "Package":
        """Reads the manifest and checks the size of every file. Raises `PackageError`."""
        package = cls(folder, read_manifest(folder))
        for name, info in package.manifest.files.items():
            path = folder / name
            if not path.is_file():
                raise PackageError(f"{path} is missing from the package: convert the checkpoint again")
            if path.stat().st_size != info.size:
                raise PackageError(
                    f"{path} has {path.stat().st_size} bytes, the package's manifest says {info.size}: "
                    "copy the package again, or convert the checkpoint again"
                )
        return package

    @property
    def speech(self) -> Manifest:
        """The manifest of a package that speaks. Raises `ModeError` for one of the codec alone."""
        if isinstance(self.manifest, Manifest):
            return self.manifest
        raise ModeError(
            f"{self.folder} is a package of the codec alone, which does not speak: "
            "use it with `codec encode` and `codec decode`, or give the package of a model"
        )

    def verify(self) -> int:
        """Reads every file and compares its sha256; returns how many. Raises `PackageError` at the first difference."""
        for name, info in self.manifest.files.items():
            if file_sha256(self.folder / name) != info.sha256:
                raise PackageError(
                    f"{self.folder / name} has changed since it was converted (its sha256 is not the manifest's): "
                    "copy the package again, or convert the checkpoint again"
                )
        return len(self.manifest.files)

    def verify_once(self) -> None:
        """Verifies unless these very files were verified before: the first load reads everything, later ones do not.

        What was verified is remembered in the user's cache folder, by size and time of every file, so that a file
        that is written again is verified again. Where there is none or it cannot be written, every load verifies.
        """
        stamp = _stamp_file(self.folder)
        if stamp is None:
            self.verify()
            return
        state = self._file_states()
        try:
            if json.loads(stamp.read_text(encoding="utf-8")) == state:
                return
        except (OSError, ValueError):
            pass
        self.verify()
        try:
            stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp.write_text(json.dumps(state), encoding="utf-8")
        except OSError:
            pass

    def graph_files(self, name: str) -> tuple[Path, Path]:
        """The `.param` and `.bin` of a graph. Raises `PackageError` when the package has none of that name."""
        if name not in self.manifest.graphs:
            raise PackageError(f"{self.folder} has no graph {name}: it has {', '.join(self.manifest.graphs)}")
        return self.folder / f"{name}.param", self.folder / f"{name}.bin"

    def _file_states(self) -> dict[str, list[int]]:
        names = [MANIFEST, *self.manifest.files]
        stats = {name: (self.folder / name).stat() for name in names}
        return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats.items()}


def file_sha256(path: Path) -> str:
    """The sha256 of a file, in hex. Raises `PackageError` when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise PackageError(f"{path} cannot be read ({error.strerror}): copy the package again") from None


def _stamp_file(folder: Path) -> Path | None:
    """Where a verified package is remembered; None for a user without a cache folder."""
    caches = cache_folder()
    if caches is None:
        return None
    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogatepass")).hexdigest()
    return caches / "verified" / f"{name}.json"
