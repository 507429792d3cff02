"""ncnn's param text: what is written is read back, and what is not one is refused in one line."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen3_tts_ncnn.runtime.errors import FormatError
from qwen3_tts_ncnn.runtime.param import Layer, ParamGraph, Value, read_param, write_param

TEXT = """7767517
3 3
Input                    in0                      0 1 x
Split                    splitncnn_0              1 2 x y z
Reshape                  reshape_0                2 0 y z 0=1 1=-2 2=1e-06 3=-0.5 4="32,4,0h" -23305=3,1,2,-3 -23306=2,0.5,1.0
"""  # noqa: E501


def ascii_text(more: str, *, min_size: int = 0) -> st.SearchStrategy[str]:
    letters = st.characters(codec="ascii", categories=("L", "N"), include_characters=more)
    return st.text(letters, min_size=min_size, max_size=12)


names = ascii_text("._-:/", min_size=1)
expressions = ascii_text(",+-*/()")  # what pnnx writes in quotes: sizes, axes of blobs, arithmetic
integers = st.integers(-(2**31), 2**31 - 1)
floats = st.floats(allow_nan=False, width=32)
arrays = st.one_of(st.lists(integers, max_size=5), st.lists(floats, min_size=1, max_size=5))
parameters = st.dictionaries(st.integers(0, 30), st.one_of(integers, floats, expressions, arrays), max_size=6)


@st.composite
def graphs(draw: st.DrawFn) -> ParamGraph:
    """Layers that take blobs of layers before them."""
    layers: list[Layer] = []
    free = iter(draw(st.lists(names, min_size=18, max_size=18, unique=True)))
    for _ in range(draw(st.integers(0, 6))):
        blobs = ParamGraph(layers).blobs
        inputs = draw(st.lists(st.sampled_from(blobs), max_size=3)) if blobs else []
        outputs = [next(free) for _ in range(draw(st.integers(0, 3)))]
        layers.append(Layer(draw(names), draw(names), inputs, outputs, draw(parameters)))
    return ParamGraph(layers)


def kinds(graph: ParamGraph) -> list[list[object]]:
    """The type of every value: 1 == 1.0 in Python, and not in ncnn."""
    return [
        [[type(item) for item in value] if isinstance(value, list) else type(value) for value in layer.params.values()]
        for layer in graph.layers
    ]


@given(graphs())
def test_what_is_written_is_read_back(graph: ParamGraph) -> None:
    text = write_param(graph)
    read = read_param(text)
    assert read == graph
    assert kinds(read) == kinds(graph)
    assert write_param(read) == text


def test_each_kind_of_value_is_read() -> None:
    graph = read_param(TEXT)
    assert graph.layers == [
        Layer("Input", "in0", [], ["x"]),
        Layer("Split", "splitncnn_0", ["x"], ["y", "z"]),
        Layer(
            "Reshape",
            "reshape_0",
            ["y", "z"],
            [],
            {0: 1, 1: -2, 2: 1e-06, 3: -0.5, 4: "32,4,0h", 5: [1, 2, -3], 6: [0.5, 1.0]},
        ),
    ]
    assert graph.blobs == ["x", "y", "z"]
    assert [layer.name for layer in graph.of_type("Split")] == ["splitncnn_0"]
    assert graph.of_type("SDPA") == []


def test_values_are_written_as_ncnn_tells_them_apart() -> None:
    params: dict[int, Value] = {0: 3, 1: 3.0, 2: 1e-06, 3: "4,0h", 4: [1, 2], 5: [1.0, 0.5], 6: [], 7: -1, 8: 1e20}
    line = write_param(ParamGraph([Layer("T", "n", [], [], params)])).splitlines()[2]
    assert line.split()[4:] == [
        *("0=3", "1=3.0", "2=1e-06", '3="4,0h"', "-23304=2,1,2", "-23305=2,1.0,0.5", "-23306=0", "7=-1", "8=1e+20"),
    ]


def test_numbers_that_are_none_survive() -> None:
    text = write_param(ParamGraph([Layer("T", "n", [], [], {0: math.nan, 1: math.inf, 2: -math.inf})]))
    values = read_param(text).layers[0].params
    assert math.isnan(float(values[0]))  # type: ignore[arg-type]
    assert (values[1], values[2]) == (math.inf, -math.inf)


def test_the_texts_of_a_real_package_survive(tiny_package: Path) -> None:
    paths = sorted(tiny_package.glob("*.param"))
    assert len(paths) == 9
    for path in paths:
        text = path.read_text(encoding="utf-8")
        graph = read_param(text)
        assert write_param(graph) == text
        assert read_param(write_param(graph)) == graph


def test_blobs_are_renamed_everywhere() -> None:
    graph = read_param(TEXT)
    graph.rename_blobs({"x": "hidden", "z": "out"})
    assert [(layer.inputs, layer.outputs) for layer in graph.layers] == [
        ([], ["hidden"]),
        (["hidden"], ["y", "out"]),
        (["y", "out"], []),
    ]


def test_blobs_may_change_names_with_each_other() -> None:
    graph = read_param(TEXT)
    graph.rename_blobs({"y": "z", "z": "y"})
    assert graph.blobs == ["x", "z", "y"]


@pytest.mark.parametrize(
    ("rename", "said"),
    [
        ({"w": "v"}, "missing ['w'], already there []"),
        ({"x": "z"}, "missing [], already there ['z']"),
        ({"x": "v", "y": "v"}, "missing [], already there ['v']"),
    ],
)
def test_a_rename_that_cannot_be_is_refused_and_changes_nothing(rename: dict[str, str], said: str) -> None:
    graph = read_param(TEXT)
    with pytest.raises(FormatError) as caught:
        graph.rename_blobs(rename)
    assert str(caught.value) == f"cannot rename blobs: {said}"
    assert graph == read_param(TEXT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7767517",
        "7767518\n0 0\n",
        TEXT.replace("7767517\n", ""),
        TEXT.replace("3 3", "3 4"),
        TEXT.replace("3 3", "4 3"),
        TEXT.replace("3 3", "3"),
        TEXT.replace("3 3", "three 3"),
        TEXT.replace("3 3", ""),
        TEXT.rsplit("\n", 2)[0] + "\n",
        TEXT.replace("1 2 x y z", "1 2 x y"),
        TEXT.replace("1 2 x y z", "1 x x y z"),
        TEXT.replace("1 2 x y z", "-1 3 y z"),
        TEXT.replace("1 2 x y z", ""),
        TEXT.replace("0=1", "0="),
        TEXT.replace("0=1", "zero=1"),
        TEXT.replace("0=1", "0=one"),
        TEXT.replace("0=1", "surplus 0=1"),
        TEXT.replace('"32,4,0h"', '"32,4,0h'),
        TEXT.replace("-23305=3,1,2,-3", "-23305=4,1,2,-3"),
        TEXT.replace("-23305=3,1,2,-3", "-23305=x,1,2,-3"),
        TEXT.replace("-23305=3,1,2,-3", "-23305=3,1,two,-3"),
        TEXT.replace("-23305=3,1,2,-3", "-23305=3,1,2,"),
        TEXT.replace("-23305=3,1,2,-3", "-23305="),
    ],
)
def test_what_is_not_whole_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_param(text)
    assert "param file" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_text_that_is_cut_short_says_what_it_promised() -> None:
    with pytest.raises(FormatError) as caught:
        read_param("\n".join(TEXT.splitlines()[:4]))
    assert str(caught.value) == (
        "param file is cut short: its second line promises 3 3 layers and blobs, it has 2 and 3"
    )
