"""A whole checkpoint, opened and checked before anything is computed from it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from qwen3_tts_ncnn.convert.checkpoint.codec_config import CODEC_CONFIG, CodecConfig, MimiShape
from qwen3_tts_ncnn.convert.checkpoint.config import (
    CONFIG,
    GENERATION_CONFIG,
    CheckpointConfig,
    is_codec_alone,
    read_codec_config,
    read_config,
)
from qwen3_tts_ncnn.convert.checkpoint.inventory import check_inventory, codec_tensors, main_tensors
from qwen3_tts_ncnn.convert.checkpoint.source import CheckpointSource
from qwen3_tts_ncnn.convert.checkpoint.tensors import Tensors, open_tensors
from qwen3_tts_ncnn.convert.errors import CheckpointError

CODEC_FOLDER = "speech_tokenizer"
# Official checkpoints have the first three; a folder may hold the fourth instead of the first two.
TOKENIZER_FILES = ("vocab.json", "merges.txt", "tokenizer_config.json", "tokenizer.json")


@dataclass(frozen=True, kw_only=True)
class CodecCheckpoint:
    """The codec alone (Qwen3-TTS-Tokenizer-12Hz), and what every checkpoint has of it. `open_checkpoint` makes one."""

    codec_config: CodecConfig
    codec: Tensors
    folder: Path
    source: CheckpointSource

    def files(self) -> tuple[Path, ...]:
        """Every file the conversion reads, sorted by path."""
        return tuple(sorted({self.folder / CONFIG, *self.codec.files}))

    def file_hashes(self) -> dict[str, str]:
        """Relative POSIX path → sha256 (hex) of every file the conversion reads, sorted by path.

        Raises:
            CheckpointError: a file has gone or cannot be read.
        """
        return {path.relative_to(self.folder).as_posix(): _sha256(path) for path in self.files()}

    def codec_sha256(self) -> str:
        """One sum over what the codec's graphs are made of: its weights, and what they read of its configuration.

        Raises:
            CheckpointError: a file has gone or cannot be read.
        """
        config = asdict(self.codec_config) | {"encoder": asdict(MimiShape.from_dict(self.codec_config.encoder))}
        parts = [json.dumps(config, sort_keys=True), *(_sha256(path) for path in self.codec.files)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Checkpoint(CodecCheckpoint):
    """A checkpoint that speaks, whose configuration and tensors agree. Make it with `Checkpoint.open`."""

    config: CheckpointConfig
    main: Tensors  # talker, code predictor, text side, and a Base checkpoint's speaker encoder

    @classmethod
    def open(cls, source: CheckpointSource | Path | str) -> Checkpoint:
        """Read the configuration and the tensors' headers, and check one against the other.

        Args:
            source: what `find_checkpoint` returned, or a folder.

        Raises:
            CheckpointError: a file is missing or broken, the checkpoint is of a kind that cannot be converted, or a
                tensor is missing, surplus, or of another shape than the configuration implies.
        """
        source = _source(source)
        config = read_config(source.folder)
        main, codec = open_tensors(source.folder), open_tensors(source.folder / CODEC_FOLDER)
        check_inventory(_label(main), main.shapes, main_tensors(config))
        check_inventory(_label(codec), codec.shapes, codec_tensors(config.codec))
        return cls(
            codec_config=config.codec, codec=codec, folder=source.folder, source=source, config=config, main=main
        )

    def files(self) -> tuple[Path, ...]:
        """Every file the conversion reads, sorted by path."""
        named = [self.folder / name for name in (CONFIG, GENERATION_CONFIG, CODEC_CONFIG)]
        tokenizer = [path for path in (self.folder / name for name in TOKENIZER_FILES) if path.exists()]
        return tuple(sorted({*named, *tokenizer, *self.main.files, *self.codec.files}))


def open_checkpoint(source: CheckpointSource | Path | str) -> CodecCheckpoint:
    """Open a checkpoint that speaks, which is a `Checkpoint`, or one of the codec alone.

    Raises:
        CheckpointError: as `Checkpoint.open`.
    """
    source = _source(source)
    if not is_codec_alone(source.folder):
        return Checkpoint.open(source)
    config, codec = read_codec_config(source.folder), open_tensors(source.folder)
    check_inventory(_label(codec), codec.shapes, codec_tensors(config))
    return CodecCheckpoint(codec_config=config, codec=codec, folder=source.folder, source=source)


def _source(source: CheckpointSource | Path | str) -> CheckpointSource:
    if isinstance(source, CheckpointSource):
        return source
    folder = Path(source)
    return CheckpointSource(folder=folder, repo=None, revision=None, name=folder.resolve().name)


def _label(tensors: Tensors) -> str:
    return str(tensors.files[0])


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}): check the file and its permissions") from None
