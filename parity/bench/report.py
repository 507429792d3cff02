"""What one run of `bench` found, and the same as JSON."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qwen3_tts_ncnn.parity.bench.busy import Load
from qwen3_tts_ncnn.parity.bench.figures import (
    FIGURES,
    LOAD,
    PEAK,
    Figure,
    Result,
    Spread,
    position_figure,
    position_ratio,
)
from qwen3_tts_ncnn.parity.bench.job import FIRST_CHUNK
from qwen3_tts_ncnn.parity.bench.machine import Machine
from qwen3_tts_ncnn.parity.bench.rounds import Plan


@dataclass(frozen=True)
class Report:
    """The plan, the results in the order of the table, the machine, and what others took of it (None: unknown)."""

    plan: Plan
    results: Sequence[Result]
    machine: Machine
    load: Load | None

    @property
    def upstream(self) -> Result | None:
        """PyTorch's result, if it competed."""
        return next((result for result in self.results if result.upstream), None)

    @property
    def figures(self) -> list[Figure]:
        """All that anybody has, in the order of the table."""
        positions = self.plan.positions
        known = [LOAD, *FIGURES, PEAK, *map(position_figure, sorted(positions))]
        if len(positions) > 1:
            known.append(position_ratio(min(positions), max(positions)))
        return [figure for figure in known if any(figure.key in result.figures for result in self.results)]


def to_json(report: Report) -> str:
    """The report as JSON text."""
    plan = report.plan
    document = {
        "settings": {
            **plan.job.to_json(),
            "rounds": plan.rounds,
            "positions": list(plan.positions),
            "first_chunk": FIRST_CHUNK,
        },
        "machine": asdict(report.machine),
        "load": None if report.load is None else _load(report.load),
        "contestants": [_contestant(report, result) for result in report.results],
    }
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


def _load(load: Load) -> dict[str, Any]:
    record = asdict(load) | {"busy": load.is_busy}
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in record.items()}


def _contestant(report: Report, result: Result) -> dict[str, Any]:
    ratios = {figure.key: result.ratio(figure, report.upstream) for figure in report.figures}
    return {
        "name": result.name,
        "path": result.path,
        "backend": result.backend,
        "kind": "pytorch" if result.upstream else "package",
        "graphs": result.graphs,
        "prompt_rows": result.prompt_rows,
        "frames": list(result.frames),
        "stops": list(result.stops),
        "figures": {key: _spread(spread) for key, spread in result.figures.items()},
        "ratios_to_pytorch": {key: ratio for key, ratio in ratios.items() if ratio is not None},
    }


def _spread(spread: Spread) -> dict[str, Any]:
    return {"median": spread.median, "low": spread.low, "high": spread.high, "values": list(spread.values)}
