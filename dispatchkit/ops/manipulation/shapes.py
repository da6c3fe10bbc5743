"""The shape of an array: the same elements in other axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import are_parts, numpy_dtype, of_parts
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.axes import Axes, unit_axes
from dispatchkit.declare.decorators import manipulation
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace, Shape
from dispatchkit.errors import AutogradError
from dispatchkit.graph.storage import Storage
from dispatchkit.ops.shared import Axis, normal_axis


@manipulation(
    passthrough=True,
    varargs="shape",
    samples=lambda: [
        sample(draw(2, 3), (3, 2)),
        sample(draw(2, 3), (-1,)),
        sample(draw(4), [2, 1, 2]),
        sample(draw(1), (), copy=True),
    ],
)
def reshape(xp: Namespace, x: Array, /, shape: Shape, *, copy: bool | None = None) -> Array:
    """Arrange the elements in another shape.

    Parameters
    ----------
    shape : of the result, with as many elements; one length may be -1, which is then what remains
    copy : True copies always, False never (and raises where it would have to), None where needed

    Returns
    -------
    array of that shape, a view of `x` where possible

    Raises
    ------
    ValueError : if the elements do not fit, or if a copy is needed and `copy` is False

    Notes
    -----
    Linear: the cotangent is reshaped back.

    Examples
    --------
    >>> dk.reshape(dk.asarray([1, 2, 3, 4]), (2, 2))
    tensor([[1, 2],
            [3, 4]])
    """
    if isinstance(shape, list):
        shape = tuple(shape)
    if copy is None:
        return xp.reshape(x, shape)
    return xp.reshape(x, shape, copy=copy)


@manipulation(
    varargs="shape",
    samples=lambda: [
        sample(draw(2, 3), (3, 2)),
        sample(draw(2, 3), (-1,)),
        sample(draw(2, 3, content="complex"), np.dtype(np.float64)),
        sample(draw(2, 4), np.dtype(np.complex128)),
        sample(draw(2, 3), np.dtype(np.int64), differentiable=False),
    ],
)
def view(xp: Namespace, x: Array, /, shape: Shape | DType) -> Array:
    """Look at the elements in another shape, or the memory in another dtype, without a copy.

    Parameters
    ----------
    shape : of the result, with as many elements; one length may be -1, which is then what remains. Or a dtype, in which
        the bytes are read: if its elements have another size, the last axis is as much longer or shorter

    Returns
    -------
    array of that shape or dtype, which shares memory with `x`

    Raises
    ------
    ValueError : if the elements do not fit, or cannot be shown in that shape or dtype where they lie
    TypeError : for a class of tensors, and for an array type that is asked for a dtype

    Notes
    -----
    `reshape` that never copies. In a dtype, a gradient flows between complex numbers and pairs of real ones, their real
    and imaginary parts; through other bytes there is none, and the backward pass raises. Source: PyTorch,
    `torch.Tensor.view`; NumPy, `numpy.ndarray.view`.

    Examples
    --------
    >>> dk.zeros((2, 3)).view(-1, 2).shape
    (3, 2)
    >>> dk.asarray([1 + 2j, 3 - 1j]).view(dk.float64)
    tensor([ 1.,  2.,  3., -1.])
    """
    dtype = dtype_meant(shape)
    if dtype is None:
        return xp.reshape(x, shape, copy=False)
    return _in_dtype(xp, x, dtype)


def dtype_meant(shape: Any) -> Any:
    """Return the dtype that is given in the place of a shape, None for a shape."""
    value = shape
    if isinstance(shape, tuple):
        if len(shape) != 1:
            return None
        value = shape[0]
    if type(value) is int:
        return None
    if isinstance(value, type) and issubclass(value, Storage):
        raise TypeError(f"view: {value.__name__} is a class, not a shape; write x.as_subclass({value.__name__})")
    if isinstance(value, str):
        return _dtype_named(value)
    if isinstance(value, np.dtype):
        return value
    if isinstance(value, type):
        return numpy_dtype(value)
    is_shape = value is None or isinstance(value, (int, float, tuple, list)) or hasattr(value, "__index__")
    if is_shape:
        return None
    return numpy_dtype(value)


def _dtype_named(name: str) -> Any:
    """Return the dtype of a name; one letter is none, which NumPy takes for one."""
    try:
        if len(name) > 1:
            return np.dtype(name)
    except TypeError:
        pass
    raise TypeError(f"view: {name!r} is neither a shape nor the name of a dtype, such as 'float64'")


def _in_dtype(xp: Namespace, x: Any, dtype: Any) -> Any:
    """Return an array whose bytes are read in a dtype."""
    if numpy_dtype(x.dtype) == dtype:
        return xp.reshape(x, x.shape, copy=False)
    if xp is numpy_namespace:
        return x.view(dtype)
    if isinstance(x, Storage):
        return x.view(dtype)  # type: ignore[attr-defined]  # of any tensor
    if xp is tensor_namespace:
        return xp.view(xp.asarray(x), getattr(xp, dtype.name))  # a type that has no bytes of its own may become dense
    if hasattr(x, "view"):
        return x.view(getattr(xp, dtype.name))
    before = numpy_dtype(x.dtype)
    if are_parts(before, dtype):
        return _pairs_or_numbers(xp, x, before, dtype)
    raise TypeError(
        f"view: a {type(x).__name__} of {before} cannot be read as {dtype}, since its library reads no bytes; convert "
        f"it with astype"
    )


def _pairs_or_numbers(xp: Namespace, x: Any, before: Any, after: Any) -> Any:
    """Return a cotangent or tangent as complex numbers for pairs of real ones, or the other way round."""
    if before == after:
        return x
    if before.kind == "c" and after.kind == "f" and before.itemsize == 2 * after.itemsize:
        parts = xp.stack([xp.real(x), xp.imag(x)], axis=-1)
        return xp.reshape(parts, (*x.shape[:-1], 2 * x.shape[-1]))
    if before.kind == "f" and after.kind == "c" and after.itemsize == 2 * before.itemsize:
        pairs = xp.reshape(x, (*x.shape[:-1], x.shape[-1] // 2, 2))
        return xp.astype(of_parts(pairs[..., 0], pairs[..., 1]), getattr(xp, after.name), copy=False)
    raise AutogradError(
        f"view: between {before} and {after} there is no derivative of reading bytes; read x.detach(), or convert the "
        f"numbers with astype"
    )


@view.def_vjp("x", shapes=("x",))
def view_vjp(xp, g, x, shape):
    dtype = dtype_meant(shape)
    if dtype is None:
        return xp.reshape(g, x.shape)
    return _pairs_or_numbers(xp, g, dtype, numpy_dtype(x.dtype))


@view.def_jvp("x")
def view_jvp(xp, t, x, shape):
    dtype = dtype_meant(shape)
    if dtype is None:
        return xp.reshape(t, shape)
    if dtype.kind not in "fc":
        return None
    return _pairs_or_numbers(xp, t, numpy_dtype(x.dtype), dtype)


@manipulation(
    samples=lambda: [
        sample(draw(2, 3)),
        sample(draw()),
        sample(draw(2, 3, 2), start_dim=1),
        sample(draw(2, 3, 2), 0, 1),
    ]
)
def flatten(xp: Namespace, x: Array, /, start_dim: int = 0, end_dim: int = -1) -> Array:
    """Make one axis of several neighbouring ones, or of all.

    Parameters
    ----------
    start_dim : the first of the axes
    end_dim : the last of them

    Returns
    -------
    array with one axis in their place, a view of `x` where possible

    Raises
    ------
    ValueError : if the last axis comes before the first

    Notes
    -----
    Source: PyTorch, `torch.flatten`.

    Examples
    --------
    >>> dk.flatten(dk.zeros((2, 3, 4)), 1).shape
    (2, 12)
    """
    if x.ndim == 0:
        return xp.reshape(x, (1,))
    first, last = normal_axis(start_dim, x.ndim, "flatten"), normal_axis(end_dim, x.ndim, "flatten")
    if last < first:
        raise ValueError(f"flatten: axis end_dim={end_dim} comes before start_dim={start_dim}")
    shape = x.shape
    return xp.reshape(x, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@manipulation(samples=lambda: [sample(draw(2, 3)), sample(draw())])
def ravel(xp: Namespace, x: Array, /) -> Array:
    """Make one axis of all.

    Returns
    -------
    array with one axis, a view of `x` where possible

    Notes
    -----
    Source: NumPy, `numpy.ravel`.

    Examples
    --------
    >>> dk.ravel(dk.asarray([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    return xp.reshape(x, (-1,))


ravel.def_kernel("numpy", lambda x, /: x.reshape(-1))


@manipulation(
    passthrough=True,
    samples=lambda: [
        sample(draw(1, 3, 1)),
        sample(draw(1, 3, 1), 0),
        sample(draw(1, 3, 1), axis=(0, -1)),
    ],
    axis=Axes(("axis",), unit_axes),
)
def squeeze(xp: Namespace, x: Array, /, axis: Axis = None) -> Array:
    """Drop axes of length 1.

    Parameters
    ----------
    axis : to drop, one or several; all of length 1 by default, which is an extension of the standard

    Returns
    -------
    array without these axes, a view of `x`

    Raises
    ------
    ValueError : if an axis to drop is longer than 1

    Notes
    -----
    Linear: the cotangent is reshaped back.

    Examples
    --------
    >>> dk.squeeze(dk.zeros((1, 3, 1)), axis=0).shape
    (3, 1)
    """
    if axis is None:
        axis = tuple(i for i, n in enumerate(x.shape) if n == 1)
    return xp.squeeze(x, axis=axis)


@manipulation(
    passthrough=True,
    samples=lambda: [sample(draw(2, 3), 0), sample(draw(2), axis=(0, -1)), sample(draw(), -1)],
    axis=Axes(("axis",), added=True),
)
def expand_dims(xp: Namespace, x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Insert axes of length 1.

    Parameters
    ----------
    axis : places of the new axes in the result, one or several

    Returns
    -------
    array with these axes, a view of `x`

    Raises
    ------
    ValueError : if a place is out of bounds or given twice

    Notes
    -----
    Linear: the cotangent is reshaped back.

    Examples
    --------
    >>> dk.expand_dims(dk.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    return xp.expand_dims(x, axis=axis)


@reshape.def_transpose
@squeeze.def_transpose
@expand_dims.def_transpose
def reshape_transpose(xp, g, x):
    return xp.reshape(g, x.shape)


@manipulation(samples=lambda: [sample(draw(2, 3), 0), sample(draw(2, 3), -1), sample(draw(), 0)])
def unsqueeze(xp: Namespace, x: Array, /, dim: int) -> Array:
    """Insert one axis of length 1.

    Parameters
    ----------
    dim : place of the new axis in the result

    Returns
    -------
    array with that axis, a view of `x`

    Raises
    ------
    ValueError : if the place is out of bounds

    Notes
    -----
    Source: PyTorch, `torch.unsqueeze`.

    Examples
    --------
    >>> dk.unsqueeze(dk.zeros((2, 3)), -1).shape
    (2, 3, 1)
    """
    return xp.expand_dims(x, axis=dim)


unsqueeze.def_transpose(reshape_transpose)
flatten.def_transpose(reshape_transpose)


@manipulation(
    passthrough=True,
    samples=lambda: [
        sample(draw(3), (2, 3)),
        sample(draw(2, 1), (2, 3)),
        sample(draw(), (2,)),
        sample(draw(2, 1), (4, 2, 1)),
    ],
)
def broadcast_to(xp: Namespace, x: Array, /, shape: Shape) -> Array:
    """Repeat an array along axes of length 1, and along new leading ones, without a copy.

    Parameters
    ----------
    shape : of the result

    Returns
    -------
    array of that shape, a view of `x`; read-only where an element of `x` stands in it several times

    Raises
    ------
    ValueError : if `x` does not broadcast to the shape

    Notes
    -----
    Linear: cotangents are summed over what was repeated.

    Examples
    --------
    >>> dk.broadcast_to(dk.asarray([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return xp.broadcast_to(x, shape)


broadcast_to.def_transpose(lambda g: g)


@manipulation(varargs="shape", samples=lambda: [sample(draw(3, 1), (3, 4)), sample(draw(3, 1), (2, -1, 4))])
def expand(xp: Namespace, x: Array, /, shape: Sequence[int]) -> Array:
    """Repeat an array along axes of length 1, and along new leading ones, without a copy.

    Parameters
    ----------
    shape : of the result; -1 leaves the length of an axis as it is

    Returns
    -------
    array of that shape, a view of `x`; read-only where an element of `x` stands in it several times

    Raises
    ------
    ValueError : if `x` does not broadcast to the shape, or if a new axis has length -1

    Notes
    -----
    `broadcast_to` with lengths left out. Source: PyTorch, `torch.Tensor.expand`.

    Examples
    --------
    >>> dk.expand(dk.zeros((3, 1)), (-1, 4)).shape
    (3, 4)
    """
    new = len(shape) - x.ndim
    if -1 not in shape and new >= 0:
        return xp.broadcast_to(x, tuple(shape))
    if new < 0 or -1 in shape[:new]:
        raise ValueError(
            f"expand: an array of shape {x.shape} cannot have the shape {tuple(shape)}: it needs "
            f"a length for each new leading axis, and a length or -1 for each of the array's own"
        )
    return xp.broadcast_to(x, tuple([x.shape[i - new] if n == -1 else n for i, n in enumerate(shape)]))


expand.def_transpose(lambda g: g)
