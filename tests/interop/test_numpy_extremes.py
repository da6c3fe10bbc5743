"""NumPy's functions on tensors of small integers, infinities and NaN, against NumPy's own answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from tests.interop.test_numpy_compositions import values

np_: Any = np  # NumPy's stubs know no types but NumPy's
INF, NAN = np.inf, np.nan
# Matrices by what they hold; the integers wrap around, the infinities and NaN stand in several rows and alone.
MATRICES: dict[str, Any] = {
    "uint8": np.array([[3, 2, 1], [200, 100, 250], [0, 255, 7]], np.uint8),
    "int8": np.array([[-100, 0, 100], [127, -128, 5], [3, -2, 1]], np.int8),
    "bool": np.array([[True, False, True], [False, False, True], [True, True, True]]),
    "inf": np.array([[INF, INF, INF], [-INF, 1.0, INF], [2.0, -INF, 0.5]]),
    "one infinity": np.array([[0.5, 1.0, 2.0], [-INF, 10.0, 3.0], [INF, 4.0, -0.0]]),
    "nan": np.array([[NAN, 1.0, INF], [NAN, 2.0, -INF], [1.0, 0.0, NAN]]),
    "float32": np.array([[1.5, NAN, -INF], [0.0, -0.0, 3.0], [INF, INF, 2.0]], np.float32),
    "complex": np.array(
        [[1 + 2j, complex(NAN, 1), 3j], [complex(1, NAN), 2, 1 - 1j], [complex(NAN, NAN), 5 + 1j, 5 + 2j]]
    ),
    "complex inf": np.array(
        [[complex(INF, 1), 2j, 1], [complex(-INF, NAN), 1, 2], [complex(0, -INF), complex(INF, INF), 0]]
    ),
    "singular": np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 0.0, 0.0]]),
    "zeros": np.zeros((3, 3)),
}
AXES = (None, 0, 1)


def along(function: Any, *arguments: Any, **keywords: Any) -> list[Callable[[Any], Any]]:
    """Return calls along each axis and along all."""
    return [partial(call_along, function, axis, arguments, keywords) for axis in AXES]


def call_along(function: Any, axis: int | None, arguments: Any, keywords: Any, x: Any) -> Any:
    return function(x, *arguments, axis=axis, **keywords)


def condition(p: Any, x: Any) -> Any:
    return np_.linalg.cond(x, p)


def condition_of_several(p: Any, x: Any) -> Any:
    return np_.linalg.cond(np_.stack([x, x * 0 + np.eye(3)]), p)


# Calls of a matrix.
CALLS: dict[str, list[Callable[[Any], Any]]] = {
    "gradient": [
        np_.gradient,
        lambda x: np_.gradient(x[0], x[1]),
        lambda x: np_.gradient(x[0], x[2], edge_order=2),
        lambda x: np_.gradient(x[0], np.array([3, 2, 1], np.uint8)),
        lambda x: np_.gradient(x[0], np.array([-100, 0, 100], np.int8)),
        lambda x: np_.gradient(x[0], np.array([-100, 0, 100], np.int8), edge_order=2),
        lambda x: np_.gradient(np.array([1.0, 2.0, 4.0]), x[0]),
        lambda x: np_.gradient(x, edge_order=2, axis=1),
        lambda x: np_.gradient(x, 2, axis=0),
        lambda x: np_.gradient(x, x[0, 0], axis=0),
        lambda x: np_.gradient(x, np.int8(100), axis=0),
    ],
    "interp": [
        lambda x: np_.interp([0.5, 0.0, -1.0, 3.0, NAN, INF, -INF, 1.0, 2.0], [0.0, 1.0, 2.0], x[0]),
        lambda x: np_.interp([0.5, 0.0, -1.0, 3.0, NAN, INF, -INF, 1.0, 1.5], [0.0, 1.0, 2.0], x[1]),
        lambda x: np_.interp([0.5, 0.0, -1.0, 3.0, NAN, INF, -INF, 1.0, 1.5], [0.0, 1.0, 2.0], x[2]),
        lambda x: np_.interp([0.5, 0.0, 3.0, NAN], [0.0, 1.0, 2.0], x[1], 5.0, 6.0),
        lambda x: np_.interp([0.5, 0.0, 3.0, NAN], [0.0, 1.0, 2.0], x[1], period=2.5),
        lambda x: np_.interp(x, [0.0, 1.0, 2.0], [1.0, 2.0, 4.0]),
        lambda x: np_.interp([0.5, 3.0, INF, -INF], [-INF, 1.0, INF], x[1]),
    ],
    "nanmedian": along(np_.nanmedian) + along(np_.nanmedian, keepdims=True),
    "nanquantile": along(np_.nanquantile, 0.3) + along(np_.nanquantile, [0.0, 0.25, 0.5, 1.0]),
    "nanpercentile": along(np_.nanpercentile, 30),
    "median": along(np_.median),
    "quantile": along(np_.quantile, 0.3) + along(np_.quantile, [0.0, 0.5, 1.0]),
    "percentile": along(np_.percentile, 50),
    **{
        name: along(getattr(np, name))
        for name in ("nanmax", "nanmin", "nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanargmax", "nanargmin")
    },
    **{
        name: along(getattr(np, name))
        for name in ("max", "min", "sum", "prod", "mean", "var", "std", "argmax", "argmin", "any", "all", "ptp")
    },
    "nancumsum": along(np_.nancumsum),
    "nancumprod": along(np_.nancumprod),
    "cond by singular values": [
        *(partial(condition, p) for p in (None, 2, -2, "nuc")),
        *(partial(condition_of_several, p) for p in (None, 2, -2)),
    ],
    "cond by norms": [
        partial(call, p) for call in (condition, condition_of_several) for p in (1, -1, INF, -INF, "fro")
    ],
    "average": [*along(np_.average), lambda x: np_.average(x, weights=np.ones((3, 3)))],
    "cov": [np_.cov, lambda x: np_.cov(x, rowvar=False), lambda x: np_.cov(x[0])],
    "corrcoef": [np_.corrcoef],
    "ediff1d": [np_.ediff1d],
    "diff": [np_.diff, lambda x: np_.diff(x, n=2, axis=0)],
    "trapezoid": [
        np_.trapezoid,
        lambda x: np_.trapezoid(x, x[0]),
        lambda x: np_.trapezoid(x[0], x[1]),
        lambda x: np_.trapezoid(x[0], np.array([3, 2, 1], np.uint8)),
    ],
    "nan_to_num": [np_.nan_to_num, lambda x: np_.nan_to_num(x, nan=1, posinf=2, neginf=3)],
    "unwrap": [np_.unwrap, lambda x: np_.unwrap(x, period=4)],
    "polyval": [lambda x: np_.polyval(x[0], x[1]), lambda x: np_.polyval(x[0], 2)],
    "polyadd": [lambda x: np_.polyadd(x[0], x[1, :2])],
    "polysub": [lambda x: np_.polysub(x[0], x[1, :2])],
    "polymul": [lambda x: np_.polymul(x[0], x[1, :2])],
    "polyder": [lambda x: np_.polyder(x[0]), lambda x: np_.polyder(x[1], 2)],
    "vander": [lambda x: np_.vander(x[0]), lambda x: np_.vander(x[1], increasing=True), lambda x: np_.vander(x[2], 2)],
    "round": [lambda x: np_.round(x), lambda x: np_.round(x, 1), lambda x: np_.round(x, -1)],
    "isclose": [
        lambda x: np_.isclose(x, x[0]),
        lambda x: np_.isclose(x, x + x, equal_nan=True),
        lambda x: np_.isclose(x[0], x[::-1]),
    ],
    "array_equal": [lambda x: np_.array_equal(x, x), lambda x: np_.array_equal(x, x, equal_nan=True)],
    "array_equiv": [lambda x: np_.array_equiv(x, x)],
    "digitize": [lambda x: np_.digitize(x, [0.0, 1.0, 100.0]), lambda x: np_.digitize(x, [100, 1, 0], right=True)],
    "unique": [np_.unique, lambda x: np_.unique(x, return_index=True, return_inverse=True, return_counts=True)],
    "union1d": [lambda x: np_.union1d(x[0], x[1])],
    "intersect1d": [lambda x: np_.intersect1d(x[0], x[1])],
    "setdiff1d": [lambda x: np_.setdiff1d(x[0], x[1])],
    "setxor1d": [lambda x: np_.setxor1d(x[0], x[1])],
    "isin": [lambda x: np_.isin(x[0], x[1])],
    "lexsort": [lambda x: np_.lexsort((x[0], x[1]))],
    "sort": along(np_.sort),
    "argsort": along(np_.argsort, kind="stable"),
    "partition": [lambda x: np_.partition(x, 1)[..., 1]],
    "dot": [lambda x: np_.dot(x, x), lambda x: np_.dot(x[0], x[1]), lambda x: np_.dot(x, 2)],
    "vdot": [lambda x: np_.vdot(x, x)],
    "inner": [lambda x: np_.inner(x, x), lambda x: np_.inner(x, 2)],
    "multi_dot": [lambda x: np_.linalg.multi_dot([x, x, x[0]])],
    "cross": [lambda x: np_.cross(x, x[::-1])],
    "correlate": [lambda x: np_.correlate(x[0], x[1, :2]), lambda x: np_.correlate(x[0], x[1], "full")],
    "convolve": [lambda x: np_.convolve(x[0], x[1, :2])],
    "angle": [np_.angle, lambda x: np_.angle(x, deg=True)],
    "sinc": [np_.sinc],
    "fix": [np_.fix],
    "select": [lambda x: np_.select([x > x[0], x == x[1]], [x, x + x], 1)],
    "choose": [lambda x: np_.choose([0, 1, 0], [x[0], x[1]])],
    "insert": [lambda x: np_.insert(x, 1, 5), lambda x: np_.insert(x, 1, 1.5, axis=0)],
    "append": [lambda x: np_.append(x, [1]), lambda x: np_.append(x[0], 1.5)],
    "compress": [lambda x: np_.compress(x[0], x, axis=1)],
    "extract": [lambda x: np_.extract(x, x)],
    "flatnonzero": [np_.flatnonzero],
    "count_nonzero": along(np_.count_nonzero),
    "real_if_close": [np_.real_if_close],
    "isreal": [np_.isreal],
    "iscomplex": [np_.iscomplex],
    "isposinf": [np_.isposinf],
    "isneginf": [np_.isneginf],
    "trace": [np_.trace],
    "clip": [lambda x: np_.clip(x, 1, 100)],
    "kron": [lambda x: np_.kron(x[0], x[1])],
    "outer": [lambda x: np_.outer(x[0], x[1])],
    "cumsum": along(np_.cumsum),
    "cumprod": along(np_.cumprod),
    "heaviside": [lambda x: np_.heaviside(x, 0.5), lambda x: np_.heaviside(x, x[0])],
    "fmax": [lambda x: np_.fmax(x, x[0]), lambda x: np_.fmax(x[1], x[::-1])],
    "fmin": [lambda x: np_.fmin(x, x[0]), lambda x: np_.fmin(x[1], x[::-1])],
    "fmod": [lambda x: np_.fmod(x, x[::-1]), lambda x: np_.fmod(x, 3)],
    "remainder": [lambda x: np_.remainder(x, x[::-1]), lambda x: np_.remainder(x, 3)],
    "divmod": [lambda x: np_.divmod(x, x[::-1]), lambda x: np_.divmod(x, 3)],
    "ldexp": [lambda x: np_.ldexp(x, 2), lambda x: np_.ldexp(x, [1, 2, 3]), lambda x: np_.ldexp(1.5, x)],
    "logaddexp": [lambda x: np_.logaddexp(x, x[::-1])],
    "logaddexp2": [lambda x: np_.logaddexp2(x, x[::-1]), lambda x: np_.logaddexp2(x, 2)],
    "float_power": [lambda x: np_.float_power(x, 2), lambda x: np_.float_power(x, x[::-1])],
    "power": [lambda x: np_.power(x, 2), lambda x: np_.power(x, x[::-1])],
    "hypot": [lambda x: np_.hypot(x, x[::-1])],
    "copysign": [lambda x: np_.copysign(x, x[::-1])],
    "nextafter": [lambda x: np_.nextafter(x, x[::-1])],
    "arctan2": [lambda x: np_.arctan2(x, x[::-1])],
    "floor_divide": [lambda x: np_.floor_divide(x, x[::-1])],
    "matvec": [lambda x: np_.matvec(x, x[0])],
    "vecmat": [lambda x: np_.vecmat(x[0], x)],
    **{
        name: [getattr(np, name)]
        for name in (
            *(
                "exp2",
                "degrees",
                "radians",
                "deg2rad",
                "rad2deg",
                "fabs",
                "rint",
                "modf",
                "cbrt",
                "sqrt",
                "square",
                "reciprocal",
            ),
            *(
                "sign",
                "signbit",
                "abs",
                "negative",
                "floor",
                "ceil",
                "trunc",
                "exp",
                "expm1",
                "log",
                "log2",
                "log10",
                "log1p",
            ),
            *(
                "sin",
                "cos",
                "tan",
                "arcsin",
                "arccos",
                "arctan",
                "sinh",
                "cosh",
                "tanh",
                "arcsinh",
                "arccosh",
                "arctanh",
            ),
            *("isnan", "isinf", "isfinite", "logical_not", "conjugate", "real", "imag", "invert"),
        )
    },
}
# What is another answer by intent, by the name of a call and of a matrix.
OTHERWISE: dict[str, tuple[str, ...]] = {
    # The standard's infinities, where NumPy has NaN.
    **dict.fromkeys(("floor_divide", "divmod"), ("inf", "one infinity", "nan", "float32", "complex inf")),
    # Products of complex infinities have other parts.
    **dict.fromkeys(("exp2", "expm1", "sign"), ("complex inf",)),
    **dict.fromkeys(("interp", "convolve", "correlate"), ("complex", "complex inf")),
    # They stay in their dtype, and small integers go to the default one.
    **dict.fromkeys(("cov", "corrcoef"), ("float32",)),
    **dict.fromkeys(("cbrt", "square", "reciprocal"), ("uint8", "int8", "bool")),
    # A leading coefficient has a derivative also where it is 0, and stays.
    "polymul": ("bool", "float32", "zeros", "complex", "complex inf"),
    # Refused: complex numbers have no order, and booleans no difference.
    "median": ("complex", "complex inf"),
    **dict.fromkeys(("diff", "trapezoid"), ("bool",)),
    # Refused before an iteration that might not end.
    "cond by singular values": ("inf", "one infinity", "nan", "float32", "complex", "complex inf"),
    # Complex coordinates, which NumPy does not refuse.
    "gradient": ("bool", "complex inf"),
}
# NumPy's have NaN for 0 times an infinity, where these have the element, and differences of integers that wrap around.
SHARES = ("nanquantile", "nanpercentile", "quantile", "percentile", "nanmedian")
PRECISIONS = {2: 3e-3, 4: 3e-6, 8: 1e-9}  # by the bytes of a real number


def answer(call: Callable[[Any], Any], matrix: Any) -> list[Any] | None:
    """Return the arrays of a call, None where NumPy refuses it."""
    try:
        return [np.asarray(part) for part in values(call(matrix))]
    except (TypeError, ValueError, OverflowError, np.linalg.LinAlgError):
        return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", CALLS)
def test_numpys_functions_of_extreme_numbers_are_numpys(name: str) -> None:
    for content, matrix in MATRICES.items():
        if content in OTHERWISE.get(name, ()):
            continue
        reference = matrix.astype(np.float64) if name in SHARES and matrix.dtype.kind in "iub" else matrix
        for number, call in enumerate(CALLS[name]):
            want = answer(call, reference)
            if want is None:
                continue
            got = [np.asarray(part) for part in values(call(dk.asarray(matrix)))]
            which = f"call {number} of {content}"
            assert [(x.dtype, x.shape) for x in got] == [(x.dtype, x.shape) for x in want], which
            for ours, theirs in zip(got, want, strict=True):
                expected = np.where(np.isnan(theirs), ours, theirs) if name in SHARES else theirs
                precision = PRECISIONS.get(theirs.real.dtype.itemsize, 0) if theirs.dtype.kind in "fc" else 0
                np.testing.assert_allclose(ours, expected, precision, precision / 1e3, err_msg=which)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_gradients_beside_an_infinity_are_those_of_the_finite_part() -> None:
    places = dk.tensor([0.0, 1.0, 1.5, 2.0], requires_grad=True)
    heights = dk.tensor([-INF, 1.0, 4.0], requires_grad=True)
    np_.interp(places, [0.0, 1.0, 2.0], heights)[1:].sum().backward()
    assert places.grad is not None
    assert heights.grad is not None
    assert places.grad.tolist()[1:] == [3.0, 3.0, 0.0]
    assert heights.grad.tolist() == [0.0, 1.5, 1.5]
    x = dk.tensor([[1.0, 2.0], [-INF, 3.0]], requires_grad=True)
    np_.nanquantile(x, 0.25, axis=1)[0].backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.75, 0.25], [0.0, 0.0]]
