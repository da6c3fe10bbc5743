"""Rules of named arrays whose axes move, go, come or are joined: the names move with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dispatchkit import ops
from dispatchkit.ops.manipulation.shapes import dtype_meant
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor.numpy_arguments import holds_text
from dispatchkit.types.named.alignment import NEW_AXIS
from dispatchkit.types.named.array import (
    NamedTensor,
    axes_meant,
    inside,
    joined_name,
    places,
    with_names,
    without_names,
)
from dispatchkit.types.rules import axis_of, implements, implements_each, permutation_of

# Another order.


@implements(ops.permute_dims)
def permute_named(x: NamedTensor, /, axes: Any) -> Any:
    numbers = axes
    if isinstance(axes, (tuple, list)):
        numbers = places(ops.permute_dims, x, tuple(axes))
    order = permutation_of("permute_dims", x, numbers)
    return with_names(ops.permute_dims(x.data, order), tuple(x.names[i] for i in order))


@implements_each((ops.t, ops.matrix_transpose), NamedTensor)
def transpose_named(op: Any, x: NamedTensor, /) -> Any:
    return with_names(op(x.data), (*x.names[:-2], *x.names[:-3:-1]))


@implements(ops.transpose, NamedTensor)
def transpose_axes_named(x: NamedTensor, /, axes: Any = None, *more: Any) -> Any:
    if axes is None:
        return permute_named(x, tuple(reversed(range(len(x.names)))))
    if isinstance(axes, (int, str)):
        if len(more) == 1:
            return swapaxes_named(x, axes, more[0])
        axes = (axes, *more)
    if not isinstance(axes, (tuple, list)):
        raise TypeError(f"transpose: axes must be ints, or a tuple of them, found {axes!r}")
    if len(axes) != len(x.names):
        raise ValueError(f"transpose: {len(axes)} axes are given for an array with {len(x.names)}")
    return permute_named(x, axes)


@implements(ops.swapaxes)
def swapaxes_named(x: NamedTensor, axis1: Any, axis2: Any, /) -> Any:
    i, j = (axis_of("swapaxes", x, places(ops.swapaxes, x, axis)) for axis in (axis1, axis2))
    order = list(range(len(x.names)))
    order[i], order[j] = j, i
    return permute_named(x, order)


@implements(ops.moveaxis)
def moveaxis_named(x: NamedTensor, source: Any, destination: Any, /) -> Any:
    source, destination = (_numbers(x, axis) for axis in (source, destination))
    result = ops.moveaxis(x.data, source, destination)  # which checks them
    others = [name for i, name in enumerate(x.names) if i not in source]
    moved = dict(zip(destination, (x.names[i] for i in source), strict=True))
    return with_names(result, tuple(moved[i] if i in moved else others.pop(0) for i in range(len(x.names))))


def _numbers(x: NamedTensor, axis: Any) -> tuple[int, ...]:
    axes = places(ops.moveaxis, x, axis)
    return tuple(axis_of("moveaxis", x, number) for number in (axes if isinstance(axes, tuple) else (axes,)))


# Axes that go.


@implements(ops.squeeze)
def squeeze_named(x: NamedTensor, /, axis: Any = None) -> Any:
    axis = places(ops.squeeze, x, axis)
    result = ops.squeeze(x.data, axis=axis)
    return without_names(result, x, {i for i in axes_meant(x, axis) if x.shape[i] == 1})


@implements(ops.unstack)
def unstack_named(x: NamedTensor, /, *, axis: Any = 0) -> Any:
    axis = places(ops.unstack, x, axis)
    return without_names(ops.unstack(x.data, axis=axis), x, axes_meant(x, axis))


@implements(ops.ravel)
def ravel_named(x: NamedTensor, /) -> Any:
    return with_names(ops.ravel(x.data), (joined_name(x.names),))


@implements(ops.flatten)
def flatten_named(x: NamedTensor, /, start_dim: Any = 0, end_dim: Any = -1) -> Any:
    if not x.names:
        return ravel_named(x)
    start, end = (axis_of("flatten", x, places(ops.flatten, x, axis)) for axis in (start_dim, end_dim))
    result = ops.flatten(x.data, start, end)
    return with_names(result, (*x.names[:start], joined_name(x.names[start : end + 1]), *x.names[end + 1 :]))


# Axes that come.


@implements(ops.expand_dims)
def expand_dims_named(x: NamedTensor, /, axis: Any) -> Any:
    return _with_new_axes(ops.expand_dims, x, axis)


@implements(ops.unsqueeze)
def unsqueeze_named(x: NamedTensor, /, dim: Any) -> Any:
    return _with_new_axes(ops.unsqueeze, x, dim)


def _with_new_axes(op: Any, x: NamedTensor, axis: Any) -> Any:
    """Return an array with axes of length 1 in front, which are given by their names."""
    if not holds_text(axis):
        return decline(NEW_AXIS.format("give it"))
    if isinstance(axis, str):
        names = (axis,)
    else:
        names = tuple(axis)
    taken = [name for name in names if name in x.names]
    if taken:
        raise ValueError(f"{op.__name__}: there is an axis {taken[0]!r} already; the names are {x.names}")
    return NamedTensor(ops.expand_dims(x.data, axis=tuple(range(len(names)))), (*names, *x.names))


@implements_each((ops.broadcast_to, ops.expand), NamedTensor)
def broadcast_to_named(op: Any, x: NamedTensor, /, shape: Any) -> Any:
    if isinstance(shape, int) or len(shape) != len(x.names):
        return decline('a new axis needs a name: expand_dims(x, axis="name") makes one in front')
    return with_names(op(x.data, shape), x.names)


@implements_each((ops.reshape, ops.view), NamedTensor)
def reshape_named(op: Any, x: NamedTensor, /, shape: Any, **kwargs: Any) -> Any:
    """Keep the axes of a shape that stays the same, and those of elements that are read in another dtype."""
    if dtype_meant(shape) is not None:
        return with_names(op(x.data, shape), x.names)
    wanted: tuple[int, ...] = (shape,)
    if not isinstance(shape, int):
        wanted = tuple(shape)
    known = math.prod(length for length in wanted if length != -1)
    if wanted.count(-1) == 1 and known:
        wanted = tuple(math.prod(x.shape) // known if length == -1 else length for length in wanted)
    if wanted != x.shape:
        return decline(
            "axes of the result would have no names; compute with x.data, and name the result, or join axes by "
            "flatten(x, first, last)"
        )
    return with_names(op(x.data, wanted, **kwargs), x.names)


# Several arrays.


def _aligned_arrays(arrays: Sequence[Any]) -> Any:
    """Return the arrays inside in the order of the first one's axes, and its names; a decline if names differ."""
    first = next(array for array in arrays if isinstance(array, NamedTensor))
    if not all(isinstance(array, NamedTensor) and set(array.names) == set(first.names) for array in arrays):
        return decline("all arrays need the same names")
    return [array.aligned(first.names) for array in arrays], first.names


