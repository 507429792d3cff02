"""`qwen3-tts-ncnn verify`: is every file of a package as it was converted?"""

from pathlib import Path

import click

from qwen3_tts_ncnn.runtime.cli.output import print_json, print_line
from qwen3_tts_ncnn.runtime.cli.progress import working
from qwen3_tts_ncnn.runtime.package import Package


@click.command(short_help="Check every file of a package.")
@click.argument("package", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON object on standard output.")
def verify(package: Path, as_json: bool) -> None:
    """Compare size and sha256 of every file of PACKAGE with its manifest. Exit code 2 at the first that differs.

    \b
    Example:
      qwen3-tts-ncnn verify models/tiny
    """
    opened = Package.open(package)
    with working(f"reading {len(opened.manifest.files)} files"):
        count = opened.verify()
    if as_json:
        print_json({"package": str(package), "name": opened.manifest.name, "files": count, "as_converted": True})
    else:
        print_line(f"all {count} files are as converted")
