"""Which versions had a hand in a result."""

import importlib.metadata
from collections.abc import Iterable


def installed(distributions: Iterable[str]) -> dict[str, str]:
    """Distribution → version, of those that are installed."""
    found = {}
    for name in distributions:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
