"""Who wraps whom does not depend on the order of wrapping, and a type of your own can join."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.types import MaskedTensor, NamedTensor, QuantityTensor, ScalarTensor
from dispatchkit.types.levels import Wrapper, between, level

DATA, VALID = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[True, False, True], [True, True, False]])
WRAP: dict[str, Any] = {
    "names": lambda x: NamedTensor(x, ("time", "place")),
    "unit": lambda x: QuantityTensor(x, "km"),
    "mask": lambda x: MaskedTensor(x, VALID),
}


def layers(x: Any) -> list[str]:
    return [type(x).__name__, *layers(x.data)] if isinstance(x, Wrapper) else [type(x).__name__]


def wrapped(order: tuple[str, ...]) -> Any:
    x: Any = dk.asarray(DATA)
    for name in order:
        x = WRAP[name](x)
    return x


ORDERS = [order for count in (1, 2, 3) for order in itertools.permutations(WRAP, count)]


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_wrapping_does_not_matter(order: tuple[str, ...]) -> None:
    expected = [
        {"names": "NamedTensor", "unit": "QuantityTensor", "mask": "MaskedTensor"}[n] for n in WRAP if n in order
    ]
    assert layers(wrapped(order)) == [*expected, "Tensor"]


STEPS: dict[str, Any] = {
    "double": lambda x: x + x,
    "square": lambda x: x * x,
    "root": dk.sqrt,
    "mean": lambda x: dk.mean(x, axis=-1, keepdims=True) + x,
    "largest": lambda x: dk.maximum(x, dk.mean(x)),
    "part": lambda x: x[:1] + x,
    "sorted": lambda x: dk.sort(x, axis=1),
    "running": lambda x: dk.cumulative_sum(x, axis=0),
    "ratio": lambda x: x * (x / x),
    "clone": dk.clone,
}


def leaves(x: Any) -> tuple[Any, ...]:
    """Return the innermost array, what is valid, the unit and the names of an array."""
    valid, unit, names = None, None, None
    while isinstance(x, Wrapper):
        valid, unit, names = getattr(x, "valid", valid), getattr(x, "unit", unit), getattr(x, "names", names)
        x = x.data
    valid = np.ones(x.shape, dtype=bool) if valid is None else valid.numpy()
    return np.where(valid, x.numpy(), 0.0), valid, unit, names


@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6), st.permutations(sorted(WRAP)))
def test_an_expression_gives_the_same_in_every_order_of_wrapping(steps: list[str], order: list[str]) -> None:
    one, other = wrapped(tuple(order)), wrapped(tuple(sorted(WRAP)))
    for step in steps:
        one, other = STEPS[step](one), STEPS[step](other)
    assert layers(one) == layers(other) == ["NamedTensor", "QuantityTensor", "MaskedTensor", "Tensor"]
    for found, expected in zip(leaves(one), leaves(other), strict=True):
        np.testing.assert_equal(found, expected)


@pytest.mark.parametrize("order", [order for order in ORDERS if len(order) == 2])
def test_arrays_of_two_types_meet_in_either_order(order: tuple[str, ...]) -> None:
    one, other = WRAP[order[0]](DATA), WRAP[order[1]](DATA)
    if "unit" in order:
        found, swapped = one * other, other * one
    else:
        found, swapped = one + other, other + one
    assert layers(found) == layers(swapped)
    for left, right in zip(leaves(found), leaves(swapped), strict=True):
        np.testing.assert_equal(left, right)


def test_gradients_go_through_all_levels() -> None:
    x = wrapped(("mask", "unit", "names"))
    found = dk.func.grad(lambda x: (x * x).sum())(x)
    assert layers(found) == layers(x)
    assert found.data.unit == dk.types.Unit("km")
    np.testing.assert_allclose(found.data.data.data.numpy(), 2 * DATA * VALID)


def test_a_structured_matrix_is_inside_of_every_level() -> None:
    x = NamedTensor(QuantityTensor(ScalarTensor(2, 3.0), "m"), ("row", "column"))
    assert layers(dk.linalg.inv(x)) == ["NamedTensor", "QuantityTensor", "ScalarTensor"]
    assert dk.linalg.inv(x).names == ("column", "row")


def test_a_type_of_your_own_takes_its_place() -> None:
    with dk.local_registrations():

        @dk.array_type(fallback=dk.fallback.rewrap, priority=between("names", "unit"))
        class Dated(Wrapper):
            def __init__(self, data: Any, date: str) -> None:
                self.data, self.date = data, date

        for made in (QuantityTensor(Dated(dk.asarray(DATA), "May"), "m"), Dated(QuantityTensor(DATA, "m"), "May")):
            assert layers(made) == ["Dated", "QuantityTensor", "Tensor"]
            assert layers(made + made) == layers(made)
        named: Any = Dated(NamedTensor(DATA, ("a", "b")), "May")
        assert layers(named.sum("a")) == ["NamedTensor", "Dated", "Tensor"]


def test_there_is_no_other_level() -> None:
    with pytest.raises(
        ValueError, match=r"^level: there are the levels 'metadata', 'names', 'unit', 'mask', 'uncertainty'"
    ):
        level("colour")


@dk.array_type(fallback=dk.fallback.dense, dense="plainly")
class Plainly:
    """A type whose dense form has another name than `to_dense`."""

    def __init__(self, data: Any) -> None:
        self.data = dk.asarray(data)

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)

    def plainly(self) -> Any:
        return self.data


AROUND: dict[str, Any] = {
    "metadata": lambda x: dk.types.MetadataTensor(x, {"k": 1}),
    "names": lambda x: NamedTensor(x, ("a", "b")),
    "unit": lambda x: QuantityTensor(x, ""),
    "Kronecker": lambda x: dk.types.KroneckerTensor(x, [[1.0]]),
    "LoRA": lambda x: dk.types.LoraTensor(x, dk.zeros((2, 1)), dk.zeros((1, 2))),
    "uncertainty": lambda x: dk.types.UncertainTensor(x).value,
}


@pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")
@pytest.mark.parametrize("inside", [Plainly, dk.types.LazyTensor, dk.types.DiagonalTensor])
@pytest.mark.parametrize("name", AROUND)
def test_the_array_inside_becomes_dense_by_the_method_that_its_type_declares(name: str, inside: Any) -> None:
    data = [2.0, 3.0] if inside is dk.types.DiagonalTensor else [[2.0, 0.0], [0.0, 3.0]]
    x = AROUND[name](inside(data))
    np.testing.assert_array_equal(np.asarray(x), [[2.0, 0.0], [0.0, 3.0]])


def test_an_array_inside_without_a_dense_form_says_so() -> None:
    @dk.array_type(fields=("data",))
    class Opaque:
        def __init__(self, data: Any) -> None:
            self.data = dk.asarray(data)

        shape = property(lambda self: self.data.shape)
        dtype = property(lambda self: self.data.dtype)

    with pytest.raises(TypeError, match=r"^Opaque has no dense form; define to_dense\(\)$"):
        NamedTensor(Opaque([1.0]), ("a",)).to_dense()
