"""`NamedTensor`: arrays meet by name, and the axes of results come in the order of appearance."""

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
from dispatchkit.types import MetadataTensor, NamedTensor

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
def test_meeting_is_commutative_up_to_the_order_of_axes_and_by_name(
    one: NamedTensor, other: NamedTensor, op: Any
) -> None:
    found, swapped = op(one, other), op(other, one)
    assert set(found.names) == set(swapped.names) == {*one.names, *other.names}
    np.testing.assert_array_equal(found.data.numpy(), swapped.aligned(found.names).numpy())
    for place in np.ndindex(*found.shape):
        places = dict(zip(found.names, place, strict=True))
        expected = op(as_function(one)(places), as_function(other)(places))
        assert float(found.data[place]) == pytest.approx(float(expected))


def test_the_order_of_the_array_that_has_all_names_is_kept_and_else_that_of_appearance() -> None:
    assert (weights * x).names == (x * weights).names == ("time", "place")
    assert (x + x.T).names == ("time", "place")
    assert (x.T + x).names == ("place", "time")
    other = NamedTensor(dk.ones(4), "run")
    assert (x + other).names == ("time", "place", "run")
    assert (other + x).names == ("run", "time", "place")


@pytest.mark.parametrize("new", ["a", "q", "z"])
def test_a_product_has_its_axes_where_plain_arrays_have_them_whatever_their_names(new: str) -> None:
    left, right = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [5.0, 1.0]])
    first, second = NamedTensor(left, ("t", "p")), NamedTensor(right, ("p", new))
    products = [
        first @ second,
        np.matmul(first, second),
        np.dot(first, second),
        dk.mm(first, second),
        d.tensordot(first, second, axes=1),
        d.tensordot(first, second, axes=(["p"], ["p"])),
        np.tensordot(first, second, axes=([1], [0])),
        np.inner(first, second.T),
        d.einsum("ij,jk->ik", first, second),
        np.einsum("ij,jk", first, second),
    ]
    for product in products:
        agree(product, ("t", new), [[11.0, 2.0], [23.0, 4.0]])
    agree((first @ second).sum(axis=0), (new,), [34.0, 6.0])
    agree(d.vecdot(first, second.T, axis="p"), ("t", new), [[11.0, 2.0], [23.0, 4.0]])
    agree(d.linalg.outer(first[0], second[1]), ("p", new), [[5.0, 1.0], [10.0, 2.0]])
    agree(np.outer(first[:, 0], second[1]), ("t", new), [[5.0, 1.0], [15.0, 3.0]])


def test_batches_of_products_come_first_as_those_of_plain_arrays_do() -> None:
    first = NamedTensor(np.ones((2, 3)), ("t", "p"))
    second = NamedTensor(np.arange(60.0).reshape(5, 3, 4), ("z", "p", "a"))
    agree(first @ second, ("z", "t", "a"), np.ones((2, 3)) @ second.data.numpy())
    agree(first[0] @ second, ("z", "a"), np.ones(3) @ second.data.numpy())
    agree(first @ np.array([1.0, 2.0, 3.0]), ("t",), [6.0, 6.0])
    agree(np.array([1.0, 2.0]) @ first, ("p",), [3.0, 3.0, 3.0])


