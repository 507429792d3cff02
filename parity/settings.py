"""What makes and shapes a draw: seeds, and settings under the names that either side has for them."""

from dataclasses import asdict, dataclass
from typing import Any

SEEDS = (-(2**63), 2**64 - 1)
"""The least and the greatest seed that `torch.manual_seed` takes."""


@dataclass(frozen=True)
class SamplingSettings:
    """Settings of one run, the talker's and the predictor's; None is as the checkpoint's own defaults have it.

    A greedy run has use for the repetition penalty alone.
    """

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    repetition_penalty: float | None = None
    predictor_temperature: float | None = None
    predictor_top_k: int | None = None
    predictor_top_p: float | None = None

    def of_package(self) -> dict[str, Any]:
        """Those that are given, as `TTS.speak` names them."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def of_upstream(self) -> dict[str, Any]:
        """Those that are given, as upstream names them (qwen3_tts_model.py:297)."""
        return {name.replace("predictor_", "subtalker_"): value for name, value in self.of_package().items()}
