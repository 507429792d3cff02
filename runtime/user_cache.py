"""The user's cache folder: what is remembered between runs, and may be deleted at any time."""

import os
from pathlib import Path


def cache_folder() -> Path | None:
    """This program's, there or not; None for a user without a home, as containers have."""
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return caches / "qwen3-tts-ncnn"
