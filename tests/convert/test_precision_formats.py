"""The words of --precision: what they mean, and that nothing else is taken."""

import pytest

from qwen3_tts_ncnn.convert.precision.formats import BF16, BLOCKS, FP32, RECOMMENDED, parse_formats
from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.manifest import GraphInfo

GRAPHS = "talker_decoder, talker_codec_head, predictor_decoder, predictor_heads"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("fp32", FP32),
        ("bf16", BF16),
        ("int8/32", GraphInfo("int8", 32)),
        ("int8/64", GraphInfo("int8", 64)),
        ("int8/128", GraphInfo("int8", 128)),
        ("int8/row", GraphInfo("int8", None)),
    ],
)
def test_a_word_is_the_format_of_every_graph_that_may_change(word: str, expected: GraphInfo) -> None:
    assert parse_formats([word]) == (word.partition("/")[0], dict.fromkeys(RECOMMENDED, expected))


def test_int8_alone_is_what_is_recommended_for_each_graph() -> None:
    assert parse_formats(["int8"]) == ("int8", RECOMMENDED)
    assert list(RECOMMENDED) == GRAPHS.split(", ")
    for weights in RECOMMENDED.values():
        assert weights in (FP32, BF16, *(GraphInfo("int8", block) for block in (None, *BLOCKS)))


def test_a_mix_may_be_changed_without_the_recommendation() -> None:
    before = dict(RECOMMENDED)
    parse_formats(["int8"])[1]["predictor_heads"] = FP32
    assert before == RECOMMENDED


def test_what_is_said_of_one_graph_counts_more_wherever_it_is_said() -> None:
    mixed = {
        "talker_decoder": RECOMMENDED["talker_decoder"],
        "talker_codec_head": BF16,
        "predictor_decoder": GraphInfo("int8"),
        "predictor_heads": FP32,
    }
    words = ["predictor_heads=fp32", "talker_codec_head=bf16", "predictor_decoder=int8/row"]
    assert parse_formats([*words, "int8"]) == parse_formats(["int8", *words]) == ("int8", mixed)


def test_what_is_not_said_stays_fp32() -> None:
    assert parse_formats([]) == ("fp32", dict.fromkeys(RECOMMENDED, FP32))
    only = dict.fromkeys(RECOMMENDED, FP32) | {"predictor_heads": RECOMMENDED["predictor_heads"]}
    assert parse_formats(["predictor_heads=int8"])[1] == only


def test_a_format_is_written_as_it_is_read() -> None:
    for word in ("fp32", "bf16", "int8/32", "int8/64", "int8/128", "int8/row"):
        assert [str(weights) for weights in parse_formats([word])[1].values()] == [word] * 4


@pytest.mark.parametrize("word", ["int4", "INT8", "", "bf16/32", "fp32/128", "bf16/row", "fp32/", " int8"])
def test_a_precision_that_there_is_not(word: str) -> None:
    line = f"precision is {word!r}, expected fp32, bf16, int8, int8/row or int8/BLOCK, for all or as GRAPH=PRECISION"
    for given in (word, f"predictor_heads={word}"):
        with pytest.raises(OptionError) as caught:
            parse_formats([given])
        assert str(caught.value) == line


@pytest.mark.parametrize("block", ["0", "1", "16", "48", "256", "-32", "Row", "rows", "32/2"])
def test_a_block_that_ncnn_does_not_take(block: str) -> None:
    for given in (f"int8/{block}", f"predictor_heads=int8/{block}"):
        with pytest.raises(OptionError) as caught:
            parse_formats([given])
        assert str(caught.value) == f"int8 block is {block}, expected one of 32, 64, 128, or row"


@pytest.mark.parametrize("graph", ["codec_decoder", "talker", "mimi_encoder", "a=b"])
def test_a_graph_whose_precision_stays(graph: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_formats([f"{graph}=int8"])
    assert str(caught.value) == f"no precision can be set for graph {graph!r}, expected one of {GRAPHS}"
