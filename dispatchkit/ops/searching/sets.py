"""Arrays as sets: distinct elements, membership, how often integers occur."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.shared import floating, integer, shape_of
from dispatchkit.protocol.kinds import kinds


class UniqueAllResult(NamedTuple):
    """Distinct elements, where they first stand, where each element went, and how often each occurs."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """Distinct elements, and how often each occurs."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """Distinct elements, and where each element went among them."""

    values: Array
    inverse_indices: Array


UNIQUE_SAMPLES = [
    sample(draw(6, low=0, high=2, content="integer")),
    sample(draw(2, 3, low=0, high=2, content="integer")),
    sample(draw(3)),
]


# Integers from which a table of those between the smallest and the largest is made in less time than an order.
MANY = 1000


def _count_integers(x: Any) -> tuple[Any, Any, Any] | None:
    """Return the integers held, how often each, and what numbers each element by them; None if they lie apart.

    What numbers them is a function, since it takes another pass over the array.
    """
    if x.size > MANY and x.dtype.kind == "i":
        low, high = int(x.min()), int(x.max())
        if high - low < x.size:
            places = x.astype(np.intp, copy=False)  # differences may be more than a short integer holds
            if low:
                places = places - low
            counts = np.bincount(places.reshape(-1))
            held = counts.nonzero()[0]
            values = (held + low).astype(x.dtype, copy=False)
            return values, counts[held], lambda: ((counts > 0).cumsum() - 1)[places]
    return None


@operation(kind=kinds.set, samples=UNIQUE_SAMPLES)
def unique_all(xp: Namespace, x: Array, /) -> UniqueAllResult:
    """Find the distinct elements, where they first stand, where each element went, and how often each occurs.

    Parameters
    ----------
    x : array of shape (...), taken as flat

    Returns
    -------
    named tuple of `values`, sorted; `indices` of their first occurrences; `inverse_indices`, of the shape of
    `x`, such that ``values[inverse_indices]`` is `x`; `counts`

    Notes
    -----
    Each NaN is distinct from all others. The cotangent of a value goes to where it first stands.

    Examples
    --------
    >>> dk.unique_all(dk.asarray([3, 1, 3])).indices
    tensor([1, 0])
    """
    return UniqueAllResult(*xp.unique_all(x))


@operation(kind=kinds.set, samples=UNIQUE_SAMPLES)
def unique_counts(xp: Namespace, x: Array, /) -> UniqueCountsResult:
    """Find the distinct elements, and how often each occurs.

    Parameters
    ----------
    x : array of shape (...), taken as flat

    Returns
    -------
    named tuple of `values`, sorted, and `counts`

    Notes
    -----
    Each NaN is distinct from all others. The cotangent of a value goes to where it first stands.

    Examples
    --------
    >>> dk.unique_counts(dk.asarray([3, 1, 3])).counts
    tensor([1, 2])
    """
    return UniqueCountsResult(*_values_and_counts(xp, x))


def _values_and_counts(xp: Namespace, x: Any) -> Any:
    counted = None
    if xp is numpy_namespace:
        counted = _count_integers(np.asarray(x))
    if counted is None:
        return xp.unique_counts(x)
    return counted[:2]


@operation(kind=kinds.set, samples=UNIQUE_SAMPLES)
def unique_inverse(xp: Namespace, x: Array, /) -> UniqueInverseResult:
    """Find the distinct elements, and where each element went among them.

    Parameters
    ----------
    x : array of shape (...), taken as flat

    Returns
    -------
    named tuple of `values`, sorted, and `inverse_indices`, of the shape of `x`, such that
    ``values[inverse_indices]`` is `x`

    Notes
    -----
    Each NaN is distinct from all others. The cotangent of a value goes to where it first stands.

    Examples
    --------
    >>> dk.unique_inverse(dk.asarray([3, 1, 3])).inverse_indices
    tensor([1, 0, 1])
    """
    counted = None
    if xp is numpy_namespace:
        counted = _count_integers(np.asarray(x))
    if counted is None:
        values_and_inverse = xp.unique_inverse(x)
    else:
        values_and_inverse = (counted[0], counted[2]())
    return UniqueInverseResult(*values_and_inverse)


@operation(kind=kinds.set, samples=UNIQUE_SAMPLES)
def unique_values(xp: Namespace, x: Array, /) -> Array:
    """Find the distinct elements.

    Parameters
    ----------
    x : array of shape (...), taken as flat

    Returns
    -------
    array with one axis, sorted, of the dtype of `x`

    Notes
    -----
    Each NaN is distinct from all others. The order is a promise of this library: NumPy's function of this
    name makes none. The cotangent of an element goes to where it first stands.

    Examples
    --------
    >>> dk.unique_values(dk.asarray([3, 1, 3]))
    tensor([1, 3])
    """
    return _values_and_counts(xp, x)[0]


def _to_first(xp: Any, g: Any, x: Any) -> Any:
    """Return the cotangent of an array from that of its distinct elements, which goes to where each first stands."""
    zeros = xp.zeros((prod(x.shape),), dtype=g.dtype)
    return xp.reshape(xp.index_put(zeros, xp.unique_all(x)[1], g), x.shape)


def _of_first(xp: Any, t: Any, x: Any) -> Any:
    """Return the tangents of distinct elements, which are those of where each first stands."""
    return xp.take(xp.reshape(t, (-1,)), xp.unique_all(x)[1], axis=0)


unique_values.def_vjp("x")(_to_first)
unique_values.def_jvp("x")(_of_first)


def _vjp_of_values(xp: Any, g: Any, x: Any) -> Any:
    return _to_first(xp, g[0], x)


def _jvp_of_values(xp: Any, t: Any, x: Any, y: Any) -> Any:
    return type(y)(_of_first(xp, t, x), *map(xp.zeros_like, y[1:]))


for _several in (unique_all, unique_counts, unique_inverse):
    _several.def_vjp("x")(_vjp_of_values)
    _several.def_jvp("x")(_jvp_of_values)


@operation(
    passthrough=True,
    kind=kinds.set,
    differentiable=False,
    samples=lambda: [
        sample(draw(2, 3, low=0, high=4, content="integer"), draw(2, low=0, high=4, content="integer")),
        sample(draw(3, low=0, high=4, content="integer"), 2, invert=True),
    ],
)
def isin(xp: Namespace, x1: Array, x2: Array, /, *, invert: bool = False) -> Array:
    """Tell whether each element is among those of another array.

    Parameters
    ----------
    x1 : array of shape (...) or a number
    x2 : array of any shape, or a number, whose elements are looked for
    invert : whether to tell instead which are not among them

    Returns
    -------
    array of booleans, of the shape of `x1`

    Notes
    -----
    NaN is in no set.

    Examples
    --------
    >>> dk.isin(dk.asarray([1, 2, 3]), dk.asarray([2, 5]))
    tensor([False,  True, False])
    """
    return xp.isin(x1, x2, invert=invert)


@operation(
    kind=kinds.set,
    methods=("bincount",),
    samples=lambda: [
        sample(draw(6, low=0, high=3, content="integer")),
        sample(draw(4, low=0, high=3, content="integer"), draw(4)),
        sample(draw(0, content="integer"), minlength=2),
    ],
)
def bincount(xp: Namespace, x: Array, /, weights: Array | None = None, minlength: int = 0) -> Array:
    """Count how often each integer occurs.

    Parameters
    ----------
    x : array of integers from 0 on, of shape (N,)
    weights : array of shape (N,) that is added up in place of ones
    minlength : least length of the result

    Returns
    -------
    array of shape (K,), where K is one more than the largest integer, or `minlength` if that is more: of int64, or of
    the dtype of floating `weights`, float64 for others

    Raises
    ------
    TypeError : if `x` is not of integers
    ValueError : if it is no vector or has negative elements, `weights` has another shape, or `minlength` is negative

    Notes
    -----
    Linear in `weights`. Source: PyTorch, `torch.bincount`, and NumPy, `numpy.bincount`, which gives float64 for
    weights of any dtype; neither is differentiable.

    Examples
    --------
    >>> dk.bincount(dk.asarray([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if not hasattr(x, "dtype") or not xp.isdtype(x.dtype, "integral"):
        raise TypeError(f"{bincount.__name__}: x must be of integers, found {getattr(x, 'dtype', x)}")
    if x.ndim != 1:
        raise ValueError(f"{bincount.__name__}: x must be a vector, found shape {tuple(x.shape)}")
    if not holds(x >= 0):
        raise ValueError(f"{bincount.__name__}: x must be of integers from 0 on, found {int(xp.min(x))}")
    if weights is not None and shape_of(weights) != tuple(x.shape):
        raise ValueError(
            f"{bincount.__name__}: weights of shape {shape_of(weights)} for integers of shape {tuple(x.shape)}"
        )
    least = integer(bincount, "minlength", minlength, least=0)
    length = least
    if x.shape[0]:
        length = max(least, int(xp.max(x)) + 1)
    if weights is None:
        added = xp.ones(x.shape, dtype=xp.int64)
    else:
        added = floating(xp, weights)
    return xp.index_put(xp.zeros((length,), dtype=added.dtype), x, added, accumulate=True)
