"""The check of a converted graph passes what is right and fails what is not, by however little."""

import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export import graph_export
from qwen3_tts_ncnn.convert.export.bound import Bound
from qwen3_tts_ncnn.convert.export.check import check_graph, expected_outputs, relative_error, signal_to_noise
from qwen3_tts_ncnn.convert.export.graph_export import export_graph
from qwen3_tts_ncnn.convert.export.pnnx import Exported
from qwen3_tts_ncnn.convert.plans import GraphPlan
from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.mat import Floats

AT_MOST, AT_LEAST = Bound("relative error", 1e-5), Bound("SNR (dB)", 90.0, at_least=True)


def array(*values: float) -> Floats:
    return np.array(values, dtype=np.float32)


def check(plan: GraphPlan, param: Path, weights: Path) -> float:
    examples = [plan.example(length) for length in plan.checked]
    return check_graph(
        plan.name,
        Graph(param, weights, cpu_options(1)),
        examples,
        expected_outputs(plan.build().eval(), examples),
        inputs=plan.inputs,
        outputs=plan.outputs,
        runner=plan.runner,
        bound=plan.bound,
    )


def damaged(package: Path, plan: GraphPlan, folder: Path, place: float, value: float | None) -> tuple[Path, Path]:
    """A copy of a graph's files with one float of the weights changed: set to `value`, or one more than it was."""
    for suffix in ("param", "bin"):
        shutil.copy(package / f"{plan.name}.{suffix}", folder)
    path = folder / f"{plan.name}.bin"
    floats = np.memmap(path, dtype="<f4", mode="r+")
    index = int(place * len(floats))
    floats[index] = floats[index] + 1 if value is None else value
    floats.flush()
    return folder / f"{plan.name}.param", path


@pytest.mark.parametrize("name", ["talker_text_embed", "talker_codec_head", "predictor_decoder", "codec_decoder"])
def test_a_whole_graph_passes_with_what_was_measured(
    plans: dict[str, GraphPlan], tiny_package: Path, name: str
) -> None:
    plan = plans[name]
    measured = check(plan, tiny_package / f"{name}.param", tiny_package / f"{name}.bin")
    assert plan.bound.holds(measured)
    assert math.isfinite(measured)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("talker_text_embed", 0.1),
        ("talker_text_embed", 0.9),
        ("talker_codec_head", 0.5),
        ("predictor_heads", 0.999),
        ("predictor_decoder", 0.01),
        ("predictor_decoder", 0.5),
        ("talker_decoder", 0.75),
        ("codec_decoder", 0.95),
    ],
)
def test_one_weight_that_is_off_by_one_fails(
    plans: dict[str, GraphPlan], tiny_package: Path, tmp_path: Path, name: str, place: float
) -> None:
    plan = plans[name]
    with pytest.raises(ConversionError) as caught:
        check(plan, *damaged(tiny_package, plan, tmp_path, place, None))
    assert str(caught.value).startswith(f"graph {name} does not compute what its torch module does: ")
    assert str(caught.value).endswith("; please report it")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize(
    ("name", "place"), [("talker_codec_head", 0.5), ("predictor_decoder", 0.5), ("codec_decoder", 0.95)]
)
def test_a_weight_that_is_no_number_fails(
    plans: dict[str, GraphPlan], tiny_package: Path, tmp_path: Path, name: str, place: float, value: float
) -> None:
    plan = plans[name]
    with pytest.raises(ConversionError, match=f"^graph {name} does not compute what its torch module does: "):
        check(plan, *damaged(tiny_package, plan, tmp_path, place, value))


def test_a_module_that_gives_nan_fails(plans: dict[str, GraphPlan], tiny_package: Path) -> None:
    plan = plans["talker_codec_head"]
    module = plan.build()
    next(module.parameters()).data[7] = math.nan
    files = (tiny_package / f"{plan.name}.param", tiny_package / f"{plan.name}.bin")
    with pytest.raises(ConversionError, match="relative error nan, expected at most 1e-05"):
        check_graph(
            plan.name,
            Graph(*files, cpu_options(1)),
            [plan.example(5)],
            expected_outputs(module, [plan.example(5)]),
            inputs=plan.inputs,
            outputs=plan.outputs,
            runner=plan.runner,
            bound=plan.bound,
        )


def test_a_graph_that_ncnn_cannot_load_is_a_failed_conversion(
    plans: dict[str, GraphPlan], tiny_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runtime's advice, to convert again, would be none here."""
    plan = plans["talker_codec_head"]

    def half(*_: object) -> Exported:
        text = (tiny_package / f"{plan.name}.param").read_text()
        weights = (tiny_package / f"{plan.name}.bin").read_bytes()
        (tmp_path / "half.bin").write_bytes(weights[: len(weights) // 2])
        as_pnnx_names = re.sub(r"\bhidden\b", "in0", re.sub(r"\blogits\b", "out0", text))
        return Exported(as_pnnx_names, tmp_path / "half.bin")

    monkeypatch.setattr(graph_export, "convert_trace", half)
    with pytest.raises(
        ConversionError, match=r"^graph talker_codec_head cannot be run as it was converted \(ncnn cannot"
    ):
        export_graph(plan, tmp_path)


@pytest.mark.parametrize("bound", [AT_MOST, AT_LEAST])
def test_nan_is_within_no_bound(bound: Bound) -> None:
    assert not bound.holds(math.nan)
    assert math.isnan(bound.worst([0.0, math.nan, 1e9]))
    assert not bound.holds(bound.worst([math.nan]))


def test_a_bound_holds_up_to_its_limit_and_the_worst_is_nearest_to_it() -> None:
    assert [AT_MOST.holds(value) for value in (0.0, 1e-5, 1.1e-5, math.inf)] == [True, True, False, False]
    assert [AT_LEAST.holds(value) for value in (math.inf, 90.0, 89.9, -math.inf)] == [True, True, False, False]
    assert AT_MOST.worst([1.0, 3.0, 2.0]) == 3
    assert AT_LEAST.worst([1.0, 3.0, 2.0]) == 1


def test_relative_error_is_the_largest_difference_over_the_largest_value() -> None:
    assert relative_error(array(1, 2, 4), array(1, 2, 4)) == 0
    assert relative_error(array(1, 2.5, 4), array(1, 2, -5)) == pytest.approx(9 / 5)
    assert relative_error(array(0.25, 0), array(0, 0)) == 0.25
    assert relative_error(array(1, 2), array(1, 2, 3)) == math.inf
    assert relative_error(array(1, math.nan), array(1, 2)) == math.inf
    assert relative_error(array(1, math.inf), array(1, 2)) == math.inf
    assert math.isnan(relative_error(array(1, 2), array(1, math.nan)))
    assert not AT_MOST.holds(relative_error(array(1, 2), array(1, math.inf)))


def test_signal_to_noise_is_in_decibels() -> None:
    assert signal_to_noise(array(1, 1), array(1, 1)) == math.inf
    assert signal_to_noise(array(1.1, 0), array(1, 0)) == pytest.approx(20, abs=1e-4)
    assert signal_to_noise(array(0.5), array(0)) == -math.inf
    assert signal_to_noise(array(1, math.nan), array(1, 1)) == -math.inf
    assert not AT_LEAST.holds(signal_to_noise(array(1, 1), array(1, math.nan)))
    assert signal_to_noise(array(1, 1, 1), array(1, 1)) == -math.inf
    assert signal_to_noise(array(1), array(1, 1)) == -math.inf