def test_a_complex_contraction_takes_the_conjugate_of_the_first() -> None:
    z = NamedTensor(np.array([1.0 + 2.0j, 3.0j]), "t")
    agree(d.vecdot(z, z), (), 14.0 + 0.0j)


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
    "concat of other orders": (lambda: d.concat([x, x.T], axis="time"), ("time", "place"), [[1, 2, 3], [4, 5, 7]] * 2),
    "stacked under a new name": (lambda: d.stack([x, x.T], axis="run")[1], ("time", "place"), [[1, 2, 3], [4, 5, 7]]),
    "stacked by NumPy": (lambda: np.stack([weights, weights], axis="run"), ("run", "time"), [[0.5, 2.0]] * 2),  # type: ignore[call-overload]
    "a new axis": (lambda: d.expand_dims(weights, axis="run"), ("run", "time"), [[0.5, 2.0]]),
    "several new axes": (lambda: d.expand_dims(weights, axis=("a", "b")), ("a", "b", "time"), [[[0.5, 2.0]]]),
    "unsqueezed": (lambda: weights.unsqueeze("run"), ("run", "time"), [[0.5, 2.0]]),
    "expanded": (lambda: x[:1].expand(2, 3), ("time", "place"), [[1, 2, 3], [1, 2, 3]]),
    "broadcast": (lambda: d.broadcast_to(x[:1], (2, 3)), ("time", "place"), [[1, 2, 3], [1, 2, 3]]),
    "reshaped to the same": (lambda: x.reshape(2, -1), ("time", "place"), [[1, 2, 3], [4, 5, 7]]),
    "joined axes": (lambda: x.ravel(), ("(time place)",), [1, 2, 3, 4, 5, 7]),
    "some joined axes": (
        lambda: d.flatten(NamedTensor(np.ones((2, 3, 2)), tuple("abc")), "b", "c"), ("a", "(b c)"), np.ones((2, 6))
    ),
    "transposed by NumPy": (lambda: np.transpose(x), ("place", "time"), [[1, 4], [2, 5], [3, 7]]),
    "transposed by NumPy, by name": (
        lambda: np.transpose(x, ("place", "time")), ("place", "time"), [[1, 4], [2, 5], [3, 7]]  # type: ignore[arg-type]
    ),
    "swapped": (lambda: np.swapaxes(x, 0, 1), ("place", "time"), [[1, 4], [2, 5], [3, 7]]),
    "swapped by name": (lambda: x.swapaxes("time", "place"), ("place", "time"), [[1, 4], [2, 5], [3, 7]]),
    "transposed as in PyTorch": (lambda: x.transpose(0, 1), ("place", "time"), [[1, 4], [2, 5], [3, 7]]),
    "moved": (lambda: np.moveaxis(x, 0, -1), ("place", "time"), [[1, 4], [2, 5], [3, 7]]),
    "moved by name": (lambda: d.moveaxis(x, "place", 0), ("place", "time"), [[1, 4], [2, 5], [3, 7]]),
    "rolled axis": (lambda: np.rollaxis(x, 1), ("place", "time"), [[1, 4], [2, 5], [3, 7]]),
    "rotated": (lambda: np.rot90(x), ("place", "time"), [[3, 7], [2, 5], [1, 4]]),
    "split": (lambda: np.split(x, 3, axis=1)[2], ("time", "place"), [[3], [7]]),
    "split by name": (lambda: d.split(x, [1], axis="place")[1], ("time", "place"), [[2, 3], [5, 7]]),
    "chunked": (lambda: d.chunk(x, 2, axis="time")[1], ("time", "place"), [[4, 5, 7]]),
    "gradient": (lambda: np.gradient(x)[1], ("time", "place"), [[1, 1, 1], [1, 1.5, 2]]),
    "median of what is not nan": (lambda: np.nanmedian(x), (), 3.5),
    "median along an axis": (lambda: np.nanmedian(x, axis=0), ("place",), [2.5, 3.5, 5.0]),
    "largest": (lambda: d.topk(x, 2, "place").values, ("time", "place"), [[3, 2], [7, 5]]),
    "list": (lambda: x[[1, 0]], ("time", "place"), [[4, 5, 7], [1, 2, 3]]),
    "list of booleans": (lambda: x[:, [True, False, True]], ("time", "place"), [[1, 3], [4, 7]]),
    "empty list": (lambda: x[:, []], ("time", "place"), np.ones((2, 0))),
    "at a list": (lambda: x.at(place=[0, 2]), ("time", "place"), [[1, 3], [4, 7]]),
    "at two lists": (lambda: x.at(place=[2, 0], time=[True, False]), ("time", "place"), [[3, 1]]),
    "at a list and a number": (lambda: x.at(time=1, place=[2, 0]), ("place",), [7, 4]),
    "named indices": (lambda: x[NamedTensor([1, 1, 0], "draw")], ("draw", "place"), [[4, 5, 7], [4, 5, 7], [1, 2, 3]]),
    "named indices of two axes": (lambda: weights[NamedTensor([[1], [0]], tuple("ab"))], ("a", "b"), [[2.0], [0.5]]),
    "points": (lambda: x[NamedTensor([0, 1], "point"), NamedTensor([2, 0], "point")], ("point",), [3, 4]),
    "mask of all axes": (lambda: x[x > 3], ("(time place)",), [4, 5, 7]),
    "taken": (lambda: np.take(x, [2, 0], axis=1), ("time", "place"), [[3, 1], [7, 4]]),
    "taken once": (lambda: np.take(x, 2, axis=1), ("time",), [3, 7]),
    "along an axis": (
        lambda: np.take_along_axis(x, np.argsort(-x, axis=1), axis=1), ("time", "place"), [[3, 2, 1], [7, 5, 4]]
    ),
    "repeated": (lambda: np.repeat(weights, 2, axis=0), ("time",), [0.5, 0.5, 2, 2]),
    "tiled": (lambda: np.tile(x, (1, 2)), ("time", "place"), [[1, 2, 3] * 2, [4, 5, 7] * 2]),
    "interpolated": (lambda: np.interp(weights, [0.0, 1.0], [0.0, 10.0]), ("time",), [5, 10]),
    "trace": (lambda: np.trace(NamedTensor([[1.0, 2.0], [3.0, 5.0]], tuple("rc"))), (), 6),
    "norm": (lambda: np.linalg.norm(x[:, :2], axis=0), ("place",), [17**0.5, 29**0.5]),
    "system": (
        lambda: d.linalg.solve(NamedTensor([[2.0, 0.0], [0.0, 4.0]], tuple("rc")), NamedTensor([2.0, 2.0], "r")),
        ("c",),
        [1, 0.5],
    ),
    "several quantiles": (
        lambda: d.quantile(x, NamedTensor([0.0, 1.0], "q"), axis="place"), ("q", "time"), [[1, 4], [3, 7]]
    ),
    "weighted average": (
        lambda: np.average(x, axis=0, weights=NamedTensor([1.0, 3.0], "time")), ("place",), [3.25, 4.25, 6]
    ),
    "filled": (lambda: d.masked_fill(x, weights > 1, 0.0), ("time", "place"), [[1, 2, 3], [0, 0, 0]]),
    "renamed": (lambda: x.rename(time="t") @ x.T, ("t", "time"), [[14, 35], [35, 90]]),
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
    "a list of other names": (
        lambda: NamedTensor([weights, weights], ("time", "other")),
        ValueError,
        r"^NamedTensor: the arrays of a list have the names after the first, \('other',\); found \('time',\)$",
    ),
    "named twice": (lambda: NamedTensor(weights, "t"), ValueError, r"the array has the names \('time',\) already"),
    "reshaped": (lambda: x.reshape(6), TypeError, "axes of the result would have no names; compute with x.data"),
    "all shared names": (lambda: x @ x, TypeError, r"'place', the last axis of the first, is not contracted in"),
    "contracted alone": (
        lambda: d.vecdot(x, weights, axis="place"),
        ValueError,
        "^vecdot: axis 'place' is in one array alone",
    ),
    "more axes without names": (lambda: x + np.ones((2, 2, 3)), TypeError, "an array without names, of 3 axes"),
    "stacked": (lambda: dk.stack([x, x]), TypeError, "axes of the result would have no names: a new axis needs a name"),
    "stacked along an axis": (
        lambda: d.stack([x, x], axis="time"),
        ValueError,
        "^stack: there is an axis 'time' already",
    ),
    "concatenated along none": (
        lambda: d.concat([x, x], axis="run"),
        ValueError,
        "^concat: no axis 'run'; .* stack makes a new one$",
    ),
    "a new axis": (lambda: x[None], TypeError, "a new axis has no name: expand_dims"),
    "a new axis by number": (lambda: d.expand_dims(x, axis=0), TypeError, "a new axis needs a name: give it by axis"),
    "a new axis of an old name": (
        lambda: d.expand_dims(x, axis="time"),
        ValueError,
        "^expand_dims: there is an axis 'time' already",
    ),
    "more axes": (lambda: d.broadcast_to(x, (4, 2, 3)), TypeError, "a new axis needs a name"),
    "an index of two axes": (lambda: x[[[0, 1]]], TypeError, "an index of several axes needs names"),
    "two vectors": (lambda: x[[0, 1], [0, 1]], TypeError, "the axis of several vectors has no name"),
    "a mask of another axis": (
        lambda: x[weights > 1, weights > 1],
        TypeError,
        r"a mask with axes \('time',\) chooses none",
    ),
    "a Gram matrix": (lambda: x @ x.T, TypeError, "both have an axis 'time' besides 'place': vecdot"),
    "inner product with itself": (lambda: np.inner(x, x), TypeError, "axes of the result would have one name"),
    "a label of two axes": (
        lambda: d.einsum("ij,ij->i", x, x.T),
        TypeError,
        "'i' is the axis 'time' of one array and 'place'",
    ),
    "contracted with another": (
        lambda: d.tensordot(x, x.T, axes=([0], [0])),
        TypeError,
        "axis 'time' is contracted with 'place'",
    ),
    "several quantiles": (lambda: np.quantile(x, [0.1, 0.2]), TypeError, "the axis of several quantiles has no name"),
    "renamed to another": (lambda: x.rename(time="place"), ValueError, "needs 2 different names"),
    "renamed what is none": (lambda: x.rename(tim="t"), ValueError, r"^rename: no axis 'tim'; there are"),
    "not from xarray": (lambda: NamedTensor.from_xarray(3), TypeError, "array must be an xarray.DataArray, not a int$"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


def test_a_refusal_does_not_advise_rules_for_a_type_of_the_library() -> None:
    with pytest.raises(dk.NoImplementationError) as caught:
        x.reshape(6)
    assert "implements(" not in str(caught.value)
    assert str(caught.value).endswith(
        "what to do instead:\n  what the reasons above say, or compute with plain arrays; the rules of NamedTensor are "
        "dispatchkit's own"
    )


def test_names_follow_vectors_that_a_slice_parts_to_the_front() -> None:
    y = NamedTensor(np.arange(24.0).reshape(2, 3, 4), ("a", "b", "c"))
    agree(y[0, :, np.array([0, 3])], ("c", "b"), y.data.numpy()[0, :, np.array([0, 3])])
    agree(y[:, 0, np.array([0, 3])], ("a", "c"), y.data.numpy()[:, 0, np.array([0, 3])])


def test_assignment_by_masks_and_lists_aligns_by_name() -> None:
    changed = x.clone()
    changed[changed > 3] = 0.0
    changed[:, [0, 1]] = NamedTensor([10.0, 20.0], "time")
    agree(changed, x.names, [[10, 10, 3], [20, 20, 0]])
    agree(d.index_put(x, ([1],), NamedTensor([1.0, 2.0, 3.0], "place")), x.names, [[1, 2, 3], [1, 2, 3]])


def test_gradients_flow_through_moved_and_chosen_axes() -> None:
    found = dk.func.grad(lambda v: (np.swapaxes(v, 0, 1)[[0, 2]] @ weights).sum())(x)
    agree(found, x.names, [[0.5, 0.0, 0.5], [2.0, 0.0, 2.0]])
    agree(dk.func.grad(lambda v: np.nanmedian(v))(x[:, :2]), x.names, [[0.0, 0.5], [0.5, 0.0]])


def test_einops_keeps_names_where_it_moves_axes_alone() -> None:
    einops = pytest.importorskip("einops")
    agree(einops.rearrange(x, "a b -> b a"), ("place", "time"), x.data.numpy().T)
    agree(einops.reduce(x, "a b -> b", "sum"), ("place",), [5, 7, 10])


def test_xarray_takes_and_gives_arrays_with_names() -> None:
    xarray = pytest.importorskip("xarray")
    array = x.to_xarray()
    assert (type(array), array.dims) == (xarray.DataArray, ("time", "place"))
    array[0, 0] = 9.0
    assert float(x[0, 0]) == 9.0
    array[0, 0] = 1.0
    agree(NamedTensor.from_xarray(array.mean("time")), ("place",), [2.5, 3.5, 5.0])


def test_plots_take_named_arrays() -> None:
    assert isinstance(x.to_numpy(), np.ndarray)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    lines = pyplot.plot(weights)
    np.testing.assert_array_equal(lines[0].get_ydata(), [0.5, 2.0])
    pyplot.close("all")


def test_nothing_is_aligned_by_value_so_that_nothing_is_dropped() -> None:
    assert (weights + NamedTensor([0.1 + 0.2, 0.3], "time")).shape == (2,)


def test_copies_pickles_assignment_and_printing() -> None:
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone(), dk.zeros_like(x) + x):
        agree(made, x.names, x.data.numpy())
    changed: Any = x.clone()
    changed[0] = NamedTensor([7.0, 8.0, 9.0], "place")
    assert changed.data.tolist()[0] == [7.0, 8.0, 9.0]
    assert repr(weights) == "NamedTensor([0.5000, 2.0000], ('time',))"
    assert x.sizes == {"time": 2, "place": 3}
    assert float(x.sum()) == 22.0


