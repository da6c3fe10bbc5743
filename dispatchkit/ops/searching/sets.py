"""Arrays as sets: distinct elements, membership."""

from __future__ import annotations

from typing import NamedTuple

from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.protocol.kinds import kinds

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


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


@operation(kind=kinds.set, namespace="dispatchkit", differentiable=False, samples=UNIQUE_SAMPLES)
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
    Each NaN is distinct from all others. Source: array API standard, `unique_all`.

    Examples
    --------
    >>> dk.unique_all(dk.asarray([3, 1, 3])).indices
    tensor([1, 0])
    """
    return UniqueAllResult(*xp.unique_all(x))


@operation(kind=kinds.set, namespace="dispatchkit", differentiable=False, samples=UNIQUE_SAMPLES)
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
    Each NaN is distinct from all others. Source: array API standard, `unique_counts`.

    Examples
    --------
    >>> dk.unique_counts(dk.asarray([3, 1, 3])).counts
    tensor([1, 2])
    """
    return UniqueCountsResult(*xp.unique_counts(x))


@operation(kind=kinds.set, namespace="dispatchkit", differentiable=False, samples=UNIQUE_SAMPLES)
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
    Each NaN is distinct from all others. Source: array API standard, `unique_inverse`.

    Examples
    --------
    >>> dk.unique_inverse(dk.asarray([3, 1, 3])).inverse_indices
    tensor([1, 0, 1])
    """
    return UniqueInverseResult(*xp.unique_inverse(x))


@operation(kind=kinds.set, namespace="dispatchkit", differentiable=False, samples=UNIQUE_SAMPLES)
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
    name makes none. Source: array API standard, `unique_values`.

    Examples
    --------
    >>> dk.unique_values(dk.asarray([3, 1, 3]))
    tensor([1, 3])
    """
    return xp.unique_counts(x).values


@operation(
    passthrough=True,
    kind=kinds.set,
    namespace="dispatchkit",
    differentiable=False,
    samples=[
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
    NaN is in no set. Source: array API standard, `isin`.

    Examples
    --------
    >>> dk.isin(dk.asarray([1, 2, 3]), dk.asarray([2, 5]))
    tensor([False,  True, False])
    """
    return xp.isin(x1, x2, invert=invert)
