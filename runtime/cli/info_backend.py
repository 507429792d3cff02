"""What `info --backend` tells: the device of every graph, and the layers that are computed on the CPU all the same."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from qwen3_tts_ncnn.runtime.cpu import cpu_options
from qwen3_tts_ncnn.runtime.devices import vulkan_options
from qwen3_tts_ncnn.runtime.graph import layers_on_cpu, net_of
from qwen3_tts_ncnn.runtime.package import Package
from qwen3_tts_ncnn.runtime.placement import TABLES, Placement


def backend_record(package: Package, backend: str) -> dict[str, Any]:
    """For each graph `device`, its index or None for the CPU; on a device `precision` and `cpu_layers`, counts by type.

    ncnn is asked, with the graph's layers and without its weights. Raises as `Placement.of`.
    """
    placement = Placement.of(backend, package.manifest)
    record: dict[str, Any] = {}
    for name in package.manifest.graphs:
        place = placement.place(name)
        record[name] = {"device": None}
        if place is not None:
            option = vulkan_options(cpu_options(1), fp16=place.fp16)
            net = net_of(package.graph_files(name)[0], option, place.device)
            record[name] = {
                "device": place.device.index,
                "precision": "fp16" if place.fp16 else "fp32",
                "cpu_layers": dict(layers_on_cpu(net)),
            }
    return record


def backend_table(record: Mapping[str, Any]) -> Table:
    """The same for people."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("graph", "runs on", "layers on the CPU"):
        table.add_column(title)
    for name, where in record.items():
        if where["device"] is None:
            table.add_row(name, "read as a table" if name in TABLES else "CPU", "")
        else:
            layers = (f"{count} {kind}" for kind, count in where["cpu_layers"].items())
            table.add_row(name, f"device {where['device']}, {where['precision']}", ", ".join(layers) or "none")
    return table
