"""`model.json`, the manifest of a package: every id, size and default the runtime needs, and where it all came from.

Nothing in the runtime knows a constant that the manifest could tell it. The format is described in docs/package.md.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.files import write_beside
from qwen3_tts_ncnn.runtime.records import RecordError, read_record, write_record

FORMAT = 1
MANIFEST = "model.json"

CODEC_TYPE = "codec"
"""The type of a package of the codec alone; the others are a checkpoint's `tts_model_type`."""


@dataclass(frozen=True)
class Origin:
    """The checkpoint a package was made from. `files` maps each file that was read to its sha256."""

    name: str
    repo: str | None
    revision: str | None
    licence: str | None
    files: dict[str, str]


@dataclass(frozen=True)
class TextIds:
    """Token ids of the text side."""

    im_start: int
    im_end: int
    assistant: int
    tts_pad: int
    tts_bos: int
    tts_eos: int


@dataclass(frozen=True)
class TextTable:
    """The text embedding (rows, width), a raw row-major file; `dtype` is bf16, f16 or f32."""

    file: str
    rows: int
    width: int
    dtype: str


@dataclass(frozen=True)
class CodecIds:
    """Token ids of the talker's codec vocabulary. From `first_control` on none but EOS is ever chosen."""

    first_control: int
    bos: int
    eos: int
    pad: int
    think: int
    nothink: int
    think_bos: int
    think_eos: int


@dataclass(frozen=True)
class Decoder:
    """One of the two cached decoders: what its masks, rotary tables and caches need."""

    layers: int
    hidden_size: int
    head_dim: int
    rope_theta: float
    vocab_size: int


@dataclass(frozen=True)
class CodecShape:
    """The codec decoder. `states` are the shapes (channels, rows, columns) of its states, in order.

    `checkpoint_sha256` is one sum over the codec's files in the checkpoint: equal sums mean equal codec graphs.
    """

    checkpoint_sha256: str
    codebooks: int
    codebook_size: int
    sample_rate: int
    samples_per_frame: int
    window: int
    head_dim: int
    rope_theta: float
    states: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class CodecEncoderShape:
    """The codec's encoder. `ratios` are those of its strided convolutions, in order, before its attention, which runs
    on `steps_per_frame` steps a frame; `tables` is the file of its RVQ."""

    sample_rate: int
    samples_per_frame: int
    ratios: tuple[int, ...]
    steps_per_frame: int
    head_dim: int
    rope_theta: float
    tables: str


@dataclass(frozen=True)
class SpeakerEncoderShape:
    """The speaker encoder of a Base package: the length of its x-vectors, and the file of its mel filters."""

    width: int
    sample_rate: int
    mel_filters: str


@dataclass(frozen=True)
class Speaker:
    """A named speaker: its row of the codec embedding, and the dialect it speaks instead of Chinese, if any."""

    id: int
    dialect: str | None = None


@dataclass(frozen=True)
class SamplingDefaults:
    """The checkpoint's generation_config."""

    do_sample: bool
    temperature: float
    top_k: int
    top_p: float
    repetition_penalty: float
    predictor_do_sample: bool
    predictor_temperature: float
    predictor_top_k: int
    predictor_top_p: float
    max_new_tokens: int


@dataclass(frozen=True)
class GraphInfo:
    """One graph of the package and the precision of its weights: fp32, bf16 or int8. Of the latter, `block` weights
    of a row share a scale, or all of it (None)."""

    precision: str
    block: int | None = None

    def __str__(self) -> str:
        """As `convert --precision` takes it: int8/128."""
        return f"int8/{self.block or 'row'}" if self.precision == "int8" else self.precision


