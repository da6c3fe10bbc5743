"""Arrays made longer, taken apart, multiplied block by block: `pad`, `split`, `chunk`, `kron`, and `argwhere`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from math import copysign
from typing import Any, Literal, TypeAlias

import numpy as np

from dispatchkit.declare.decorators import manipulation, product, searching
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared import integer, normal_axis, shape_of

# A number, a pair (before, after), a pair for each axis, or a number or pair by axis.
PerAxis: TypeAlias = int | Sequence[Any] | Mapping[int, Any]
PadMode: TypeAlias = Literal["constant", "edge", "reflect", "symmetric", "wrap"]


@manipulation(
    method=False,
    samples=lambda: [
        sample(draw(3), 2),
        sample(draw(2, 3), ((1, 0), (0, 2)), constant_values=((1.0, 2.0), (3.0, 4.0))),
        sample(draw(2, 3), (1, 2), "edge"),
        sample(draw(2, 3), {1: (3, 4)}, mode="reflect"),
        sample(draw(2, 3), ((0, 0), (4, 1)), mode="symmetric"),
        sample(draw(2, 1, 3), ((2, 0), (1, 0), (3, 5)), mode="wrap"),
        sample(draw(2, 2), 0),
        sample(draw(), 1),
    ],
)
def pad(
    xp: Namespace, x: Array, /, pad_width: PerAxis, mode: PadMode = "constant", *, constant_values: Any = 0
) -> Array:
    """Make an array longer at the ends of its axes.

    Parameters
    ----------
    pad_width : how many elements to add: a number; a pair ``(before, after)`` for each axis alike; a pair, or a
        sequence of one number, for each axis; or a mapping from axes to numbers or pairs
    mode : what to add: ``"constant"`` values; the last element (``"edge"``); the array mirrored at its last element
        (``"reflect"``) or behind it (``"symmetric"``); the array from its other end (``"wrap"``)
    constant_values : what to add in mode ``"constant"``, in the forms of `pad_width`; numbers, brought to the dtype
        of `x`

    Returns
    -------
    array of the dtype of `x`, a copy

    Raises
    ------
    TypeError : if a width is no integer
    ValueError : if a width is negative, there are not as many as axes, the mode is not known, or an axis without
        elements is to be extended by elements of its own

    Notes
    -----
    Linear: an element receives the cotangents of its copies. One axis after another is extended, so that corners
    repeat the elements next to them. Source: NumPy, `numpy.pad`.

    Examples
    --------
    >>> dk.pad(dk.asarray([1.0, 2.0, 3.0]), (1, 2), constant_values=9)
    tensor([9., 1., 2., 3., 9., 9.])
    >>> dk.pad(dk.asarray([1.0, 2.0, 3.0]), 2, "reflect")
    tensor([3., 2., 1., 2., 3., 2., 1.])
    """
    y = x
    for axis, (before, after), values in _extensions(x.ndim, pad_width, mode, constant_values):
        if mode == "constant":
            ends = [_constant(xp, y, axis, n, value) for n, value in zip((before, after), values, strict=True)]
        else:
            ends = [
                _continuation(xp, y, axis, start, n, mode) for start, n in ((-before, before), (y.shape[axis], after))
            ]
        y = xp.concat([ends[0], y, ends[1]], axis=axis)
    if y is x:
        return xp.reshape(xp.concat([x], axis=None), x.shape)
    return y


def _extensions(
    ndim: int, pad_width: Any, mode: str, constant_values: Any
) -> list[tuple[int, tuple[int, int], tuple[Any, Any]]]:
    """Return the axes to extend, each with the numbers of elements to add at its ends, and the constants there."""
    if mode != "constant" and mode not in BEYOND:
        raise ValueError(f"{pad.__name__}: mode must be one of 'constant', {str(list(BEYOND))[1:-1]}, found {mode!r}")
    widths = _widths(pad_width, ndim)
    values = _pairs("constant_values", constant_values, ndim)
    return [(axis, pair, values[axis]) for axis, pair in enumerate(widths) if any(pair)]


def _widths(pad_width: Any, ndim: int) -> list[Any]:
    """Return how many elements to add before and after each axis.

    Raises
    ------
    TypeError : if one is no integer
    ValueError : if one is negative
    """
    widths = _pairs("pad_width", pad_width, ndim)
    numbers = [*chain.from_iterable(widths)]
    if not {int}.issuperset(map(type, numbers)):
        raise TypeError(f"{pad.__name__}: pad_width must hold integers, found {pad_width!r}")
    if min(numbers, default=0) < 0:
        raise ValueError(f"{pad.__name__}: pad_width must not be negative, found {pad_width!r}")
    return widths


def pad_numpy_flow(x, /, pad_width, mode="constant", *, constant_values=0):
    if mode != "constant" or type(constant_values) not in (int, float):
        return NotImplemented
    widths = _widths(pad_width, x.ndim)
    inside = tuple([slice(before, before + n) for (before, _), n in zip(widths, x.shape, strict=True)])
    shape = tuple([before + n + after for (before, after), n in zip(widths, x.shape, strict=True)])
    if shape == x.shape:
        y = x.copy()
    elif constant_values == 0 and copysign(1, constant_values) > 0:
        y = np.zeros(shape, x.dtype)
        y[inside] = x
    else:
        y = np.full(shape, constant_values, x.dtype)
        y[inside] = x
    return y, lambda g, wanted: (g[0][inside],)


@pad.def_kernel("numpy", flow=pad_numpy_flow)
def pad_numpy(x, /, pad_width, mode="constant", *, constant_values=0):
    answer = pad_numpy_flow(x, pad_width, mode, constant_values=constant_values)
    if answer is NotImplemented:
        return answer
    return answer[0]


def _pairs(parameter: str, value: Any, ndim: int) -> list[Any]:
    """Return a parameter that is given as a number or pair, for each axis or by axis, as a pair for each axis."""
    if type(value) in (int, float):
        return [(value, value)] * ndim
    if isinstance(value, Mapping):
        pairs: list[Any] = [(0, 0)] * ndim
        for axis, pair in value.items():
            pairs[normal_axis(axis, ndim, pad.__name__)] = np.broadcast_to(pair, (2,)).tolist()
        value = pairs
    if type(value) is tuple and len(value) == ndim and all(map(_is_pair_of_integers, value)):  # as most are
        return [*value]
    try:
        return np.broadcast_to(np.asarray(value), (ndim, 2)).tolist()
    except ValueError:
        raise ValueError(
            f"{pad.__name__}: {parameter} must be a number, a pair, or a pair for each of {ndim} axes, found {value!r}"
        ) from None


def _is_pair_of_integers(value: Any) -> bool:
    return type(value) is tuple and len(value) == 2 and type(value[0]) is type(value[1]) is int


def _constant(xp: Namespace, x: Any, axis: int, length: int, value: Any) -> Any:
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    return xp.full(shape, value, dtype=x.dtype)


def _continuation(xp: Namespace, x: Any, axis: int, start: int, length: int, mode: str) -> Any:
    """Return what a mode continues an axis with, from a place outside of it on."""
    places = []
    if length:
        places = _places(axis, x.shape[axis], np.arange(start, start + length), mode).tolist()
    return xp.take(x, xp.asarray(places, dtype=xp.int64), axis=axis)


def _places(axis: int, n: int, places: Any, mode: str) -> Any:
    """Return which elements of an axis of length n stand at places, of which there are some, beyond it."""
    if not n:
        raise ValueError(f"{pad.__name__}: axis {axis} has no elements to extend it by in mode {mode!r}")
    return BEYOND[mode](places, n)


# Which element of an axis of length n stands at places before its first and after its last one.
BEYOND: dict[str, Callable[[Any, int], Any]] = {
    "edge": lambda places, n: (abs(places) - abs(places - (n - 1)) + (n - 1)) // 2,
    "reflect": lambda places, n: n - 1 - abs(places % max(2 * n - 2, 1) - (n - 1)),
    "symmetric": lambda places, n: (2 * n - 1 - abs(2 * (places % (2 * n)) - (2 * n - 1))) // 2,
    "wrap": lambda places, n: places % n,
}


@manipulation(
    method=False,
    samples=lambda: [
        sample(draw(4), 2),
        sample(draw(2, 3), 3, axis=-1),
        sample(draw(5), [1, 3]),
        sample(draw(2, 5), (0, 2, 2, -1, 9), axis=1),
    ],
)
def split(xp: Namespace, x: Array, indices_or_sections: int | Sequence[int], /, *, axis: int = 0) -> tuple[Array, ...]:
    """Take an array apart along an axis, into parts that keep it.

    Parameters
    ----------
    x : array of shape (...) with at least one axis
    indices_or_sections : into how many parts of equal length; or in ascending order the indices where a new part
        begins, negative ones counted from the end
    axis : to cut

    Returns
    -------
    tuple of the parts, views of `x`

    Raises
    ------
    ValueError : if equal parts are impossible, or indices are not in ascending order

    Notes
    -----
    Linear: the cotangents are joined. There is no method, as PyTorch's takes the length of a part. Source: NumPy,
    `numpy.split`, which gives a list and cuts at indices in any order.

    Examples
    --------
    >>> dk.split(dk.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    >>> dk.split(dk.arange(4), [1, 3])
    (tensor([0]), tensor([1, 2]), tensor([3]))
    """
    axis = normal_axis(axis, x.ndim, split.__name__)
    n = x.shape[axis]
    asked: Any = indices_or_sections
    if not getattr(asked, "ndim", isinstance(asked, Iterable)):
        count = integer(split, "indices_or_sections", asked)
        if count < 1 or n % count:
            raise ValueError(f"{split.__name__}: axis {axis}, {n} long, has no {count} parts of equal length")
        if n:
            bounds = list(range(0, n + 1, n // count))
        else:
            bounds = [0] * (count + 1)
    else:
        bounds = [0, *(slice(index).indices(n)[1] for index in asked), n]
        if any(a > b for a, b in pairwise(bounds)):
            raise ValueError(
                f"{split.__name__}: indices_or_sections must be in ascending order, found {list(asked)} "
                f"for axis {axis}, {n} long"
            )
    return _parts(x, bounds, axis)


def _parts(x: Any, bounds: Sequence[int], axis: int) -> tuple[Any, ...]:
    before = (slice(None),) * axis
    return tuple([x[*before, slice(start, stop)] for start, stop in pairwise(bounds)])


@manipulation(samples=lambda: [sample(draw(5), 3), sample(draw(2, 4), 3, axis=-1), sample(draw(2), 5)])
def chunk(xp: Namespace, x: Array, chunks: int, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Take an array apart along an axis, into so many parts or less.

    Parameters
    ----------
    x : array of shape (...) with at least one axis
    chunks : how many parts; all but the last are of equal length, rounded up
    axis : to cut

    Returns
    -------
    tuple of the parts, views of `x`

    Raises
    ------
    ValueError : if `chunks` is less than 1

    Notes
    -----
    Linear: the cotangents are joined. Source: PyTorch, `torch.chunk`.

    Examples
    --------
    >>> dk.chunk(dk.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    chunks = integer(chunk, "chunks", chunks, least=1)
    axis = normal_axis(axis, x.ndim, chunk.__name__)
    n = x.shape[axis]
    step = -(-n // chunks)
    if n:
        bounds = [*range(0, n, step), n]
    else:
        bounds = [0] * (chunks + 1)
    return _parts(x, bounds, axis)


@split.def_transpose
@chunk.def_transpose
def parts_transpose(xp, g, axis):
    return xp.concat(g, axis=axis)


@product(
    samples=lambda: [
        sample(draw(2), draw(3)),
        sample(draw(2, 2), draw(1, 3)),
        sample(draw(2), draw(2, 1, 2)),
        sample(draw(), draw(2)),
    ]
)
def kron(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Kronecker product: a block of the second array for each element of the first.

    Parameters
    ----------
    x1, x2 : arrays of any shape; the one with less axes is led by axes of length 1

    Returns
    -------
    array that is along each axis as long as the product of both lengths

    Notes
    -----
    Source: NumPy, `numpy.kron`.

    Examples
    --------
    >>> dk.kron(dk.asarray([1, 10]), dk.asarray([1, 2, 3]))
    tensor([ 1,  2,  3, 10, 20, 30])
    """
    shape1, shape2 = shape_of(x1), shape_of(x2)
    if not shape1 or not shape2:
        return x1 * x2
    ndim = max(len(shape1), len(shape2))
    shape1, shape2 = (1,) * (ndim - len(shape1)) + shape1, (1,) * (ndim - len(shape2)) + shape2
    rows = tuple(chain.from_iterable((n, 1) for n in shape1))
    columns = tuple(chain.from_iterable((1, n) for n in shape2))
    blocks = xp.reshape(x1, rows) * xp.reshape(x2, columns)
    return xp.reshape(blocks, tuple(n1 * n2 for n1, n2 in zip(shape1, shape2, strict=True)))


@searching(
    differentiable=False,
    samples=[sample(draw(4, content="boolean")), sample(draw(2, 3, low=0, high=1, content="integer")), sample(draw())],
)
def argwhere(xp: Namespace, x: Array, /) -> Array:
    """Find the indices of the elements other than 0, in one array.

    Parameters
    ----------
    x : array of shape (...) with n axes

    Returns
    -------
    array of integers of shape (k, n), a row for each of k such elements, in row-major order

    Notes
    -----
    What `nonzero` finds, put together. Source: NumPy, `numpy.argwhere`.

    Examples
    --------
    >>> dk.argwhere(dk.asarray([[0.0, 3.0], [4.0, 0.0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    if x.ndim:
        return xp.stack(xp.nonzero(x), axis=-1)
    of_one_axis = xp.reshape(x, (1,))
    return xp.stack(xp.nonzero(of_one_axis), axis=-1)[:, :0]
