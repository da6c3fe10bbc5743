"""What stands at places in the order of elements: `median`, `quantile`."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from dispatchkit.backends.arrays import holds_complex, is_inexact
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.shared import Axis, floating, lanes, normal_axes, shape_of
from dispatchkit.protocol.kinds import kinds

QuantileMethod: TypeAlias = Literal["linear", "lower", "higher", "midpoint", "nearest"]
METHODS = ("linear", "lower", "higher", "midpoint", "nearest")
DISTINCT = draw(2, 3, 2, content="distinct")


@operation(
    kind=kinds.reduction,
    samples=lambda: [
        sample(draw(5, content="distinct")),
        sample(DISTINCT, axis=1),
        sample(DISTINCT, axis=(0, 2), keepdims=True),
        sample(draw()),
        sample(draw(4, content="integer")),
    ],
    real=True,
)
def median(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Find the element in the middle when they are sorted.

    Returns
    -------
    array of floating-point numbers without the axes looked along; for an even number of elements the mean of the two
    in the middle; NaN where an element is NaN

    Raises
    ------
    ValueError : if there are no elements

    Notes
    -----
    The cotangent goes to the elements in the middle, or to the NaN that is sorted last. There is no method, as
    PyTorch's takes the lower of the two. Source: NumPy, `numpy.median`.

    Examples
    --------
    >>> dk.median(dk.asarray([3.0, 1.0, 2.0, 9.0]))
    tensor(2.5000)
    """
    ordered, undefined = _sort(xp, _real_lanes(xp, median.__name__, x, axis))
    ordered = floating(xp, ordered)
    n = ordered.shape[-1]
    y = xp.mean(ordered[..., (n - 1) // 2 : n // 2 + 1], axis=-1, keepdims=True)
    return xp.reshape(_without(xp, y, ordered, undefined), _reduced_shape(x.shape, axis, keepdims))


@operation(
    kind=kinds.function,
    methods=("quantile",),
    samples=lambda: [
        sample(draw(5, content="distinct"), 0.3),
        sample(DISTINCT, draw(2, low=0.1, high=0.4), axis=1),
        sample(DISTINCT, draw(2, 1, low=0.6, high=0.9), axis=(0, -1), keepdims=True),
        sample(draw(4, content="distinct"), 1.0),
        *(sample(DISTINCT, np.asarray([0.05, 0.33, 0.72, 0.95]), axis=(0, 1), method=method) for method in METHODS[1:]),
        sample(draw(4, content="integer"), 0.4, method="lower"),
        sample(draw(), 0.5),
    ],
    real=True,
)
def quantile(
    xp: Namespace,
    x: Array,
    q: Array | float,
    /,
    *,
    axis: Axis = None,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
) -> Array:
    """Find the elements below which given shares of all lie.

    Parameters
    ----------
    q : the shares, a number or an array of them, from 0 to 1
    axis : to look along, one or several; all by default
    method : what to do where ``q * (n - 1)`` is no index into the n sorted elements: interpolate (``"linear"``),
        take the element before (``"lower"``), after (``"higher"``) or nearest to it (``"nearest"``, of two the one
        with an even index), or the mean of both (``"midpoint"``)
    keepdims : whether the axes looked along stay, with length 1

    Returns
    -------
    array of the shape of `q`, then that of `x` without the axes looked along; NaN where an element is NaN

    Raises
    ------
    ValueError : if a share is below 0 or above 1, the method is not known, or there are no elements

    Notes
    -----
    The cotangent goes to the elements that were chosen, in the proportions of the result, or to the NaN that is sorted
    last; that of `q` is the slope between them, and 0 at an index. Source: NumPy, `numpy.quantile`; there are no
    weights, and none of the methods for samples of distributions.

    Examples
    --------
    >>> x = dk.asarray([4.0, 1.0, 3.0, 2.0])
    >>> dk.quantile(x, dk.asarray([0.0, 0.5, 0.75]))
    tensor([1.0000, 2.5000, 3.2500])
    >>> dk.quantile(x, 0.5, method="lower")
    tensor(2.)
    """
    if method not in METHODS:
        raise ValueError(f"{quantile.__name__}: method must be one of {str(METHODS)[1:-1]}, found {method!r}")
    x, shape = _real_lanes(xp, quantile.__name__, x, axis), _reduced_shape(x.shape, axis, keepdims)
    if isinstance(q, (int, float)):
        if is_inexact(x.dtype) and not _many(xp, x, x.dtype):
            dtype = x.dtype
        else:
            dtype = xp.float64
        q = xp.asarray(q, dtype=dtype)
    if holds_complex(q):
        raise TypeError(f"{quantile.__name__}: q must be real, found {getattr(q, 'dtype', q)}")
    shares: Any = q
    if is_inexact(shares.dtype) and _many(xp, x, shares.dtype):
        shares = xp.astype(shares, xp.float64)
    if not holds((q >= 0) & (q <= 1), traced=True):
        raise ValueError(f"{quantile.__name__}: q must lie between 0 and 1, found {q}")
    places = xp.reshape(shares, (-1,)) * (x.shape[-1] - 1)
    ordered, undefined = _sort(xp, x)
    chosen = xp.moveaxis(_without(xp, _chosen(xp, ordered, places, method), ordered, undefined), -1, 0)
    return xp.reshape(chosen, (*shape_of(q), *shape))


def _many(xp: Namespace, x: Any, dtype: Any) -> bool:
    """Return whether floating-point numbers of a dtype do not tell places between the elements of an axis apart."""
    return bool(x.shape[-1] * float(xp.finfo(dtype).eps) > 2**-12)


def _real_lanes(xp: Namespace, name: str, x: Any, axis: Axis) -> Any:
    """Return an array of real numbers with one axis moved to the end, which must have elements."""
    if holds_complex(x):
        raise TypeError(f"{name}: x must hold real numbers, which have an order, found {x.dtype}")
    x = lanes(xp, x, axis)
    if not x.shape[-1]:
        raise ValueError(f"{name}: there are no elements along axis {axis}")
    return x


def _sort(xp: Namespace, x: Any) -> tuple[Any, Any]:
    """Return an array sorted along the last axis, and where that axis holds a NaN."""
    ordered = xp.sort(x, axis=-1, stable=False)
    if not is_inexact(x.dtype):
        return ordered, None
    # NumPy puts NaN last; the standard leaves the place open.
    sorted_last = type(ordered) is np.ndarray
    if sorted_last:
        has_nan = xp.isnan(ordered[..., -1:])
    else:
        has_nan = xp.any(xp.isnan(x), axis=-1, keepdims=True)
    return ordered, has_nan


def _without(xp: Namespace, y: Any, ordered: Any, undefined: Any) -> Any:
    """Return results, NaN for those that are undefined: the last of the sorted elements, where NaN stands."""
    if undefined is None:
        return y
    return xp.where(undefined, ordered[..., -1:] + float("nan"), y)


def _chosen(xp: Namespace, ordered: Any, places: Any, method: str) -> Any:
    """Return what a method takes from sorted elements at places between them."""
    if method in ROUNDED:
        return _at(xp, ordered, getattr(xp, ROUNDED[method])(places))
    low, high = xp.floor(places), xp.ceil(places)
    ordered = floating(xp, ordered)
    below, above = _at(xp, ordered, low), _at(xp, ordered, high)
    if method == "midpoint":
        share = xp.full_like(places, 0.5)
    else:
        share = places - low
    if _many(xp, ordered, below.dtype):
        share = xp.astype(share, below.dtype)
    return between(xp, below, above, share)


def between(xp: Namespace, below: Any, above: Any, share: Any) -> Any:
    """Return what lies a share of the way from one of two neighbours in an order to the other.

    A share of 0 is the one, whatever the other, and so is any share of the way from an infinity to a number or itself.
    """
    same = (share == 0) | (xp.isinf(below) & (above != -below))
    return below + share * xp.where(same, 0, xp.where(same, 0, above) - below)


ROUNDED = {"lower": "floor", "higher": "ceil", "nearest": "round"}


def _at(xp: Namespace, ordered: Any, places: Any) -> Any:
    return xp.take(ordered, xp.astype(places, xp.int64), axis=-1)


def _reduced_shape(shape: tuple[int, ...], axis: Axis, keepdims: bool) -> tuple[int, ...]:
    """Return the shape of the result of a reduction."""
    lost = normal_axes(axis, len(shape))
    if keepdims:
        return tuple(1 if i in lost else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in lost)
