"""Elements as shares of their exponentials: `softmax`, `log_softmax`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from dispatchkit.accelerator import reduction_of, rows
from dispatchkit.backends.arrays import holds_complex
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_numbers import ONE
from dispatchkit.backends.numpy_sums import sum_of_array, total
from dispatchkit.declare.decorators import body_on_numpy, operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared import Axis, floating, normal_axes
from dispatchkit.protocol.kinds import kinds

_largest: Callable[..., Any] = reduction_of(np.maximum)
# Elements of a row up to which a product sums them as precisely as NumPy.
LONGEST = 1 << 12
# Elements up to which NumPy's function takes no longer than finding out whether there are rows.
FEW = 1 << 7
SAMPLES = [
    sample(draw(3)),
    sample(draw(2, 3), axis=0),
    sample(draw(2, 2, 3), axis=(0, -1)),
    sample(draw(2, 2), axis=None),
    sample(draw()),
]


@operation(kind=kinds.function, methods=("softmax",), samples=SAMPLES, real=True)
def softmax(xp: Namespace, x: Array, /, *, axis: Axis = -1) -> Array:
    """Divide the exponential of each element by the sum of those along an axis, without overflow.

    Parameters
    ----------
    axis : whose elements sum to 1, one or several; None means all

    Returns
    -------
    floating-point array of the shape of `x`; NaN along the axis where an element is NaN or the largest is infinite

    Raises
    ------
    ValueError : if there are no elements along the axis

    Notes
    -----
    ``exp(x) / sum(exp(x))``, with cotangent ``y * (g - sum(g * y))``. Source: PyTorch, `torch.softmax`, which has
    no default for the axis.

    Examples
    --------
    >>> dk.softmax(dk.asarray([0.0, 0.0, 1000.0, 1000.0]))
    tensor([0.0000, 0.0000, 0.5000, 0.5000])
    """
    x, axis = _numbers_and_axes(xp, softmax.__name__, x, axis)
    d = x - xp.max(x, axis=axis, keepdims=True)
    # The elementwise functions of NumPy write into an array that is not read again.
    if type(d) is not np.ndarray:
        e = xp.exp(d)
        return e / _sums(xp, e, axis)
    xp.exp(d, d)
    return xp.divide(d, _sums(xp, d, axis), d)


@softmax.def_kernel("numpy")
def softmax_numpy(x, /, *, axis=-1):
    """Compute along one axis by NumPy's functions alone: what asks for kinds and axes takes a third of the time."""
    if rows is not None:
        y = rows.softmax(x, axis)
        if y is not None:
            return y
    if not _has_axis(x, axis):
        return body_on_numpy(softmax)(x, axis=axis)
    if x.size <= FEW:
        d = x - _largest(x, axis, None, None, True)
        np.exp(d, d)
        return np.divide(d, sum_of_array(d, axis, None, None, True), d)
    d = x - numpy_namespace.max(x, axis=axis, keepdims=True)
    np.exp(d, d)
    return np.divide(d, _sums_along(d, axis), d)


def _has_axis(x: Any, axis: Any) -> bool:
    """Return whether an axis is one of an array of single or double precision, along which there are elements."""
    if type(x) is not np.ndarray or type(axis) is not int or x.dtype not in ONE:
        return False
    return -x.ndim <= axis < x.ndim and x.size > 0


def _sums_along(x: Any, axis: int) -> Any:
    """Return sums along an axis, which stays; those of NumPy's rows as a product, which takes a quarter of the time."""
    if _are_rows(x, axis):
        return x.dot(_ones(x.shape[-1], x.dtype))[..., None]
    return total(x, axis=axis, keepdims=True)


def _sums(xp: Namespace, x: Any, axis: Axis) -> Any:
    """Return sums along axes, which stay; those of NumPy's rows as a product, which takes a quarter of the time."""
    if type(x) is np.ndarray and x.size > FEW and _are_rows(x, axis):
        return x.dot(_ones(x.shape[-1], x.dtype))[..., None]
    return xp.sum(x, axis=axis, keepdims=True)


def _are_rows(x: Any, axis: Axis) -> bool:
    """Return whether an axis is that of rows which a product sums as precisely as NumPy's function."""
    return (
        type(axis) is int
        and x.ndim - 1 in (axis, axis + x.ndim)
        and 0 < x.shape[-1] <= LONGEST
        and x.dtype.char in "fd"
        and x.flags.c_contiguous
    )


