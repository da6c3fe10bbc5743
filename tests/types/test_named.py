"""`NamedTensor`: arrays meet by name, and the names of results do not depend on the order of the arguments."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.types import NamedTensor

d: Any = dk  # whose functions take names of axes, which type checkers do not know
x: Any = NamedTensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], ("time", "place"))
weights: Any = NamedTensor([0.5, 2.0], "time")
SIZES = {"time": 2, "place": 3, "run": 4, "kind": 1}


def agree(found: Any, names: tuple[str, ...], values: Any) -> None:
    assert type(found) is NamedTensor
    assert found.names == names
    np.testing.assert_allclose(found.data.numpy(), values)


@st.composite
def arrays(draw: st.DrawFn) -> NamedTensor:
    names = draw(st.lists(st.sampled_from(sorted(SIZES)), unique=True))
    shape = tuple(SIZES[name] for name in names)
    return NamedTensor(
        dk.asarray(np.arange(float(np.prod(shape, dtype=int))).reshape(shape) + draw(st.integers(1, 9))), names
    )


def as_function(array: NamedTensor) -> Callable[[dict[str, int]], float]:
    """Return the elements of an array by named places."""
    return lambda places: float(array.data[tuple(places[name] for name in array.names)])


@given(arrays(), arrays(), st.sampled_from([dk.add, dk.multiply, dk.maximum, dk.hypot]))
def test_meeting_is_commutative_and_by_name(one: NamedTensor, other: NamedTensor, op: Any) -> None:
    found, swapped = op(one, other), op(other, one)
    assert found.names == swapped.names
    assert set(found.names) == {*one.names, *other.names}
    np.testing.assert_array_equal(found.data.numpy(), swapped.data.numpy())
    for place in np.ndindex(*found.shape):
        places = dict(zip(found.names, place, strict=True))
        expected = op(as_function(one)(places), as_function(other)(places))
        assert float(found.data[place]) == pytest.approx(float(expected))


def test_the_order_of_the_array_that_has_all_names_is_kept() -> None:
    assert (weights * x).names == (x * weights).names == ("time", "place")
    assert (x + x.T).names == (x.T + x).names == ("place", "time")
    other = NamedTensor(dk.ones(4), "run")
    assert (x + other).names == (other + x).names == ("place", "run", "time")


RESULTS: dict[str, tuple[Callable[[], Any], tuple[str, ...], Any]] = {
    "sum": (lambda: x.sum("time"), ("place",), [5.0, 7.0, 10.0]),
    "sum of all": (lambda: x.sum(), (), 22.0),
    "several axes": (lambda: d.sum(x, axis=("place", "time")), (), 22.0),
    "kept axes": (lambda: d.max(x, axis="place", keepdims=True), ("time", "place"), [[3.0], [7.0]]),
    "minus the mean": (lambda: 3 * (x - x.mean("place", keepdims=True)), ("time", "place"), [[-3, 0, 3], [-4, -1, 5]]),
    "argmax": (lambda: d.argmax(x, axis="place"), ("time",), [2, 2]),
    "sort": (lambda: d.sort(-x, axis="place"), ("time", "place"), [[-3, -2, -1], [-7, -5, -4]]),
    "cumulative": (lambda: d.cumulative_sum(x, axis="time"), ("time", "place"), [[1, 2, 3], [5, 7, 10]]),
    "softmax": (lambda: d.softmax(x, axis="time").sum("time"), ("place",), [1.0, 1.0, 1.0]),
    "quantile": (lambda: d.quantile(x, 0.5, axis="time"), ("place",), [2.5, 3.5, 5.0]),
    "transposed": (lambda: x.T, ("place", "time"), [[1, 4], [2, 5], [3, 7]]),
    "permuted": (lambda: d.permute_dims(x, ("place", "time")), ("place", "time"), [[1, 4], [2, 5], [3, 7]]),
    "row": (lambda: x[0], ("place",), [1.0, 2.0, 3.0]),
    "column": (lambda: x[..., 1], ("time",), [2.0, 5.0]),
    "part": (lambda: x[:, 1:], ("time", "place"), [[2.0, 3.0], [5.0, 7.0]]),
    "chosen": (lambda: x[np.array([1, 0]), 0], ("time",), [4.0, 1.0]),
    "mask": (lambda: x.at(place=np.array([True, False, True])), ("time", "place"), [[1, 3], [4, 7]]),
    "at": (lambda: x.at(time=1, place=slice(2)), ("place",), [4.0, 5.0]),
    "vector norm": (lambda: d.linalg.vector_norm(weights, axis="time"), (), 4.25**0.5),
    "contraction": (lambda: d.vecdot(x, weights, axis="time"), ("place",), [8.5, 11.0, 15.5]),
    "contraction, swapped": (lambda: d.vecdot(weights, x, axis="time"), ("place",), [8.5, 11.0, 15.5]),
    "product": (lambda: weights @ x, ("place",), [8.5, 11.0, 15.5]),
    "inverse": (
        lambda: dk.linalg.inv(NamedTensor([[2.0, 0.0], [0.0, 4.0]], tuple("rc"))),
        ("c", "r"),
        [[0.5, 0], [0, 0.25]],
    ),
    "concat": (lambda: d.concat([x, x[:1]], axis="time").sum("place"), ("time",), [6.0, 16.0, 6.0]),
    "concat of other orders": (lambda: d.concat([x, x.T], axis="time").sum("time"), ("place",), [10, 14, 20]),
    "plain beside": (lambda: x + np.array([1.0, 2.0, 3.0]), ("time", "place"), [[2, 4, 6], [5, 7, 10]]),
    "where": (lambda: dk.where(weights > 1, x, -x), ("time", "place"), [[-1, -2, -3], [4, 5, 7]]),
    "fft": (lambda: dk.real(d.fft.fft(x, axis="time")), ("time", "place"), [[5, 7, 10], [-3, -3, -4]]),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_names_of_results(name: str) -> None:
    call, names, values = RESULTS[name]
    agree(call(), names, values)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "sizes": (
        lambda: x + NamedTensor(dk.ones(3), "time"),
        ValueError,
        "^add: axis 'time' has 2 elements",
    ),
    "unknown axis": (lambda: x.sum("tim"), ValueError, r"^sum: no axis 'tim'; there are \('time', 'place'\)$"),
    "unknown place": (lambda: x.at(tim=0), ValueError, r"^at: no axis 'tim'"),
    "too few names": (
        lambda: NamedTensor(dk.ones((2, 3)), "time"),
        ValueError,
        "shape \\(2, 3\\) needs 2 different names",
    ),
    "equal names": (lambda: NamedTensor(dk.ones((2, 3)), ("a", "a")), ValueError, "needs 2 different names, not"),
    "no text": (lambda: NamedTensor(dk.ones(2), (1,)), TypeError, "^NamedTensor: names are texts, not 1$"),  # type: ignore[arg-type]
    "named twice": (lambda: NamedTensor(weights, "t"), ValueError, r"the array has the names \('time',\) already"),
    "reshaped": (lambda: x.reshape(6), TypeError, "axes of the result would have no names; compute with x.data"),
    "all shared names": (lambda: x @ x, TypeError, r"'place', the last axis of the first, is not contracted in"),
    "contracted alone": (
        lambda: d.vecdot(x, weights, axis="place"),
        ValueError,
        "^vecdot: axis 'place' is in one array alone",
    ),
    "more axes without names": (lambda: x + np.ones((2, 2, 3)), TypeError, "an array without names, of 3 axes"),
    "stacked": (lambda: dk.stack([x, x]), TypeError, "axes of the result would have no names"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


def test_nothing_is_aligned_by_value_so_that_nothing_is_dropped() -> None:
    assert (weights + NamedTensor([0.1 + 0.2, 0.3], "time")).shape == (2,)


def test_copies_pickles_assignment_and_printing() -> None:
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone(), dk.zeros_like(x) + x):
        agree(made, x.names, x.data.numpy())
    changed: Any = x.clone()
    changed[0] = NamedTensor([7.0, 8.0, 9.0], "place")
    assert changed.data.tolist()[0] == [7.0, 8.0, 9.0]
    assert repr(weights) == "NamedTensor(tensor([0.5000, 2.0000]), ('time',))"
    assert x.sizes == {"time": 2, "place": 3}
    assert float(x.sum()) == 22.0


def test_gradients_have_the_names() -> None:
    agree(dk.func.grad(lambda w: (w * x).sum())(weights), ("time",), [6.0, 16.0])
    trained = NamedTensor(dk.tensor([0.5, 2.0], requires_grad=True), "time")
    operator.mul(trained, x).sum().backward()
    agree(trained.grad, ("time",), [6.0, 16.0])
