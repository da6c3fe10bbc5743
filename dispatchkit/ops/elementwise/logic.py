"""Element-wise questions: comparisons, logic on booleans, and what kind of number an element is."""

from __future__ import annotations

from dispatchkit.declare.decorators import alias, elementwise
from dispatchkit.declare.typing import Array, Namespace

__all__ = [
    "eq",
    "equal",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "ne",
    "not_equal",
]


@elementwise(passthrough=True, operator="__eq__", differentiable=False)
def equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each two elements are equal: ``x1 == x2``.

    Parameters
    ----------
    x1, x2 : arrays of numbers or booleans that broadcast together; one may be a Python scalar

    Returns
    -------
    array of booleans of the broadcast shape

    Notes
    -----
    Source: array API standard, `equal`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.equal(dk.asarray([1, 2, 3]), 2)
    tensor([False,  True, False])
    """
    return xp.equal(x1, x2)


@elementwise(passthrough=True, operator="__ne__", differentiable=False)
def not_equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each two elements differ: ``x1 != x2``.

    Parameters
    ----------
    x1, x2 : arrays of numbers or booleans that broadcast together; one may be a Python scalar

    Returns
    -------
    array of booleans of the broadcast shape

    Notes
    -----
    Source: array API standard, `not_equal`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.not_equal(dk.asarray([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """
    return xp.not_equal(x1, x2)


@elementwise(passthrough=True, operator="__lt__", differentiable=False)
def less(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is below another: ``x1 < x2``.

    Parameters
    ----------
    x1, x2 : arrays of real numbers that broadcast together; one may be a Python scalar

    Returns
    -------
    array of booleans of the broadcast shape

    Notes
    -----
    Source: array API standard, `less`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.less(dk.asarray([1, 2, 3]), 2)
    tensor([ True, False, False])
    """
    return xp.less(x1, x2)


@elementwise(passthrough=True, operator="__le__", differentiable=False)
def less_equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is at most another: ``x1 <= x2``.

    Parameters
    ----------
    x1, x2 : arrays of real numbers that broadcast together; one may be a Python scalar

    Returns
    -------
    array of booleans of the broadcast shape

    Notes
    -----
    Source: array API standard, `less_equal`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.less_equal(dk.asarray([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """
    return xp.less_equal(x1, x2)


@elementwise(passthrough=True, operator="__gt__", differentiable=False)
def greater(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is above another: ``x1 > x2``.

    Parameters
    ----------
    x1, x2 : arrays of real numbers that broadcast together; one may be a Python scalar

    Returns
    -------
    array of booleans of the broadcast shape

    Notes
    -----
    Source: array API standard, `greater`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.greater(dk.asarray([1, 2, 3]), 2)
    tensor([False, False,  True])
    """
    return xp.greater(x1, x2)


@elementwise(passthrough=True, operator="__ge__", differentiable=False)
def greater_equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is at least another: ``x1 >= x2``.

    Parameters
    ----------
    x1, x2 : arrays of real numbers that broadcast together; one may be a Python scalar

    Returns
    -------
    array of booleans of the broadcast shape

    Notes
    -----
    Source: array API standard, `greater_equal`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.greater_equal(dk.asarray([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """
    return xp.greater_equal(x1, x2)


@elementwise(passthrough=True, differentiable=False, content="boolean")
def logical_and(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether both elements are true.

    Parameters
    ----------
    x1, x2 : arrays of booleans that broadcast together; one may be a Python scalar

    Returns
    -------
    array of booleans of the broadcast shape

    Notes
    -----
    Source: array API standard, `logical_and`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.logical_and(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
    tensor([ True, False, False])
    """
    return xp.logical_and(x1, x2)


@elementwise(passthrough=True, differentiable=False, content="boolean")
def logical_or(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether at least one of two elements is true.

    Parameters
    ----------
    x1, x2 : arrays of booleans that broadcast together; one may be a Python scalar

    Returns
    -------
    array of booleans of the broadcast shape

    Notes
    -----
    Source: array API standard, `logical_or`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.logical_or(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
    tensor([ True,  True, False])
    """
    return xp.logical_or(x1, x2)


@elementwise(passthrough=True, differentiable=False, content="boolean")
def logical_xor(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether exactly one of two elements is true.

    Parameters
    ----------
    x1, x2 : arrays of booleans that broadcast together; one may be a Python scalar

    Returns
    -------
    array of booleans of the broadcast shape

    Notes
    -----
    Source: array API standard, `logical_xor`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.logical_xor(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
    tensor([False,  True, False])
    """
    return xp.logical_xor(x1, x2)


@elementwise(passthrough=True, differentiable=False, content="boolean")
def logical_not(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is false.

    Parameters
    ----------
    x : array of booleans, of any shape

    Returns
    -------
    array of booleans of the shape of `x`

    Notes
    -----
    Source: array API standard, `logical_not`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.logical_not(dk.asarray([True, False]))
    tensor([False,  True])
    """
    return xp.logical_not(x)


@elementwise(passthrough=True, differentiable=False)
def isfinite(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is neither infinite nor NaN.

    Parameters
    ----------
    x : array of numbers, of any shape

    Returns
    -------
    array of booleans of the shape of `x`

    Notes
    -----
    Source: array API standard, `isfinite`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.isfinite(dk.asarray([1.0, dk.inf, dk.nan]))
    tensor([ True, False, False])
    """
    return xp.isfinite(x)


@elementwise(passthrough=True, differentiable=False)
def isinf(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is infinite.

    Parameters
    ----------
    x : array of numbers, of any shape

    Returns
    -------
    array of booleans of the shape of `x`

    Notes
    -----
    Source: array API standard, `isinf`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.isinf(dk.asarray([1.0, dk.inf, dk.nan]))
    tensor([False,  True, False])
    """
    return xp.isinf(x)


@elementwise(passthrough=True, differentiable=False)
def isnan(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is NaN, not a number.

    Parameters
    ----------
    x : array of numbers, of any shape

    Returns
    -------
    array of booleans of the shape of `x`

    Notes
    -----
    Source: array API standard, `isnan`.

    Examples
    --------
    >>> import dispatchkit as dk
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
