"""What several chapters of the catalogue use: axes, arguments, arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.linalg import LinAlgError

from dispatchkit.backends.arrays import holds_complex, is_inexact, project
from dispatchkit.backends.numpy import writable_view
from dispatchkit.declare.typing import Namespace
from dispatchkit.graph.storage import Storage

Axis: TypeAlias = int | tuple[int, ...] | None


def normal_axes(axis: Axis, ndim: int, name: str = "") -> tuple[int, ...]:
    """Return axes as non-negative numbers, all of them for None.

    As in PyTorch, an array without axes has none along 0 and -1, which are not out of bounds.

    Parameters
    ----------
    axis : one, several or (None) all
    ndim : number of axes of the array
    name : of the operation, for the message

    Raises
    ------
    AxisError : if one is out of bounds; it is a ValueError and an IndexError
    ValueError : if one is given twice
    """
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    if type(axis) is int and ndim == 0 and axis in (0, -1):
        return ()
    axes: tuple[int, ...] = normalize_axis_tuple(axis, ndim, name or None)
    return axes


def normal_axis(axis: int, ndim: int, name: str = "") -> int:
    """Return one axis as a non-negative number."""
    try:
        axis = operator.index(axis)
    except TypeError:
        raise TypeError(f"axis: integer argument expected, found {axis!r}") from None
    if -ndim <= axis < ndim:
        return axis % ndim
    normal: int = normalize_axis_tuple(axis, ndim, name or None)[0]
    return normal


def count(shape: tuple[int, ...], axis: Axis) -> int:
    """Return how many elements a reduction makes one of.

    >>> count((2, 3), -1)
    3
    """
    return prod(shape[i] for i in normal_axes(axis, len(shape)))


def restore_axes(xp: Namespace, g: Any, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Any:
    """Return the result of a reduction with the axes it lost, so that it broadcasts to the shape reduced.

    Parameters
    ----------
    xp : namespace that computes on `g`
    g : of the shape of the result
    shape : of what was reduced
    axis, keepdims : as the reduction was given them
    """
    if keepdims or axis is None:
        return g
    lost = normal_axes(axis, len(shape))
    return xp.reshape(g, tuple(1 if i in lost else n for i, n in enumerate(shape)))


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """Return the index of a part of one axis, given as a non-negative number.

    >>> along(1, 0)
    (slice(None, None, None), 0, Ellipsis)
    """
    return (*(slice(None),) * axis, part, ...)


def inverse(axes: tuple[int, ...] | list[int]) -> tuple[int, ...]:
    """Return the permutation that undoes one.

    >>> inverse((2, 0, -2))
    (1, 2, 0)
    """
    places = [0] * len(axes)
    for place, axis in enumerate(axes):
        places[axis] = place
    return tuple(places)


def lanes(xp: Namespace, x: Any, axis: Axis) -> Any:
    """Return an array with one axis moved to the end, several joined to one there; flat for None."""
    if axis is None:
        return xp.reshape(x, (-1,))
    if isinstance(axis, int):
        return xp.moveaxis(x, axis, -1)
    axes = normal_axes(axis, x.ndim)
    others = tuple(i for i in range(x.ndim) if i not in axes)
    shape = (*(x.shape[i] for i in others), count(x.shape, axes))
    return xp.reshape(xp.permute_dims(x, (*others, *axes)), shape)


# What a message begins with the name of: an operation, or a type.
Named: TypeAlias = Callable[..., Any]


def integer(op: Named, parameter: str, value: Any, *, least: int | None = None) -> int:
    """Return an argument as an int.

    Parameters
    ----------
    op : that was called, or the class that is made
    parameter : name of the argument
    value : the argument
    least : it may be; None for no bound

    Raises
    ------
    TypeError : if it is no int
    ValueError : if it is less than `least`
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{op.__name__}: {parameter} must be an int, found {value!r}") from None
    if least is not None and number < least:
        raise ValueError(f"{op.__name__}: {parameter} must be at least {least}, found {number}")
    return number


