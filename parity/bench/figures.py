"""From what a worker tells of a round to figures: medians with their spread."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen3_tts_ncnn.parity.bench.job import FIRST_CHUNK

Round = Mapping[str, Any]
"""One round of one contestant, as its worker tells it: seconds of each part, frames, and what ended the run."""


@dataclass(frozen=True)
class Spread:
    """One value a round."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one, or the mean of the middle two."""
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        """The least."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The greatest."""
        return max(self.values)


@dataclass(frozen=True)
class Figure:
    """One figure of a round: its key in JSON, its name for people, and how it is computed, None where it cannot be.

    `digits` are those after the point. Two contestants are compared by it unless it is itself a ratio.
    """

    key: str
    title: str
    digits: int
    of: Callable[[Round], float | None]
    compared: bool = True


def _frame_seconds(record: Round) -> float:
    """Talker and predictor of one frame."""
    seconds: float = (record["talker_seconds"] + record["predictor_seconds"]) / record["frames"]
    return seconds


def _first_audio_share(record: Round) -> float | None:
    """First audio over what it must wait for: prefill, the first frames, and their chunk of the codec."""
    if "first_chunk_codec_seconds" not in record or "first_audio_seconds" not in record:
        return None
    parts = (
        record["prefill_seconds"]
        + min(FIRST_CHUNK, record["frames"]) * _frame_seconds(record)
        + record["first_chunk_codec_seconds"]
    )
    share: float = record["first_audio_seconds"] / parts
    return share


FIGURES = (
    Figure("prefill_seconds", "prefill, s", 3, lambda r: r["prefill_seconds"]),
    Figure("talker_ms", "talker, ms a frame", 1, lambda r: 1000 * r["talker_seconds"] / r["frames"]),
    Figure("predictor_ms", "predictor, ms a frame", 1, lambda r: 1000 * r["predictor_seconds"] / r["frames"]),
    Figure("frame_ms", "talker + predictor, ms a frame", 1, lambda r: 1000 * _frame_seconds(r)),
    Figure("codec_rtf", "codec, s a second of audio", 3, lambda r: r["codec_seconds"] / r["codec_audio_seconds"]),
    Figure("first_audio_seconds", "first audio, s", 3, lambda r: r.get("first_audio_seconds")),
    Figure("total_rtf", "total RTF", 3, lambda r: r["seconds"] / r["audio_seconds"]),
    Figure(
        "first_audio_share",
        f"first audio ÷ (prefill + {FIRST_CHUNK} frames + codec)",
        2,
        _first_audio_share,
        compared=False,
    ),
    Figure(
        "stream_ratio",
        "stream ÷ offline",
        2,
        lambda r: r["stream_seconds"] / r["seconds"] if "stream_seconds" in r else None,
        compared=False,
    ),
    Figure("cores_used", "cores used", 2, lambda r: r["cpu_seconds"] / r["seconds"], compared=False),
)
"""What is measured in every round, in the order of the table."""

LOAD = Figure("load_seconds", "load, s", 2, lambda r: r["load_seconds"])
PEAK = Figure("peak_gb", "peak memory, GB", 2, lambda r: None if r["peak_bytes"] is None else r["peak_bytes"] / 1e9)
"""What is measured once."""


def position_figure(position: int) -> Figure:
    """A frame at a position of the KV cache, of rounds that `steps` tells."""
    return Figure(f"frame_ms_at_{position}", f"frame at position {position}, ms", 1, lambda r: 1000 * _frame_seconds(r))


def position_ratio(first: int, last: int) -> Figure:
    """A frame at the last position over one at the first; of medians, not of rounds."""
    return Figure(
        "position_ratio", f"frame at {last} ÷ at {first}", 2, lambda r: r["last"] / r["first"], compared=False
    )


@dataclass(frozen=True)
class Result:
    """What was measured of one contestant.

    Attributes:
        name: for people.
        path: of the package or the checkpoint.
        backend: where a package's graphs run; None for PyTorch.
        graphs: name → precision of a package's graphs.
        prompt_rows: rows of the prefill.
        frames: of each round.
        stops: what ended each round.
        figures: by key; what could not be measured is absent.
    """

    name: str
    path: str
    backend: str | None
    graphs: dict[str, str]
    prompt_rows: int
    frames: tuple[int, ...]
    stops: tuple[str, ...]
    figures: dict[str, Spread] = field(default_factory=dict)

    @property
    def upstream(self) -> bool:
        """Whether it is PyTorch."""
        return self.backend is None

    def ratio(self, figure: Figure, other: "Result | None") -> float | None:
        """This one's median over another's; None where the figure or the other is missing."""
        if other is None or not figure.compared or figure.key not in self.figures or figure.key not in other.figures:
            return None
        return self.figures[figure.key].median / other.figures[figure.key].median


def spreads(figures: Iterable[Figure], rounds: Sequence[Round]) -> dict[str, Spread]:
    """Key → spread over the rounds, of the figures that every round has."""
    found = {}
    for figure in figures:
        values = [figure.of(record) for record in rounds]
        known = tuple(value for value in values if value is not None)
        if known and len(known) == len(rounds):
            found[figure.key] = Spread(known)
    return found
