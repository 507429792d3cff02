"""The options that say how codes are chosen and when to stop, named as the keyword arguments of `TTS.speak`."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from qwen3_tts_ncnn.runtime.torch_random import HIGHEST_SEED

Command = TypeVar("Command", bound=Callable[..., Any])

_POSITIVE = click.FloatRange(min=0, min_open=True)
_SHARE = click.FloatRange(min=0, max=1, min_open=True)
_COUNT = click.IntRange(min=0)
_SEED = click.IntRange(min=0, max=HIGHEST_SEED)

_OPTIONS = (
    click.option(
        "--greedy", is_flag=True, help="Take the likeliest code at every step: no chance, the same each time."
    ),
    click.option("--seed", type=_SEED, help="Makes a run repeatable; drawn and told if not given."),
    click.option("--temperature", type=_POSITIVE, help="Above 1 livelier, below 1 calmer."),
    click.option("--top-k", type=_COUNT, help="Choose among the K likeliest codes; 0 is all."),
    click.option("--top-p", type=_SHARE, help="Choose among the likeliest codes that make up this probability."),
    click.option("--repetition-penalty", type=_POSITIVE, help="Above 1 discourages codes that were used; 1 is off."),
    click.option("--predictor-temperature", type=_POSITIVE, help="--temperature of codebooks 1 to 15."),
    click.option("--predictor-top-k", type=_COUNT, help="--top-k of codebooks 1 to 15."),
    click.option("--predictor-top-p", type=_SHARE, help="--top-p of codebooks 1 to 15."),
    click.option("--max-frames", type=click.IntRange(min=1), help="Stop after this many frames of 80 ms."),
)


_STOPPING = (
    click.option("--split/--no-split", default=True, show_default=True, help="Speak a long text sentence by sentence."),
    click.option(
        "--budget/--no-budget", default=True, show_default=True, help="Stop after more frames than the text could need."
    ),
    click.option(
        "--watchdog/--no-watchdog", default=True, show_default=True, help="Stop at endless repetition or silence."
    ),
    click.option(
        "--retry", type=_COUNT, default=0, show_default=True, help="Try so often again what does not end by itself."
    ),
)


def sampling_options(command: Command) -> Command:
    """Adds the options to a command. Each is None, the package's own default, if not given."""
    return _add(_OPTIONS, command)


def stopping_options(command: Command) -> Command:
    """Adds the options that say what ends a run that does not end by itself."""
    return _add(_STOPPING, command)


def _add(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
