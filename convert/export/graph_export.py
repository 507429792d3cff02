"""One plan to one checked pair of `.param` and `.bin`."""

import gc
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from qwen3_tts_ncnn.convert.errors import ConversionError
from qwen3_tts_ncnn.convert.export.check import check_graph, expected_outputs
from qwen3_tts_ncnn.convert.export.kv_cache import add_kv_cache
from qwen3_tts_ncnn.convert.export.pnnx import convert_trace, trace
from qwen3_tts_ncnn.convert.export.structure import check_structure
from qwen3_tts_ncnn.runtime.cpu import cpu_options, thread_count
from qwen3_tts_ncnn.runtime.errors import PackageError
from qwen3_tts_ncnn.runtime.graph import Graph
from qwen3_tts_ncnn.runtime.param import ParamGraph, read_param, write_param

if TYPE_CHECKING:
    from qwen3_tts_ncnn.convert.plans import GraphPlan

# Rows (or frames) of the two traces: primes that no width of the model shares, so that a length that was frozen into
# the text is seen there.
TRACED = (13, 19)


def export_graph(plan: "GraphPlan", package: Path) -> float:
    """Traces, converts, patches, checks, and writes `<name>.param` and `<name>.bin`; returns the worst value measured.

    pnnx's intermediate files lie beside the package while it runs. Raises `ConversionError`.
    """
    examples = [plan.example(length) for length in plan.checked]
    with tempfile.TemporaryDirectory(prefix=".pnnx-", dir=package) as folder:
        module = plan.build().eval()
        expected = expected_outputs(module, examples)
        traced = trace(module, plan.example(TRACED[0]), Path(folder))
        # Gone before pnnx takes twice the weights' size: together they would not fit where either does. Tracing leaves
        # the module in a cycle, so that dropping the name alone frees nothing (torch 2.13).
        del module
        gc.collect()
        exported = convert_trace(traced, plan.example(TRACED[0]), plan.example(TRACED[1]))
        graph = finish_text(plan, exported.param)
        param, weights = package / f"{plan.name}.param", package / f"{plan.name}.bin"
        param.write_text(write_param(graph), encoding="utf-8", newline="\n")
        shutil.move(exported.bin, weights)
    try:
        return check_graph(
            plan.name,
            Graph(param, weights, cpu_options(thread_count(None))),
            examples,
            expected,
            inputs=plan.inputs,
            outputs=plan.outputs,
            runner=plan.runner,
            bound=plan.bound,
        )
    except PackageError as error:  # whose advice, to convert again, would be no help here
        raise ConversionError(
            f"graph {plan.name} cannot be run as it was converted ({error}); please report it"
        ) from None


def finish_text(plan: "GraphPlan", text: str) -> ParamGraph:
    """pnnx's text with its blobs named, its KV cache in place, and its structure checked."""
    graph = read_param(text)
    names = {f"in{n}": name for n, name in enumerate(plan.inputs)}
    names |= {f"out{n}": name for n, name in enumerate(plan.outputs)}
    graph.rename_blobs(names)
    check_structure(graph, plan.name, traced_lengths=[rows * rate for rows in TRACED for rate in plan.rates])
    if plan.cached_layers:
        add_kv_cache(graph, plan.cached_layers)
    return graph
