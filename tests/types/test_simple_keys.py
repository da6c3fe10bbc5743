"""Indexing by integers, slices and one array goes past the walk over arguments, with the result that the walk gives."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import UnitError
from dispatchkit.types import MaskedTensor, MetadataTensor, QuantityTensor, UncertainTensor
from dispatchkit.types.levels import is_simple_key
from dispatchkit.types.masked.array import move_masked
from dispatchkit.types.metadata import carry_metadata
from dispatchkit.types.uncertain import covariance, propagate
from dispatchkit.types.units.quantity import compute_on_quantities
from tests.protocol.support import steps_of

NUMBERS = np.arange(24.0).reshape(4, 6)
ROWS = np.asarray([3, 0, 0])
SINGLE = UncertainTensor(NUMBERS, 0.1 * NUMBERS)
ARRAYS: dict[str, Callable[[], Any]] = {
    "unit": lambda: QuantityTensor(NUMBERS, "m"),
    "mask": lambda: MaskedTensor(NUMBERS, NUMBERS % 5 > 0),
    "metadata": lambda: MetadataTensor(NUMBERS, {"run": 7}),
    "own errors": lambda: copy.copy(SINGLE),
    "common errors": lambda: dk.cumulative_sum(SINGLE, axis=1),
    "unit, mask and errors": lambda: QuantityTensor(MaskedTensor(SINGLE, NUMBERS % 5 > 0), "m"),
}
KEYS = {
    "an integer": 1,
    "a slice": slice(None, None, 2),
    "a tuple": (1, slice(3, None)),
    "the end": (..., -1),
    "a new axis": (None, 2),
    "nothing": (),
    "an element": (1, 2),
    "rows": ROWS,
    "tensor": dk.asarray(ROWS),
    "a mask": NUMBERS > 10,
    "mask of rows": dk.asarray(NUMBERS[:, 1] > 6),
}


# What indexes by the walk over arguments, whatever the key.
WALKS = {
    QuantityTensor: compute_on_quantities,
    MaskedTensor: move_masked,
    MetadataTensor: carry_metadata,
    UncertainTensor: propagate,
}


def same(x: Any, y: Any) -> bool:
    if isinstance(x, QuantityTensor):
        return x.unit is y.unit and same(x.data, y.data)
    if isinstance(x, MaskedTensor):
        return bool(dk.all(x.valid == y.valid)) and same(x.data, y.data)
    if isinstance(x, MetadataTensor):
        return x.metadata == y.metadata and same(x.data, y.data)
    if isinstance(x, UncertainTensor):
        mine, right = (np.asarray(covariance(dk.reshape(each, (-1,)))) for each in (x, y))
        apart = np.asarray((x - y).std)  # nothing where both depend on the same
        return bool(np.allclose(mine, right) and np.allclose(apart, 0.0)) and same(x.data, y.data)
    return x.shape == y.shape and bool(dk.all(x == y))


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("key", KEYS)
def test_the_result_is_that_of_the_walk(name: str, key: str) -> None:
    x = ARRAYS[name]()
    found = x[KEYS[key]]
    assert type(found) is type(x)
    assert found.shape == NUMBERS[np.asarray(KEYS[key]) if key in ("tensor", "mask of rows") else KEYS[key]].shape
    assert same(found, WALKS[type(x)](dk.getitem, x, KEYS[key]))


def test_a_slice_is_a_view_and_an_array_gives_a_copy() -> None:
    q = QuantityTensor(NUMBERS.copy(), "m")
    q[1:][0, 0] = QuantityTensor(-1.0, "m")
    assert q.data[1, 0].item() == -1.0
    q[ROWS][0, 0] = QuantityTensor(-2.0, "m")
    assert -2.0 not in np.asarray(q.data)


def test_metadata_of_a_part_are_its_own() -> None:
    x = ARRAYS["metadata"]()
    x[0].metadata["run"] = 8
    assert x.metadata == {"run": 7}


def test_what_is_assigned_in_another_unit_is_converted() -> None:
    q = QuantityTensor(NUMBERS.copy(), "m")
    q[0, 0], q[1] = QuantityTensor(1.0, "km"), QuantityTensor(2.0, "m")
    assert (q.data[0, 0].item(), q.data[1, 3].item()) == (1000.0, 2.0)
    with pytest.raises(UnitError, match="setitem: 's' and 'm' measure different things"):
        q[0] = QuantityTensor(1.0, "s")


def test_gradients_flow_through_a_part_with_its_unit() -> None:
    q = QuantityTensor(dk.tensor(NUMBERS, requires_grad=True), "m")
    (q[1:3, 0] * 2.0).sum().data.backward()
    assert np.asarray(q.data.grad).sum() == 4.0
    assert dk.func.grad(lambda q: q[0, 1] * q[0, 2])(QuantityTensor(NUMBERS, "m")).unit == dk.types.Unit("m")


def test_keys_with_other_arrays_than_one_are_walked_over() -> None:
    assert all(map(is_simple_key, KEYS.values()))
    assert not is_simple_key((ROWS, 1))
    assert not is_simple_key(QuantityTensor(ROWS, "m"))
    assert not is_simple_key([0, 1])


ARRAYS_IN_KEYS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda array: array(ROWS),
    "a mask": lambda array: array(NUMBERS > 10),
    "a tuple of one": lambda array: (array(ROWS),),
    "a slice and places": lambda array: (slice(1, 3), array(ROWS)),
    "an integer and places": lambda array: (1, array(ROWS)),
    "two arrays": lambda array: (array(ROWS), array(ROWS[::-1])),
    "no axes": lambda array: array(np.asarray(2)),
}


class OwnUnits(QuantityTensor):
    """A subclass, which the short ways leave to the walk."""


@pytest.mark.parametrize("name", [*ARRAYS, "a subclass"])
@pytest.mark.parametrize("key", ARRAYS_IN_KEYS)
def test_an_array_of_numpy_in_an_index_counts_as_the_tensor_of_it(name: str, key: str) -> None:
    makes: dict[str, Any] = {**ARRAYS, "a subclass": lambda: OwnUnits(NUMBERS.copy(), "m")}
    x, raw, wrapped = makes[name](), ARRAYS_IN_KEYS[key](np.asarray), ARRAYS_IN_KEYS[key](dk.asarray)
    assert same(x[raw], x[wrapped])
    if "errors" in name:
        return
    y = copy.deepcopy(x)
    x[raw], y[wrapped] = x[0, 0], y[0, 0]
    assert same(x, y)


def test_a_rule_of_a_users_own_is_given_a_tensor_for_an_array_in_an_index() -> None:
    with dk.local_registrations():
        dk.implements(dk.getitem, OwnUnits)(lambda x, key: type(key).__name__)
        found: Any = OwnUnits(NUMBERS, "m")[ROWS]
    assert found == "Tensor"


@pytest.mark.parametrize("key", [1, slice(None, None, 2), (0, slice(None)), ROWS], ids=repr)
def test_few_steps_lie_between_a_quantity_and_its_elements(key: Any) -> None:
    x, v = ARRAYS["unit"](), QuantityTensor(1.0, "m")
    for _ in range(2):
        x[key], x[key] = v, x[key]
    assert steps_of(lambda: x[key]) < (70 if key is ROWS else 50)
    assert steps_of(lambda: dk.setitem(x, key, v)) < 140


@pytest.mark.parametrize("key", [9, slice(None, None, 0), (0, 0, 0), (..., ...), (1, 6)], ids=repr)
@pytest.mark.parametrize("name", ["unit", "mask", "metadata", "own errors"])
def test_an_index_that_does_not_fit_raises_as_for_plain_arrays(name: str, key: Any) -> None:
    x = ARRAYS[name]()
    for _ in range(2):
        with pytest.raises((IndexError, ValueError)) as plain:
            x.data[key]
        with pytest.raises(plain.type) as found:
            x[key]
        assert str(found.value) == str(plain.value)


@pytest.mark.parametrize("name", ["unit", "mask", "own errors"])
def test_what_selects_in_the_place_of_a_rule_leaves_subclasses_and_rules_of_others_alone(name: str) -> None:
    x = ARRAYS[name]()
    cls = type(x)
    own = type("Own", (cls,), {})
    part: Any = object.__new__(own)
    part.__dict__.update(vars(x))
    for _ in range(2):
        assert same(x[1, 2:], part[1, 2:])
        assert [row.shape for row in x] == [row.shape for row in part] == [(6,)] * 4
    with dk.local_registrations():
        dk.implements(dk.getitem, own)(lambda x, key: "of the subclass")
        assert part[1] == "of the subclass"
        assert list(part) == ["of the subclass"] * 4
        assert type(x[1]) is cls


def test_a_part_is_a_view_that_its_family_knows() -> None:
    q = QuantityTensor(NUMBERS.copy(), "m")
    for key in (1, (1, 2), (slice(None), 0), ...):
        part = q[key]
        before = part.data._version
        q.data[...] = 7.0
        assert part.data._version == before + 1
        assert part.data.shape == NUMBERS[key].shape
        assert dk.all(part.data == 7.0)
    leaf: Any = dk.tensor(NUMBERS, requires_grad=True)
    part = QuantityTensor(leaf, "m")[1, 2]
    part.data.backward()
    assert leaf.grad.sum().item() == 1.0
    with Asked() as mode:
        q[1]
    assert mode.asked == 1


class Bare(dk.Tensor):
    """A subclass with nothing of its own."""


@pytest.mark.parametrize(
    ("change", "most"),
    [(lambda x: x[1], 36), (lambda x: x[1, 2], 36), (lambda x: x[ROWS], 42), (list, 102)],
    ids=["row", "element", "places", "rows"],
)
def test_a_view_of_a_subclass_with_nothing_to_take_over_takes_few_steps(change: Any, most: int) -> None:
    x = Bare(NUMBERS)
    change(x)
    assert steps_of(lambda: change(x)) < most


class Named(dk.Tensor):
    """A subclass whose instances may have attributes."""


class Noted(dk.Tensor):
    """A subclass that says by itself what its results take over."""

    def __tensor_finalize__(self, op: Any, sources: tuple[Any, ...]) -> None:
        self.made_by = op.__name__


class Slotted(dk.Tensor):
    """A subclass with a place of its own."""

    __slots__ = ("place",)


def test_parts_of_a_subclass_take_over_what_there_is() -> None:
    x: Any
    noted: Any
    slotted: Any
    x, noted, slotted = Named(NUMBERS), Noted(NUMBERS), Slotted(NUMBERS)
    assert not hasattr(x[1], "name")
    x.name, slotted.place = "a", "b"
    for key in (1, slice(1), (1, 2), ROWS, dk.asarray(ROWS), [0, 1]):
        assert x[key].name == "a"
        assert noted[key].made_by == "getitem"
        assert slotted[key].place == "b"
    assert [row.name for row in x] == ["a"] * len(NUMBERS)
    assert [row.made_by for row in noted] == ["getitem"] * len(NUMBERS)
    assert [row.place for row in slotted] == ["b"] * len(NUMBERS)


def test_rows_take_over_what_a_loop_over_them_sets() -> None:
    x: Any = Named(NUMBERS)
    names = []
    for row in x:
        names.append(getattr(row, "name", None))
        x.name = f"row {len(names)}"
    assert names == [None, "row 1", "row 2", "row 3"]


@pytest.mark.filterwarnings("ignore::dispatchkit.errors.ReplacementWarning")
@pytest.mark.parametrize(
    "make", [Bare, lambda x: QuantityTensor(x, "m"), MaskedTensor], ids=["subclass", "unit", "mask"]
)
def test_rules_and_modes_that_come_later_are_asked_for_parts(make: Any) -> None:
    x = make(NUMBERS)
    keys = (1, slice(None, None, 2), (1, 2), (slice(None), 0), ROWS)
    for key in keys:
        assert type(x[key]) is type(x)
    with dk.local_registrations():
        dk.implements(dk.getitem, type(x), dk.Tensor)(lambda x, key: "by keys")
        dk.implements(dk.getitem, type(x))(lambda x, key: "by type")
        dk.implements(dk.setitem, type(x))(lambda x, key, value: written.append(key))
        written: list[Any] = []
        found = [x[key] for key in keys]  # by an integer, too, which counts as an array
        assert found == ["by keys", "by type", "by keys", "by keys", "by keys"]
        for key in keys:
            x[key] = 1.0
        assert written[:4] == list(keys[:4])
        assert len(written) == len(keys)
    with Asked() as mode:
        for key in keys:
            x[key]
    assert mode.asked == len(keys)


class Asked(dk.TensorFunctionMode):
    """Counts the calls of `getitem` from outside."""

    asked = 0

    def __tensor_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.asked += func is dk.getitem
        return func(*args, **(kwargs or {}))


def test_an_element_is_read_and_written_by_turns_in_few_steps() -> None:
    x = dk.asarray(NUMBERS.copy())

    def turn() -> None:
        x[0] = x[1]

    turn()
    assert steps_of(turn) < 130
    assert x[0].tolist() == NUMBERS[1].tolist()
