"""Frozen dataclasses from JSON objects, checked against their type hints, and back."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class RecordError(ValueError):
    """A JSON value is not what its field's type says; the message names the field by its path."""


def read_record(cls: type[T], data: Any, where: str = "") -> T:
    """Builds the dataclass `cls` from a JSON object. Unknown keys are ignored; fields with defaults may be absent.

    Understands int, float, str, bool, None, dict[str, X], tuple[X, ...] and nested dataclasses.
    Raises `RecordError`, naming the field by its path.
    """
    if not isinstance(data, Mapping):
        raise RecordError(f"{where or 'the file'} is {_kind(data)}, expected an object")
    hints = typing.get_type_hints(cls)
    values = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        path = f"{where}.{field.name}" if where else field.name
        if field.name in data:
            values[field.name] = _read(hints[field.name], data[field.name], path)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise RecordError(f"{path} is missing")
    return cls(**values)


def write_record(record: Any) -> dict[str, Any]:
    """The JSON object of a dataclass, fields in their order."""
    return dataclasses.asdict(record)


def _read(hint: Any, value: Any, path: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        (hint,) = (argument for argument in arguments if argument is not type(None))
        return _read(hint, value, path)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return read_record(hint, value, path)
    if origin is dict and isinstance(value, Mapping):
        return {str(key): _read(arguments[1], item, f"{path}.{key}") for key, item in value.items()}
    if origin is tuple and isinstance(value, list):
        return tuple(_read(arguments[0], item, f"{path}[{n}]") for n, item in enumerate(value))
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if hint in (int, str, bool) and type(value) is hint:
        return value
    expected = {dict: "an object", tuple: "a list"}.get(origin, getattr(hint, "__name__", str(hint)))
    raise RecordError(f"{path} is {_kind(value)}, expected {expected}")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", type(None): "null"}
    return names.get(type(value), f"the {type(value).__name__} {value!r}")
