"""Iteration over wrapped arrays gives what `x[i]` gives, whoever answers that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import ReplacementWarning
from dispatchkit.types import MaskedTensor, QuantityTensor, UncertainTensor

NUMBERS = np.arange(20.0).reshape(10, 2)


def vector(x: Any) -> Any:
    return x[:, 0]


def few(x: Any) -> Any:
    return x[:3]


ARRAYS = {
    "masked": MaskedTensor(NUMBERS, NUMBERS % 4 > 0),
    "quantity": QuantityTensor(NUMBERS, "m"),
    "uncertain": UncertainTensor(NUMBERS, 0.5),
    "uncertain of shared sources": UncertainTensor.from_covariance(NUMBERS, np.diag(np.arange(1.0, 21.0))),
    "masked quantity": QuantityTensor(MaskedTensor(NUMBERS, NUMBERS % 4 > 0), "m"),
    "uncertain masked": MaskedTensor(UncertainTensor(NUMBERS, 0.5), NUMBERS % 4 > 0),
}


@pytest.mark.parametrize("change", [lambda x: x, vector, few], ids=["matrix", "vector", "few"])
@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS)
def test_iteration_gives_the_elements_by_their_indices(x: Any, change: Any) -> None:
    x = change(x)
    by_index = [x[place] for place in range(len(x))]
    rows = list(x)
    assert [repr(row) for row in rows] == [repr(part) for part in by_index]
    for row, part in zip(rows, by_index, strict=True):
        assert type(row) is type(part)
        assert row.shape == part.shape
        if isinstance(row, UncertainTensor):
            assert repr(row - part) == repr(part - part)  # of the same sources


@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS)
def test_what_has_no_axes_cannot_be_iterated_over(x: Any) -> None:
    with pytest.raises(TypeError, match="0-D"):
        iter(x[0, 0])


def test_rows_of_a_masked_array_share_its_memory() -> None:
    x = MaskedTensor(np.arange(4.0).reshape(2, 2))
    list(x)
    for row in x:
        row[0] = 7.0
    assert x.data.tolist() == [[7.0, 1.0], [7.0, 3.0]]


def test_a_rule_in_the_place_of_the_types_own_answers_iteration() -> None:
    x = MaskedTensor(np.arange(3.0))
    list(x)
    with dk.local_registrations():
        with pytest.warns(ReplacementWarning):

            @dk.implements(dk.getitem, MaskedTensor)
            def getitem(x: Any, key: Any, /) -> Any:
                return "mine", key

        assert [x[place] for place in range(3)] == [("mine", 0), ("mine", 1), ("mine", 2)]
        assert list(x) == [("mine", 0), ("mine", 1), ("mine", 2)]
    assert [row.item() for row in x] == [0.0, 1.0, 2.0]


def test_a_subclass_of_a_wrapper_is_iterated_over_by_its_own_rule() -> None:
    class Own(MaskedTensor):
        pass

    x = Own(np.arange(2.0), [True, False])
    list(x)
    assert [type(row) for row in x] == [type(x[place]) for place in range(2)]


def test_a_mode_sees_the_index_of_each_element() -> None:
    seen = []

    class Mode(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            seen.append((func, types))
            return func(*args, **kwargs)

    for x in (MaskedTensor(np.arange(2.0)), dk.asarray([1.0, 2.0])):
        list(x)
        seen.clear()
        with Mode():
            list(x)
        assert seen == [(dk.getitem, (type(x),))] * 2


def test_a_mode_that_is_entered_midway_sees_the_rest() -> None:
    x, seen = dk.asarray([1.0, 2.0, 3.0]), []

    class Mode(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            seen.append(args[1])
            return func(*args, **kwargs)

    rows = iter(x)
    assert next(rows).item() == 1.0
    with Mode():
        next(rows)
    next(rows)
    assert seen == [1]


def test_rows_of_a_subclass_are_of_it_and_know_where_they_come_from() -> None:
    class Noted(dk.Tensor):
        __slots__ = ("sources",)

        def __tensor_finalize__(self, op: Any, sources: tuple[Any, ...]) -> None:
            self.sources = op, sources

    x = Noted([1.0, 2.0])
    list(x)
    for row in x:
        assert type(row) is Noted
        op, sources = row.sources
        assert op is dk.getitem
        assert len(sources) == 1
        assert sources[0] is x
