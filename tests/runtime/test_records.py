"""Dataclasses from JSON: what is wrong is named by its path."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from qwen3_tts_ncnn.runtime.records import RecordError, read_record, write_record


@dataclass(frozen=True)
class Leaf:
    name: str
    ratio: float = 0.5


@dataclass(frozen=True)
class Tree:
    count: int
    whole: bool
    leaf: Leaf
    shape: tuple[tuple[int, ...], ...]
    leaves: dict[str, Leaf]
    note: str | None = None
    extra: dict[str, int] = field(default_factory=dict)


TREE = Tree(3, True, Leaf("a", 2.0), ((1, 2), (3,), ()), {"b": Leaf("b")}, "said", {"x": 1})


def as_json(**changes: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(write_record(TREE)))
    return data | changes


def test_a_record_survives_json() -> None:
    assert read_record(Tree, as_json()) == TREE


def test_fields_are_written_in_their_order() -> None:
    assert list(write_record(TREE)) == ["count", "whole", "leaf", "shape", "leaves", "note", "extra"]


def test_unknown_keys_are_ignored_at_every_level() -> None:
    data = as_json(more=[1], leaf={"name": "a", "ratio": 2.0, "colour": "green"})
    assert read_record(Tree, data) == TREE


def test_fields_with_defaults_may_be_absent() -> None:
    data = as_json()
    del data["note"], data["extra"], data["leaf"]["ratio"]
    assert read_record(Tree, data) == Tree(3, True, Leaf("a", 0.5), TREE.shape, TREE.leaves, None, {})


def test_an_optional_field_takes_null_and_no_other_does() -> None:
    assert read_record(Tree, as_json(note=None)).note is None
    with pytest.raises(RecordError, match=r"^count is null, expected int$"):
        read_record(Tree, as_json(count=None))


def test_an_integer_is_a_float_where_one_is_expected() -> None:
    ratio = read_record(Leaf, {"name": "a", "ratio": 2}).ratio
    assert (ratio, type(ratio)) == (2.0, float)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": "3"}, "count is a string, expected int"),
        ({"count": 3.0}, "count is the float 3.0, expected int"),
        ({"count": True}, "count is the bool True, expected int"),
        ({"whole": 1}, "whole is the int 1, expected bool"),
        ({"leaf": []}, "leaf is a list, expected an object"),
        ({"leaf": {}}, "leaf.name is missing"),
        ({"leaf": {"name": 7}}, "leaf.name is the int 7, expected str"),
        ({"leaf": {"name": "a", "ratio": True}}, "leaf.ratio is the bool True, expected float"),
        ({"leaf": {"name": "a", "ratio": "1"}}, "leaf.ratio is a string, expected float"),
        ({"shape": {}}, "shape is an object, expected a list"),
        ({"shape": [[1], 2]}, "shape[1] is the int 2, expected a list"),
        ({"shape": [[1, "2"]]}, "shape[0][1] is a string, expected int"),
        ({"leaves": {"b": None}}, "leaves.b is null, expected an object"),
        ({"leaves": {"b": {"name": None}}}, "leaves.b.name is null, expected str"),
        ({"leaves": []}, "leaves is a list, expected an object"),
        ({"note": 5}, "note is the int 5, expected str"),
        ({"extra": {"x": "y"}}, "extra.x is a string, expected int"),
    ],
)
def test_a_wrong_type_is_named_by_its_path(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError) as caught:
        read_record(Tree, as_json(**changes))
    assert str(caught.value) == message


@pytest.mark.parametrize("key", ["count", "whole", "leaf", "shape", "leaves"])
def test_a_missing_key_is_named(key: str) -> None:
    data = as_json()
    del data[key]
    with pytest.raises(RecordError, match=f"^{key} is missing$"):
        read_record(Tree, data)


def test_what_is_no_object_at_all_is_said_so() -> None:
    with pytest.raises(RecordError, match=r"^the file is a list, expected an object$"):
        read_record(Tree, [1])