LINALG = "dispatchkit.linalg"


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape of an array, of a scalar ``()``."""
    return tuple(getattr(x, "shape", ()))


def require_ndim(operation: Named, parameter: str, x: Any, ndim: int, instead: str) -> None:
    """Raise if an array does not have the number of axes that an operation takes.

    Parameters
    ----------
    operation : that was called
    parameter : name of the argument
    x : the argument
    ndim : the number of axes
    instead : what to call otherwise

    Raises
    ------
    ValueError : naming operation, argument, shape, and what takes it
    """
    shape = shape_of(x)
    if len(shape) != ndim:
        wanted = ("a number", "a vector", "a matrix", "a batch of matrices")[ndim]
        raise ValueError(
            f"{operation.__name__}: {parameter} must be {wanted} ({ndim}-D), found shape {shape}; "
            f"use {instead} for other shapes"
        )


def require_matrix(operation: Named, x: Any, name: str = "x") -> None:
    """Raise if an array is no matrix or batch of them.

    Raises
    ------
    ValueError : naming operation, argument and shape
    """
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"{operation.__name__}: {name} must be matrices, of shape (..., M, N), found shape {shape}")


def require_square(operation: Named, x: Any, name: str = "x") -> None:
    """Raise if an array is no square matrix or batch of them.

    Raises
    ------
    LinAlgError : naming operation, argument and shape; it is a ValueError
    """
    shape = shape_of(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise LinAlgError(
            f"{operation.__name__}: {name} must be square matrices, of shape (..., M, M), found shape {shape}"
        )


def locate_errors(compute: Callable[..., Any], x: Any, *args: Any, name: str = "x", **kwargs: Any) -> Any:
    """Return ``compute(x, *args, **kwargs)``; the error that NumPy raises names the matrix that causes it.

    Parameters
    ----------
    compute : takes batches of matrices
    x : array of shape (..., M, N)
    *args, **kwargs : passed on
    name : of the argument that `x` is

    Raises
    ------
    numpy.linalg.LinAlgError : for a singular or indefinite matrix, or where an iteration does not converge
    """
    try:
        return compute(x, *args, **kwargs)
    except LinAlgError as error:
        if not isinstance(x, np.ndarray):
            raise
        what = str(error)
        raise LinAlgError(
            f"{what[:1].lower()}{what[1:]} in matrix {_failing(compute, x, args, kwargs, name)}"
        ) from error


def _failing(compute: Callable[..., Any], x: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> str:
    """Return the expression that selects the first matrix of a batch that `compute` does not take."""
    for place in np.ndindex(x.shape[:-2]):
        try:
            compute(x[place], *args, **kwargs)
        except LinAlgError:
            if place:
                return f"{name}[{', '.join(map(str, place))}]"
            return name
    return name


def require_finite(x: Any, *, name: str = "x", triangle: bool = False) -> None:
    """Raise if a NumPy array holds inf or NaN, with which iterations of LAPACK may not end; others look themselves.

    Parameters
    ----------
    x : array of shape (..., M, N)
    name : of the argument that `x` is
    triangle : whether only the lower triangle is read

    Raises
    ------
    numpy.linalg.LinAlgError : naming the matrix
    """
    if isinstance(x, np.ndarray):
        if triangle:
            x = np.tril(x)
        locate_errors(_refuse_infinite, x, name=name)


def _refuse_infinite(x: np.ndarray) -> None:
    if not np.isfinite(x).all():
        raise LinAlgError("Array must not contain infs or NaNs")


def root(xp: Namespace, x: Any, order: float = 2) -> Any:
    """Return roots of sums that are not negative; their derivative at 0 is 0 where an array type takes the body.

    Parameters
    ----------
    xp : namespace that computes on `x`
    x : the sums: a raw array, whose derivative a rule computes, a tensor, or an instance of an array type
    order : of the root
    """
    # The rounding error of a sum, as those of structured types, may be below 0.
    flat = None
    if isinstance(x, Storage):
        flat = xp.less_equal(x, 0)
    safe = x
    if flat is not None:
        safe = xp.where(flat, 1.0, x)
    if order == 2:
        roots = xp.sqrt(safe)
    else:
        roots = safe ** (1 / order)
    if flat is None:
        return roots
    return xp.where(flat, 0.0, roots)


def conjugate(xp: Namespace, x: Any) -> Any:
    """Return the complex conjugate, of a real array the array itself."""
    if type(x) is np.ndarray and x.dtype.kind != "c":  # as most are
        return x
    if holds_complex(x):
        return xp.conj(x)
    return x


def floating(xp: Namespace, x: Any) -> Any:
    """Return arrays of integers or booleans in double precision, other arrays and Python's scalars as they are."""
    if hasattr(x, "dtype") and not is_inexact(x.dtype):
        return xp.astype(x, xp.float64)
    return x