@implements(ops.concat, NamedTensor)
def concat_named(arrays: Any, /, *, axis: Any = 0) -> Any:
    aligned = _aligned_arrays(arrays)
    if aligned is NotImplemented:
        return aligned
    parts, names = aligned
    if len({array.names for array in arrays}) > 1 and not isinstance(axis, str):
        return decline("the arrays have their axes in other orders; give the axis by name")
    if axis is None and len(names) != 1:
        return decline("the joined elements of all axes have no name; give the axis")
    if isinstance(axis, str) and axis not in names:
        raise ValueError(f"concat: no axis {axis!r}; there are {names}. stack makes a new one")
    place = places(ops.concat, NamedTensor(parts[0], names), axis)
    return with_names(ops.concat(parts, axis=place), names)


@implements(ops.stack, NamedTensor)
def stack_named(arrays: Any, /, *, axis: Any = 0) -> Any:
    aligned = _aligned_arrays(arrays)
    if aligned is NotImplemented:
        return aligned
    parts, names = aligned
    if not isinstance(axis, str):
        return decline(f"axes of the result would have no names: {NEW_AXIS.format('stack(arrays)')}")
    if axis in names:
        raise ValueError(f"stack: there is an axis {axis!r} already; concat joins along it")
    return NamedTensor(ops.stack(parts, axis=0), (axis, *names))


@implements(ops.meshgrid, NamedTensor)
def meshgrid_named(*arrays: NamedTensor, indexing: Any = "xy") -> Any:
    if not all(isinstance(array, NamedTensor) for array in arrays) or any(len(array.names) > 1 for array in arrays):
        return decline("all arrays need a name")
    names = [name for array in arrays for name in array.names]
    if len(set(names)) < len(arrays):
        return decline(f"axes of the result would have one name: {tuple(names)}")
    if indexing == "xy":
        names[:2] = names[1::-1]
    return with_names(ops.meshgrid(*map(inside, arrays), indexing=indexing), tuple(names))


@implements(ops.convolve, NamedTensor)
def convolve_named(x1: Any, x2: Any, /, *, mode: Any = "full") -> Any:
    names = {x.names for x in (x1, x2) if isinstance(x, NamedTensor)}
    if len(names) > 1:
        return decline(f"the axes have different names: {sorted(names)}")
    return with_names(ops.convolve(inside(x1), inside(x2), mode=mode), names.pop())


@implements_each((ops.take_along_axis, ops.gather, ops.scatter_add), NamedTensor)
def along_axis_named(op: Any, x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Align indices and values with the array whose elements they choose."""
    if not isinstance(x, NamedTensor):
        return decline("a plain array has no names to align with")

    def align_value(value: Any) -> Any:
        if isinstance(value, NamedTensor):
            return value.aligned(x.names)
        if isinstance(value, str):
            return places(op, x, value)
        return value

    args = tuple(align_value(value) for value in args)
    result = op(x.data, *args, **{name: align_value(value) for name, value in kwargs.items()})
    return with_names(result, x.names)