def test_gradients_have_the_names() -> None:
    agree(dk.func.grad(lambda w: (w * x).sum())(weights), ("time",), [6.0, 16.0])
    trained = NamedTensor(dk.tensor([0.5, 2.0], requires_grad=True), "time")
    operator.mul(trained, x).sum().backward()
    agree(trained.grad, ("time",), [6.0, 16.0])


def test_a_list_of_arrays_with_names_has_the_first_name_for_its_own_axis() -> None:
    first, second = NamedTensor([[1, 2]], ("p", "q")), NamedTensor([[3], [4]], ("q", "p"))
    agree(NamedTensor([first, second], ("r", "p", "q")), ("r", "p", "q"), [[[1, 2]], [[3, 4]]])
    agree(NamedTensor([[weights, [5.0, 6.0]]], ("a", "b", "time")), ("a", "b", "time"), [[[0.5, 2], [5, 6]]])
    agree(NamedTensor([NamedTensor(1.0, ()), 2.0], "t"), ("t",), [1, 2])


def test_gradients_masks_and_units_go_through_a_list_of_arrays_with_names() -> None:
    t = dk.asarray([1.0, 2.0], requires_grad=True)
    dk.sum(NamedTensor([NamedTensor(t, "x"), NamedTensor(t, "x")], ("y", "x")).data).backward()
    assert t.grad is not None
    assert t.grad.tolist() == [2, 2]
    lengths = [dk.types.QuantityTensor(NamedTensor([n], "x"), unit) for n, unit in ((1.0, "m"), (2.0, "km"))]
    assert NamedTensor(lengths, ("y", "x")).data.magnitude.tolist() == [[1], [2000]]


