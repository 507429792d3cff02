"""Upstream talks a lot on the way; its words are not for the user's terminal."""

import contextlib
import importlib
import logging
import warnings
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """While inside, no warning, log line or progress bar of upstream and transformers is shown; errors still raise."""
    # Through importlib: transformers ships types of its own that are half there.
    transformers_logging: Any = importlib.import_module("transformers.utils.logging")
    disabled = logging.root.manager.disable
    bars = transformers_logging.is_progress_bar_enabled()
    # Upstream's loggers are not children of transformers', so its verbosity does not reach them: disable for all.
    logging.disable(logging.WARNING)
    transformers_logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        if bars:
            transformers_logging.enable_progress_bar()
