"""Whose time is it? What a profile saw, by the module that spent it or had it spent."""

import cProfile
import pstats
from collections import defaultdict
from collections.abc import Callable
from typing import Any

Function = tuple[str, int, str]
"""(file, line, name), as pstats has it."""

ModuleOf = Callable[[str], str | None]
"""File → the module it counts for; None for what counts for its callers, such as numpy and what is built in."""

OUTSIDE = "elsewhere"


def seconds_by_module(profile: cProfile.Profile, module_of: ModuleOf) -> dict[str, float]:
    """Module → seconds, those of the functions that it called included where they have no module of their own.

    Where such a function has several callers, its time is theirs as the time that they waited for it is.
    """
    stats: dict[Function, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # not in its types
    shares: dict[Function, dict[str, float]] = {}

    def share(function: Function) -> dict[str, float]:
        """Module → its share (they add up to 1) of a function's own time."""
        if function not in shares:
            shares[function] = {OUTSIDE: 1.0}  # while it is being found out, so that recursion ends
            shares[function] = _share(function, stats, module_of, share)
        return shares[function]

    total: dict[str, float] = defaultdict(float)
    for function, (_, _, own, _, _) in stats.items():
        for module, part in share(function).items():
            total[module] += own * part
    return dict(total)


def _share(
    function: Function,
    stats: dict[Function, Any],
    module_of: ModuleOf,
    share: Callable[[Function], dict[str, float]],
) -> dict[str, float]:
    module = module_of(function[0])
    if module is not None:
        return {module: 1.0}
    callers: dict[Function, Any] = stats[function][4] if function in stats else {}
    waited = sum(seconds for _, _, _, seconds in callers.values())
    if waited <= 0:
        return {OUTSIDE: 1.0}
    found: dict[str, float] = defaultdict(float)
    for caller, (_, _, _, seconds) in callers.items():
        for name, part in share(caller).items():
            found[name] += part * seconds / waited
    return dict(found)
