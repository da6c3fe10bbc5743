"""The walker of containers: leaves, their paths, and containers made anew without calling constructors."""

from __future__ import annotations

import collections
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from dispatchkit.tree import (
    container_items,
    leaves,
    leaves_with_paths,
    map_leaves,
    place,
    rebuilt,
    sequence_items,
    with_attributes,
    with_members,
)


class Pair(NamedTuple):
    left: Any
    right: Any


class Checked(NamedTuple("Checked", [("low", int), ("high", int)])):
    """A named tuple whose constructor is called in another way."""

    __slots__ = ()

    def __new__(cls, middle: int) -> Checked:
        return super().__new__(cls, middle - 1, middle + 1)


class Tagged(list[Any]):
    """A list whose constructor takes something else."""

    def __init__(self, tag: str, count: int) -> None:
        super().__init__(range(count))
        self.tag = tag


class Frozen(Mapping[str, int]):
    def __init__(self, **parts: int) -> None:
        self._parts = parts

    def __getitem__(self, key: str) -> int:
        return self._parts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


class Point:
    """An object whose constructor takes something else, and that forbids assignment."""

    x: Any
    y: Any

    def __init__(self, text: str) -> None:
        for name, part in zip("xy", text.split(), strict=True):
            object.__setattr__(self, name, part)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(name)


NESTED = {"w": [1, (2, Pair(3, None))], "b": 4}


def test_leaves_come_in_order_and_none_is_one() -> None:
    assert list(leaves(container_items, NESTED)) == [1, 2, 3, None, 4]


def test_a_value_without_parts_is_a_leaf_at_the_empty_path() -> None:
    assert list(leaves_with_paths(container_items, 5)) == [((), 5)]
    assert list(leaves_with_paths(container_items, [])) == []


def test_paths_are_written_as_one_would_index() -> None:
    paths = [place(path) for path, _ in leaves_with_paths(container_items, NESTED)]
    assert paths == ["['w'][0]", "['w'][1][0]", "['w'][1][1][0]", "['w'][1][1][1]", "['b']"]


def test_a_path_begins_with_the_keys_given() -> None:
    assert list(leaves_with_paths(sequence_items, [7], ("weight",))) == [(("weight", 0), 7)]


def test_sequences_alone_leave_mappings_whole() -> None:
    assert list(leaves(sequence_items, [{"a": 1}, (2,)])) == [{"a": 1}, 2]


def test_mapping_leaves_keeps_every_class() -> None:
    made = map_leaves(container_items, lambda leaf: leaf if leaf is None else 10 * leaf, NESTED)
    assert made == {"w": [10, (20, Pair(30, None))], "b": 40}
    assert type(made["w"][1][1]) is Pair


def test_a_container_without_change_is_a_copy_unless_shared() -> None:
    same = map_leaves(container_items, lambda leaf: leaf, NESTED)
    assert same == NESTED
    assert same is not NESTED
    assert same["w"] is not NESTED["w"]
    assert map_leaves(container_items, lambda leaf: leaf, NESTED, share=True) is NESTED


def test_of_a_shared_container_only_what_changes_is_made_anew() -> None:
    value = [[1, 2], [3]]
    made = map_leaves(sequence_items, lambda leaf: 0 if leaf == 3 else leaf, value, share=True)
    assert made == [[1, 2], [0]]
    assert made[0] is value[0]


def test_the_caller_says_what_is_looked_into() -> None:
    def items(value: Any) -> Any:
        return [("x", value.x)] if isinstance(value, Point) else sequence_items(value)

    point = Point("left 2")
    made = map_leaves(items, str.upper, [point])[0]
    assert (made.x, made.y, point.x) == ("LEFT", "2", "left")


def test_no_constructor_is_called() -> None:
    assert with_members(Checked(5), [1, 2]) == (1, 2)
    assert type(with_members(Checked(5), [1, 2])) is Checked
    tagged = with_members(Tagged("a", 2), [7, 8, 9])
    assert (type(tagged), tagged, tagged.tag) == (Tagged, [7, 8, 9], "a")
    assert vars(with_attributes(Point("1 2"), [("y", 3)])) == {"x": "1", "y": 3}


def test_a_structure_of_c_code_is_made_by_its_class() -> None:
    moment = time.gmtime(0)
    assert with_members(moment, list(moment)) == moment
    assert type(with_members(moment, list(moment))) is time.struct_time


def test_a_dictionary_keeps_its_default_and_its_order() -> None:
    value = collections.defaultdict(int, b=1, a=2)
    made = rebuilt(value, [("b", 3), ("a", 4)])
    assert list(made.items()) == [("b", 3), ("a", 4)]
    assert made.default_factory is int


def test_a_mapping_that_cannot_change_becomes_a_dictionary() -> None:
    assert rebuilt(Frozen(a=1, b=2), [("a", 3)]) == {"a": 3, "b": 2}


@pytest.mark.parametrize("value", [[], (), {}, Tagged("a", 0)])
def test_empty_containers_are_rebuilt_empty(value: Any) -> None:
    made = rebuilt(value, [])
    assert made == value
    assert type(made) is type(value)


def test_members_of_a_named_tuple_can_be_named() -> None:
    assert with_attributes(Pair(1, 2), [("right", 5)]) == Pair(1, 5)
    assert rebuilt(Pair(1, 2), [("right", 5)]) == Pair(1, 5)
