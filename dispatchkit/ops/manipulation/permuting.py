"""The order of axes, and of elements along them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchkit.backends.numpy import integers_of
from dispatchkit.declare.axes import Axes
from dispatchkit.declare.decorators import alias, body_on_numpy, manipulation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared import Axis, inverse, normal_axis


@manipulation(
    passthrough=True,
    methods=("permute",),
    varargs="axes",
    samples=lambda: [sample(draw(2, 3), (1, 0)), sample(draw(2, 3, 4), (2, 0, -2)), sample(draw(), ())],
)
def permute_dims(xp: Namespace, x: Array, /, axes: Sequence[int]) -> Array:
    """Put the axes in another order.

    Parameters
    ----------
    axes : for each axis of the result, which one of `x` it is

    Returns
    -------
    array with its axes in that order, a view of `x`

    Raises
    ------
    ValueError : if `axes` is no permutation of the axes

    Notes
    -----
    Linear: the cotangent's axes are put back.

    Examples
    --------
    >>> dk.permute_dims(dk.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return xp.permute_dims(x, axes)


permute_dims.def_transpose(lambda xp, g, axes: xp.permute_dims(g, inverse(tuple(axes))))


@manipulation(passthrough=True, method=False, properties=("mT",), samples=[sample(draw(2, 3)), sample(draw(2, 2, 3))])
def matrix_transpose(xp: Namespace, x: Array, /) -> Array:
    """Swap the last two axes.

    Parameters
    ----------
    x : array of shape (..., m, n)

    Returns
    -------
    array of shape (..., n, m), a view of `x`

    Raises
    ------
    ValueError : if `x` has fewer than two axes

    Notes
    -----
    Linear: the cotangent's axes are swapped back.

    Examples
    --------
    >>> dk.zeros((4, 2, 3)).mT.shape
    (4, 3, 2)
    """
    return xp.matrix_transpose(x)


matrix_transpose.def_transpose(lambda xp, g: xp.matrix_transpose(g))


@manipulation(properties=("T",), samples=lambda: [sample(draw(2, 3)), sample(draw(3)), sample(draw())])
def t(xp: Namespace, x: Array, /) -> Array:
    """Transpose a matrix; what has fewer than two axes stays as it is.

    Parameters
    ----------
    x : array of shape (m, n), (n,) or ()

    Returns
    -------
    array of shape (n, m), a view of `x`; or `x`

    Raises
    ------
    ValueError : if `x` has more than two axes

    Notes
    -----
    The property ``x.T`` is this operation. Source: PyTorch, `torch.t`; array API standard, `array.T`.

    Examples
    --------
    >>> dk.zeros((2, 3)).T.shape
    (3, 2)
    """
    if x.ndim > 2:
        raise ValueError(
            f"t: x has the shape {x.shape}; .T and t() take at most two axes. Use .mT to transpose the "
            f"matrices in the last two, or permute_dims for another order"
        )
    if x.ndim == 2:
        return xp.matrix_transpose(x)
    return x


t.def_transpose(lambda xp, g: xp.matrix_transpose(g) if g.ndim == 2 else g)


@t.def_kernel("numpy")
def t_numpy(x: Any, /) -> Any:
    if x.ndim == 2:
        return x.T
    return body_on_numpy(t)(x)


@manipulation(
    samples=lambda: [
        sample(draw(2, 3, 4)),
        sample(draw(2, 3, 4), (1, 0, 2)),
        sample(draw(2, 3, 4), 0, -1),
        sample(draw(2, 3, 4), 1, 0, 2),
    ]
)
def transpose(xp: Namespace, x: Array, /, axes: int | Sequence[int] | None = None, *more: int) -> Array:
    """Reverse the axes, put them in another order, or swap two.

    Parameters
    ----------
    axes : for each axis of the result, which one of `x` it is; reversed by default
    more : further axes, where `axes` is a number: two numbers in all are axes to swap, any other count of
        them is an order

    Returns
    -------
    array with its axes in that order, a view of `x`

    Raises
    ------
    ValueError : if the axes are neither two to swap nor a permutation

    Notes
    -----
    The forms of NumPy (none, a sequence, all spread out) and that of PyTorch (two to swap). They disagree on
    ``transpose(x, 0, 1)`` of a matrix, which swaps here, as in PyTorch. Source: NumPy,
    `numpy.ndarray.transpose`; PyTorch, `torch.transpose`.

    Examples
    --------
    >>> x = dk.zeros((2, 3, 4))
    >>> dk.transpose(x).shape, dk.transpose(x, (1, 0, 2)).shape, dk.transpose(x, 0, 2).shape
    ((4, 3, 2), (3, 2, 4), (4, 3, 2))
    """
    return xp.permute_dims(x, _order(x.ndim, axes, more))


def _order(ndim: int, axes: int | Sequence[int] | None, more: tuple[int, ...]) -> tuple[int, ...]:
    """Return the permutation that the arguments of `transpose` say.

    Raises
    ------
    ValueError : for another number of axes
    """
    if isinstance(axes, int):
        if len(more) == 1:
            return _swap(ndim, axes, more[0], "transpose")
        axes = (axes, *more)
    if axes is None:
        axes = range(ndim)[::-1]
    if len(axes) != ndim:
        raise ValueError(f"transpose: {len(axes)} axes are given for an array with {ndim}")
    return tuple(axes)


@transpose.def_transpose
def transpose_transpose(xp, g, axes, more):
    return xp.permute_dims(g, inverse(_order(g.ndim, axes, more)))


@transpose.def_kernel("numpy")
def transpose_numpy(x: Any, /, axes: int | Sequence[int] | None = None, *more: int) -> Any:
    is_order = axes is None or (type(axes) is tuple and len(axes) == x.ndim)
    if is_order and not more:
        return x.transpose(axes)
    return body_on_numpy(transpose)(x, axes, *more)


@manipulation(samples=lambda: [sample(draw(2, 3, 4), 0, -1), sample(draw(2, 3), 1, 1)])
def swapaxes(xp: Namespace, x: Array, axis1: int, axis2: int, /) -> Array:
    """Swap two axes.

    Parameters
    ----------
    axis1, axis2 : the axes

    Returns
    -------
    array with these axes in each other's place, a view of `x`

    Raises
    ------
    ValueError : if an axis is out of bounds

    Notes
    -----
    Source: NumPy, `numpy.swapaxes`; PyTorch, `torch.swapaxes`.

    Examples
    --------
    >>> dk.swapaxes(dk.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return xp.permute_dims(x, _swap(x.ndim, axis1, axis2, "swapaxes"))


@swapaxes.def_transpose
def swapaxes_transpose(xp, g, axis1, axis2):
    return xp.permute_dims(g, _swap(g.ndim, axis1, axis2, "swapaxes"))


@swapaxes.def_kernel("numpy")
def swapaxes_numpy(x: Any, axis1: int, axis2: int, /) -> Any:
    try:
        return x.swapaxes(axis1, axis2)
    except (TypeError, ValueError):
        return body_on_numpy(swapaxes)(x, axis1, axis2)


def _swap(ndim: int, axis1: int, axis2: int, name: str) -> tuple[int, ...]:
    """Return the permutation that swaps two axes."""
    order = list(range(ndim))
    i, j = normal_axis(axis1, ndim, name), normal_axis(axis2, ndim, name)
    order[i], order[j] = j, i
    return tuple(order)


@manipulation(
    passthrough=True,
    samples=lambda: [sample(draw(2, 3, 4), 0, -1), sample(draw(2, 3, 4), (0, 1), (-1, 0))],
    axis=Axes(("source", "destination")),
)
def moveaxis(xp: Namespace, x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Array:
    """Move axes to other places; the others keep their order.

    Parameters
    ----------
    source : axes to move, one or several
    destination : their places in the result

    Returns
    -------
    array with its axes in that order, a view of `x`

    Raises
    ------
    ValueError : if there are not as many places as axes, or one is out of bounds or given twice

    Notes
    -----
    Linear: the cotangent's axes are moved back.

    Examples
    --------
    >>> dk.moveaxis(dk.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return xp.moveaxis(x, source, destination)


moveaxis.def_transpose(lambda xp, g, source, destination: xp.moveaxis(g, destination, source))


@manipulation(
    passthrough=True,
    varargs="axis",
    samples=lambda: [sample(draw(3)), sample(draw(2, 3), axis=0), sample(draw(2, 3), axis=(0, -1))],
    axis="axis",
)
def flip(xp: Namespace, x: Array, /, *, axis: Axis = None) -> Array:
    """Reverse the order of the elements.

    Parameters
    ----------
    axis : to reverse along, one or several; all by default

    Returns
    -------
    array of the shape of `x`, a view where possible

    Raises
    ------
    ValueError : if an axis is out of bounds

    Notes
    -----
    Linear: the cotangent is flipped back.

    Examples
    --------
    >>> dk.flip(dk.asarray([1, 2, 3]))
    tensor([3, 2, 1])
    """
    return xp.flip(x, axis=axis)


flip.def_transpose(lambda xp, g, axis: xp.flip(g, axis=axis))


@manipulation(
    passthrough=True,
    samples=lambda: [sample(draw(2, 3), 1), sample(draw(2, 3), -1, axis=0), sample(draw(2, 3), (1, 2), axis=(0, 1))],
    axis=Axes(("axis",), none=None),
)
def roll(xp: Namespace, x: Array, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> Array:
    """Shift the elements; those that leave at the end come in at the beginning.

    Parameters
    ----------
    shift : by how many places, one number or one for each axis
    axis : to shift along, one or several; by default the flattened array is shifted

    Returns
    -------
    array of the shape of `x`

    Raises
    ------
    ValueError : if an axis is out of bounds

    Notes
    -----
    Linear: the cotangent is shifted back.

    Examples
    --------
    >>> dk.roll(dk.asarray([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    return xp.roll(x, shift, axis=axis)


@roll.def_transpose
def roll_transpose(xp, g, shift, axis):
    back = tuple([-s for s in integers_of("shift", shift)])
    return xp.roll(g, back, axis=axis)


permute = alias("permute", permute_dims, method=False)
movedim = alias("movedim", moveaxis)
swapdims = alias("swapdims", swapaxes)
