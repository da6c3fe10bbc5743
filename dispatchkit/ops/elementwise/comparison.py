"""Element-wise comparisons, logic, bits, and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_choices import larger_of_zero
from dispatchkit.backends.numpy_numbers import are_numbers_of, bounded
from dispatchkit.declare.decorators import (
    activation,
    alias,
    bitwise,
    body_on_numpy,
    bounds,
    comparison,
    logical,
    predicate,
)
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace


@comparison(
    passthrough=True,
    commutative=True,
    operator="__eq__",
    differentiable=False,
    takes="numbers or booleans",
    gives="bool",
)
def equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each two elements are equal: ``x1 == x2``.

    Examples
    --------
    >>> dk.equal(dk.asarray([1, 2, 3]), 2)
    tensor([False,  True, False])
    """
    return xp.equal(x1, x2)


@comparison(
    passthrough=True,
    commutative=True,
    operator="__ne__",
    differentiable=False,
    takes="numbers or booleans",
    gives="bool",
)
def not_equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each two elements differ: ``x1 != x2``.

    Examples
    --------
    >>> dk.not_equal(dk.asarray([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """
    return xp.not_equal(x1, x2)


@comparison(passthrough=True, operator="__lt__", differentiable=False, takes="real numbers", gives="bool")
def less(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is below another: ``x1 < x2``.

    Examples
    --------
    >>> dk.less(dk.asarray([1, 2, 3]), 2)
    tensor([ True, False, False])
    """
    return xp.less(x1, x2)


@comparison(passthrough=True, operator="__le__", differentiable=False, takes="real numbers", gives="bool")
def less_equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is at most another: ``x1 <= x2``.

    Examples
    --------
    >>> dk.less_equal(dk.asarray([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """
    return xp.less_equal(x1, x2)


@comparison(passthrough=True, operator="__gt__", differentiable=False, takes="real numbers", gives="bool")
def greater(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is above another: ``x1 > x2``.

    Examples
    --------
    >>> dk.greater(dk.asarray([1, 2, 3]), 2)
    tensor([False, False,  True])
    """
    return xp.greater(x1, x2)


@comparison(passthrough=True, operator="__ge__", differentiable=False, takes="real numbers", gives="bool")
def greater_equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is at least another: ``x1 >= x2``.

    Examples
    --------
    >>> dk.greater_equal(dk.asarray([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """
    return xp.greater_equal(x1, x2)


@logical(passthrough=True, commutative=True, differentiable=False, content="boolean", gives="bool")
def logical_and(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether both elements are true.

    Examples
    --------
    >>> dk.logical_and(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
    tensor([ True, False, False])
    """
    return xp.logical_and(x1, x2)


@logical(passthrough=True, commutative=True, differentiable=False, content="boolean", gives="bool")
def logical_or(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether at least one of two elements is true.

    Examples
    --------
    >>> dk.logical_or(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
    tensor([ True,  True, False])
    """
    return xp.logical_or(x1, x2)


@logical(passthrough=True, commutative=True, differentiable=False, content="boolean", gives="bool")
def logical_xor(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether exactly one of two elements is true.

    Examples
    --------
    >>> dk.logical_xor(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
    tensor([False,  True, False])
    """
    return xp.logical_xor(x1, x2)


@logical(passthrough=True, differentiable=False, content="boolean", gives="bool")
def logical_not(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is false.

    Examples
    --------
    >>> dk.logical_not(dk.asarray([True, False]))
    tensor([False,  True])
    """
    return xp.logical_not(x)


@predicate(passthrough=True, differentiable=False, gives="bool")
def isfinite(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is neither infinite nor NaN.

    Examples
    --------
    >>> dk.isfinite(dk.asarray([1.0, dk.inf, dk.nan]))
    tensor([ True, False, False])
    """
    return xp.isfinite(x)


@predicate(passthrough=True, differentiable=False, gives="bool")
def isinf(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is infinite.

    Examples
    --------
    >>> dk.isinf(dk.asarray([1.0, dk.inf, dk.nan]))
    tensor([False,  True, False])
    """
    return xp.isinf(x)


@predicate(passthrough=True, differentiable=False, gives="bool")
def isnan(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is NaN, not a number.

    Examples
    --------
    >>> dk.isnan(dk.asarray([1.0, dk.inf, dk.nan]))
    tensor([False, False,  True])
    """
    return xp.isnan(x)


eq = alias("eq", equal)
ne = alias("ne", not_equal)
lt = alias("lt", less)
le = alias("le", less_equal)
gt = alias("gt", greater)
ge = alias("ge", greater_equal)


@bitwise(
    passthrough=True,
    commutative=True,
    operator="__and__",
    differentiable=False,
    content="integer",
    domain=(0, 6),
    gives="same",
)
def bitwise_and(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Keep the bits that are set in both elements: ``x1 & x2``.

    Examples
    --------
    >>> dk.bitwise_and(dk.asarray([4, 5, 6]), 5)
    tensor([4, 5, 4])
    """
    return xp.bitwise_and(x1, x2)


@bitwise(
    passthrough=True,
    commutative=True,
    operator="__or__",
    differentiable=False,
    content="integer",
    domain=(0, 6),
    gives="same",
)
def bitwise_or(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Set the bits that are set in one of two elements: ``x1 | x2``.

    Examples
    --------
    >>> dk.bitwise_or(dk.asarray([4, 5, 6]), 5)
    tensor([5, 5, 7])
    """
    return xp.bitwise_or(x1, x2)


@bitwise(
    passthrough=True,
    commutative=True,
    operator="__xor__",
    differentiable=False,
    content="integer",
    domain=(0, 6),
    gives="same",
)
def bitwise_xor(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Set the bits that differ between two elements: ``x1 ^ x2``.

    Examples
    --------
    >>> dk.bitwise_xor(dk.asarray([4, 5, 6]), 5)
    tensor([1, 0, 3])
    """
    return xp.bitwise_xor(x1, x2)


@bitwise(passthrough=True, operator="__invert__", differentiable=False, content="integer", domain=(0, 6), gives="same")
def bitwise_invert(xp: Namespace, x: Array, /) -> Array:
    """Invert each bit: ``~x``.

    Examples
    --------
    >>> dk.bitwise_invert(dk.asarray([0, 1, 2]))
    tensor([-1, -2, -3])
    """
    return xp.bitwise_invert(x)


@bitwise(passthrough=True, operator="__lshift__", differentiable=False, content="integer", domain=(0, 6), gives="same")
def bitwise_left_shift(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Shift the bits of each element to the left, filling with zeros: ``x1 << x2``.

    Parameters
    ----------
    x1 : integers to shift
    x2 : by how many bits, at least 0, broadcasting with `x1`; one of the two may be a Python scalar

    Examples
    --------
    >>> dk.bitwise_left_shift(dk.asarray([4, 5, 6]), 1)
    tensor([ 8, 10, 12])
    """
    return xp.bitwise_left_shift(x1, x2)


@bitwise(passthrough=True, operator="__rshift__", differentiable=False, content="integer", domain=(0, 6), gives="same")
def bitwise_right_shift(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Shift the bits of each element to the right, filling with the sign: ``x1 >> x2``.

    Parameters
    ----------
    x1 : integers to shift
    x2 : by how many bits, at least 0, broadcasting with `x1`; one of the two may be a Python scalar

    Examples
    --------
    >>> dk.bitwise_right_shift(dk.asarray([4, 5, 6]), 1)
    tensor([2, 2, 3])
    """
    return xp.bitwise_right_shift(x1, x2)


bitwise_not = alias("bitwise_not", bitwise_invert)


@bounds(passthrough=True, commutative=True, takes="real numbers", gives="same")
def maximum(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return the larger of each two elements, NaN where one of them is.

    Notes
    -----
    The gradient goes to the larger; equal elements get half of it each.

    Examples
    --------
    >>> dk.maximum(dk.asarray([1.0, 3.0]), dk.asarray([2.0, 2.0]))
    tensor([2., 3.])
    """
    return xp.maximum(x1, x2)


maximum.def_partial("x1")(lambda xp, x1, x2: _share(xp, x1, x1 < x2, x1 == x2))
maximum.def_partial("x2")(lambda xp, x1, x2: _share(xp, x2, x2 < x1, x1 == x2))


@bounds(passthrough=True, commutative=True, takes="real numbers", gives="same")
def minimum(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return the smaller of each two elements, NaN where one of them is.

    Notes
    -----
    The gradient goes to the smaller; equal elements get half of it each.

    Examples
    --------
    >>> dk.minimum(dk.asarray([1.0, 3.0]), dk.asarray([2.0, 2.0]))
    tensor([1., 2.])
    """
    return xp.minimum(x1, x2)


minimum.def_partial("x1")(lambda xp, x1, x2: _share(xp, x1, x1 > x2, x1 == x2))
minimum.def_partial("x2")(lambda xp, x1, x2: _share(xp, x2, x2 > x1, x1 == x2))


def _share(xp: Namespace, x: Array, loses: Array, ties: Array) -> Array:
    """Return what part of the gradient goes to an argument, in its dtype."""
    return xp.where(loses, 0, xp.where(ties, 0.5, xp.ones_like(x)))


@activation(real=True, gives="same")
def relu(xp: Namespace, x: Array, /) -> Array:
    """Replace negative elements by zero.

    Notes
    -----
    ``dy/dx`` is 1 for positive elements and 0 for the others, 0 included. Source: PyTorch, `torch.relu`.

    Examples
    --------
    >>> dk.relu(dk.asarray([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if holds_complex(x):
        raise TypeError(f"{relu.__name__}: x must be of real numbers, found {x.dtype}")
    return xp.maximum(x, 0)


relu.def_partial(lambda xp, y: xp.sign(y))


@relu.def_kernel("numpy")
def relu_numpy(x, /):
    if type(x) is not np.ndarray or x.dtype.kind == "c":
        return body_on_numpy(relu)(x)
    return larger_of_zero(x)


# Elements from which the fixed cost of NumPy's own function is less than that of a second pass.
ONE_PASS = 2048


@bounds(
    samples=lambda: [
        sample(draw(2, 3), -0.5, 0.5),
        sample(draw(3), min=-0.5),
        sample(draw(2, 3), max=draw(3, low=0.5)),
        sample(draw(2, 1), draw(3, high=-0.5), draw(2, 3, low=0.5)),
        sample(draw(), None, 1),
        sample(draw(0, 2)),
    ],
    takes="real numbers",
)
def clip(xp: Namespace, x: Array, /, min: Array | float | None = None, max: Array | float | None = None) -> Array:
    """Bring each element into the range from `min` to `max`.

    Parameters
    ----------
    min, max : bounds, scalars or arrays of the dtype of `x` that broadcast with it; None for no bound

    Returns
    -------
    array of the broadcast shape; NaN where an element or bound is, `max` where the bounds cross

    Notes
    -----
    The gradient goes to the element inside the bounds and on them, else to the bound that replaced it.

    Examples
    --------
    >>> dk.clip(dk.asarray([-1.0, 1.0, 3.0]), 0, 2)
    tensor([0., 1., 2.])
    """
    return _clip(xp, x, min, max)


def _clip(xp: Namespace, x: Any, min: Any, max: Any) -> Any:
    if int in (type(min), type(max)):
        min, max = _in_range(xp, x, min, max)
    if min is None and max is None:
        return xp.positive(x)
    many = xp is numpy_namespace and type(x) is np.ndarray and x.size >= ONE_PASS and x.dtype.kind == "f"
    if many and isinstance(min, (int, float)) and isinstance(max, (int, float)):
        return np.clip(x, min, max)
    raised = x
    if min is not None:
        raised = xp.maximum(x, min)
    if max is None:
        return raised
    return xp.minimum(raised, max)


@clip.def_kernel("numpy")
def clip_numpy(x, /, min=None, max=None):
    if min is not None and max is not None and are_numbers_of(x, min, max):
        return bounded(x, min, max)
    return _clip(numpy_namespace, x, min, max)


def _in_range(xp: Namespace, x: Any, min: Any, max: Any) -> tuple[Any, Any]:
    """Return bounds without whole numbers that no element of an array of integers is beyond."""
    if isinstance(x, (int, float)) or not xp.isdtype(x.dtype, "integral"):
        return min, max
    info = xp.iinfo(x.dtype)
    least, most = min, max
    if type(min) is int and min <= info.min:
        least = None
    if type(max) is int and max >= info.max:
        most = None
    return least, most


@clip.def_jvp("x")
def clip_jvp_x(xp, t, x, min, max):
    if min is not None:
        t = xp.where(x >= min, t, 0)
    if max is None:
        return t
    return xp.where(x <= max, t, 0)


@clip.def_vjp("x")
def clip_vjp_x(xp, g, x, min, max):
    return clip_jvp_x(xp, g, x, min, max)


@clip.def_jvp("min")
def clip_jvp_min(xp, t, x, min, max):
    t = xp.where(x < min, t, 0)
    if max is None:
        return t
    return xp.where(min < max, t, 0)


@clip.def_vjp("min")
def clip_vjp_min(xp, g, x, min, max):
    return clip_jvp_min(xp, g, x, min, max)


@clip.def_jvp("max")
def clip_jvp_max(xp, t, x, min, max):
    kept = xp.where(x > max, t, 0)
    if min is None:
        return kept
    return xp.where(min > max, t, kept)


@clip.def_vjp("max")
def clip_vjp_max(xp, g, x, min, max):
    return clip_jvp_max(xp, g, x, min, max)


clamp = alias("clamp", clip)
