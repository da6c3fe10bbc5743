"""NumPy's functions of drawn arguments: on tensors they give NumPy's values, dtypes and shapes, or refuse them, too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as npst
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import dispatchkit as dk

np_: Any = np  # NumPy's stubs know no types but NumPy's
DTYPES = ("bool", "int8", "int64", "float32", "float64", "complex128")
NUMBERS = (0.0, 0.0, 1.0, 2.0, 3.0, 7.0, -1.0, 0.5, -2.5)
UNUSUAL = (*NUMBERS, np.nan, np.inf)


def arrays(
    dtypes: tuple[str, ...] = DTYPES,
    ndim: tuple[int, int] = (0, 2),
    numbers: tuple[float, ...] = UNUSUAL,
    shape: Any = None,
) -> st.SearchStrategy[Any]:
    """Return arrays of few numbers, cast to a drawn dtype; no axis is longer than 4."""
    shapes = npst.array_shapes(min_dims=ndim[0], max_dims=ndim[1], min_side=0, max_side=4) if shape is None else shape
    drawn = npst.arrays(np.float64, shapes, elements=st.sampled_from(numbers))
    return st.builds(cast, drawn, st.sampled_from(dtypes))


def cast(array: Any, dtype: str) -> Any:
    if dtype not in ("float32", "float64", "complex128"):
        array = np.nan_to_num(array, nan=5.0, posinf=9.0)
    return np.asarray(array).astype(dtype)


def several(count: int, **kinds: Any) -> st.SearchStrategy[Any]:
    """Return lists of arrays, most of them of one shape."""
    one_shape = npst.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3).flatmap(
        lambda shape: st.lists(arrays(shape=st.just(shape), **kinds), min_size=1, max_size=count)
    )
    any_shape = st.lists(arrays(**kinds), min_size=1, max_size=count)
    return one_shape | any_shape


ALL, REAL = arrays(), arrays(DTYPES[:-1])
FINITE = arrays(DTYPES[:-1], numbers=NUMBERS)
VECTORS = arrays(DTYPES[:-1], (1, 1), NUMBERS)
AXES = st.sampled_from((None, 0, -1, 1, 5, (0, 1), ()))
ONE_AXIS = st.sampled_from((0, -1, 1, 3))
ENDS = arrays(ndim=(0, 1)) | st.sampled_from((3, 300, 2.5, -1, True, 1j, np.nan, [1, 2], [0.5]))
BINS = st.sampled_from((3, 1, 0, -1, 2.4, "auto", "sturges", "fd", [0, 1, 2], [0.0, 0.5, 3.0], [0, 1, 1, 5], [3, 1]))
MORE_BINS = BINS | st.sampled_from(([[0, 1], [2, 3]], np.array(4), np.int8(2), None, [1], np.array([0.0, 1.5, 4.0])))
LIMITS = st.sampled_from((None, (0, 2), (-1.5, 2), (2, 0), (1, 1), (np.nan, 1), np.array([0.0, 3.0])))
COUNTS = st.sampled_from((0, 1, 2, 5, -1, 2.5))
NUMBER = st.sampled_from((0, 1, 3, 2.5, -2, 1j, True))


def choices(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def along(row: Any) -> Any:
    return row[:1] * 2


def rank_and_singular_values(a: Any, b: Any, rcond: float | None) -> Any:
    _, _, rank, values = np_.linalg.lstsq(a, b, rcond)
    return int(rank), values


FUNCTIONS_OF_ROWS = choices(np.sum, np.sort, along, lambda row: 3, lambda row: [1, 2.5], lambda row: row[:, None] * row)
# By the name of a call: what is called, what it takes by place, and the keywords that it may be given.
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "ediff1d": (np_.ediff1d, (ALL,), {"to_end": ENDS, "to_begin": ENDS}),
    "trim_zeros": (np_.trim_zeros, (ALL,), {"trim": choices("f", "b", "fb", "bf", "B", "", "ff", "x"), "axis": AXES}),
    "unique": (
        np_.unique,
        (REAL,),
        {"return_inverse": st.just(True), "return_counts": st.just(True), "axis": ONE_AXIS, "equal_nan": st.booleans()},
    ),
    "lexsort": (np_.lexsort, (several(3, dtypes=DTYPES[:-1]),), {"axis": ONE_AXIS}),
    "choose": (np_.choose, (choices([0, 1], [1], 0, [[1], [0]]), st.lists(FINITE | NUMBER, max_size=3)), {}),
    "piecewise": (
        lambda x, bound, functions: np_.piecewise(x, [x > bound], functions),
        (FINITE, NUMBER.filter(lambda x: not isinstance(x, complex)), st.lists(NUMBER | st.just(along), max_size=3)),
        {},
    ),
    "apply_along_axis": (
        lambda x, f, axis=0: np_.apply_along_axis(f, axis, x),
        (FINITE, FUNCTIONS_OF_ROWS),
        {"axis": ONE_AXIS},
    ),
    "apply_over_axes": (
        np_.apply_over_axes,
        (choices(np.sum, np.max, np.cumsum), FINITE, AXES.filter(bool) | st.just([-1, 0])),
        {},
    ),
    "linspace": (
        np_.linspace,
        (FINITE | NUMBER, FINITE | NUMBER),
        {"num": COUNTS, "endpoint": st.booleans(), "axis": ONE_AXIS},
    ),
    "logspace": (
        np_.logspace,
        (FINITE | NUMBER, FINITE | NUMBER),
        {"num": COUNTS, "endpoint": st.booleans(), "axis": ONE_AXIS, "base": choices(2, 2.5, [2.0, 3.0])},
    ),
    "geomspace": (
        np_.geomspace,
        (arrays(DTYPES[1:5], (0, 1), (1.0, 2.0, 7.0)), arrays(DTYPES[1:5], (0, 1), (1.0, 3.0, np.nan)) | choices(8, 0)),
        {"num": COUNTS, "endpoint": st.booleans(), "axis": ONE_AXIS},
    ),
    "vander": (np_.vander, (ALL,), {"N": choices(0, 1, 2, 4, -1), "increasing": st.booleans()}),
    "bincount": (
        np_.bincount,
        (arrays(("bool", "int8", "int64", "float64"), (0, 2), (0.0, 1.0, 2.0, 5.0)),),
        {"minlength": choices(0, 4, -1, 2.5)},
    ),
    "histogram_bin_edges": (np_.histogram_bin_edges, (ALL, MORE_BINS), {"range": LIMITS}),
    "histogram": (np_.histogram, (ALL, MORE_BINS), {"range": LIMITS, "density": st.booleans()}),
    "histogram of weights": (
        lambda x, weights, bins, **keywords: np_.histogram(x, bins, weights=weights, **keywords),
        (VECTORS, arrays(DTYPES[1:], (1, 1), NUMBERS), BINS),
        {"range": LIMITS, "density": st.booleans()},
    ),
    "histogramdd": (
        np_.histogramdd,
        (
            FINITE | several(2, dtypes=DTYPES[:-1], numbers=NUMBERS),
            MORE_BINS | st.lists(MORE_BINS, min_size=1, max_size=2),
        ),
        {"range": choices(None, [(0, 2)], [(0, 2), None], (0, 2)), "density": st.booleans()},
    ),
    "histogram2d": (
        np_.histogram2d,
        (VECTORS, VECTORS, MORE_BINS | st.lists(MORE_BINS, min_size=2, max_size=2)),
        {"range": choices(None, [(0, 2), (-1, 3)], [(0, 2)]), "density": st.booleans()},
    ),
    "digitize": (np_.digitize, (REAL, FINITE), {"right": st.booleans()}),
    "select": (np_.select, (several(2, dtypes=("bool",)), st.lists(FINITE | NUMBER, max_size=2)), {"default": NUMBER}),
    "delete": (np_.delete, (ALL, choices(0, -1, [0, 1], slice(1), 9, [], [True, False])), {"axis": ONE_AXIS}),
    "insert": (np_.insert, (FINITE, choices(0, -1, [0, 1], slice(1), 9), choices(5, 1.5, [1, 2])), {"axis": ONE_AXIS}),
    "compress": (np_.compress, (FINITE, ALL), {"axis": ONE_AXIS}),
    "diagonal": (np_.diagonal, (ALL,), {"offset": choices(0, 1, -2), "axis1": ONE_AXIS, "axis2": ONE_AXIS}),
    "trace": (np_.trace, (FINITE,), {"offset": choices(0, 1, -2), "axis1": ONE_AXIS, "axis2": ONE_AXIS}),
    "trapezoid": (np_.trapezoid, (FINITE,), {"dx": choices(1.0, 2), "axis": ONE_AXIS}),
    "gradient": (
        np_.gradient,
        (arrays(DTYPES[1:5], numbers=NUMBERS),),
        {"axis": AXES | st.just((0, 0)), "edge_order": choices(1, 2, 3)},
    ),
    "gradient of steps": (
        np_.gradient,
        (arrays(DTYPES[1:5], (1, 1), NUMBERS), arrays(("int64", "float64"), (0, 1), (1.0, 2.0))),
        {},
    ),
    "nan_to_num": (np_.nan_to_num, (ALL,), {"nan": choices(1, 2.5), "posinf": choices(None, 2, 0.5)}),
    "round": (np_.round, (arrays(DTYPES[1:5]),), {"decimals": choices(0, 1, -1, 400, 1.5)}),
    "partition": (
        lambda x, kth, axis=-1: np_.sort(np_.partition(x, kth, axis=axis), axis=axis),
        (FINITE, choices(0, -1, 2, (0, 1), 7, 0.5)),
        {"axis": choices(0, -1, 3)},
    ),
    "nanquantile": (
        np_.nanquantile,
        (arrays(("float64",), numbers=(*NUMBERS, np.nan)), choices(0.0, 0.3, 1.5, [0.5, 0.1])),
        {"axis": choices(None, 0, -1), "keepdims": st.booleans()},
    ),
    "nanmedian": (
        np_.nanmedian,
        (arrays(DTYPES[1:5], numbers=(*NUMBERS, np.nan)),),
        {"axis": choices(None, 0, -1), "keepdims": st.booleans()},
    ),
    "intersect1d": (np_.intersect1d, (REAL, REAL), {"return_indices": st.booleans()}),
    "setdiff1d": (np_.setdiff1d, (REAL, REAL), {}),
    "setxor1d": (np_.setxor1d, (REAL, REAL), {}),
    "union1d": (np_.union1d, (REAL, REAL), {}),
    "average": (np_.average, (arrays(DTYPES[1:], (1, 2), NUMBERS).filter(np.size),), {"axis": choices(None, 0, -1)}),
    "average of weights": (
        lambda x: np_.average(x, weights=x * x + 1),
        (arrays(DTYPES[1:], (1, 2), (7.0, 3.0, 11.0)),),
        {},
    ),
    **{
        name: (
            getattr(np_, name),
            (arrays(DTYPES[:5], numbers=NUMBERS),),
            {
                "axis": choices(None, 0, -1, 1),
                "initial": choices(2, 2.5, True),
                "where": choices(True, [True], [True, False]),
            },
        )
        for name in ("sum", "prod", "nansum", "nanprod")
    },
    **{
        name: (
            getattr(np_, name),
            (arrays(DTYPES[:5], numbers=NUMBERS), choices(None, 0, 1)),
            {"initial": choices(2, 2.5, True), "keepdims": st.booleans()},
        )
        for name in ("max", "min", "nanmax", "nanmin")
    },
    **{name: (getattr(np_, name), (FINITE,), {"axis": choices(None, 0, -1, 3)}) for name in ("cumsum", "cumprod")},
    "lstsq": (
        rank_and_singular_values,
        (
            arrays(("float64",), shape=st.just((4, 3)), numbers=NUMBERS),
            arrays(("float64",), shape=st.just((4,)), numbers=NUMBERS),
            choices(None, 1e-6, 0.3),
        ),
        {},
    ),
}


def with_tensors(value: Any) -> Any:
    """Return arguments with tensors in the place of arrays."""
    if isinstance(value, np.ndarray):
        return dk.asarray(value.copy())
    if isinstance(value, (list, tuple)):
        return type(value)(map(with_tensors, value))
    if isinstance(value, dict):
        return {name: with_tensors(member) for name, member in value.items()}
    return value


def parts(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [part for member in result for part in parts(member)]
    return [result]


def outcome(function: Callable[..., Any], args: Any, kwargs: Any) -> list[Any] | None:
    """Return the arrays that a call gives, None where it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return parts(function(*args, **kwargs))
        except (TypeError, ValueError, IndexError, ZeroDivisionError):
            return None


@pytest.mark.parametrize("name", CALLS)
@given(data=st.data())
def test_a_function_of_drawn_arguments_is_numpys(name: str, data: st.DataObject) -> None:
    function, places, keywords = CALLS[name]
    args = [data.draw(strategy) for strategy in places]
    kwargs = data.draw(st.fixed_dictionaries({}, optional=keywords))
    want = outcome(function, args, kwargs)
    got = outcome(function, with_tensors(args), with_tensors(kwargs))
    assert (got is None) == (want is None)
    if got is None or want is None:
        return
    assert len(got) == len(want)
    for ours, theirs in zip(got, want, strict=True):
        ours = np.asarray(ours)
        assert ours.shape == np.shape(theirs)
        assert ours.dtype == np.asarray(theirs).dtype
        if ours.dtype.kind not in "fc":
            np.testing.assert_array_equal(ours, theirs)
            continue
        precision = {4: 1e-5, 8: 1e-9}[ours.real.dtype.itemsize]
        np.testing.assert_allclose(ours, theirs, precision, precision / 100)
