"""What a check measures, and how far it may go."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bound:
    """What a comparison measures, and the value that it must not pass."""

    measure: str
    limit: float
    at_least: bool = False

    def holds(self, value: float) -> bool:
        """Whether a measured value is within the bound; NaN never is."""
        return value >= self.limit if self.at_least else value <= self.limit

    def worst(self, values: Sequence[float]) -> float:
        """The value nearest to failing, or NaN where there is one."""
        if np.isnan(values).any():
            return float("nan")
        return min(values) if self.at_least else max(values)
