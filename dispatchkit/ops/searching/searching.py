"""Searching and sorting: where elements are, which of two to take, in which order they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from dispatchkit.backends.numpy import elements_added, numpy_namespace
from dispatchkit.declare.axes import Axes
from dispatchkit.declare.decorators import operation, searching
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.marks import override
from dispatchkit.ops.searching.ranks_numpy import first_of_rows, first_ranks
from dispatchkit.ops.shared import along, integer, normal_axis
from dispatchkit.protocol.kinds import kinds

EXTREME_SAMPLES = [
    sample(draw(4, content="distinct")),
    sample(draw(2, 3, content="distinct"), axis=0),
    sample(draw(2, 3, content="distinct"), axis=-1, keepdims=True),
]
ORDER_SAMPLES = [
    sample(draw(4, content="distinct")),
    sample(draw(2, 3, content="distinct"), axis=0, descending=True),
    sample(draw(2, 3, content="distinct"), stable=False),
    sample(draw(6, low=0, high=2, content="integer"), descending=True),
]


extreme_place = searching(
    passthrough=True,
    differentiable=False,
    samples=EXTREME_SAMPLES,
    takes="real numbers",
    axis=Axes(("axis",), none=None),
)


@extreme_place
def argmax(xp: Namespace, x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Find the index of the largest element.

    Parameters
    ----------
    axis : to look along; by default the index is that into the flattened array
    keepdims : whether the axis looked along stays, with length 1

    Returns
    -------
    array of integers; of elements that tie, the first

    Raises
    ------
    ValueError : if there are no elements

    Examples
    --------
    >>> dk.argmax(dk.asarray([[1.0, 5.0], [7.0, 4.0]]), axis=1)
    tensor([1, 0])
    """
    return xp.argmax(x, axis=axis, keepdims=keepdims)


