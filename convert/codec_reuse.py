"""Taking the codec's files from a package that has them: all official checkpoints carry the same codec."""

from dataclasses import dataclass
from pathlib import Path

from qwen3_tts_ncnn.convert.manifest import made_with
from qwen3_tts_ncnn.convert.package_files import share_files
from qwen3_tts_ncnn.convert.package_tables import RVQ_TABLES
from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.manifest import CodecShape
from qwen3_tts_ncnn.runtime.package import Package, file_sha256

CODEC_GRAPHS = ("mimi_encoder", "codec_decoder")
CODEC_FILES = (*(f"{graph}.{part}" for graph in CODEC_GRAPHS for part in ("param", "bin")), RVQ_TABLES)


@dataclass(frozen=True)
class CodecDonor:
    """A package whose codec is the one that is needed. Make it with `CodecDonor.open`."""

    package: Package

    @classmethod
    def open(cls, folder: Path, codec: CodecShape) -> "CodecDonor":
        """Opens a package and checks that a new conversion of the codec would give the files that it has.

        Raises `PackageError` for another codec, another version of what made it, or a file that has changed.
        """
        package = Package.open(folder)
        manifest = package.manifest
        if manifest.codec != codec:
            raise PackageError(
                f"the codec of {folder} was made from other weights than this checkpoint's: "
                "convert without --codec-from"
            )
        if manifest.made_with != made_with():
            raise PackageError(
                f"{folder} was made with {_shown(manifest.made_with)}, this is {_shown(made_with())}: "
                "convert without --codec-from"
            )
        for name in CODEC_FILES:
            if name not in manifest.files or file_sha256(folder / name) != manifest.files[name].sha256:
                raise PackageError(f"{folder / name} has changed since it was converted: convert without --codec-from")
        return cls(package)

    def give(self, folder: Path) -> None:
        """Puts the codec's files into a folder: as hard links, which take no space, or as copies where none can be."""
        share_files(self.package.folder, folder, CODEC_FILES)


def _shown(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
