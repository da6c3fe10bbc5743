"""Element-wise operations on the bits of integers; on booleans they are those of logic."""

from __future__ import annotations

from dispatchkit.declare.decorators import alias, bitwise
from dispatchkit.declare.typing import Array, Namespace

__all__ = [
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
]


@bitwise(passthrough=True, operator="__and__", differentiable=False, content="integer", domain=(0, 6), gives="same")
def bitwise_and(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Keep the bits that are set in both elements: ``x1 & x2``.

    Notes
    -----
    Source: array API standard, `bitwise_and`.

    Examples
    --------
    >>> dk.bitwise_and(dk.asarray([4, 5, 6]), 5)
    tensor([4, 5, 4])
    """
    return xp.bitwise_and(x1, x2)


@bitwise(passthrough=True, operator="__or__", differentiable=False, content="integer", domain=(0, 6), gives="same")
def bitwise_or(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Set the bits that are set in one of two elements: ``x1 | x2``.

    Notes
    -----
    Source: array API standard, `bitwise_or`.

    Examples
    --------
    >>> dk.bitwise_or(dk.asarray([4, 5, 6]), 5)
    tensor([5, 5, 7])
    """
    return xp.bitwise_or(x1, x2)


@bitwise(passthrough=True, operator="__xor__", differentiable=False, content="integer", domain=(0, 6), gives="same")
def bitwise_xor(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Set the bits that differ between two elements: ``x1 ^ x2``.

    Notes
    -----
    Source: array API standard, `bitwise_xor`.

    Examples
    --------
    >>> dk.bitwise_xor(dk.asarray([4, 5, 6]), 5)
    tensor([1, 0, 3])
    """
    return xp.bitwise_xor(x1, x2)


@bitwise(passthrough=True, operator="__invert__", differentiable=False, content="integer", domain=(0, 6), gives="same")
def bitwise_invert(xp: Namespace, x: Array, /) -> Array:
    """Invert each bit: ``~x``.

    Notes
    -----
    Source: array API standard, `bitwise_invert`.

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

    Notes
    -----
    Source: array API standard, `bitwise_left_shift`.

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

    Notes
    -----
    Source: array API standard, `bitwise_right_shift`.

    Examples
    --------
    >>> dk.bitwise_right_shift(dk.asarray([4, 5, 6]), 1)
    tensor([2, 2, 3])
    """
    return xp.bitwise_right_shift(x1, x2)


bitwise_not = alias("bitwise_not", bitwise_invert)