BY_NAME: dict[str, tuple[Any, Any]] = {
    "trapezoid": (lambda x, axis: np.trapezoid(x, axis=axis), [4.0, 10.5]),
    "gradient": (lambda x, axis: np.gradient(x, axis=axis), [[1.0, 1.0, 1.0], [1.0, 1.5, 2.0]]),
    "delete": (lambda x, axis: np.delete(x, 0, axis=axis), [[2.0, 3.0], [5.0, 7.0]]),
    "split": (lambda x, axis: np.split(x, [2], axis=axis)[1], [[3.0], [7.0]]),
    "compress": (lambda x, axis: np.compress([False, True], x, axis=axis), [[2.0], [5.0]]),
    "rollaxis": (lambda x, axis: np.rollaxis(x, axis), [[1.0, 4.0], [2.0, 5.0], [3.0, 7.0]]),
    "append": (lambda x, axis: np.append(x, x.T, axis=axis)[:, ::5], [[1.0, 3.0], [4.0, 7.0]]),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_functions_of_numpy_that_are_several_operations_take_names_of_axes(name: str) -> None:
    call, expected = BY_NAME[name]
    x: Any = NamedTensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], ("time", "place"))
    by_name = call(x, "place")
    assert type(by_name) is NamedTensor
    assert by_name.data.tolist() == expected
    assert call(MetadataTensor(x, {"a": 1}), "place").data.data.tolist() == expected


def test_an_axis_by_name_of_an_array_without_it_is_refused() -> None:
    trapezoid: Any = np.trapezoid
    x = NamedTensor([[1.0, 2.0]], ("time", "place"))
    with pytest.raises(ValueError, match=r"^trapezoid: no axis 'run'; there are \('time', 'place'\)"):
        trapezoid(x, axis="run")
    for plain in (dk.ones(2), MetadataTensor(dk.ones(2), {})):
        with pytest.raises(TypeError, match="trapezoid: axis is a number where axes have no names, found 'time'"):
            trapezoid(plain, axis="time")


def test_tensordot_takes_one_axis_of_each_array_by_name_as_numpy_takes_two_numbers() -> None:
    x, v = NamedTensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], ("time", "place")), NamedTensor([1.0, 0.0, 2.0], "place")
    assert dk.tensordot(x, v, axes=("place", "place")).data.tolist() == [7.0, 18.0]
