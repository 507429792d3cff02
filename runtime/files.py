"""Writing files: could one be written there, and is it whole or not there at all."""

import errno
import os
import tempfile
from pathlib import Path

from qwen3_tts_ncnn.runtime.errors import OutputError


def check_place(path: Path) -> None:
    """Raises `OutputError` where no file can be written at `path`.

    Raises `OSError` where the system will not even look: a name that is too long, a folder that may not be entered.
    """
    if path.is_dir():
        raise OutputError(f"{path} is a folder, expected the path of a file")
    if not path.parent.is_dir():
        raise OutputError(f"{path.parent} is not a folder, so {path.name} cannot be written there: create it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path.parent} is a folder you may not write to: choose another place for {path.name}")


def write_beside(path: Path, data: bytes) -> None:
    """Writes a file beside its place and renames it. Raises `OutputError`, leaving what was there."""
    temporary: Path | None = None
    try:
        # Not the whole name: with what is added to it, it could be longer than the file system takes.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:40]}-", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~umask())
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise cannot_be_written(path, error) from None


def cannot_be_written(path: Path | str, error: OSError) -> OutputError:
    """What to tell of a file or folder that the system does not write."""
    advice = "free some space or choose another place" if is_full(error) else "choose another place"
    return OutputError(f"{path} cannot be written ({error.strerror or error}): {advice}")


def is_full(error: OSError) -> bool:
    """Whether it is for want of space: a full disk, or a user's quota."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def umask() -> int:
    """The process's umask: temporary files and folders are made private, and what replaces them should not be."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
