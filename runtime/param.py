"""ncnn's param text as data: read it, change it, write it.

The format (https://github.com/Tencent/ncnn/wiki/param-and-model-file-structure): a magic number, a line with the counts
of layers and blobs, then a line for each layer: type, name, input count, output count, input blobs, output blobs, and
`id=value` pairs. A value is an integer, a float (it has a point or an exponent), a quoted string (shape expressions),
or an array, whose id is written as −23300 − id and whose values follow their count.
"""

import math
import re
from dataclasses import dataclass, field

from qwen3_tts_ncnn.runtime.errors import FormatError

MAGIC = "7767517"
_ARRAY = -23300
_PAIR = re.compile(r'(-?\d+)=("[^"]*"|[^"\s]+)')

Scalar = int | float | str
Value = Scalar | list[int] | list[float]


@dataclass
class Layer:
    """One line of the file."""

    type: str
    name: str
    inputs: list[str]
    outputs: list[str]
    params: dict[int, Value] = field(default_factory=dict)


@dataclass
class ParamGraph:
    """A param file: layers in the order in which ncnn runs them."""

    layers: list[Layer]

    @property
    def blobs(self) -> list[str]:
        """Every blob, in the order of its producer."""
        return [blob for layer in self.layers for blob in layer.outputs]

    def of_type(self, type: str) -> list[Layer]:
        """The layers of one type, in order."""
        return [layer for layer in self.layers if layer.type == type]

    def rename_blobs(self, names: dict[str, str]) -> None:
        """Renames blobs everywhere. Raises `FormatError` when one does not exist or a new name is taken."""
        blobs, targets = set(self.blobs), list(names.values())
        taken = (blobs - names.keys()) | {name for name in targets if targets.count(name) > 1}
        missing, clashing = names.keys() - blobs, taken.intersection(targets)
        if missing or clashing:
            raise FormatError(f"cannot rename blobs: missing {sorted(missing)}, already there {sorted(clashing)}")
        for layer in self.layers:
            layer.inputs = [names.get(blob, blob) for blob in layer.inputs]
            layer.outputs = [names.get(blob, blob) for blob in layer.outputs]


def read_param(text: str) -> ParamGraph:
    """Parses param text. Raises `FormatError` on anything that is not whole and consistent."""
    lines = text.splitlines()
    if len(lines) < 2 or lines[0].strip() != MAGIC:
        raise FormatError(f"not an ncnn param file: it must begin with {MAGIC}")
    layers = [_read_layer(line) for line in lines[2:] if line.strip()]
    graph = ParamGraph(layers)
    if lines[1].split() != [str(len(graph.layers)), str(len(graph.blobs))]:
        raise FormatError(
            f"param file is cut short: its second line promises {lines[1].strip()} layers and blobs, "
            f"it has {len(graph.layers)} and {len(graph.blobs)}"
        )
    return graph


def write_param(graph: ParamGraph) -> str:
    """The text of a graph, counts included."""
    lines = [MAGIC, f"{len(graph.layers)} {len(graph.blobs)}"]
    for layer in graph.layers:
        head = f"{layer.type:<24} {layer.name:<24} {len(layer.inputs)} {len(layer.outputs)}"
        pairs = [_write_pair(id, value) for id, value in layer.params.items()]
        lines.append(" ".join([head, *layer.inputs, *layer.outputs, *pairs]))
    return "\n".join(lines) + "\n"


def _read_layer(line: str) -> Layer:
    fields = line.split()
    try:
        inputs, outputs = int(fields[2]), int(fields[3])
    except (IndexError, ValueError):
        raise FormatError(f"not a layer line of an ncnn param file: {line!r}") from None
    blobs = fields[4 : 4 + inputs + outputs]
    rest = " ".join(fields[4 + inputs + outputs :])
    if len(blobs) != inputs + outputs or _PAIR.sub("", rest).strip() or any("=" in blob for blob in blobs):
        raise FormatError(f"not a layer line of an ncnn param file: {line!r}")
    params = dict(_read_pair(int(id), value) for id, value in _PAIR.findall(rest))
    return Layer(fields[0], fields[1], blobs[:inputs], blobs[inputs:], params)


def _read_pair(id: int, text: str) -> tuple[int, Value]:
    if id > _ARRAY:
        return id, _read_scalar(text)
    count, *items = text.split(",")
    values = [_read_scalar(item) for item in items]
    if count != str(len(values)) or any(isinstance(value, str) for value in values):
        raise FormatError(f"array {id}={text} of an ncnn param file does not hold what its count says")
    return _ARRAY - id, values  # type: ignore[return-value]  # no strings among them: checked above


def _read_scalar(text: str) -> Scalar:
    if text.startswith('"'):
        return text.strip('"')
    try:
        return float(text) if re.search(r"[.eEnN]", text) else int(text)
    except ValueError:
        raise FormatError(f"value {text!r} of an ncnn param file is neither a number nor a quoted string") from None


def _write_pair(id: int, value: Value) -> str:
    if isinstance(value, list):
        return ",".join([f"{_ARRAY - id}={len(value)}", *(_write_scalar(item) for item in value)])
    return f"{id}={_write_scalar(value)}"


def _write_scalar(value: Scalar) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        text = repr(value)
        return text if math.isnan(value) or math.isinf(value) or re.search(r"[.e]", text) else f"{text}.0"
    return str(value)
