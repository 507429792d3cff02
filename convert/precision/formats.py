"""How the weights of each graph are stored, and the mixes that a user chooses by one name."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from qwen3_tts_ncnn.runtime.errors import OptionError

BLOCKS = (32, 64, 128)
"""Weights that may share a scale, along a row: what ncnn's block-quantised Gemm takes."""


@dataclass(frozen=True)
class WeightFormat:
    """fp32, bf16 or int8; int8 weights share a scale by blocks of `block` along each row."""

    precision: str
    block: int | None = None

    def __str__(self) -> str:
        return self.precision if self.block is None else f"{self.precision}/{self.block}"


FP32 = WeightFormat("fp32")
BF16 = WeightFormat("bf16")

# Blocks of 128 were the fastest of the three and agreed with fp32 as often as the others: see docs/precision.md.
DEFAULT_BLOCK = 128

CHANGEABLE = ("talker_decoder", "talker_codec_head", "predictor_decoder", "predictor_heads")
"""Graphs whose weights may be other than fp32: they are read for every frame. The codec, which loses 43 dB by bf16 and
gains nothing, the encoders and the tables stay."""

PRECISIONS = ("fp32", "bf16", "int8")

Formats = dict[str, WeightFormat]


def parse_formats(words: Iterable[str]) -> tuple[str, Formats]:
    """The name of a mix and the format of each graph that may change, from words of the command line.

    A word is a format for all (`int8`, `int8/64`, `bf16`, `fp32`) or for one graph (`talker_codec_head=fp32`); what is
    said of one graph counts more. Raises `OptionError` for anything else.
    """
    everywhere, own = FP32, Formats()
    for word in words:
        graph, _, text = word.rpartition("=")
        if not graph:
            everywhere = _format(text)
        elif graph in CHANGEABLE:
            own[graph] = _format(text)
        else:
            raise OptionError(f"no precision can be set for graph {graph!r}, expected one of {', '.join(CHANGEABLE)}")
    name = everywhere.precision
    return name, {graph: own.get(graph, everywhere) for graph in CHANGEABLE}


def _format(text: str) -> WeightFormat:
    match = re.fullmatch(r"(fp32|bf16|int8)(?:/(\d+))?", text)
    if not match or (match[2] and match[1] != "int8"):
        raise OptionError(
            f"precision is {text!r}, expected fp32, bf16, int8 or int8/BLOCK, for all or as GRAPH=PRECISION"
        )
    if match[1] != "int8":
        return WeightFormat(match[1])
    block = int(match[2] or DEFAULT_BLOCK)
    if block not in BLOCKS:
        raise OptionError(f"int8 block is {block}, expected one of {', '.join(map(str, BLOCKS))}")
    return WeightFormat("int8", block)
