"""Batching rules: how operations are computed for a whole batch, by kind or by operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from dispatchkit.backends.numpy import integers_of
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.errors import TransformError
from dispatchkit.ops.manipulation.shapes import dtype_meant
from dispatchkit.ops.shared import normal_axes, normal_axis
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form

Rule = Callable[..., Any]
BY_NAME: dict[str, Rule] = {}
BY_KIND: dict[Kind, Rule] = {}


@dataclass(frozen=True, slots=True)
class Batch:
    """A call with at least one batched argument.

    Attributes
    ----------
    level : of the batch
    size : its length
    cls : the class of batched tensors
    operation : that is called
    """

    level: int
    size: int
    cls: Any
    operation: Overridable

    def holds(self, x: Any) -> bool:
        """Return whether an argument differs from element to element."""
        return isinstance(x, self.cls) and x.level == self.level

    def front(self, x: Any) -> Any:
        """Return an argument with the batch in front; one that is the same for all elements is stretched."""
        if self.holds(x):
            return x.value
        x = xp.asarray(x)
        return xp.broadcast_to(x, (self.size, *x.shape))

    def align(self, x: Any, ndim: int) -> Any:
        """Return an argument so that it broadcasts with others of up to `ndim` axes."""
        if not self.holds(x):
            return x
        value = x.value
        missing = ndim - len(x.shape)
        if missing:
            return xp.reshape(value, (self.size, *(1,) * missing, *x.shape))
        return value

    def flat(self, x: Any, depth: int = 0) -> Any:
        """Return the elements of an argument in a row behind the batch, and `depth` axes between the two."""
        front = self.front(x)
        return xp.reshape(front, (self.size, *(1,) * depth, prod(front.shape[1:])))

    def wrap(self, y: Any) -> Any:
        """Return what a rule computed as batched tensors."""
        return tensor_protocol.types.map_arrays(y, lambda array: self.cls(array, self.level))

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], **changes: Any) -> Any:
        """Call the operation with some of the arguments changed, named as in its signature."""
        bound = self.operation.parameters.signature.bind(*args, **kwargs)
        bound.arguments.update(changes)
        return self.operation.function(*bound.args, **bound.kwargs)

    def argument(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
        """Return the argument of a parameter, or its default."""
        bound = self.operation.parameters.signature.bind(*args, **kwargs)
        if name in bound.arguments:
            return bound.arguments[name]
        return self.operation.parameters.signature.parameters[name].default


def rule_for(*names: str) -> Callable[[Rule], Rule]:
    """Make a function the rule of operations, named without the library: ``"linalg.inv"``."""

    def enter(rule: Rule) -> Rule:
        for name in names:
            assert f"dispatchkit.{name}" in tensor_protocol.operations, name
            BY_NAME[f"dispatchkit.{name}"] = rule
        return rule

    return enter


def ndim_of(x: Any) -> int:
    """Return the number of axes of an argument, 0 for a number."""
    return len(getattr(x, "shape", ()))


@rule_for("where")
def elementwise(batch: Batch, *args: Any, **kwargs: Any) -> Any:
    """Compute elements: arguments with fewer axes get some after the batch."""
    parameters = batch.operation.parameters
    if not kwargs and len(args) == parameters.positional:
        most = max(map(ndim_of, args))
        return batch.operation.function(*[batch.align(x, most) for x in args])
    most = max(ndim_of(x) for _, x in parameters.values(args, kwargs))
    args, kwargs = parameters.replace(args, kwargs, lambda _, x: batch.align(x, most))
    return batch.operation.function(*args, **kwargs)


def along_axes(batch: Batch, *args: Any, **kwargs: Any) -> Any:
    """Compute along axes counted behind the batch, as the operation declares them."""
    operation = batch.operation
    assert isinstance(operation, DeclaredOperation)
    assert operation.axes is not None
    first = operation.parameters.arrays[0]
    if any(batch.holds(x) for p, x in operation.parameters.values(args, kwargs) if p is not first):
        return NotImplemented
    several = first.form is Form.SEQUENCE
    value = batch.argument(args, kwargs, first.name)
    if several:
        arrays = list(value)
    else:
        arrays = [value]
    names, none, _ = operation.axes
    axes = {name: batch.argument(args, kwargs, name) for name in names}
    if none is None and None in axes.values():
        arrays, axes = [batch.flat(x) for x in arrays], dict.fromkeys(names, 1)
    else:
        axes = {name: _behind(axis, tuple(arrays[0].shape), operation) for name, axis in axes.items()}
        arrays = [batch.front(x) for x in arrays]
    operand: Any = arrays
    if not several:
        operand = arrays[0]
    return batch.call(args, kwargs, **{first.name: operand}, **axes)


def _behind(axis: Any, shape: tuple[int, ...], operation: DeclaredOperation) -> Any:
    """Return an axis, or several, counted behind the batch."""
    assert operation.axes is not None
    if axis is None:
        assert operation.axes.none is not None
        axis = operation.axes.none(operation.name, shape)
    several = isinstance(axis, Sequence)
    added = int(operation.axes.added)
    if several:
        added *= len(axis)
    count = len(shape) + added
    if count == 0 and operation.kind in (kinds.reduction, kinds.linalg):
        return normal_axes(axis, 0, operation.name)
    if several:
        return tuple([normal_axis(part, count, operation.name) + 1 for part in axis])
    return normal_axis(axis, count, operation.name) + 1


@rule_for("argmax", "argmin")
def reduction_to_index(batch: Batch, x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Reduce along one axis; without one, the elements of each array of the batch in a row."""
    indices = along_axes(batch, x, *args, **kwargs)
    flat = batch.argument((x, *args), kwargs, "axis") is None
    kept = flat and batch.argument((x, *args), kwargs, "keepdims")
    if kept:
        return xp.reshape(indices, (batch.size, *(1,) * len(x.shape)))
    return indices


