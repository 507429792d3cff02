"""How the weights of each graph are stored, and the mixes that a user chooses by one name."""

from collections.abc import Iterable

from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.manifest import GraphInfo

BLOCKS = (32, 64, 128)
"""Weights that may share a scale, along a row: what ncnn's block-quantised Gemm takes."""


FP32, BF16 = GraphInfo("fp32"), GraphInfo("bf16")

_ROW = "row"

RECOMMENDED = {
    "talker_decoder": GraphInfo("int8", 128),
    "talker_codec_head": GraphInfo("int8", 128),
    "predictor_decoder": GraphInfo("int8"),
    "predictor_heads": GraphInfo("int8"),
}
"""What `int8` alone means, by measurement: see docs/precision.md.

These are all graphs whose weights may be other than fp32: they are read for every frame. The codec, which loses 43 dB
by bf16 and gains nothing, the encoders and the tables stay."""

Formats = dict[str, GraphInfo]


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


def _format(text: str, graph: str) -> GraphInfo:
    """The format that a word means for a graph."""
    precision, slash, block = text.partition("/")
    if precision not in ("fp32", "bf16", "int8") or (slash and precision != "int8"):
        raise OptionError(
            f"precision is {text!r}, expected fp32, bf16, int8, int8/row or int8/BLOCK, for all or as GRAPH=PRECISION"
        )
    if precision != "int8":
        return GraphInfo(precision)
    if not slash:
        return RECOMMENDED[graph]
    if block == _ROW:
        return GraphInfo("int8")
    if block not in map(str, BLOCKS):
        raise OptionError(f"int8 block is {block or 'missing'}, expected one of {', '.join(map(str, BLOCKS))}, or row")
    return GraphInfo("int8", int(block))
