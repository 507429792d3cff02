"""A package appears when it is whole: it is made beside its place, and moved there at the end."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qwen3_tts_ncnn.runtime.errors import OutputError
from qwen3_tts_ncnn.runtime.files import cannot_be_written, is_full, umask
from qwen3_tts_ncnn.runtime.manifest import MANIFEST


def check_output_folder(output: Path, *, overwrite: bool) -> None:
    """Raises `OutputError` when the package could not be put there; with `overwrite` an old package may be there."""
    try:
        _refuse_output(output, overwrite)
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise cannot_be_written(output, error) from None


def _refuse_output(output: Path, overwrite: bool) -> None:
    if output.is_dir():
        occupied = any(output.iterdir())
        if occupied and not overwrite:
            raise OutputError(f"{output} is not empty: choose a new folder, or replace the package with --overwrite")
        if occupied and not (output / MANIFEST).is_file():
            raise OutputError(f"{output} is not empty and not a package, so it is not overwritten: choose a new folder")
    elif output.exists() or output.is_symlink():
        raise OutputError(f"{output} is a file, expected a folder to make: choose another path")
    nearest = next((path for path in output.absolute().parents if path.exists()), output)
    if not nearest.is_dir():
        raise OutputError(f"{nearest} is a file, so {output} cannot be made below it: choose another path")
    if not os.access(nearest, os.W_OK):
        raise OutputError(f"{nearest} is a folder you may not write to: choose another place for {output.name}")


@contextmanager
def staged(output: Path) -> Iterator[Path]:
    """An empty folder beside `output`, which becomes `output` when the block ends without an exception.

    An old package at `output` stays until then. Raises `OutputError` for every `OSError` of the block.
    """
    folder: Path | None = None
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{output.name[:40]}-", dir=output.parent))
        yield folder
        _put_in_place(folder, output)
    except OSError as error:
        raise _not_made(output, error) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _not_made(output: Path, error: OSError) -> OutputError:
    """What to tell of a conversion that the system broke off: by writing the package, or by something else."""
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(output)
    if is_full(error) or Path(name).absolute().is_relative_to(output.parent.absolute()):
        return cannot_be_written(output, error)
    return OutputError(f"{output} was not made, because of {name} ({error.strerror}): mend that first")


def _put_in_place(folder: Path, output: Path) -> None:
    """Moves the finished package to its place; an old one there is moved aside first and comes back on failure."""
    folder.chmod(0o777 & ~umask())
    if not output.is_dir():
        folder.rename(output)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{output.name[:40]}-old-", dir=output.parent))
    output.rename(aside / output.name)
    try:
        folder.rename(output)
    except OSError:
        (aside / output.name).rename(output)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
