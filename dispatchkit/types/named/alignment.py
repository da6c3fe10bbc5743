"""Rules of named arrays that meet, are reduced, or keep their axes."""

from __future__ import annotations

import inspect
from typing import Any

from dispatchkit import fft, linalg, ops
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.steps import decline
from dispatchkit.types.levels import arguments, list_parts
from dispatchkit.types.named.array import (
    NamedTensor,
    axes_meant,
    inside,
    places,
    united_names,
    with_names,
    without_names,
)
from dispatchkit.types.rules import implements, implements_each

# Parameters that count axes.
AXES = ("axis", "axes", "dim", "axis1", "axis2", "source", "destination", "start_dim", "end_dim", "more")
NEW_AXIS = 'a new axis needs a name: {} by axis="name", which then is the first'


@implements(kinds.elementwise, NamedTensor)
def align(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Align arrays by name, and plain ones by position."""
    values = [value for _, value in arguments(op, args, kwargs)]
    arrays = [value for value in values if isinstance(value, NamedTensor)]
    if len(arrays) == 1:
        names = arrays[0].names
    else:
        names = united_names(op, arrays)
    alike = all(array.names == names for array in arrays)
    for value in values:
        axes = 0
        if not isinstance(value, NamedTensor):
            axes = len(getattr(value, "shape", ()))
        if axes > len(names) or (axes and not alike):
            return decline(f"an array without names, of {axes} axes, cannot be aligned with the axes {names}")

    def align_value(name: str, value: Any) -> Any:
        if isinstance(value, NamedTensor) and value.names != names:
            return value.aligned(names)
        return inside(value)

    args, kwargs = tensor_protocol.map_arguments(op, args, kwargs, align_value)
    return with_names(op(*args, **kwargs), names)


implements_each((ops.where,), NamedTensor)(align)


@implements(ops.masked_fill)
def masked_fill_named(x: NamedTensor, /, mask: Any, value: Any) -> Any:
    if isinstance(mask, NamedTensor) and not set(mask.names) <= set(x.names):
        return decline(f"the mask has axes {mask.names} that the array lacks")
    if getattr(mask, "ndim", 0) > len(x.names):
        return decline("the mask has more axes than the array")
    return with_names(ops.masked_fill(x.data, x.fitted(mask), inside(value)), x.names)


@implements(ops.broadcast_arrays, NamedTensor)
def broadcast_named(*arrays: NamedTensor) -> Any:
    if not all(isinstance(array, NamedTensor) for array in arrays):
        return decline("all arrays need names")
    names = united_names(ops.broadcast_arrays, arrays)
    return with_names(ops.broadcast_arrays(*(array.aligned(names) for array in arrays)), names)


# Axes by number.


def number_axes(op: Any, x: NamedTensor, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the further arguments of a call with the axes among them as numbers.

    Parameters
    ----------
    op : the operation
    x : its first argument, whose names count
    args, kwargs : the arguments after that
    """
    parameters = list(tensor_protocol.operation(op).parameters.signature.parameters.values())[1:]
    variadic = [p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
    names = [p.name for p in parameters] + variadic * len(args)
    numbered = [places(op, x, value) if name in AXES else value for name, value in zip(names, args, strict=False)]
    return tuple(numbered), {name: places(op, x, value) if name in AXES else value for name, value in kwargs.items()}


# Reductions.


@implements(kinds.reduction, NamedTensor)
@implements(kinds.searching, NamedTensor)
def reduce_named(op: Any, x: NamedTensor, /, *args: Any, **kwargs: Any) -> Any:
    """Reduce along axes, whose names go."""
    parameters = tensor_protocol.operation(op).parameters.signature.parameters
    if args or "axis" not in parameters or any(isinstance(value, NamedTensor) for value in kwargs.values()):
        return refuse_named(op, x, *args, **kwargs)
    return _reduce(op, x, **kwargs)


def _reduce(op: Any, x: NamedTensor, *args: Any, **kwargs: Any) -> Any:
    kwargs = number_axes(op, x, (), kwargs)[1]
    if kwargs.get("keepdims"):
        removed = set()
    else:
        removed = axes_meant(x, kwargs.get("axis"))
    return without_names(op(x.data, *args, **kwargs), x, removed)


implements_each((linalg.vector_norm, linalg.norm), NamedTensor)(reduce_named)


@implements(ops.quantile)
def quantile_named(
    x: NamedTensor, q: Any, /, *, axis: Any = None, method: Any = "linear", keepdims: bool = False
) -> Any:
    if not getattr(q, "ndim", 0):
        return _reduce(ops.quantile, x, inside(q), axis=axis, method=method, keepdims=keepdims)
    if not isinstance(q, NamedTensor):
        return decline("the axis of several quantiles has no name; give them as NamedTensor(q, 'name')")
    axis = places(ops.quantile, x, axis)
    if keepdims:
        removed = set()
    else:
        removed = axes_meant(x, axis)
    names = (*q.names, *(name for i, name in enumerate(x.names) if i not in removed))
    if len(set(names)) < len(names):
        return decline(f"axes of the result would have one name: {names}")
    return with_names(ops.quantile(x.data, q.data, axis=axis, method=method, keepdims=keepdims), names)


@implements(ops.average, NamedTensor)
def average_named(
    x: Any, /, *, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    if not isinstance(x, NamedTensor):
        return decline("the array has no names")
    if isinstance(weights, NamedTensor):
        if any(x.sizes.get(name) != size for name, size in weights.sizes.items()):
            return decline(f"weights of sizes {weights.sizes} do not fit an array of sizes {x.sizes}")
        weights = ops.broadcast_to(weights.aligned(x.names), x.shape)
    return _reduce(ops.average, x, axis=axis, weights=weights, returned=returned, keepdims=keepdims)


@implements(linalg.matrix_norm)
def matrix_norm_named(x: NamedTensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    result = linalg.matrix_norm(x.data, keepdims=keepdims, ord=ord)
    return with_names(result, x.names if keepdims else x.names[:-2])


# What gives arrays with the same axes.
SAME_AXES = (
    *(ops.flip, ops.roll, ops.cumulative_sum, ops.cumulative_prod, ops.softmax, ops.log_softmax, ops.tril, ops.triu),
    *(ops.sort, ops.argsort, ops.diff, ops.pad, ops.tile, fft.fftshift, fft.ifftshift),
    *(ops.split, ops.chunk, ops.topk),
)


@implements_each(SAME_AXES, NamedTensor)
@implements(kinds.creation, NamedTensor)
@implements(kinds.conversion, NamedTensor)
@implements(kinds.fft, NamedTensor)
def keep_axes(op: Any, x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Compute what has the axes of its argument; further arrays need the same names."""
    if not isinstance(x, NamedTensor):
        return decline("the first array has no names")
    others = [value for value in (*args, *kwargs.values()) if isinstance(value, NamedTensor)]
    if any(set(other.names) != set(x.names) for other in others):
        return decline("a second array with other names has no rule here")
    args, kwargs = number_axes(op, x, args, kwargs)
    args = tuple(x.fitted(value) for value in args)
    result = op(x.data, *args, **{name: x.fitted(value) for name, value in kwargs.items()})
    if any(len(getattr(part, "shape", x.names)) != len(x.names) for part in list_parts(result)):
        return decline("the result has other axes")
    return with_names(result, x.names)


@implements(ops.repeat)
def repeat_named(x: NamedTensor, repeats: Any, /, *, axis: Any = None) -> Any:
    if axis is None and len(x.names) != 1:
        return decline("the repeated elements of all axes have no name; give the axis")
    axis = places(ops.repeat, x, axis)
    return with_names(ops.repeat(x.data, inside(repeats), axis=axis), x.names)


@implements(ops.isin)
def isin_named(x1: NamedTensor, x2: Any, /, *, invert: bool = False) -> Any:
    return with_names(ops.isin(x1.data, inside(x2), invert=invert), x1.names)


@implements(ops.searchsorted)
def searchsorted_named(x1: Any, x2: NamedTensor, /, *, side: Any = "left", sorter: Any = None) -> Any:
    return with_names(ops.searchsorted(inside(x1), x2.data, side=side, sorter=inside(sorter)), x2.names)


@implements(ops.bincount, NamedTensor)
def bincount_named(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Count without names: the axis of the result is of numbers."""
    return ops.bincount(inside(x), inside(weights), minlength)


@implements(ops.interp)
def interp_named(
    x: NamedTensor, points: Any, values: Any, /, *, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    result = ops.interp(x.data, inside(points), inside(values), left=left, right=right, period=period)
    return with_names(result, x.names)


@implements(kinds.all, NamedTensor)
def refuse_named(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    return decline("axes of the result would have no names; compute with x.data, and name the result")
