"""Warnings that point at the line of whoever called the runtime, through however many of its own functions."""

import sys
import warnings

_RUNTIME = __name__.rpartition(".")[0] + "."


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issues a warning at the nearest line outside the runtime.

    A fixed `stacklevel` fits one way in: `speak`'s own caller may be `speak_all`, or a generator.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_RUNTIME):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
