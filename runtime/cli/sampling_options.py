"""The options that say how codes are chosen, named as the keyword arguments of `TTS.speak`."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_POSITIVE = click.FloatRange(min=0, min_open=True)
_SHARE = click.FloatRange(min=0, max=1, min_open=True)
_COUNT = click.IntRange(min=0)

_OPTIONS = (
    click.option(
        "--greedy", is_flag=True, help="Take the likeliest code at every step: no chance, the same each time."
    ),
    click.option("--seed", type=_COUNT, help="Makes a run repeatable; drawn and told if not given."),
    click.option("--temperature", type=_POSITIVE, help="Above 1 livelier, below 1 calmer."),
    click.option("--top-k", type=_COUNT, help="Choose among the K likeliest codes; 0 is all."),
    click.option("--top-p", type=_SHARE, help="Choose among the likeliest codes that make up this probability."),
    click.option("--repetition-penalty", type=_POSITIVE, help="Above 1 discourages codes that were used; 1 is off."),
    click.option("--predictor-temperature", type=_POSITIVE, help="--temperature of codebooks 1 to 15."),
    click.option("--predictor-top-k", type=_COUNT, help="--top-k of codebooks 1 to 15."),
    click.option("--predictor-top-p", type=_SHARE, help="--top-p of codebooks 1 to 15."),
    click.option("--max-frames", type=click.IntRange(min=1), help="Stop after this many frames of 80 ms."),
)


def sampling_options(command: Command) -> Command:
    """Adds the options to a command. Each is None, the package's own default, if not given."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