def as_complex(xp: Namespace, x: Any) -> Any:
    """Return an array as one of complex numbers of the same precision."""
    if holds_complex(x):
        return x
    return xp.astype(x, xp.result_type(x.dtype, xp.complex64))


def nearest_offset(shape: Sequence[int], offset: int) -> int:
    """Return the offset of a diagonal of matrices, for one far beyond them that of the next, which is as empty.

    NumPy takes no offset beyond 32 bits.
    """
    rows, columns = shape[-2:]
    if -rows <= offset <= columns:
        return offset
    return max(-rows, min(offset, columns))


def diagonal_of(xp: Namespace, x: Any, offset: int = 0) -> Any:
    """Return a diagonal of matrices, a view that can be written to where they can; NumPy's function forbids it."""
    y = xp.linalg.diagonal(x, offset=nearest_offset(x.shape, offset))
    if type(x) is type(y) is np.ndarray:
        return writable_view(y, x)
    return y


def stored_transposed(x: Any) -> bool:
    """Return whether the elements of a matrix are known to lie in memory column by column."""
    strides = getattr(x, "strides", None)
    return strides is not None and strides[-1] > strides[-2]


def adjoint(xp: Namespace, x: Any) -> Any:
    """Return the conjugate transpose of matrices."""
    return xp.matrix_transpose(conjugate(xp, x))


def diagonal_matrix(xp: Namespace, values: Any) -> Any:
    """Return matrices with the values of the last axis on their diagonal, zeros elsewhere."""
    mask = xp.eye(values.shape[-1], dtype=xp.bool)
    return xp.where(mask, values[..., None], xp.zeros((), dtype=values.dtype))


def on_diagonal(xp: Namespace, d: Any, rows: int, columns: int, offset: int) -> Any:
    """Return matrices of zeros but for the elements of a diagonal."""
    # A diagonal beyond the last row has no elements.
    above, count = min(max(-offset, 0), rows), d.shape[-1]
    parts = [(*d.shape[:-1], above), (*d.shape[:-1], rows - above - count)]
    before, after = (xp.zeros(shape, dtype=d.dtype) for shape in parts)
    by_row = xp.concat([before, d, after], axis=-1)
    mask = xp.eye(rows, columns, k=offset, dtype=xp.bool)
    return xp.where(mask, by_row[..., None], xp.zeros((), dtype=d.dtype))


def inverse_gaps(xp: Namespace, values: Any, wanted: Any) -> Any:
    """Return matrices of the reciprocals of ``values[..., j] - values[..., i]``, 0 on the diagonal.

    Parameters
    ----------
    xp : namespace that computes on `values`
    values : array of shape (..., K)
    wanted : boolean array of shape (..., 1, 1): whether equal values make an element NaN, rather than 0
    """
    gaps = values[..., None, :] - values[..., None]
    diagonal = xp.eye(values.shape[-1], dtype=xp.bool)
    equal = gaps == 0
    undefined = xp.where(wanted & ~diagonal, float("nan"), xp.zeros_like(gaps))
    return xp.where(equal, undefined, 1 / xp.where(equal, 1.0, gaps))


def axis_moved_back(xp: Namespace, g: Any, x: Any, axis: int) -> Any:
    """Return the cotangent of an array that was broadcast with its vectors in the last axis.

    Parameters
    ----------
    xp : namespace that computes on `g`
    g : the cotangent, vectors in the last axis
    x : the array, of which only shape and dtype are read
    axis : where the vectors are in `x`
    """
    shape = list(x.shape)
    shape.append(shape.pop(axis))
    return xp.moveaxis(project(xp, g, tuple(shape), g.dtype), -1, axis)
