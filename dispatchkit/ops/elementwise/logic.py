"""Element-wise questions: comparisons, logic on booleans, and what kind of number an element is."""

from __future__ import annotations

from dispatchkit.declare.decorators import alias, comparison, logical, predicate
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


@comparison(passthrough=True, operator="__eq__", differentiable=False, takes="numbers or booleans", gives="bool")
def equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each two elements are equal: ``x1 == x2``.

    Notes
    -----
    Source: array API standard, `equal`.

    Examples
    --------
    >>> dk.equal(dk.asarray([1, 2, 3]), 2)
    tensor([False,  True, False])
    """
    return xp.equal(x1, x2)


@comparison(passthrough=True, operator="__ne__", differentiable=False, takes="numbers or booleans", gives="bool")
def not_equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each two elements differ: ``x1 != x2``.

    Notes
    -----
    Source: array API standard, `not_equal`.

    Examples
    --------
    >>> dk.not_equal(dk.asarray([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """
    return xp.not_equal(x1, x2)


@comparison(passthrough=True, operator="__lt__", differentiable=False, takes="real numbers", gives="bool")
def less(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is below another: ``x1 < x2``.

    Notes
    -----
    Source: array API standard, `less`.

    Examples
    --------
    >>> dk.less(dk.asarray([1, 2, 3]), 2)
    tensor([ True, False, False])
    """
    return xp.less(x1, x2)


@comparison(passthrough=True, operator="__le__", differentiable=False, takes="real numbers", gives="bool")
def less_equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is at most another: ``x1 <= x2``.

    Notes
    -----
    Source: array API standard, `less_equal`.

    Examples
    --------
    >>> dk.less_equal(dk.asarray([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """
    return xp.less_equal(x1, x2)


@comparison(passthrough=True, operator="__gt__", differentiable=False, takes="real numbers", gives="bool")
def greater(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is above another: ``x1 > x2``.

    Notes
    -----
    Source: array API standard, `greater`.

    Examples
    --------
    >>> dk.greater(dk.asarray([1, 2, 3]), 2)
    tensor([False, False,  True])
    """
    return xp.greater(x1, x2)


@comparison(passthrough=True, operator="__ge__", differentiable=False, takes="real numbers", gives="bool")
def greater_equal(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether each element is at least another: ``x1 >= x2``.

    Notes
    -----
    Source: array API standard, `greater_equal`.

    Examples
    --------
    >>> dk.greater_equal(dk.asarray([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """
    return xp.greater_equal(x1, x2)


@logical(passthrough=True, differentiable=False, content="boolean", gives="bool")
def logical_and(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether both elements are true.

    Notes
    -----
    Source: array API standard, `logical_and`.

    Examples
    --------
    >>> dk.logical_and(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
    tensor([ True, False, False])
    """
    return xp.logical_and(x1, x2)


@logical(passthrough=True, differentiable=False, content="boolean", gives="bool")
def logical_or(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether at least one of two elements is true.

    Notes
    -----
    Source: array API standard, `logical_or`.

    Examples
    --------
    >>> dk.logical_or(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
    tensor([ True,  True, False])
    """
    return xp.logical_or(x1, x2)


@logical(passthrough=True, differentiable=False, content="boolean", gives="bool")
def logical_xor(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return whether exactly one of two elements is true.

    Notes
    -----
    Source: array API standard, `logical_xor`.

    Examples
    --------
    >>> dk.logical_xor(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
    tensor([False,  True, False])
    """
    return xp.logical_xor(x1, x2)


@logical(passthrough=True, differentiable=False, content="boolean", gives="bool")
def logical_not(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is false.

    Notes
    -----
    Source: array API standard, `logical_not`.

    Examples
    --------
    >>> dk.logical_not(dk.asarray([True, False]))
    tensor([False,  True])
    """
    return xp.logical_not(x)


@predicate(passthrough=True, differentiable=False, gives="bool")
def isfinite(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is neither infinite nor NaN.

    Notes
    -----
    Source: array API standard, `isfinite`.

    Examples
    --------
    >>> dk.isfinite(dk.asarray([1.0, dk.inf, dk.nan]))
    tensor([ True, False, False])
    """
    return xp.isfinite(x)


@predicate(passthrough=True, differentiable=False, gives="bool")
def isinf(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is infinite.

    Notes
    -----
    Source: array API standard, `isinf`.

    Examples
    --------
    >>> dk.isinf(dk.asarray([1.0, dk.inf, dk.nan]))
    tensor([False,  True, False])
    """
    return xp.isinf(x)


@predicate(passthrough=True, differentiable=False, gives="bool")
def isnan(xp: Namespace, x: Array, /) -> Array:
    """Return whether each element is NaN, not a number.

    Notes
    -----
    Source: array API standard, `isnan`.

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
