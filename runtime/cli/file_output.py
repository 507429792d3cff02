"""Files that are not sound: could they be written where they are asked for?"""

from collections.abc import Sequence
from pathlib import Path

from qwen3_tts_ncnn.runtime.errors import OptionError, OutputError
from qwen3_tts_ncnn.runtime.files import check_place


def check_file_output(path: Path, endings: Sequence[str]) -> None:
    """Raises `OptionError` for another ending, `OutputError` for a place that no file can be written to."""
    if path.suffix.lower() not in endings:
        raise OptionError(f"{path} does not end in {' or '.join(endings)}: give the output such an ending")
    try:
        check_place(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror}): choose another place") from None
