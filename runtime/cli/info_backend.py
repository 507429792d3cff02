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
    """For each graph: `device`, its index or None for the CPU, and `cpu_layers`, counts by type of those on a device.

    ncnn is asked, with the graph's layers and without its weights. Raises as `Placement.of`.
    """
    placement = Placement.of(backend, package.manifest)
    record: dict[str, Any] = {}
    for name in package.manifest.graphs:
        device = placement.device(name)
        record[name] = {"device": None}
        if device is not None:
            net = net_of(package.graph_files(name)[0], vulkan_options(cpu_options(1)), device)
            record[name] = {"device": device.index, "cpu_layers": dict(layers_on_cpu(net))}
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
            table.add_row(name, f"device {where['device']}", ", ".join(layers) or "none")
    return table
