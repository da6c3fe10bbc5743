"""What NumPy's own tests ask of its functions, on tensors: places written to, arguments refused, long arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

np_: Any = np  # NumPy's stubs know no types but NumPy's

# Of a matrix of shape (2, 3), which they change.
CHANGES: dict[str, Callable[[Any], Any]] = {
    "put": lambda x: np_.put(x, [0, -1, 0], [7, 8, 9]),
    "put, repeated": lambda x: np_.put(x, [[0, 2], [3, 5]], [7, 8]),
    "put, wrapped": lambda x: np_.put(x, [6, -8, 100], [7, 8, 9], mode="wrap"),
    "put, clipped": lambda x: np_.put(x, [-3, 100], [7, 8], mode="clip"),
    "put nothing": lambda x: np_.put(x, [], [7]),
    "putmask": lambda x: np_.putmask(x, x > 2, [7, 8]),
    "place": lambda x: np_.place(x, x > 1, [7, 8, 9]),
    "fill_diagonal": lambda x: np_.fill_diagonal(x, [7, 8]),
    "put_along_axis": lambda x: np_.put_along_axis(x, np.array([[1], [0]]), 9, axis=1),
    "put_along_axis of all": lambda x: np_.put_along_axis(x, np.array([1, -1]), [8, 9], axis=None),
    "copyto": lambda x: np_.copyto(x, [7, 8, 9]),
    "copyto, in part": lambda x: np_.copyto(x, 7, where=[True, False, True]),
}


@pytest.mark.parametrize("dtype", [np.int32, np.float64, np.complex128])
@pytest.mark.parametrize("name", CHANGES)
def test_functions_that_change_an_array_change_a_tensor(name: str, dtype: Any) -> None:
    if name in ("putmask", "place") and dtype is np.complex128:
        pytest.skip("complex numbers have no order")
    array = np.arange(6).reshape(2, 3).astype(dtype)
    tensor: Any = dk.asarray(array.copy())
    version = tensor._version
    assert CHANGES[name](tensor) is None
    CHANGES[name](array)
    np.testing.assert_array_equal(np.asarray(tensor), array)
    assert tensor.dtype == dtype
    assert tensor._version > version or name == "put nothing"


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(2, 3), (7, 3), (3, 3, 3)])
def test_diagonals_are_filled_as_numpy_fills_them(shape: tuple[int, ...], wrap: bool) -> None:
    array, tensor = np.zeros(shape), dk.zeros(shape)
    np_.fill_diagonal(tensor, 4.0, wrap)
    np_.fill_diagonal(array, 4.0, wrap)
    np.testing.assert_array_equal(np.asarray(tensor), array)


def test_gradients_see_what_numpy_puts() -> None:
    w = dk.tensor([1.0, 2.0], requires_grad=True)
    x: Any = dk.zeros(3)
    np_.put(x, [0, 2], w * 3)
    np_.copyto(x, w.sum(), where=[False, True, False])
    (x * x).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [24.0, 42.0]


def test_numpy_writes_into_its_own_array() -> None:
    array = np.zeros(3)
    np_.put(array, [1], dk.asarray([4.0]))
    np_.copyto(array[2:], dk.asarray(5.0))
    assert array.tolist() == [0.0, 4.0, 5.0]


def test_a_quantity_is_written_to_in_its_unit() -> None:
    q = dk.types.QuantityTensor([1.0, 2.0], "m")
    np_.copyto(q, dk.types.QuantityTensor([300.0, 400.0], "cm"), where=[True, False])
    assert q.magnitude.tolist() == [3.0, 2.0]


WRITERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "copyto": lambda x, written, where: np_.copyto(x, written, where=where),
    "putmask": lambda x, written, where: np_.putmask(x, where, written),
    "out": lambda x, written, where: np_.add(written, written, out=x, where=where),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_what_is_not_written_is_not_converted_to_another_unit_and_back(write: Callable[[Any, Any, Any], Any]) -> None:
    numbers = np.asarray([complex(np.inf, 0.0), 0.07, 1.1])  # an infinite one, converted, would be inf+nanj
    q = dk.types.QuantityTensor(numbers.copy(), "m")
    write(q, dk.types.QuantityTensor([1.0, 2.0, 3.0], "inch"), np.asarray([False, True, False]))
    assert q.magnitude.numpy()[[0, 2]].tolist() == numbers[[0, 2]].tolist()
    assert q.magnitude.numpy()[1] != numbers[1]


X = np.arange(6.0).reshape(2, 3)
# What NumPy refuses, of a matrix of shape (2, 3).
REFUSED: dict[str, Callable[[Any], Any]] = {
    "rollaxis": lambda x: np_.rollaxis(x, 5),
    "rollaxis to nowhere": lambda x: np_.rollaxis(x, 0, 5),
    "insert at no fraction": lambda x: np_.insert(x, np.array([]), []),
    "rot90": lambda x: np_.rot90(x, axes=(0, 5)),
    "insert": lambda x: np_.insert(x, 1, 1.0, axis=9),
    "insert at a fraction": lambda x: np_.insert(x, [1.0], 1.0),
    "norm of matrices": lambda x: np_.linalg.norm(x, 1, (0, 3)),
    "spectral norm": lambda x: np_.linalg.norm(x, 2, (0, 3)),
    "gradient": lambda x: np_.gradient(x, axis=3),
    "gradient by a matrix": lambda x: np_.gradient(x, x),
    "delete": lambda x: np_.delete(x, 1, axis=4),
    "diff": lambda x: np_.diff(x, prepend=0, axis=3),
    "windows": lambda x: np_.lib.stride_tricks.sliding_window_view(x, (-1, 2)),
    "two corrections": lambda x: np_.std(x, ddof=1, correction=1),
    "two corrections but NaN": lambda x: np_.nanvar(x, ddof=1, correction=1),
    "two tolerances": lambda x: np_.linalg.matrix_rank(x, tol=1e-3, rtol=1e-3),
    "two tolerances of pinv": lambda x: np_.linalg.pinv(x, rcond=1e-3, rtol=1e-3),
    "out and dtype": lambda x: np_.concatenate([x, x], out=np.empty((4, 3)), dtype=np.float64),
    "another shape": lambda x: np_.concatenate([x, x], out=np.empty((1, 4, 3))),
    "out of integers": lambda x: np_.concatenate([x, x], out=np.zeros((4, 3), int)),
    "fractions joined as integers": lambda x: np_.concatenate([x, x], dtype=int),
    "fractions stacked as integers": lambda x: np_.stack([x, x], dtype=int),
    "a sum in integers": lambda x: np_.add(x, x, out=np.zeros((2, 3), int)),
    "an extreme in integers": lambda x: np_.clip(x, 1, 2, out=np.zeros((2, 3), int)),
    "no booleans": lambda x: np_.select([x], [x]),
    "NaN among integers": lambda x: np_.ediff1d(x.astype(np.int64), to_end=np.nan),
    "an integer among truth values": lambda x: np_.ediff1d(x > 1, to_end=1),
    "a complex end": lambda x: np_.ediff1d(x, to_begin=1j),
    "ends to trim": lambda x: np_.trim_zeros(x, "ff"),
    "axes to trim": lambda x: np_.trim_zeros(x, axis=(0, 0)),
    "rows at a fraction": lambda x: np_.unique(x, axis=0.0),
    "keys of several shapes": lambda x: np_.lexsort((x[0], x[:, 0])),
    "no keys": lambda x: np_.lexsort(x[:0]),
    "a condition of another shape": lambda x: np_.piecewise(x, [x[0] > 1], [1]),
    "a complex piece": lambda x: np_.piecewise(x, [x > 1], [1j]),
    "axes that are not there": lambda x: np_.apply_over_axes(np.sum, x, [0, 5]),
    "a sequence along no axis": lambda x: np_.linspace(x[0, 0], 1, 3, axis=1),
    "powers along no axis": lambda x: np_.logspace(x[0, 0], 1, 3, axis=1),
    "a negative number of powers": lambda x: np_.vander(x[0], -1),
    "counts of a matrix": lambda x: np_.bincount(x.astype(np.int64)),
    "counts of a number": lambda x: np_.bincount(x.astype(np.int64)[0, 0]),
    "a text as least length": lambda x: np_.bincount(x.astype(np.int64)[0], minlength="foo"),
    "a fraction of bins": lambda x: np_.histogram(x, 2.4),
    "a matrix of bins": lambda x: np_.histogram(x, x),
    "bins between neighbours": lambda x: np_.histogram(1 + x[0] * 2e-16, 10),
    "an unknown estimator": lambda x: np_.histogram(x, "nope"),
    "an estimator of nothing": lambda x: np_.histogram(x[:0], "nope"),
    "weights of another shape": lambda x: np_.histogram_bin_edges(x, 3, weights=x[0]),
    "bins of other columns": lambda x: np_.histogramdd(x, np.array([1, 2])),
    "a fraction of bins of a column": lambda x: np_.histogramdd(x, [2, 2.5, 2]),
    "an estimator of columns": lambda x: np_.histogramdd(x, "auto"),
    "limits of other columns": lambda x: np_.histogramdd(x, 2, range=[(0, 1)]),
    "columns of a cube": lambda x: np_.histogramdd(x[None]),
    "columns of several lengths": lambda x: np_.histogramdd([x[0], x[:, 0]]),
    "coordinates in a matrix": lambda x: np_.histogram2d(x, x),
    "coordinates of several lengths": lambda x: np_.histogram2d(x[0], x[:, 0]),
    "a condition in a matrix": lambda x: np_.compress(x > 1, x),
    "the diagonal of a vector": lambda x: np_.diagonal(x[0]),
    "the trace along no axis": lambda x: np_.trace(x, axis2=5),
    "the area under a number": lambda x: np_.trapezoid(x, axis=5),
    "gradient along an axis twice": lambda x: np_.gradient(x, axis=(0, 0)),
    "gradient of other steps": lambda x: np_.gradient(x[0], [1.0, 2.0]),
    "a fraction of decimals": lambda x: np_.round(x, 1.5),
    "a partition out of bounds": lambda x: np_.partition(x, 7),
    "a partition at a fraction": lambda x: np_.argpartition(x, 0.5),
    "an unknown order": lambda x: np_.sort(x, kind="bad"),
    "a share beyond 1": lambda x: np_.nanquantile(x, 1.5),
    "a mask of more elements": lambda x: np_.sum(x[:, :1], where=[True, False, True]),
    "a mask of more elements but NaN": lambda x: np_.nansum(x[:, :1], where=[True, False, True]),
    "no square": lambda x: np_.linalg.matrix_power(x, 2),
    "no matrix": lambda x: np_.linalg.inv(x[0]),
    "no elements": lambda x: np_.linalg.cond(x[:0]),
    "a negative length": lambda x: np_.broadcast_to(x[:1, 0], (-1,)),
    "put out of bounds": lambda x: np_.put(x, [6], 1.0),
    "place of nothing": lambda x: np_.place(x, x > 1, []),
    "another mask": lambda x: np_.putmask(x, [True], 1.0),
    "fill_diagonal of a vector": lambda x: np_.fill_diagonal(x[0], 1.0),
    "put_along_axis": lambda x: np_.put_along_axis(x, np.array([0]), 1.0, axis=1),
    "copyto of a fraction": lambda x: np_.copyto(x.astype(np.int64), dk.asarray([0.5, 1.5, 2.5])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused_on_tensors_with_an_error_of_its_class(name: str) -> None:
    with pytest.raises((ValueError, TypeError, IndexError)) as theirs:
        REFUSED[name](X.copy())
    public = ("builtins", "numpy.exceptions", "numpy.linalg")
    with pytest.raises(next(cls for cls in type(theirs.value).__mro__ if cls.__module__ in public)):
        REFUSED[name](dk.asarray(X.copy()))


@pytest.mark.parametrize("q", [0.001, 0.123, 0.9, 0.999])
@pytest.mark.parametrize(("dtype", "size"), [(np.float16, 50_001), (np.float16, 2_001), (np.float32, 300_001)])
def test_quantiles_of_many_short_numbers(dtype: Any, size: int, q: float) -> None:
    x = np.arange(size).astype(dtype)
    y: Any = np_.quantile(dk.asarray(x), q)
    assert y.dtype == dtype
    np.testing.assert_allclose(float(y), q * (size - 1), rtol=float(np.finfo(dtype).eps))
    assert float(dk.quantile(dk.asarray(x), dk.asarray(0.5, dtype=dtype))) == float(dtype((size - 1) / 2))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "cumsum", "mean", "var", "take", "nansum", "median"])
@pytest.mark.filterwarnings("ignore:Implicit casting of output:DeprecationWarning")  # of NumPy 2.5 and later
def test_these_write_fractions_into_integers_as_numpy_does(name: str) -> None:
    arguments: Any = ([0, 2, 1],) if name == "take" else ()
    ours, theirs, x = np.zeros(3, int), np.zeros(3, int), X[0] + 0.5
    x = x if name in ("cumsum", "take") else np.stack([x, x * 3])
    axis = {"axis": 0}
    getattr(np, name)(x, *arguments, out=theirs, **axis)
    getattr(np, name)(dk.asarray(x), *arguments, out=ours, **axis)
    assert ours.tolist() == theirs.tolist()


def test_whole_bounds_beyond_a_dtype_are_none() -> None:
    x = dk.asarray(np.array([0, 100, 255], np.uint8))
    assert dk.clip(x, -1, 129).tolist() == [0, 100, 129]
    assert dk.clip(x, 3, 10**30).tolist() == [3, 100, 255]
    y: Any = dk.clip(x, -1, 300)
    y[0] = 7
    assert y.dtype == np.uint8
    assert x.tolist() == [0, 100, 255]
    with pytest.raises(OverflowError):
        dk.clip(x, 300)


# The operation or the argument, and what is found, of calls of a matrix of shape (2, 3).
TEXTS: dict[str, Callable[[Any], Any]] = {
    r"ediff1d: dtype of `to_end` must be compatible with input `ary` .*, found complex128 for float64": (
        lambda x: np_.ediff1d(x, to_end=1j)
    ),
    r"trim_zeros: unexpected character\(s\) in `trim`: 'x'; 'f' is for the front": lambda x: np_.trim_zeros(x, "x"),
    r"axis: integer argument expected, found 0\.5": lambda x: np_.unique(x, axis=0.5),
    r"lexsort: keys must have the same shape, found \[\(3,\), \(2,\)\]": lambda x: np_.lexsort((x[0], x[:, 0])),
    r"piecewise: a condition must have the shape of the first axes of x, \(2, 3\), found \(3,\)": (
        lambda x: np_.piecewise(x, [x[0] > 1], [1])
    ),
    r"vander: N must not be negative, found -1": lambda x: np_.vander(x[0], -1),
    r"bincount: x must be a vector, found shape \(2, 3\)": lambda x: np_.bincount(dk.astype(x, dk.int64)),
    r"`bins` must be an integer, a string, or an array, found 2\.4": lambda x: np_.histogram(x, 2.4),
    r"`bins` must be 1d, when an array, found shape \(2, 3\)": lambda x: np_.histogram(x, x),
    r"weights should have the same shape as a\., which is \(2, 3\), found \(3,\)": (
        lambda x: np_.histogram(x, 3, weights=x[0])
    ),
    r"`bins\[1\]` must be positive, when an integer, found 0": lambda x: np_.histogramdd(x, [1, 0, 1]),
    r"found coordinates of the shapes \[\(2,\), \(3,\)\]": lambda x: np_.histogramdd([x[0], x[:, 0]]),
    r"x and y must have the same length, found 3 and 2": lambda x: np_.histogram2d(x[0], x[:, 0]),
    r"condition must be a 1-d array, found shape \(2, 3\)": lambda x: np_.compress(x > 1, x),
    r"diag requires an array of at least two dimensions, found 1": lambda x: np_.diagonal(x[0]),
    r"kth\(=7\) out of bounds \(3\)": lambda x: np_.partition(x, 7),
    r"where must broadcast to the shape of the array, \(2, 1\), found shape \(3,\)": (
        lambda x: np_.sum(x[:, :1], where=[True, False, True])
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_refusal_says_what_is_wrong(text: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError), match=text):
        TEXTS[text](dk.asarray(X.copy()))


def test_largest_norms_of_nothing_are_0() -> None:
    assert dk.linalg.vector_norm(dk.zeros((2, 0)), axis=1, ord=float("inf")).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="minimum"):
        dk.linalg.vector_norm(dk.zeros(0), ord=-float("inf"))


def test_a_block_of_one_array_is_a_copy() -> None:
    x: Any = dk.asarray([1.0, 2.0])
    y = np_.block(x)
    y[0] = 5.0
    assert x.tolist() == [1.0, 2.0]


def test_nanmedian_of_no_elements_is_nan() -> None:
    with pytest.warns(RuntimeWarning, match="empty"):
        assert np.isnan(np_.nanmedian(dk.zeros((3, 0)), axis=1)).all()