@rule_for("astype", "clone", "from_dlpack", "zeros_like", "ones_like", "empty_like")
def on_value(batch: Batch, x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Compute on the whole batch as on one array."""
    return batch.operation.function(x.value, *args, **kwargs)


@rule_for("full_like")
def full_like(batch: Batch, x: Any, /, fill_value: Any, **kwargs: Any) -> Any:
    """Fill each array with a number of its own."""
    if batch.holds(fill_value):
        return NotImplemented
    return batch.operation.function(x.value, fill_value, **kwargs)


@rule_for("asarray")
def asarray(batch: Batch, obj: Any, /, **kwargs: Any) -> Any:
    """Convert each array; of a list of arrays, stack them."""
    if isinstance(obj, (list, tuple)):
        return xp.asarray(xp.stack([batch.front(member) for member in obj], axis=1), **kwargs)
    return xp.asarray(obj.value, **kwargs)


@rule_for("tensor")
def tensor(batch: Batch, data: Any, /, **kwargs: Any) -> Any:
    """Copy each array, outside the graph."""
    return xp.clone(asarray(batch, data, **kwargs)).detach()


@rule_for("argwhere", "nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values")
def of_unknown_shape(batch: Batch, *args: Any, **kwargs: Any) -> Any:
    """Raise: each element of the batch would have a result of another shape."""
    raise TransformError(
        f"vmap: the shape of what {batch.operation.qualified_name} gives depends on the values, so it would differ "
        f"within the batch; call it outside of vmap"
    )


@rule_for("bincount")
def bincount(batch: Batch, x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Add up weights that differ; integers that differ would give results of several lengths."""
    if batch.holds(x):
        return of_unknown_shape(batch)
    return NotImplemented


BY_KIND[kinds.elementwise] = elementwise


@dataclass(frozen=True, slots=True)
class BatchedSelection:
    """An index that selects for the whole batch at once.

    Attributes
    ----------
    key : the index
    count : number of axes that the function's own index selects
    source, target : axes of what `key` selects, and where they belong, the batch being in front
    """

    key: tuple[Any, ...]
    count: int
    source: tuple[int, ...] = ()
    target: tuple[int, ...] = ()

    def arrange(self, batch: Batch, value: Any) -> Any:
        """Return a value to assign with its axes in the order of what `key` selects."""
        if not batch.holds(value) and not self.source:
            return value
        value = batch.cls(batch.front(value), batch.level)
        extra = len(value.shape) - self.count
        if extra > 0 and value.shape[:extra] == (1,) * extra:
            value = xp.reshape(value, value.shape[extra:])
        elif extra > 0:
            raise ValueError(
                f"{batch.operation.name}: a value of shape {value.shape} does not broadcast to the selected elements, "
                f"which have {self.count} axes"
            )
        value = batch.align(value, self.count)
        if self.source:
            return xp.moveaxis(value, self.target, self.source)
        return value


def _selection(batch: Batch, key: Any, shape: tuple[int, ...], *, own: bool) -> BatchedSelection:
    """Return the index for the whole batch.

    Parameters
    ----------
    batch, key : of the call
    shape : of the array that is indexed, as the function sees it
    own : whether that array has an axis for the batch, in front

    Notes
    -----
    What arrays select together stands where the first of them does, or in front if a slice parts them. Arrays that
    differ within the batch select along its axis, too, by an array that counts its elements where there is one.
    """
    parts, rest = _parts(batch, key, shape)
    places = [i for i, part in enumerate(parts) if _is_array(part) or isinstance(part, int)]
    depth = max((1 if _is_mask(parts[i]) else ndim_of(parts[i]) for i in places), default=0)
    adjacent = not places or places == list(range(places[0], places[-1] + 1))
    before = 0
    if places and adjacent:
        before = sum(rest if part is Ellipsis else 1 for part in parts[: places[0]])
    count = depth + rest + sum(part is None or isinstance(part, slice) for part in parts)
    if not any(map(batch.holds, parts)):
        behind = 0
        if not adjacent:
            behind = depth
        return BatchedSelection((slice(None), *parts), count, *(((behind,), (0,)) if behind else ()))
    aligned = tuple(batch.align(part, depth) for part in parts)
    if not own:
        return BatchedSelection(aligned, count, *(((before,), (0,)) if before else ()))
    index = xp.reshape(xp.arange(batch.size), (batch.size, *(1,) * depth))
    if not before or not depth:
        return BatchedSelection((index, *aligned), count)
    target = tuple(range(before + 1, before + depth + 1))
    return BatchedSelection((index, *aligned), count, tuple(range(1, depth + 1)), target)


def _parts(batch: Batch, key: Any, shape: tuple[int, ...]) -> tuple[list[Any], int]:
    """Return the parts of an index, lists as arrays, and how many axes it leaves out or ``...`` stands for.

    Raises
    ------
    TransformError : for a mask that differs within the batch
    """
    if isinstance(key, tuple):
        entries = key
    else:
        entries = (key,)
    parts = [_as_part(part) for part in entries]
    for part in parts:
        if batch.holds(part) and _is_mask(part):
            raise TransformError(
                "vmap: a mask that differs within the batch selects different numbers of elements; "
                "use where(mask, x1, x2) instead"
            )
    taken = sum(map(_axes_of, parts))
    if taken > len(shape):
        raise IndexError(f"{batch.operation.name}: too many indices: {taken} for an array of {len(shape)} axes")
    return parts, len(shape) - taken


def _as_part(part: Any) -> Any:
    if not isinstance(part, list):
        return part
    if part:
        return xp.asarray(part)
    return xp.zeros(0, dtype=np.int64)


def _is_array(part: Any) -> bool:
    return hasattr(part, "shape")


def _is_mask(part: Any) -> bool:
    return isinstance(part, bool) or (_is_array(part) and bool(xp.isdtype(part.dtype, "bool")))


def _axes_of(part: Any) -> int:
    """Return how many axes of the array a part of an index is about."""
    if part is None or part is Ellipsis:
        return 0
    if _is_mask(part):
        return ndim_of(part)
    return 1


@rule_for("getitem")
def getitem(batch: Batch, x: Any, key: Any, /) -> Any:
    is_batched = batch.holds(x)
    selection = _selection(batch, key, tuple(x.shape), own=is_batched)
    if is_batched:
        value = x.value
    else:
        value = x
    y = value[selection.key]
    if selection.source:
        return xp.moveaxis(y, selection.source, selection.target)
    return y


@rule_for("index_put")
def index_put(batch: Batch, x: Any, key: Any, value: Any, /, *, accumulate: bool = False) -> Any:
    selection = _selection(batch, key, tuple(x.shape), own=True)
    return xp.index_put(batch.front(x), selection.key, selection.arrange(batch, value), accumulate=accumulate)


@rule_for("setitem")
def setitem(batch: Batch, x: Any, key: Any, value: Any, /) -> None:
    if not batch.holds(x):
        raise TransformError(
            "vmap: a value that differs within the batch cannot be assigned into a tensor that is the same for all; "
            "make the target from an input (zeros_like), or use index_put"
        )
    selection = _selection(batch, key, tuple(x.shape), own=True)
    x.value[selection.key] = selection.arrange(batch, value)


@rule_for("take")
def take(batch: Batch, x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    if axis is None:
        x, axis = xp.reshape(x, (-1,)), 0
    axis = normal_axis(axis, len(x.shape), "take")
    if not batch.holds(indices):
        return xp.take(x.value, indices, axis=axis + 1)
    return getitem(batch, x, (*(slice(None),) * axis, indices))


@rule_for("take_along_axis")
def take_along_axis(batch: Batch, x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    axis = normal_axis(axis, len(x.shape), "take_along_axis")
    return xp.take_along_axis(batch.front(x), batch.front(indices), axis=axis + 1)


@rule_for("isin")
def isin(batch: Batch, x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    members = batch.flat(x2, ndim_of(x1))
    among = xp.any(xp.expand_dims(batch.front(x1), axis=-1) == members, axis=-1)
    if invert:
        return ~among
    return among


@rule_for("searchsorted")
def searchsorted(batch: Batch, x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Count the sorted elements before each value."""
    if sorter is not None:
        x1 = xp.take_along_axis(*(batch.cls(batch.front(array), batch.level) for array in (x1, sorter)))
    elif not batch.holds(x1):
        return xp.searchsorted(x1, batch.front(x2), side=side)
    members = batch.flat(x1, ndim_of(x2))
    values = xp.expand_dims(batch.front(x2), axis=-1)
    if side == "left":
        return xp.sum(members < values, axis=-1)
    return xp.sum(members <= values, axis=-1)


@rule_for("tril", "triu", "matrix_transpose")
def of_matrices(batch: Batch, *args: Any, **kwargs: Any) -> Any:
    """Compute on the last two axes of one array; the batch is one more axis before them."""
    (_, x), *others = batch.operation.parameters.values(args, kwargs)
    if any(batch.holds(other) for _, other in others) or not batch.holds(x):
        return NotImplemented
    if len(x.shape) < 2:
        raise ValueError(f"{batch.operation.name}: x must be a matrix or a stack of them, found shape {x.shape}")
    return batch.operation.function(x.value, *args[1:], **kwargs)


def _stacks(batch: Batch, *arrays: Any) -> list[Any]:
    """Return arrays with batches aligned before axes that broadcast."""
    most = max(map(ndim_of, arrays))
    return [batch.align(x, most) for x in arrays]


@rule_for("matmul")
def matmul(batch: Batch, x1: Any, x2: Any, /) -> Any:
    n1, n2 = ndim_of(x1), ndim_of(x2)
    if not n1 or not n2:
        raise ValueError(f"matmul: {'x1' if not n1 else 'x2'} is 0-D; multiply numbers with *")
    if n1 == 2 and n2 == 1 and not batch.holds(x1):
        return x2.value @ x1.mT
    if n1 == 1 and not batch.holds(x2) and n2 <= 2:
        return x1.value @ x2
    row, column = n1 == 1, n2 == 1
    first = x1
    if row:
        first = xp.expand_dims(x1, axis=0)
    second = x2
    if column:
        second = xp.expand_dims(x2, axis=1)
    y = xp.matmul(*_stacks(batch, first, second))
    if column:
        y = xp.squeeze(y, axis=-1)
    if row:
        return xp.squeeze(y, axis=-1 if column else -2)
    return y


@rule_for("linalg.outer", "average")
def by_its_body(batch: Batch, *args: Any, **kwargs: Any) -> Any:
    """Leave to their body products that are not of matrices, and weights whose axes are those of the array."""
    return NotImplemented


@rule_for("linalg.solve")
def solve(batch: Batch, x1: Any, x2: Any, /) -> Any:
    if len(x1.shape) < 2:
        raise ValueError(f"solve: x1 must be a matrix or a stack of them, found shape {x1.shape}")
    vector = ndim_of(x2) == 1
    second = x2
    if vector:
        second = xp.expand_dims(x2, axis=1)
    y = xp.linalg.solve(*_stacks(batch, x1, second))
    if vector:
        return xp.squeeze(y, axis=-1)
    return y


@rule_for("linalg.lstsq")
def lstsq(batch: Batch, a: Any, b: Any, /, *, rcond: float | None = None) -> Any:
    matrices = tuple(a.shape)
    if len(matrices) < 2:
        raise ValueError(f"lstsq: a must be matrices, of shape (..., M, N), found shape {matrices}")
    vectors = tuple(b.shape) in (matrices[-2:-1], matrices[:-1])
    second = b
    if vectors:
        second = xp.expand_dims(b, axis=-1)
    first, second = _stacks(batch, a, second)
    missing = ndim_of(first) - ndim_of(second)
    if missing > 0:  # so that matrices are not read as vectors
        second = xp.reshape(second, (*(1,) * missing, *second.shape))
    y = xp.linalg.lstsq(first, second, rcond=rcond)
    # What depends on the matrices alone has their batch axes.
    arrange = xp.broadcast_to
    if batch.holds(a):
        arrange = xp.reshape
    sizes = (batch.size, *matrices[:-2])
    y = y._replace(
        rank=arrange(y.rank, sizes),
        singular_values=arrange(y.singular_values, (*sizes, *y.singular_values.shape[-1:])),
    )
    if vectors:
        return y._replace(solution=xp.squeeze(y.solution, axis=-1))
    return y


@rule_for("vecdot", "linalg.cross")
def of_vectors(batch: Batch, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    least = min(ndim_of(x1), ndim_of(x2))
    if not -least <= axis < least:
        raise ValueError(f"{batch.operation.name}: axis must be from {-least} to {least - 1}, found {axis}")
    call = batch.operation.function
    if axis < 0:
        return call(*_stacks(batch, x1, x2), axis=axis)
    # Each argument counts from its own first axis.
    y = call(*_stacks(batch, *(xp.moveaxis(x, axis, -1) for x in (x1, x2))), axis=-1)
    if batch.operation.name == "cross":
        return xp.moveaxis(y, -1, axis + 1)
    return y


BY_KIND[kinds.linalg] = of_matrices


@rule_for("reshape")
def reshape(batch: Batch, x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    if isinstance(shape, int):
        shape = (shape,)
    else:
        shape = tuple(shape)
    if -1 in shape:
        known = prod(n for n in shape if n != -1)
        missing = 0
        if known:
            missing = prod(x.shape) // known
        shape = tuple(missing if n == -1 else n for n in shape)
    if prod(shape) != prod(x.shape):
        raise ValueError(f"reshape: an array of shape {x.shape} cannot have the shape {shape}")
    return xp.reshape(x.value, (batch.size, *shape), copy=copy)


@rule_for("view")
def view(batch: Batch, x: Any, /, shape: Any) -> Any:
    dtype = dtype_meant(shape)
    if dtype is None:
        return NotImplemented
    if not x.shape and dtype.itemsize != np.dtype(x.dtype).itemsize:
        raise ValueError(f"view: a number of {x.dtype} cannot be read as {dtype}, of another size")
    return xp.view(x.value, dtype)


@rule_for("broadcast_to")
def broadcast_to(batch: Batch, x: Any, /, shape: Any) -> Any:
    if isinstance(shape, int):
        shape = (shape,)
    else:
        shape = tuple(shape)
    if len(x.shape) > len(shape):
        raise ValueError(f"broadcast_to: an array of shape {x.shape} does not broadcast to {shape}")
    return xp.broadcast_to(batch.align(x, len(shape)), (batch.size, *shape))


@rule_for("permute_dims")
def permute_dims(batch: Batch, x: Any, /, axes: Any) -> Any:
    if len(axes) != len(x.shape):
        raise ValueError(f"permute_dims: axes has {len(axes)} entries for an array of {len(x.shape)} axes")
    order = normal_axes(tuple(axes), len(x.shape), "permute_dims")
    return xp.permute_dims(x.value, (0, *(place + 1 for place in order)))


@rule_for("roll")
def roll(batch: Batch, x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    rolled = along_axes(batch, x, shift, axis=axis)
    if axis is None:
        return xp.reshape(rolled, x.value.shape)
    return rolled


@rule_for("tile")
def tile(batch: Batch, x: Any, repetitions: Any, /) -> Any:
    repetitions = integers_of("repetitions", repetitions)
    ndim = max(len(x.shape), len(repetitions))
    return xp.tile(batch.align(x, ndim), (1, *(1,) * (ndim - len(repetitions)), *repetitions))
