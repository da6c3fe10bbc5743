"""What holds of every operation: units and hidden data do not matter, and deviations are those of the Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.types import MaskedTensor, QuantityTensor, UncertainTensor
from dispatchkit.types.levels import list_parts
from tests.declared import OPERATIONS, marks_of

# They count in the unit in which a quantity is: the page of units says so.
IN_THE_PRESENT_UNIT = {"floor", "ceil", "trunc", "round", "ones_like", "empty_like"}
REFUSED = (TypeError, ValueError)


TESTED = [
    pytest.param(entry, id=name.removeprefix("dispatchkit."), marks=marks_of(name))
    for name, entry in OPERATIONS.items()
]


def calls(entry: DeclaredOperation) -> list[tuple[list[Any], dict[str, Any], list[int]]]:
    """Return valid calls of an operation, and at which places arrays of real numbers are."""
    rng = np.random.default_rng(0)
    made = []
    for sample in entry.samples:
        args, kwargs = sample.make(rng)
        places = [i for i, arg in enumerate(args) if isinstance(arg, np.ndarray) and arg.dtype.kind == "f"]
        if places:
            made.append((list(args), kwargs, places))
    return made


def with_arrays(args: list[Any], places: list[int], make: Any) -> list[Any]:
    """Return arguments with `make` made of those at some places."""
    return [make(arg) if place in places else arg for place, arg in enumerate(args)]


def answer(function: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any] | None:
    """Return the arrays that a call gives, None where it is refused."""
    try:
        return list_parts(function(*args, **kwargs))
    except REFUSED:
        return None


@pytest.mark.parametrize("entry", TESTED)
def test_a_result_does_not_depend_on_the_unit_of_an_argument(entry: DeclaredOperation) -> None:
    if entry.function.__name__ in IN_THE_PRESENT_UNIT or dk.kinds.random in entry.kind.lineage():
        return
    for args, kwargs, places in calls(entry):
        for some in [places, *([place] for place in places[1:])]:
            metres = answer(entry.function, with_arrays(args, some, lambda x: QuantityTensor(x, "m")), kwargs)
            others = with_arrays(args, some, lambda x: QuantityTensor(x * 100, "cm"))
            centimetres = answer(entry.function, others, kwargs)
            assert (metres is None) == (centimetres is None)
            for one, other in zip(metres or (), centimetres or (), strict=True):
                assert isinstance(one, QuantityTensor) == isinstance(other, QuantityTensor)
                numbers = (one, other)
                if isinstance(one, QuantityTensor):
                    numbers = (one.magnitude, other.to(one.unit).magnitude)
                np.testing.assert_allclose(np.asarray(numbers[0]), np.asarray(numbers[1]), rtol=1e-6, atol=1e-9)


def parts_of_numbers(x: Any) -> Any:
    """Return real and imaginary parts as one vector."""
    x = dk.asarray(x)
    return dk.concat([dk.reshape(part, (-1,)) for part in (dk.real(x), dk.imag(x))])


def variances_by_jacobian(call: Any, arrays: list[Any], std: list[Any]) -> Any:
    """Return the variances of all numbers that a call gives, of those of its arrays."""
    jacobians: Any = dk.func.jacfwd(call, argnums=tuple(range(len(arrays))))(*map(dk.asarray, arrays))
    total: Any = 0.0
    for jacobian, deviations in zip(jacobians, std, strict=True):
        slopes = np.asarray(jacobian).reshape(len(jacobian), deviations.size)
        total = total + (slopes**2 * deviations.ravel() ** 2).sum(axis=1)
    return total


def check_deviations(function: Any, args: list[Any], kwargs: dict[str, Any], places: list[int]) -> None:
    """Raise if the deviations that a call gives are not those of its Jacobian."""
    rng = np.random.default_rng(1)
    std = [rng.uniform(0.01, 0.1, size=args[place].shape) for place in places]
    each = iter(std)
    found = answer(function, with_arrays(args, places, lambda x: UncertainTensor(x, next(each))), kwargs)
    uncertain = [i for i, part in enumerate(found or ()) if isinstance(part, UncertainTensor)]
    if found is None or not uncertain:
        return

    def call(*arrays: Any) -> Any:
        rest = iter(arrays)
        results = list_parts(function(*with_arrays(args, places, lambda _: next(rest)), **kwargs))
        return dk.concat([parts_of_numbers(results[i]) for i in uncertain])

    factors = [np.asarray(found[i].factor).reshape(len(found[i].factor), found[i].size) for i in uncertain]
    variances = [(part**2).sum(axis=0) for factor in factors for part in (factor.real, factor.imag)]
    expected = variances_by_jacobian(call, [args[place] for place in places], std)
    np.testing.assert_allclose(np.concatenate(variances), expected, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("entry", TESTED)
def test_the_deviations_of_a_result_are_those_of_its_jacobian(entry: DeclaredOperation) -> None:
    for args, kwargs, places in calls(entry):
        check_deviations(entry.function, args, kwargs, places)


def masked_calls(entry: DeclaredOperation) -> list[tuple[list[Any], dict[str, Any], dict[int, Any]]]:
    """Return calls of an operation, and of some arrays of numbers which elements are there, by place."""
    rng = np.random.default_rng(3)
    return [
        (args, kwargs, {place: rng.random(args[place].shape) < 0.6 for place in some})
        for args, kwargs, places in calls(entry)
        for some in [places, *([place] for place in places[1:])]
    ]


def hidden(args: list[Any], there: dict[int, Any], behind: float) -> list[Any]:
    """Return arguments with masked arrays at some places, which hold a number behind what is missing."""
    arrays = {place: MaskedTensor(np.where(there[place], args[place], behind), there[place]) for place in there}
    return [arrays.get(place, arg) for place, arg in enumerate(args)]


def shown(part: Any) -> Any:
    """Return the elements of a result, NaN where they are missing."""
    if isinstance(part, MaskedTensor):
        return np.where(np.asarray(part.valid), np.asarray(part.data), np.nan)
    return np.asarray(part)


@pytest.mark.parametrize("entry", TESTED)
def test_what_is_behind_a_missing_element_has_no_influence(entry: DeclaredOperation) -> None:
    if dk.kinds.random in entry.kind.lineage() or entry.function.__name__ in ("empty_like", "dropout"):
        return
    for args, kwargs, there in masked_calls(entry):
        first, *others = [answer(entry.function, hidden(args, there, x), kwargs) for x in (np.nan, 5.0, -2.0)]
        for other in others:
            assert (first is None) == (other is None)
            for one, another in zip(first or (), other or (), strict=True):
                np.testing.assert_allclose(shown(one), shown(another), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("entry", TESTED)
def test_what_depends_on_a_missing_element_is_missing_and_what_is_only_moved_is_not(entry: DeclaredOperation) -> None:
    moves = entry.kind.family in (dk.kinds.manipulation, dk.kinds.indexing, dk.kinds.assignment, dk.kinds.conversion)
    if entry.kind.family is not dk.kinds.elementwise and not moves:
        return  # sums leave out what is missing
    for args, kwargs, there in masked_calls(entry):
        found = answer(entry.function, hidden(args, there, 0.5), kwargs)
        results = []
        for factor in (1.0, 1.7, 0.3, -1.0):
            moved = [np.where(there[i], x, x * factor + 0.01) if i in there else x for i, x in enumerate(args)]
            with np.errstate(all="ignore"):  # outside of domains, too
                results.append(list(map(np.asarray, list_parts(entry.function(*moved, **kwargs)))))
        for part, *numbers in zip(found or (), *results, strict=False):
            depends = np.any(
                [~np.isclose(numbers[0], other, rtol=0, atol=0, equal_nan=True) for other in numbers], axis=0
            )
            if not isinstance(part, MaskedTensor):
                assert not depends.any()
                continue
            valid = np.asarray(part.valid)
            assert not (valid & depends).any()
            assert not (moves and (~valid & ~depends).any())
