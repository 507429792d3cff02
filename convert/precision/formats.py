"""How the weights of each graph are stored, and the mixes that a user chooses by one name."""

from collections.abc import Iterable
from dataclasses import dataclass

from qwen3_tts_ncnn.runtime.errors import OptionError

BLOCKS = (32, 64, 128)
"""Weights that may share a scale, along a row: what ncnn's block-quantised Gemm takes."""


@dataclass(frozen=True)
class WeightFormat:
    """fp32, bf16 or int8. int8 weights of a row share a scale by blocks of `block`, or all of them do (None)."""

    precision: str
    block: int | None = None

    def __str__(self) -> str:
        if self.precision != "int8":
            return self.precision
        return f"int8/{_ROW if self.block is None else self.block}"


FP32, BF16 = WeightFormat("fp32"), WeightFormat("bf16")

_ROW = "row"

RECOMMENDED = {
    "talker_decoder": WeightFormat("int8", 128),
    "talker_codec_head": WeightFormat("int8", 128),
    "predictor_decoder": WeightFormat("int8"),
    "predictor_heads": WeightFormat("int8"),
}
"""What `int8` alone means, by measurement: see docs/precision.md.

These are all graphs whose weights may be other than fp32: they are read for every frame. The codec, which loses 43 dB
by bf16 and gains nothing, the encoders and the tables stay."""

Formats = dict[str, WeightFormat]


def parse_formats(words: Iterable[str]) -> tuple[str, Formats]:
    """The name of a mix and the format of each graph that may change, from words of the command line.

    A word is a format for all (`int8`, `int8/64`, `int8/row`, `bf16`, `fp32`) or for one graph
    (`talker_codec_head=fp32`); what is said of one graph counts more. `int8` alone is what is recommended.
    Raises `OptionError` for anything else.
    """
    name, formats, own = FP32.precision, dict.fromkeys(RECOMMENDED, FP32), Formats()
    for word in words:
        graph, _, text = word.rpartition("=")
        if not graph:
            formats = {each: _format(text, each) for each in RECOMMENDED}
            name = text.partition("/")[0]
        elif graph in RECOMMENDED:
            own[graph] = _format(text, graph)
        else:
            raise OptionError(f"no precision can be set for graph {graph!r}, expected one of {', '.join(RECOMMENDED)}")
    return name, formats | own


def _format(text: str, graph: str) -> WeightFormat:
    """The format that a word means for a graph."""
    precision, slash, block = text.partition("/")
    if precision not in ("fp32", "bf16", "int8") or (slash and precision != "int8"):
        raise OptionError(
            f"precision is {text!r}, expected fp32, bf16, int8, int8/row or int8/BLOCK, for all or as GRAPH=PRECISION"
        )
    if precision != "int8":
        return WeightFormat(precision)
    if not slash:
        return RECOMMENDED[graph]
    if block == _ROW:
        return WeightFormat("int8")
    if block not in map(str, BLOCKS):
        raise OptionError(f"int8 block is {block or 'missing'}, expected one of {', '.join(map(str, BLOCKS))}, or row")
    return WeightFormat("int8", int(block))
