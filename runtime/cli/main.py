"""`qwen3-tts-ncnn`: finds the commands, and turns whatever a user can cause into one line on standard error.

Each room announces its commands as entry points, so that this one imports no other room, and a command is imported
only when it is asked for: `speak` never meets torch.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points

import click

from qwen3_tts_ncnn.runtime.errors import TTSError

PROGRAM = "qwen3-tts-ncnn"
COMMANDS = "qwen3_tts_ncnn.commands"
"""The entry-point group that commands are found through."""

# In the order in which a new user needs them; commands of other distributions follow by name.
_ORDER = ("convert", "speak", "clone", "codec", "devices", "info", "verify", "parity", "bench", "checkpoint")

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


class Refusal(click.ClickException):
    """What a user caused, as one line: `Error: …`, exit code 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        # A path or a name may hold a line break; the message has none.
        super().__init__(" ".join(message.split()))


class Commands(click.Group):
    """The commands of all installed rooms, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order of the help."""
        names = {entry.name for entry in entry_points(group=COMMANDS)}
        return [*(name for name in _ORDER if name in names), *sorted(names.difference(_ORDER))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now; None if no room has it."""
        entry = _entry(cmd_name)
        command: click.Command | None = entry.load() if entry else None
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the program's own options."""
        with _one_line(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Runs the command that was asked for."""
        with _one_line(ctx):
            return super().invoke(ctx)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name=PROGRAM)
@click.pass_context
def cli(context: click.Context) -> None:
    """Qwen3-TTS on ncnn: convert a checkpoint, speak from the package, prove that both are one model.

    \b
    Examples:
      qwen3-tts-ncnn convert 0.6b-customvoice
      qwen3-tts-ncnn speak models/qwen3-tts-12hz-0.6b-customvoice-fp32 "Hello." --speaker ryan -o hello.wav
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Runs the command line and exits: 0 done, 1 a comparison found a difference, 2 refused, 130 interrupted."""
    try:
        cli(prog_name=PROGRAM)
    finally:
        _forget_unwritable_output()


@contextmanager
def _one_line(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        path = (error.ctx or ctx).command_path
        raise Refusal(f"{error.format_message()} See `{path} --help`.") from error
    except TTSError as error:
        raise Refusal(str(error)) from error
    except ImportError as error:
        raise _missing_extra(error, ctx.invoked_subcommand or "") from error
    except BrokenPipeError:
        raise  # click ends quietly: whoever read the output has seen enough
    except OSError as error:
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        raise Refusal(f"{where}{error.strerror or error}") from error
    except KeyboardInterrupt:
        click.echo("Interrupted", err=True)
        raise click.exceptions.Exit(_INTERRUPTED) from None


def _missing_extra(error: ImportError, command: str) -> Exception:
    """A room whose extra is not installed, told as what to install; any other failed import is a bug, kept as it is."""
    entry = _entry(command)
    missing = (error.name or "").partition(".")[0]
    if entry is None or missing in ("", __name__.partition(".")[0]):
        return error
    room = entry.module.split(".")[1:2]
    extra = "" if room == ["runtime"] else f"[{''.join(room)}]"
    return Refusal(f"{command} cannot import {missing}: it needs pip install '{PROGRAM}{extra}'")


def _entry(name: str) -> EntryPoint | None:
    return next(iter(entry_points(group=COMMANDS, name=name)), None)


def _forget_unwritable_output() -> None:
    """Keeps Python from a complaint of its own at exit about output that could not be written; it was told already."""
    try:
        if sys.stdout is not None:  # None: it was closed before the program began
            sys.stdout.flush()
    except OSError:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