@extreme_place
def argmin(xp: Namespace, x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Find the index of the smallest element.

    Parameters
    ----------
    axis : to look along; by default the index is that into the flattened array
    keepdims : whether the axis looked along stays, with length 1

    Returns
    -------
    array of integers; of elements that tie, the first

    Raises
    ------
    ValueError : if there are no elements

    Examples
    --------
    >>> dk.argmin(dk.asarray([[1.0, 5.0], [7.0, 4.0]]), axis=1)
    tensor([0, 1])
    """
    return xp.argmin(x, axis=axis, keepdims=keepdims)


@searching(
    passthrough=True,
    differentiable=False,
    samples=lambda: [sample(draw(4, content="boolean")), sample(draw(2, 3, low=0, high=1, content="integer"))],
)
def nonzero(xp: Namespace, x: Array, /) -> tuple[Array, ...]:
    """Find the indices of the elements other than 0.

    Parameters
    ----------
    x : array of shape (...) with at least one axis

    Returns
    -------
    for each axis of `x` an array of integers, in row-major order of the elements

    Raises
    ------
    ValueError : if `x` has no axis

    Examples
    --------
    >>> dk.nonzero(dk.asarray([0.0, 3.0, 4.0]))
    (tensor([1, 2]),)
    """
    return xp.nonzero(x)


@searching(
    passthrough=True,
    differentiable=False,
    samples=lambda: [
        sample(np.asarray([-1.0, 0.0, 1.0]), draw(2, 3)),
        sample(np.asarray([-1.0, 0.0, 0.0]), np.asarray(0.0), side="right"),
        sample(np.asarray([1.0, -1.0]), draw(2), sorter=np.asarray([1, 0])),
    ],
)
def searchsorted(
    xp: Namespace,
    x1: Array,
    x2: Array,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
) -> Array:
    """Find where elements would be inserted to keep an array sorted.

    Parameters
    ----------
    x1 : array of shape (n,), of real numbers in ascending order
    x2 : elements to insert, array of shape (...) or a number
    side : whether equal elements of `x1` come behind the index or before it
    sorter : array of shape (n,) of integers that sorts `x1`, where it is not sorted

    Returns
    -------
    array of integers from 0 to n, of the shape of `x2`

    Examples
    --------
    >>> dk.searchsorted(dk.asarray([1.0, 2.0, 3.0]), dk.asarray([2.0, 9.0]))
    tensor([1, 3])
    """
    return xp.searchsorted(x1, x2, side=side, sorter=sorter)


class Choice(DeclaredOperation):
    """The operation `where`, which answers a condition alone by `nonzero`."""

    @override
    def make_general(self) -> Callable[..., Any]:
        general = super().make_general()

        def call(*args: Any, **kwargs: Any) -> Any:
            if len(args) == 1 and not kwargs:
                return nonzero(*args)
            return general(*args, **kwargs)

        return call


@operation(
    passthrough=True,
    kind=kinds.searching,
    record=Choice,
    samples=lambda: [
        sample(draw(3, content="boolean"), draw(3), draw(3)),
        sample(draw(2, 1, content="boolean"), draw(3), draw()),
        sample(draw(content="boolean"), draw(2, 3), 1.0),
        sample(draw(3, content="boolean"), 0.0, draw(3)),
    ],
)
def where(xp: Namespace, condition: Array, x1: Array, x2: Array, /) -> Array:
    """Choose elements of one array where a condition holds, and of another where it does not.

    Parameters
    ----------
    condition : array of booleans
    x1, x2 : arrays or numbers; the three broadcast to one shape

    Returns
    -------
    array of that shape, of the promoted dtype of `x1` and `x2`

    Notes
    -----
    ``where(condition)`` is ``nonzero(condition)``, as in NumPy and PyTorch.

    The cotangent goes to the array that was chosen. An infinite derivative on the side not chosen still
    makes NaN, as 0 times infinity (``where(x > 0, sqrt(x), 0)`` at 0): replace the argument, too, as in
    ``sqrt(where(x > 0, x, 1))``. There is no method, as PyTorch's takes the condition second. Source: array
    API standard, `where`.

    Examples
    --------
    >>> dk.where(dk.asarray([True, False]), dk.asarray([1.0, 2.0]), 0.0)
    tensor([1., 0.])
    >>> dk.where(dk.asarray([True, False]))
    (tensor([0]),)
    """
    return xp.where(condition, x1, x2)


where.def_transpose("x1")(lambda xp, g, condition: xp.where(condition, g, 0))
where.def_transpose("x2")(lambda xp, g, condition: xp.where(condition, 0, g))
where.def_jvp("x1")(lambda xp, t, condition: xp.where(condition, t, 0))
where.def_jvp("x2")(lambda xp, t, condition: xp.where(condition, 0, t))


@operation(passthrough=True, kind=kinds.sorting, samples=ORDER_SAMPLES, takes="real numbers")
def sort(xp: Namespace, x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Sort the elements along an axis.

    Parameters
    ----------
    axis : to sort along
    descending : whether the largest comes first
    stable : whether equal elements keep their order, which shows in the gradient

    Returns
    -------
    array of the shape of `x`; NaN counts as the largest

    Notes
    -----
    The derivative is the permutation that sorts. There is no method, as NumPy's sorts in place and
    PyTorch's returns two arrays.

    Examples
    --------
    >>> dk.sort(dk.asarray([2.0, 3.0, 1.0]), descending=True)
    tensor([3., 2., 1.])
    """
    return xp.sort(x, axis=axis, descending=descending, stable=stable)


def sort_numpy_flow(x, /, *, axis=-1, descending=False, stable=True):
    """Keep the order where gradients flow: it need not be found again, and a program may change the array."""
    xp = numpy_namespace
    order = xp.argsort(x, axis=axis, descending=descending, stable=stable)

    def pull(g, wanted):
        pulled = np.empty_like(g[0])
        np.put_along_axis(pulled, order, g[0], axis)
        return (pulled,)

    return xp.take_along_axis(x, order, axis=axis), pull


sort.def_kernel("numpy", numpy_namespace.sort, flow=sort_numpy_flow)


@sort.def_vjp
def sort_vjp(xp, g, x, axis, descending):
    order = xp.argsort(x, axis=axis, descending=descending)
    return xp.take_along_axis(g, xp.argsort(order, axis=axis), axis=axis)


@sort.def_jvp
def sort_jvp(xp, t, x, axis, descending):
    return xp.take_along_axis(t, xp.argsort(x, axis=axis, descending=descending), axis=axis)


@operation(
    passthrough=True,
    kind=kinds.sorting,
    methods=("argsort",),
    differentiable=False,
    samples=ORDER_SAMPLES,
    takes="real numbers",
)
def argsort(xp: Namespace, x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Find the indices that sort the elements along an axis.

    Parameters
    ----------
    axis : to sort along
    descending : whether the largest comes first
    stable : whether equal elements keep their order

    Returns
    -------
    array of integers, of the shape of `x`; NaN counts as the largest

    Examples
    --------
    >>> dk.argsort(dk.asarray([2.0, 3.0, 1.0]))
    tensor([2, 0, 1])
    """
    return xp.argsort(x, axis=axis, descending=descending, stable=stable)


class TopKResult(NamedTuple):
    """The largest or smallest elements along an axis, and where they stand."""

    values: Array
    indices: Array


@operation(
    kind=kinds.searching,
    methods=("topk",),
    samples=lambda: [
        sample(draw(4, content="distinct"), 2),
        sample(draw(2, 3, content="distinct"), 2, axis=0, largest=False),
        sample(draw(2, 3, content="distinct"), 0),
        sample(draw(6, low=0, high=2, content="integer"), 6),
    ],
    takes="real numbers",
)
def topk(xp: Namespace, x: Array, /, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> TopKResult:
    """Find the `k` largest elements along an axis.

    Parameters
    ----------
    k : how many, up to the length of the axis
    axis : to look along
    largest : whether the largest are wanted, rather than the smallest
    sorted : accepted for programs that pass it; the elements always come in order

    Returns
    -------
    named tuple of `values`, the largest first (the smallest first without `largest`), and `indices`, their places
    along the axis; both have length `k` along it

    Raises
    ------
    ValueError : if `k` is negative or more than the axis has elements

    Notes
    -----
    NaN counts as the largest; of elements that tie, the first comes first. The cotangent of the values goes to the
    elements that were found. Source: PyTorch, `torch.topk`, where `axis` is `dim`.

    Examples
    --------
    >>> dk.topk(dk.asarray([2.0, 5.0, 3.0]), 2)
    TopKResult(values=tensor([5., 3.]), indices=tensor([1, 2]))
    """
    place, count = _place_and_count(x, k, axis)
    order = xp.argsort(x, axis=place, descending=largest)
    indices = xp.getitem(order, along(place, slice(count)))
    return TopKResult(xp.take_along_axis(x, indices, axis=place), indices)


def _place_and_count(x: Any, k: Any, axis: int) -> tuple[int, int]:
    """Return the axis that `topk` looks along, and how many elements it is to find.

    Raises
    ------
    ValueError : if the axis has not as many
    """
    place = normal_axis(axis, x.ndim, topk.__name__)
    count = integer(topk, "k", k, least=0)
    if count > x.shape[place]:
        raise ValueError(
            f"{topk.__name__}: k must be at most {x.shape[place]}, the length of axis {axis}, found {count}"
        )
    return place, count


def topk_numpy_flow(x, /, k, axis=-1, largest=True, sorted=True):
    place, count = _place_and_count(x, k, axis)
    if place == x.ndim - 1:
        values, indices = first_of_rows(x, count, bool(largest))
    else:
        indices = np.moveaxis(first_ranks(np.moveaxis(x, place, -1), count, largest=largest), -1, place)
        values = numpy_namespace.take_along_axis(x, indices, axis=place)
    return TopKResult(values, indices), lambda g, wanted: (elements_added(g[0], indices, x.shape, place),)


@topk.def_kernel("numpy", flow=topk_numpy_flow)
def topk_numpy(x, /, k, axis=-1, largest=True, sorted=True):
    return topk_numpy_flow(x, k, axis, largest, sorted)[0]