@lru_cache(maxsize=64)
def _ones(count: int, dtype: Any) -> Any:
    """Return ones, which are not to be changed."""
    return np.ones(count, dtype)


def _axes_of(y: Any, axis: Axis) -> Axis:
    """Return the axes that a softmax goes along, of which a number has none."""
    if y.ndim:
        return axis
    return ()


@softmax.def_jvp
def softmax_jvp(xp, t, y, axis):
    """Return the product with the derivative of softmax, a symmetric matrix."""
    products = t * y
    sums = _sums(xp, products, _axes_of(y, axis))
    if type(products) is not np.ndarray:
        return y * (t - sums)
    xp.subtract(t, sums, products)
    return xp.multiply(y, products, products)


@softmax.def_vjp
def softmax_vjp(xp, g, y, axis):
    if rows is not None:
        of_x = rows.softmax_back(g, y, axis)
        if of_x is not None:
            return of_x
    return softmax_jvp(xp, g, y, axis)


def _numbers_and_axes(xp: Namespace, name: str, x: Any, axis: Axis) -> tuple[Any, Axis]:
    """Return floating-point numbers, and the axes to sum along; an array without axes has none.

    Raises
    ------
    TypeError : for complex numbers, of which none is the largest
    AxisError : if an axis of an array without axes is out of bounds
    """
    if holds_complex(x):
        raise TypeError(f"{name}: x must be of real numbers, found {x.dtype}")
    if not x.ndim:
        axis = normal_axes(axis, 0, name)
    return floating(xp, x), axis


@operation(kind=kinds.function, methods=("log_softmax",), samples=SAMPLES, real=True)
def log_softmax(xp: Namespace, x: Array, /, *, axis: Axis = -1) -> Array:
    """Compute the logarithm of softmax, without overflow and for shares that round to 0.

    Parameters
    ----------
    axis : whose elements have exponentials that sum to 1, one or several; None means all

    Returns
    -------
    floating-point array of the shape of `x`; NaN along the axis where an element is NaN or the largest is infinite

    Raises
    ------
    ValueError : if there are no elements along the axis

    Notes
    -----
    ``x - logsumexp(x)``, with cotangent ``g - exp(y) * sum(g)``. Source: PyTorch, `torch.log_softmax`, which has no
    default for the axis.

    Examples
    --------
    >>> dk.log_softmax(dk.asarray([0.0, 1000.0]))
    tensor([-1000.,     0.])
    """
    x, axis = _numbers_and_axes(xp, log_softmax.__name__, x, axis)
    d = x - xp.max(x, axis=axis, keepdims=True)
    logarithms = xp.log(_sums(xp, xp.exp(d), axis))
    if type(d) is not np.ndarray:
        return d - logarithms
    return xp.subtract(d, logarithms, d)


@log_softmax.def_kernel("numpy")
def log_softmax_numpy(x, /, *, axis=-1):
    """Compute along one axis by NumPy's functions alone."""
    if rows is not None:
        y = rows.log_softmax(x, axis)
        if y is not None:
            return y
    if not _has_axis(x, axis):
        return body_on_numpy(log_softmax)(x, axis=axis)
    if x.size <= FEW:
        d = x - _largest(x, axis, None, None, True)
        sums = sum_of_array(np.exp(d), axis, None, None, True)
    else:
        d = x - numpy_namespace.max(x, axis=axis, keepdims=True)
        sums = _sums_along(np.exp(d), axis)
    np.log(sums, sums)
    return np.subtract(d, sums, d)


@log_softmax.def_vjp
def log_softmax_vjp(xp, g, y, axis):
    if rows is not None:
        of_x = rows.log_softmax_back(g, y, axis)
        if of_x is not None:
            return of_x
    e = xp.exp(y)
    shares = e * _sums(xp, g, _axes_of(y, axis))
    if type(shares) is not np.ndarray:
        return g - shares
    return xp.subtract(g, shares, shares)


@log_softmax.def_jvp
def log_softmax_jvp(xp, t, y, axis):
    return t - _sums(xp, xp.exp(y) * t, _axes_of(y, axis))
