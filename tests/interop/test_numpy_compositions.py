"""NumPy's functions that several operations answer: values, types and gradients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import AutogradError, DensifyWarning
from dispatchkit.tensor import numpy_calls as numpy_table
from dispatchkit.tensor.numpy_calls import WRITERS
from dispatchkit.tensor.numpy_shapes import COMPOSED_BY_NUMPY, compositions, universal
from tests.interop.everywhere import Diagonal

pytestmark = pytest.mark.filterwarnings("ignore:`in1d` is deprecated:DeprecationWarning")
np_: Any = np  # NumPy's stubs know no types but NumPy's
A = np.array([[4.0, 1.0, -2.0], [0.5, 3.0, 1.5], [2.0, -1.0, 5.0]])
V = np.array([0.5, -1.25, 3.0, 2.0])
NAN = np.array([[1.0, np.nan, 3.0], [4.0, 2.0, 0.5], [np.nan, np.nan, 7.0]])
Z = np.array([1 + 2j, -1.5 + 0j, 0.5 - 3j])
windows: Any = np.lib.stride_tricks.sliding_window_view

# Each call is made of the array or of a tensor of it.
CALLS: dict[str, list[tuple[Any, Callable[[Any], Any]]]] = {
    "atleast_1d": [(A, np_.atleast_1d), (np.float64(2.0), lambda x: np_.atleast_1d(x, A))],
    "atleast_2d": [(V, np_.atleast_2d), (V, lambda x: np_.atleast_2d(x, [1.0]))],
    "atleast_3d": [(V, np_.atleast_3d), (A, np_.atleast_3d), (np.float64(2.0), np_.atleast_3d)],
    "vstack": [(V, lambda x: np_.vstack([x, V])), (A, lambda x: np_.vstack((x, [[1.0, 2.0, 3.0]])))],
    "hstack": [(V, lambda x: np_.hstack([x, [1.0]])), (A, lambda x: np_.hstack([x, A]))],
    "dstack": [(V, lambda x: np_.dstack([x, V])), (A, lambda x: np_.dstack([x, A]))],
    "column_stack": [(V, lambda x: np_.column_stack([x, np.ones((4, 2))]))],
    "append": [(A, lambda x: np_.append(x, [1.0])), (A, lambda x: np_.append(x, A, axis=1))],
    "block": [
        (A, lambda x: np_.block([[x, np.zeros((3, 1))], [np.ones((1, 3)), 2.0]])),
        (V, lambda x: np_.block([x, 3.0])),
        (A, lambda x: np_.block(x)),
    ],
    "array_split": [(V, lambda x: np_.array_split(x, 3)), (A, lambda x: np_.array_split(x, [1], axis=1))],
    "split": [(V, lambda x: np_.split(x, 2)), (V, lambda x: np_.split(x, [1, 3]))],
    "hsplit": [(A, lambda x: np_.hsplit(x, 3)), (V, lambda x: np_.hsplit(x, 2))],
    "vsplit": [(A, lambda x: np_.vsplit(x, [1]))],
    "dsplit": [(A.reshape(1, 3, 3), lambda x: np_.dsplit(x, 3))],
    "rollaxis": [
        (A.reshape(1, 3, 3), lambda x: np_.rollaxis(x, 2)),
        (A.reshape(1, 3, 3), lambda x: np_.rollaxis(x, 0, 3)),
        (A.reshape(1, 3, 3), lambda x: np_.rollaxis(x, -1, 1)),
    ],
    "fliplr": [(A, np_.fliplr)],
    "flipud": [(A, np_.flipud)],
    "rot90": [(A[:2], lambda x, k=k: np_.rot90(x, k)) for k in range(4)]
    + [(A.reshape(3, 3, 1), lambda x: np_.rot90(x, axes=(1, 2)))],
    "resize": [(V, lambda x: np_.resize(x, (2, 5))), (V, lambda x: np_.resize(x, 2))],
    "delete": [(A, lambda x: np_.delete(x, 1, axis=0)), (A, lambda x: np_.delete(x, [0, 5]))],
    "insert": [
        (V, lambda x: np_.insert(x, 1, 5.0)),
        (V, lambda x: np_.insert(x, -1, [5.0, 6.0])),
        (V, lambda x: np_.insert(x, [1], [5.0, 6.0])),
        (V, lambda x: np_.insert(x, [3, 0, 1], [5.0, 6.0, 7.0])),
        (V, lambda x: np_.insert(x, slice(0, 2), 5)),
        (V, lambda x: np_.insert(x, [1, 1], x[:2])),
        (A, lambda x: np_.insert(x, 1, 5.0)),
        (A, lambda x: np_.insert(x, 1, [5.0, 6.0, 7.0], axis=0)),
        (A, lambda x: np_.insert(x, 1, [[5.0, 6.0, 7.0]], axis=-1)),
        (A, lambda x: np_.insert(x, [0, 2], [[5.0], [6.0], [7.0]], axis=1)),
        (A, lambda x: np_.insert(x, np.array([True, False, True]), 5.0, axis=0)),
        (np.arange(3), lambda x: np_.insert(x, 3, 7)),
        (np.float64(2.0), lambda x: np_.insert(x, 0, 1.0)),
    ],
    "diagflat": [(A, np_.diagflat), (V, lambda x: np_.diagflat(x, 1))],
    "diag": [(A, np_.diag), (V, lambda x: np_.diag(x, k=-1)), (A, lambda x: np_.diag(x, 1))],
    "diagonal": [(A, np_.diagonal), (A.reshape(3, 1, 3), lambda x: np_.diagonal(x, 1, 0, 2))],
    "trace": [(A, np_.trace), (A.reshape(3, 1, 3), lambda x: np_.trace(x, axis1=2, axis2=0))],
    "linalg.diagonal": [(A, lambda x: np_.linalg.diagonal(x, offset=1))],
    "linalg.trace": [(A, np_.linalg.trace)],
    "compress": [(A, lambda x: np_.compress([True, False, True], x, axis=1)), (A, lambda x: np_.compress([0, 1], x))],
    "extract": [(A, lambda x: np_.extract(A > 1, x))],
    "flatnonzero": [(A - 1, np_.flatnonzero)],
    "select": [(V, lambda x: np_.select([V < 0, V > 1], [x, x * x], 7.0)), (V, lambda x: np_.select([x > 1], [x]))],
    "lib.stride_tricks.sliding_window_view": [
        (V, lambda x: windows(x, 2)),
        (A, lambda x: windows(x, (2, 2))),
        (A, lambda x: windows(x, 3, axis=0)),
    ],
    "diag_indices_from": [(A, np_.diag_indices_from)],
    "tril_indices_from": [(A, np_.tril_indices_from)],
    "triu_indices_from": [(A, lambda x: np_.triu_indices_from(x, 1))],
    "dot": [
        (A, lambda x: np_.dot(x, x)),
        (A, lambda x: np_.dot(x, [1.0, 2.0, 3.0])),
        (A, lambda x: np_.dot(2.0, x)),
        (A.reshape(3, 1, 3), lambda x: np_.dot(x, A.reshape(1, 3, 3))),
        (A, lambda x: np_.dot([1.0, 2.0, 3.0], x)),
    ],
    "vdot": [(A, lambda x: np_.vdot(x, x)), (Z, lambda x: np_.vdot(x, Z[::-1]))],
    "inner": [(A, lambda x: np_.inner(x, A)), (V, lambda x: np_.inner(x, x)), (V, lambda x: np_.inner(x, 2.0))],
    "linalg.multi_dot": [
        (A, lambda x: np_.linalg.multi_dot([x, A[:, :1], A[:1], x])),
        (A, lambda x: np_.linalg.multi_dot([A[0], x, x, A[:, 0]])),
        (A, lambda x: np_.linalg.multi_dot([x, x, A[0]])),
    ],
    "linalg.matrix_rank": [(A, np_.linalg.matrix_rank), (A, lambda x: np_.linalg.matrix_rank(x, tol=4.0))],
    "outer": [(V, lambda x: np_.outer(x, A)), (V, lambda x: np_.outer(x, 2.0))],
    "einsum": [(A, lambda x: np_.einsum("ij->ji", x)), (A, lambda x: np_.einsum(x, [0, 1], V[:3], [1]))],
    "where": [(V, lambda x: np_.where(x > 1, x, 0)), (V, lambda x: np_.where([1, 0, 1, 0], x, [0, 1, 2, 3]))],
    "diff": [(V, lambda x: np_.diff(x, prepend=0)), (A, lambda x: np_.diff(x, axis=0, append=[[1, 2, 3]]))],
    "linspace": [(V, lambda x: np_.linspace(0, x, 3)), (V, lambda x: np_.linspace(x, [1, 2, 3, 4], 4, axis=-1))],
    "linalg.cond": [(A, np_.linalg.cond)] + [(A, lambda x, p=p: np_.linalg.cond(x, p)) for p in (1, -2, "fro", np.inf)],
    "linalg.lstsq": [
        (A[:, :2], lambda x: np_.linalg.lstsq(x, A[:, 2])),
        (A, lambda x: np_.linalg.lstsq(x, A[:, :2], rcond=1e-9)),
        (A[:2], lambda x: np_.linalg.lstsq(x, A[:2, 0])),
    ],
    "cross": [(A, lambda x: np_.cross(x, A[0])), (A, lambda x: np_.cross(x, A[::-1], axis=0))],
    "correlate": [
        (V, lambda x: np_.correlate(x, [1.0, 2.0])),
        (V, lambda x: np_.correlate(x, x, "full")),
        (V, lambda x: np_.correlate(x, [1.0, 2.0, 5.0], "same")),
    ],
    "isclose": [
        (NAN, lambda x: np_.isclose(x, NAN)),
        (NAN, lambda x: np_.isclose(x, NAN, equal_nan=True)),
        (np.array([np.inf, -np.inf, np.inf, 1.0]), lambda x: np_.isclose(x, [np.inf, np.inf, 1.0, np.inf])),
        (np.array([1.0, 1.0]), lambda x: np_.isclose([1 + 1e-9, 1.1], x)),
    ],
    "allclose": [(A, lambda x: np_.allclose(x, A + 1e-12)), (NAN, lambda x: np_.allclose(x, x, equal_nan=True))],
    "array_equal": [(A, lambda x: np_.array_equal(x, A)), (A, lambda x: np_.array_equal(x, V))],
    "isreal": [(Z, np_.isreal), (A, np_.isreal)],
    "iscomplex": [(Z, np_.iscomplex), (A, np_.iscomplex)],
    "isrealobj": [(Z, np_.isrealobj), (A, np_.isrealobj)],
    "iscomplexobj": [(Z, np_.iscomplexobj), (A, np_.iscomplexobj)],
    "isposinf": [(np.array([np.inf, -np.inf, np.nan, 1.0]), np_.isposinf)],
    "isneginf": [(np.array([np.inf, -np.inf, np.nan, 1.0]), np_.isneginf)],
    "result_type": [(A, lambda x: np_.result_type(x, np.complex64)), (A, lambda x: np_.result_type(x, 3))],
    "common_type": [(A.astype(np.float32), np_.common_type)],
    "min_scalar_type": [(A, np_.min_scalar_type)],
    "can_cast": [(np.float32, lambda x: np_.can_cast(x, np.float64))],
    "unique": [
        (A.round(), np_.unique),
        (A.round(), lambda x: np_.unique(x, return_index=True, return_inverse=True, return_counts=True)),
        (NAN, lambda x: np_.unique(x, return_inverse=True, return_counts=True)),
        (NAN, lambda x: np_.unique(x, equal_nan=False)),
        (NAN[0], lambda x: np_.unique(x, return_index=True)),
    ],
    "union1d": [(V, lambda x: np_.union1d(x, A))],
    "intersect1d": [(V, lambda x: np_.intersect1d(x, A))],
    "setdiff1d": [(V, lambda x: np_.setdiff1d(x, A)), (V, lambda x: np_.setdiff1d(x, A, assume_unique=True))],
    "setxor1d": [(V, lambda x: np_.setxor1d(x, A))],
    "digitize": [
        (V, lambda x: np_.digitize(x, [-2.0, 0.5, 2.0])),
        (V, lambda x: np_.digitize(x, [-2.0, 0.5, 2.0], right=True)),
        (V, lambda x: np_.digitize(x, [2.0, 0.5, -2.0])),
        (V, lambda x: np_.digitize(x, [2.0, 0.5, -2.0], right=True)),
    ],
    "partition": [(A, lambda x: np_.partition(x, 0)[..., 0]), (A, lambda x: np_.partition(x, 8, axis=None)[8])],
    "argpartition": [(A, lambda x: np_.argpartition(x, 2)[..., 2])],
    "percentile": [(A, lambda x: np_.percentile(x, 30, axis=1)), (A, lambda x: np_.percentile(x, [10, 60.0]))],
    "quantile": [
        (A, lambda x: np_.quantile(x, [0.1, 0.6], axis=0)),
        (A, lambda x: np_.quantile(x, 0.5, method="lower")),
    ],
    "nanpercentile": [(NAN, lambda x: np_.nanpercentile(x, 30, axis=1))],
    "nanquantile": [
        (NAN, lambda x: np_.nanquantile(x, [0.25, 0.6], axis=0)),
        (NAN, lambda x: np_.nanquantile(x, 0.3)),
        (NAN, lambda x: np_.nanquantile(x, 0.3, axis=0, keepdims=True)),
        (NAN, lambda x: np_.nanquantile(x, 0.3, keepdims=True)),
    ],
    "nanmedian": [(NAN, np_.nanmedian), (NAN, lambda x: np_.nanmedian(x, axis=1))],
    "nanargmax": [(NAN, np_.nanargmax), (NAN, lambda x: np_.nanargmax(x, axis=1))],
    "nanargmin": [(NAN, lambda x: np_.nanargmin(x, axis=0, keepdims=True))],
    "nancumsum": [(NAN, np_.nancumsum), (NAN, lambda x: np_.nancumsum(x, axis=1))],
    "nancumprod": [(NAN, lambda x: np_.nancumprod(x, axis=0))],
    "ptp": [(A, np_.ptp), (A, lambda x: np_.ptp(x, axis=0, keepdims=True))],
    "trapezoid": [
        (A, np_.trapezoid),
        (A, lambda x: np_.trapezoid(x, [0.0, 1.0, 3.0], axis=0)),
        (A, lambda x: np_.trapezoid(x, x, axis=0)),
        (A, lambda x: np_.trapezoid(x, dx=0.1)),
    ],
    "gradient": [
        (V, np_.gradient),
        (A, np_.gradient),
        (A, lambda x: np_.gradient(x, 0.5, [0.0, 1.0, 3.0])),
        (V, lambda x: np_.gradient(x, [0.0, 1.0, 3.0, 3.5], edge_order=2)),
        (V, lambda x: np_.gradient(x, 2.0, edge_order=2)),
        (A, lambda x: np_.gradient(x, axis=1)),
    ],
    "nan_to_num": [
        (np.array([np.nan, np.inf, -np.inf, 2.0]), np_.nan_to_num),
        (np.array([np.nan, np.inf, -np.inf, 2.0]), lambda x: np_.nan_to_num(x, nan=1.0, posinf=5.0, neginf=-5.0)),
        (np.array([1, 2]), np_.nan_to_num),
        (np.array([complex(np.nan, 1.0), 2j]), np_.nan_to_num),
    ],
    "unwrap": [(np.array([0.0, 3.0, 6.0, -3.0, 3.2]), np_.unwrap), (V, lambda x: np_.unwrap(x, period=2.0))],
    "angle": [(Z, np_.angle), (A, lambda x: np_.angle(x, deg=True))],
    "sinc": [(np.array([0.0, 0.5, -2.25]), np_.sinc)],
    "fix": [(A, np_.fix)],
    "round": [(A * 1.2345, lambda x: np_.round(x, 2)), (A * 123.4, lambda x: np_.round(x, -1)), (A, np_.round)],
    "around": [(A * 1.2345, lambda x: np_.around(x, 1))],
    "polyval": [(V, lambda x: np_.polyval(x, 2.0)), (V, lambda x: np_.polyval([1.0, 2.0], x))],
    "fft.fft2": [(A, np_.fft.fft2)],
    "fft.ifft2": [(A, lambda x: np_.fft.ifft2(x, norm="ortho"))],
    "fft.rfft2": [(A, np_.fft.rfft2)],
    "fft.irfft2": [(A, np_.fft.irfft2)],
    "array": [(A, lambda x: np_.array([1.0, 2.0], like=x))],
    "asanyarray": [(A, lambda x: np_.asanyarray([1.0, 2.0], like=x))],
    "ascontiguousarray": [(A, lambda x: np_.ascontiguousarray([1.0, 2.0], like=x))],
    "asfortranarray": [(A, lambda x: np_.asfortranarray([1.0, 2.0], like=x))],
    "require": [(A, lambda x: np_.require([1.0, 2.0], like=x))],
    "empty_like": [
        (A, lambda x: np_.empty_like(x, dtype=np.float32) * 0),
        (A, lambda x: np_.empty_like(x, shape=(2,)) * 0),
    ],
    "empty": [(A, lambda x: np_.empty((2, 3), like=x) * 0)],
    "identity": [(A, lambda x: np_.identity(2, like=x))],
    "tri": [(A, lambda x: np_.tri(2, 3, 1, like=x))],
    "bincount": [(np.array([0, 2, 2]), np_.bincount), (np.array([1]), lambda x: np_.bincount(x, [0.5], 4))],
    "ediff1d": [(V, np_.ediff1d), (A, lambda x: np_.ediff1d(x, to_end=[1.0, 2.0], to_begin=0.5))],
    "trim_zeros": [(np.array([0.0, 1.0, 0.0, 2.0, 0.0]), lambda x: np_.trim_zeros(x, "f")), (V, np_.trim_zeros)],
    "array_equiv": [(V, lambda x: np_.array_equiv(x, x)), (V, lambda x: np_.array_equiv(x, x[:1]))],
    "lexsort": [(A, lambda x: np_.lexsort((x[0] > 0, x[1]))), (A, lambda x: np_.lexsort(x))],
    "choose": [
        (A, lambda x: np_.choose([0, 2, 1], x)),
        (A, lambda x: np_.choose([0, 5, -1], [x[0], x[1], 3.0], mode="wrap")),
    ],
    "piecewise": [
        (V, lambda x: np_.piecewise(x, [x < 0, x > 1], [lambda part: part**2, 7.0])),
        (V, lambda x: np_.piecewise(x, [x < 1], [lambda part: -part, lambda part: part + 1])),
    ],
    "apply_along_axis": [
        (A, lambda x: np_.apply_along_axis(np.sum, 0, x)),
        (A, lambda x: np_.apply_along_axis(np.cumsum, 1, x)),
        (A, lambda x: np_.apply_along_axis(lambda row: np.outer(row, row), -1, x)),
    ],
    "apply_over_axes": [(A, lambda x: np_.apply_over_axes(np.sum, x, [0, 1]))],
    "geomspace": [
        (V, lambda x: np_.geomspace(abs(x) + 1, 1000.0, 4)),
        (V, lambda x: np_.geomspace(abs(x) + 1, 8.0, 3, endpoint=False, axis=-1)),
    ],
    "logspace": [
        (V, lambda x: np_.logspace(x, 2.0, 4)),
        (V, lambda x: np_.logspace(0.0, abs(x), 3, base=2.0, endpoint=False, axis=-1)),
    ],
    "vander": [(V, np_.vander), (V, lambda x: np_.vander(x, 2, increasing=True))],
    "real_if_close": [(A + 1e-18j, np_.real_if_close), (A + 1j, np_.real_if_close), (A, np_.real_if_close)],
    "linalg.tensorsolve": [
        (np.eye(4).reshape(2, 2, 2, 2) + 1, lambda x: np_.linalg.tensorsolve(x, np.ones((2, 2)))),
        (np.eye(6).reshape(2, 3, 6), lambda x: np_.linalg.tensorsolve(x, np.ones((2, 3)))),
    ],
    "linalg.tensorinv": [(np.eye(4).reshape(2, 2, 2, 2) + 1, np_.linalg.tensorinv)],
    "einsum_path": [(A, lambda x: np_.einsum_path("ij,jk", x, x)[0][1:])],
    "shares_memory": [(A, lambda x: np_.shares_memory(x, x[1:])), (A, lambda x: np_.shares_memory(x[0], x[1]))],
    "may_share_memory": [(A, lambda x: np_.may_share_memory(x, np.ones(2)))],
    "histogram": [
        (V, lambda x: np_.histogram(x, 3)),
        (V, lambda x: np_.histogram(x, [0.0, 1.0, 5.0], weights=x, density=True)),
        (V, lambda x: np_.histogram(x, 4, range=(-1, 2))),
        (np.array([2, 2]), lambda x: np_.histogram(x, 2)),
        (np.zeros(0), lambda x: np_.histogram(x, 2)),
    ],
    "histogram_bin_edges": [(V, np_.histogram_bin_edges), (V, lambda x: np_.histogram_bin_edges(x, [0.0, 1.0]))],
    "histogram2d": [
        (A, lambda x: np_.histogram2d(x[0], x[1], 2)),
        (A, lambda x: np_.histogram2d(x[0], x[1], [[-9.0, 0.0, 9.0], 2], weights=x[2], density=True)),
        (A, lambda x: np_.histogram2d(x[0], x[1], [-9.0, 0.0, 1.0, 9.0])[0]),
    ],
    "histogramdd": [(A, lambda x: np_.histogramdd(x, 2)[0]), (A, lambda x: np_.histogramdd([x[0], x[1]], (2, 3))[0])],
}
PAIRS: dict[str, list[Callable[[Any], Any]]] = {
    "float_power": [lambda x: np_.float_power(np.abs(x), 2), lambda x: np_.float_power(2, x)],
    "fmax": [lambda x: np_.fmax(x, NAN), lambda x: np_.fmax(x, 1.0)],
    "fmin": [lambda x: np_.fmin(NAN, x)],
    "fmod": [lambda x: np_.fmod(x, [3.0, -0.75, 1.5])],
    "heaviside": [lambda x: np_.heaviside(x - 1, 0.5)],
    "ldexp": [lambda x: np_.ldexp(x, 3), lambda x: np_.ldexp(x, [-2, 0, 1])],
    "logaddexp2": [lambda x: np_.logaddexp2(x, 2.0)],
    "divmod": [lambda x: np_.divmod(x, 0.75), lambda x: divmod(x, 0.75), lambda x: divmod(7.5, x + 6)],
    "matvec": [lambda x: np_.matvec(x, [1.0, 2.0, 3.0])],
    "vecmat": [lambda x: np_.vecmat([1.0, 2.0, 3.0], x)],
}
for name in universal:
    CALLS[f"ufunc {name}"] = [(A, call) for call in PAIRS.get(name, [getattr(np, name)])] if hasattr(np, name) else []
# Not differentiable, or of what is no floating-point number.
PLACES = {
    *("flatnonzero", "array_equal", "allclose", "isclose", "isreal"),
    *("iscomplex", "isrealobj", "iscomplexobj", "isposinf", "isneginf", "result_type"),
    *("common_type", "min_scalar_type", "can_cast", "digitize", "argpartition"),
    *("nanargmax", "nanargmin", "array", "asanyarray", "ascontiguousarray", "asfortranarray"),
    *("require", "empty_like", "empty", "identity", "tri", "diag_indices_from"),
    *("tril_indices_from", "triu_indices_from", "linalg.matrix_rank", "lexsort", "array_equiv", "einsum_path"),
    *(
        "shares_memory",
        "may_share_memory",
        "histogram",
        "histogram2d",
        "histogram_bin_edges",
        "histogramdd",
        "bincount",
    ),
}


def values(result: Any) -> list[Any]:
    parts = list(result) if isinstance(result, (list, tuple)) else [result]
    return [part.detach().numpy() if isinstance(part, dk.Tensor) else part for part in parts]


def test_every_composition_is_tried() -> None:
    made = {*compositions, *COMPOSED_BY_NUMPY.split(), *(f"ufunc {name}" for name in universal)}
    assert CALLS.keys() == made - WRITERS  # which give nothing back


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")  # from NumPy 2.5 on
@pytest.mark.parametrize("name", CALLS)
def test_a_composition_is_what_numpy_computes(name: str) -> None:
    for array, call in CALLS[name]:
        want = values(call(array))
        result = call(dk.asarray(array) if isinstance(array, (np.ndarray, np.generic)) else array)
        got = values(result)
        assert len(got) == len(want), name
        for one, other in zip(got, want, strict=True):
            if isinstance(other, (np.dtype, type)):
                assert one == other
                continue
            if not isinstance(one, int):
                assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", sorted(CALLS.keys() - PLACES))
def test_gradients_flow_through_a_composition(name: str) -> None:
    for array, call in CALLS[name]:
        if np.asarray(array).dtype.kind not in "fc":
            continue
        x = dk.tensor(array, requires_grad=True)
        result = call(x)
        parts = list(result) if isinstance(result, (list, tuple)) else [result]
        found = [y for y in parts if isinstance(y, dk.Tensor) and y.requires_grad]
        assert found, name
        found[0].sum().abs().backward()
        assert x.grad is not None


def test_gradients_of_compositions_are_those_of_differences() -> None:
    smooth: dict[str, Any] = {
        "gradient": lambda x: np_.gradient(x, [0.0, 1.0, 3.0], axis=1, edge_order=2),
        "lstsq": lambda x: np_.linalg.lstsq(x, A[:, 0] + 1)[0],
        "lstsq, residuals": lambda x: np_.linalg.lstsq(x[:, :2], A[:, 0] + 1)[1],
        "cond": np_.linalg.cond,
        "multi_dot": lambda x: np_.linalg.multi_dot([x, x, A[0]]),
        "percentile": lambda x: np_.percentile(x, 30, axis=1),
        "nanquantile": lambda x: np_.nanquantile(x, 0.3, axis=0),
        "trapezoid": lambda x: np_.trapezoid(x, x, axis=0),
        "cbrt": np_.cbrt,
        "fmod": lambda x: np_.fmod(x, 0.7),
        "sinc": np_.sinc,
        "unique": np_.unique,
        "block": lambda x: np_.block([[x, 2 * x]]),
        "windows": lambda x: windows(x, (2, 2)) ** 2,
        "ediff1d": lambda x: np_.ediff1d(x, to_begin=x[0] ** 2, to_end=3),
        "trim_zeros": lambda x: np_.trim_zeros(x * np.array([0.0, 1.0, 0.0])) ** 2,
        "linspace": lambda x: np_.linspace(x, 2, 4, axis=-1) ** 2,
        "logspace": lambda x: np_.logspace(x, 2, 3, base=x[0] ** 2 + 1),
        "geomspace": lambda x: np_.geomspace(x**2 + 1, 8, 4),
        "select": lambda x: np_.select([A > 1, A < 0], [x * x, 2], 0.5),
        "choose": lambda x: np_.choose([0, 1, 1], [x * x, 2]),
        "apply_along_axis": lambda x: np_.apply_along_axis(lambda row: row[:2] ** 2, 0, x),
        "weights": lambda x: np_.histogram(A[0], 2, weights=x[0] ** 2)[0],
        "complex weights": lambda x: np_.abs(np_.histogram(A[0], 2, weights=x[0] + 2j)[0]),
        "weights of points": lambda x: np_.histogramdd([A[0]], [[-2.0, 1.0, 4.0]], weights=x[0] ** 2, density=True)[0],
        "max, initial": lambda x: np_.max(x * x, axis=0, initial=3),
        "average": lambda x: np_.average(x, weights=x * x),
    }
    for call in smooth.values():
        assert dk.autograd.gradcheck(call, (dk.tensor(A + 0.01 * A**2, requires_grad=True),))


DIAGONAL = frozenset(
    name for name in CALLS if not name.startswith("ufunc") and CALLS[name] and CALLS[name][0][0] is A
) - {"empty_like", "shares_memory", "may_share_memory", *numpy_table.CREATED}


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", sorted(DIAGONAL))
def test_a_composition_of_a_declared_type_has_the_values_of_its_dense_form(name: str) -> None:
    d = Diagonal(dk.asarray([4.0, 3.0, 5.0]))
    for array, call in CALLS[name]:
        if array is not A:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DensifyWarning)
            got = call(d)
            dense = [np.asarray(part) for part in (got if isinstance(got, (list, tuple)) else [got])]
        for one, other in zip(dense, values(call(np.diag([4.0, 3.0, 5.0]))), strict=True):
            if isinstance(other, (np.dtype, type)):
                assert one == other
                continue
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", sorted(numpy_table.CREATED & CALLS.keys()))
def test_what_is_created_like_a_declared_type_is_no_plain_tensor(name: str) -> None:
    d = Diagonal(dk.asarray([4.0, 3.0, 5.0]))
    for _, call in CALLS[name]:
        with pytest.raises(
            TypeError, match=rf"^numpy\.{name}: Diagonal, the type of like, does not say how it is made"
        ):
            call(d)


def test_structure_stays_where_the_operations_keep_it() -> None:
    d = Diagonal(dk.asarray([4.0, 3.0, 5.0]))
    with dk.densify(on="error"):
        assert isinstance(np_.dot(d, d), Diagonal)
        assert isinstance(np_.linalg.multi_dot([d, d, d]), Diagonal)
        assert np_.dot(d, np.ones(3)).tolist() == [4.0, 3.0, 5.0]
        assert np_.result_type(d, np.float32) == np.float64
        assert np_.iscomplexobj(d) is False
        assert [len(part) for part in np_.tril_indices_from(d)] == [6, 6]


def test_a_written_result_and_a_chosen_dtype_are_given() -> None:
    x, out = dk.asarray(A), np.zeros((3, 3))
    assert np_.dot(x, x, out=out) is out
    np.testing.assert_allclose(out, A @ A)
    assert np_.vstack([x, x], dtype=np.float32, casting="same_kind").dtype == np.float32
    assert np_.trace(x, dtype=np.float32).dtype == np.float32
    assert type(np_.vstack([x, x], dtype=np.float32, casting="unsafe")) is np.ndarray


def test_a_not_a_number_is_replaced_in_the_tensor_itself() -> None:
    x = dk.asarray([1.0, math.nan])
    assert np_.nan_to_num(x, copy=False) is x
    assert x.tolist() == [1.0, 0.0]


def test_mistakes_are_numpys() -> None:
    x = dk.asarray(A)
    calls: tuple[Any, ...] = (
        lambda x: np_.nanargmax(x * math.nan),
        lambda x: np_.linalg.multi_dot([x]),
        lambda x: np_.vsplit(x[0], 2),
        lambda x: windows(x[0], 9),
        lambda x: np_.gradient(x[:1]),
        lambda x: np_.digitize(x, [1.0, 0.0, 2.0]),
        lambda x: np_.block([[x], x]),
    )
    for call in calls:
        with pytest.raises(Exception, match=r".") as want:
            call(A)
        with pytest.raises(type(want.value)) as got:
            call(x)
        assert str(got.value) == str(want.value)


UFUNCS: dict[str, Callable[[Any], Any]] = {
    "dtype": lambda x: np_.add(x, 1, dtype=np.float32),
    "where, out": lambda x: np_.sqrt(x * x, where=np.asarray(A > 1), out=np.zeros((3, 3))),
    "reduce, dtype": lambda x: np_.add.reduce(x, dtype=np.float32),
    "reduce, initial": lambda x: np_.multiply.reduce(x, axis=1, initial=3.0),
    "reduce, where": lambda x: np_.add.reduce(x, axis=None, where=A > 1),
    "reduce, where, initial": lambda x: np_.maximum.reduce(x, initial=-9.0, where=A < 1),
    "reduce, logaddexp": lambda x: np_.logaddexp.reduce(x, axis=0),
    "accumulate": lambda x: np_.add.accumulate(x),
    "accumulate, axis": lambda x: np_.multiply.accumulate(x, axis=1),
    "outer": lambda x: np_.multiply.outer(x, V),
    "outer, of a list": lambda x: np_.subtract.outer([1.0, 2.0], x),
}


@pytest.mark.parametrize("name", UFUNCS)
def test_the_forms_of_universal_functions_are_operations(name: str) -> None:
    got, want = UFUNCS[name](dk.tensor(A)), UFUNCS[name](A)
    assert isinstance(got, dk.Tensor) or name == "where, out"
    assert got.dtype == want.dtype
    np.testing.assert_allclose(np.asarray(got), want)


def test_what_numpy_computes_on_arrays_needs_no_gradient() -> None:
    x = dk.tensor(A, requires_grad=True)
    for call in (np_.frexp, np_.ix_, np_.roots, lambda x: np_.subtract.reduce(x)):
        with pytest.raises(AutogradError, match="would lose the graph"):
            call(x[0] if call in (np_.roots, np_.ix_) else x)
