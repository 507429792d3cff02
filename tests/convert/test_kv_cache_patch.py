"""The KV cache in the text: exactly these lines change, once."""

import pytest

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export.kv_cache import add_kv_cache, cache_names
from qwen3_tts_ncnn.runtime.param import read_param, write_param

PLAIN = """7767517
7 12
Input                    in0                      0 1 q
Input                    in1                      0 1 mask
Split                    splitncnn_0              1 4 q q0 q1 q2 q3
Split                    splitncnn_1              1 2 mask m0 m1
SDPA                     sdpa_0                   4 1 q0 q1 q2 m0 a 5=1
UnaryOp                  neg                      1 2 a b c 0=1
SDPA                     sdpa_1                   4 1 b c q3 m1 out 5=1 6=0.25
"""

CACHED = """7767517
8 20
Input                    in0                      0 1 q
Input                    in1                      0 1 mask
Input                    kv_cache                 0 4 cache_k_in_0 cache_v_in_0 cache_k_in_1 cache_v_in_1
Split                    splitncnn_0              1 4 q q0 q1 q2 q3
Split                    splitncnn_1              1 2 mask m0 m1
SDPA                     sdpa_0                   6 3 q0 q1 q2 m0 cache_k_in_0 cache_v_in_0 a cache_k_out_0 cache_v_out_0 5=1 7=1
UnaryOp                  neg                      1 2 a b c 0=1
SDPA                     sdpa_1                   6 3 b c q3 m1 cache_k_in_1 cache_v_in_1 out cache_k_out_1 cache_v_out_1 5=1 6=0.25 7=1
"""  # noqa: E501


def patched(text: str, layers: int) -> str:
    graph = read_param(text)
    add_kv_cache(graph, layers)
    return write_param(graph)


def test_two_layers_get_one_input_line_and_four_blobs_each() -> None:
    assert write_param(read_param(PLAIN)) == PLAIN
    assert patched(PLAIN, 2) == CACHED


def test_patching_twice_is_an_error_and_not_a_second_patch() -> None:
    graph = read_param(PLAIN)
    add_kv_cache(graph, 2)
    with pytest.raises(ConversionError) as caught:
        add_kv_cache(graph, 2)
    assert str(caught.value) == (
        "SDPA layer sdpa_0 has 6 inputs and 3 outputs: expected 4 and 1, is the KV cache there already?"
    )
    assert write_param(graph) == CACHED


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_another_number_of_layers_is_an_error_and_changes_nothing(layers: int) -> None:
    graph = read_param(PLAIN)
    with pytest.raises(ConversionError) as caught:
        add_kv_cache(graph, layers)
    assert str(caught.value) == f"expected {layers} SDPA layers to give a KV cache, found 2"
    assert write_param(graph) == PLAIN


@pytest.mark.parametrize(
    "other",
    [
        "3 1 b c q3 out 5=1",  # without a mask
        "4 1 b c q3 m1 out 5=1 7=1",  # with a cache that something else gave it
        "4 2 b c q3 m1 out more 5=1",
    ],
)
def test_an_attention_of_another_form_is_an_error_and_changes_nothing(other: str) -> None:
    graph = read_param(PLAIN)
    line = f"SDPA sdpa_1 {other}"
    graph.layers[-1:] = read_param(f"7767517\n1 {line.split()[3]}\n{line}\n").layers
    text = write_param(graph)
    with pytest.raises(ConversionError, match=r"^SDPA layer sdpa_1 has "):
        add_kv_cache(graph, 2)
    assert write_param(graph) == text


def test_names_are_those_the_runtime_feeds() -> None:
    assert cache_names(7) == (("cache_k_in_7", "cache_v_in_7"), ("cache_k_out_7", "cache_v_out_7"))