@dataclass(frozen=True)
class FileInfo:
    """Size in bytes and sha256 of one file."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Figures:
    """How near a package's logits are to upstream's, over `choices` of them, with the same history.

    `agreement` is the share (0 to 1) in which both have the same arg max; `kl` the mean Kullback–Leibler divergence,
    nats, of upstream's softmax from the package's at the sampling temperature; `mean_rank` and `worst_rank` those of
    upstream's arg max among the package's logits, 0 being first.
    """

    choices: int
    agreement: float
    kl: float
    mean_rank: float
    worst_rank: int


@dataclass(frozen=True)
class Quality:
    """A package against the checkpoint it was made from, as `parity --teacher-forced` measured it.

    `seeds` is empty where upstream spoke greedily; `codebooks` has the figures of each, in order, `total` those of all.
    """

    checkpoint: str
    cases: int
    frames: int
    seeds: tuple[int, ...]
    total: Figures
    codebooks: tuple[Figures, ...]
    measured_with: dict[str, str]

    @property
    def how(self) -> str:
        """How upstream spoke, for people."""
        return f"seeds {', '.join(map(str, self.seeds))}" if self.seeds else "greedy"


@dataclass(frozen=True, kw_only=True)
class CodecManifest:
    """The model.json of a package of the codec alone, and what every package has."""

    format: int
    name: str
    type: str
    origin: Origin
    codec: CodecShape
    codec_encoder: CodecEncoderShape
    graphs: dict[str, GraphInfo]
    made_with: dict[str, str]
    files: dict[str, FileInfo] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Manifest(CodecManifest):
    """The model.json of a package that speaks."""

    size: str
    text: TextIds
    text_table: TextTable
    codec_ids: CodecIds
    talker: Decoder
    predictor: Decoder
    speaker_encoder: SpeakerEncoderShape | None = None
    speakers: dict[str, Speaker]
    languages: dict[str, int]
    dialects: dict[str, int]
    sampling: SamplingDefaults
    quality: Quality | None = None


def read_manifest(folder: Path) -> CodecManifest:
    """Reads the manifest of a package: a `Manifest` unless it is of the codec alone.

    Raises `PackageError` when the folder or file is missing, is not a manifest, or is of a newer format.
    """
    path = folder / MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise _no_manifest(folder) from None
    except (OSError, ValueError, RecursionError) as error:
        raise PackageError(f"{path} cannot be read as JSON ({error}): convert the checkpoint again") from None
    version = data.get("format") if isinstance(data, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise PackageError(
            f"{folder} is a package of format {version}, this version reads format {FORMAT}: upgrade qwen3-tts-ncnn"
        )
    if version != FORMAT:
        raise PackageError(f"{path} says format {version!r}, expected {FORMAT}: convert the checkpoint again")
    try:
        return read_record(CodecManifest if data.get("type") == CODEC_TYPE else Manifest, data)
    except RecordError as error:
        raise PackageError(f"{path} is not a whole manifest ({error}): convert the checkpoint again") from None


def _no_manifest(folder: Path) -> PackageError:
    if folder.is_dir():
        return PackageError(
            f"{folder} has no {MANIFEST}, so it is not a package: convert the checkpoint with `qwen3-tts-ncnn convert`"
        )
    found = "is a file" if folder.exists() else "does not exist"
    return PackageError(f"package {folder} {found}: expected a folder made by `qwen3-tts-ncnn convert`")


def write_manifest(manifest: CodecManifest, folder: Path) -> None:
    """Writes model.json, the same bytes for the same manifest."""
    (folder / MANIFEST).write_bytes(_text(write_record(manifest)))


def record_quality(folder: Path, quality: Quality) -> None:
    """Puts figures into a package's model.json, in the place of earlier ones; all else in it stays.

    Raises `PackageError` where there is no such package, and `OutputError`, leaving the manifest as it was, where it
    cannot be written.
    """
    read_manifest(folder)
    path = folder / MANIFEST
    # Not the manifest that was read: it has lost the keys that this version does not know.
    write_beside(path, _text(json.loads(path.read_text(encoding="utf-8")) | {"quality": write_record(quality)}))


def _text(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode()
