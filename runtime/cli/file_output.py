"""Files that are not sound: could they be written where they are asked for?"""

import os
from collections.abc import Sequence
from pathlib import Path

from qwen3_tts_ncnn.runtime.errors import OptionError, OutputError


def check_file_output(path: Path, endings: Sequence[str]) -> None:
    """Raises `OptionError` for another ending, `OutputError` for a place that no file can be written to."""
    if path.suffix.lower() not in endings:
        raise OptionError(f"{path} does not end in {' or '.join(endings)}: give the output such an ending")
    try:
        is_folder, has_folder = path.is_dir(), path.parent.is_dir()
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise OutputError(f"{path} cannot be written ({error.strerror}): choose another place") from None
    if is_folder:
        raise OutputError(f"{path} is a folder, expected the path of a file")
    if not has_folder:
        raise OutputError(f"{path.parent} is not a folder, so {path.name} cannot be written there: create it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path.parent} is a folder you may not write to: choose another place for {path.name}")
