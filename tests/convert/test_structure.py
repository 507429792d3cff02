"""What a converted graph's text must not contain is refused, and the layer named."""

from pathlib import Path

import pytest

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export.graph_export import TRACED
from qwen3_tts_ncnn.convert.export.structure import check_structure
from qwen3_tts_ncnn.runtime.param import read_param
from tests.convert.tiny_checkpoint import REFERENCE

LENGTHS = (13, 19, 26, 38)


def check(line: str) -> None:
    text = f"7767517\n2 2\nInput in0 0 1 x\n{line}\n"
    check_structure(read_param(text), "toy", traced_lengths=LENGTHS)


@pytest.mark.parametrize(
    "kind",
    [
        *("pnnx.Expression", "Tensor.view", "torch.cat", "aten::add", "prim::ListConstruct", "F.pad", "nn.Linear"),
    ],
)
def test_a_foreign_layer_is_named(kind: str) -> None:
    with pytest.raises(ConversionError) as caught:
        check(f"{kind} odd_3 1 1 x y")
    assert str(caught.value) == f"toy: layer odd_3 is of type {kind}, which ncnn does not have"


@pytest.mark.parametrize("params", ["0=64 1=-1 12=1", '6="32,0h" 13=-1', "12=3 13=1"])
def test_a_batch_axis_is_named(params: str) -> None:
    with pytest.raises(ConversionError) as caught:
        check(f"Reshape reshape_9 1 1 x y {params}")
    assert str(caught.value) == "toy: layer reshape_9 makes a batch axis, which cached SDPA refuses"


def test_a_gemm_of_fixed_rows_is_named() -> None:
    with pytest.raises(ConversionError) as caught:
        check("Gemm gemm_2 1 1 x y 10=-1 4=0 5=1 7=11 8=64 9=64")
    assert str(caught.value) == "toy: layer gemm_2 is for 11 rows alone"


@pytest.mark.parametrize(
    ("kind", "params", "length"),
    [
        ("Reshape", "0=64 1=13", 13),
        ("Reshape", '6="32,4,19"', 19),
        ("Reshape", '6="26,0h"', 26),
        ("Crop", "-23309=1,0 -23310=1,38 -23311=1,1", 38),
        ("Slice", "-23300=2,13,-233", 13),
        ("Tile", "2=19", 19),
        ("MemoryData", "0=13 1=13", 13),
    ],
)
def test_a_frozen_length_is_named(kind: str, params: str, length: int) -> None:
    with pytest.raises(ConversionError) as caught:
        check(f"{kind} odd_1 1 1 x y {params}")
    assert str(caught.value) == f"toy: layer odd_1 ({kind}) has the traced length {length} in it"


@pytest.mark.parametrize(
    "line",
    [
        'Reshape r 1 1 x y 6="32,4,0h"',
        "Reshape r 1 1 x y 0=130 1=-1 2=191",
        'Reshape r 1 1 x y 6="13x,0w13"',
        "Reshape r 1 1 x y 0=64 12=0 13=0",
        "Gemm g 1 1 x y 7=0 8=13 9=19",  # widths, which may be anything
        "RMSNorm n 1 1 x y 0=13 1=1e-06",
        "BinaryOp b 1 1 x y 0=2 1=1 2=13.0",
        "Crop c 1 1 x y -23309=1,-13",
    ],
)
def test_what_is_none_of_these_passes(line: str) -> None:
    check(line)


def test_a_real_package_passes(tiny_package: Path) -> None:
    for path in sorted(tiny_package.glob("*.param")):
        check_structure(read_param(path.read_text(encoding="utf-8")), path.stem, traced_lengths=LENGTHS)


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the official configurations are not here")
def test_no_width_of_an_official_checkpoint_looks_like_a_traced_length() -> None:
    """It would be refused as a frozen length."""
    import json
    import re

    rates = (16, 1, 2, 4, 32, 160, 640, 1920)
    traced = {rows * rate for rows in TRACED for rate in rates}
    widths = set()
    for path in REFERENCE.rglob("config.json"):
        for key, value in re.findall(r'"(\w*(?:size|dim|heads|layers|window)\w*)": (\d+)', path.read_text()):
            assert json.loads(value) == int(value), key
            widths.add(int(value))
    assert {1024, 2048, 3072, 6144, 512, 1536, 72} <= widths
    derived = {width // 2**n for width in widths for n in range(5)} | {4 * width for width in widths}
    assert not traced & (widths | derived)
