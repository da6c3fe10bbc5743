"""Records of each form of call: each is recorded once, with its arrays, and computes what it does without a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import dispatchkit as dk


class Named(dk.Tensor):
    """Has no rules."""


X, INDEX = dk.ones((2, 2)), dk.tensor([1, 0])
CALLS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "a keyword": (lambda: dk.sum(X, axis=0), ("Tensor",)),
    "a method": (lambda: X.sum(0), ("Tensor",)),
    "a NumPy array": (lambda: dk.sum(np.ones(2), axis=0), ("ndarray",)),
    "a subclass": (lambda: dk.sum(Named([1.0]), axis=0), ("Named",)),
    "an array by name": (lambda: dk.clip(X, max=X), ("Tensor", "Tensor")),
    "several arrays": (lambda: dk.where(X, X, Named([1.0, 2.0])), ("Tensor", "Tensor", "Named")),
    "a sequence": (lambda: dk.concat([X, X], axis=1), ("Tensor", "Tensor")),
    "a sequence of several": (lambda: dk.concat((X, np.ones((1, 2)))), ("Tensor", "ndarray")),
    "any number": (lambda: dk.broadcast_arrays(X, INDEX), ("Tensor", "Tensor")),
    "an integer": (lambda: X[1], ("Tensor",)),
    "slices": (lambda: X[:, None, 1:], ("Tensor",)),
    "an index": (lambda: X[INDEX, 0], ("Tensor", "Tensor")),
    "a list": (lambda: X[[1, 0]], ("Tensor",)),
    "an index of a type": (lambda: X[Named([0.0, 1.0]) > 0], ("Tensor", "Named")),
    "the tensor itself": (lambda: dk.asarray(X), ("Tensor",)),
    "none": (lambda: dk.zeros((2,), dtype=dk.float32), ()),
}


@pytest.mark.parametrize("call", CALLS)
def test_each_form_of_call_is_recorded_once_and_gives_what_it_gives_without(call: str) -> None:
    make, types = CALLS[call]
    with dk.record_calls() as t:
        recorded = make()
    assert t.calls[-1].types == types
    assert [(one.depth, one.name) for one in t.calls[:-1]] == ([(0, "greater")] if call == "an index of a type" else [])
    assert repr(recorded) == repr(make())


def test_a_rule_that_makes_the_same_call_with_keywords_is_recorded_with_it() -> None:
    with dk.local_registrations(), dk.record_calls() as t:

        @dk.implements(dk.sum)
        def sum_named(x: Named, /, *, axis: Any = None) -> Any:
            return dk.sum(X, axis=axis)

        dk.sum(Named([[1.0]]), axis=0)
    assert [(call.depth, call.name, call.types) for call in t.calls] == [
        (0, "sum", ("Named",)),
        (1, "sum", ("Tensor",)),
    ]


def test_a_mode_sees_recorded_calls_with_keywords() -> None:
    class Counting(dk.TensorFunctionMode):
        seen: ClassVar[list[Any]] = []

        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            self.seen.append((func.__name__, kwargs))
            return func(*args, **kwargs)

    with dk.record_calls() as t, Counting():
        dk.sum(X, axis=0)
        X[1]
    assert Counting.seen == [("sum", {"axis": 0}), ("getitem", {})]
    assert [(call.depth, call.name, call.how) for call in t.calls] == [
        *[(0, "sum", "mode"), (1, "sum", "plain")],
        *[(0, "getitem", "mode"), (1, "getitem", "plain")],
    ]
