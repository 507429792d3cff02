"""`qwen3-tts-ncnn devices`: which GPUs there are."""

from dataclasses import asdict

import click
from rich.table import Table

from qwen3_tts_ncnn.runtime.cli.options import verbose_option
from qwen3_tts_ncnn.runtime.cli.output import console, print_json, size_text, standard_output
from qwen3_tts_ncnn.runtime.devices import find_devices


@click.command(short_help="List the GPUs that --backend can name.")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object on standard output.")
@verbose_option
def devices(as_json: bool, verbose: bool) -> None:
    """List the GPUs that Vulkan reaches, by the index and name that `--backend vulkan:0` takes.

    Exit code 2 where there is none. The type "cpu" is a driver that computes on the processor, for tests.

    \b
    Example:
      qwen3-tts-ncnn devices
    """
    found = find_devices(verbose=verbose)
    if as_json:
        print_json({"devices": [asdict(device) for device in found]})
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("index", "name", "type", "memory", "fp16", "int8"):
        table.add_column(title, justify="right" if title == "memory" else "left")
    for device in found:
        able = [{True: "yes", False: "no", None: "unknown"}[value] for value in (device.fp16, device.int8)]
        table.add_row(str(device.index), device.name, device.type, size_text(device.memory), *able)
    with standard_output():
        console().print(table)
