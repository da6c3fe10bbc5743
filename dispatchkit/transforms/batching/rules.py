"""Batching rules: how operations are computed for a whole batch, by kind or by operation.

A rule receives a `Batch` and the arguments of the call. It returns the arrays inside the results, with the batch as the
first axis, or NotImplemented.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.errors import TransformError
from dispatchkit.ops.random.distributions import categories
from dispatchkit.ops.shared.axes import normal_axes, normal_axis
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form

__all__ = ["BY_KIND", "BY_NAME", "Batch", "Rule", "along_axes", "rule_for"]

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

    def aligned(self, x: Any, ndim: int) -> Any:
        """Return an argument so that it broadcasts with others of up to `ndim` axes."""
        if not self.holds(x):
            return x
        value = x.value
        missing = ndim - len(x.shape)
        return xp.reshape(value, (self.size, *(1,) * missing, *x.shape)) if missing else value

    def flat(self, x: Any, depth: int = 0) -> Any:
        """Return the elements of an argument in a row behind the batch, and `depth` axes between the two."""
        front = self.front(x)
        return xp.reshape(front, (self.size, *(1,) * depth, prod(front.shape[1:])))

    def element(self, x: Any, index: int) -> Any:
        """Return one element of an argument."""
        return x.value[index] if self.holds(x) else x

    def wrapped(self, y: Any) -> Any:
        """Return what a rule found as batched tensors."""
        return tensor_protocol.types.map_arrays(y, lambda one: self.cls(one, self.level))

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any], **changes: Any) -> Any:
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
        return batch.operation.function(*[batch.aligned(x, most) for x in args])
    most = max(ndim_of(x) for _, x in parameters.values(args, kwargs))
    args, kwargs = parameters.replace(args, kwargs, lambda _, x: batch.aligned(x, most))
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
    arrays = list(value) if several else [value]
    names, none, _ = operation.axes
    given = {name: batch.argument(args, kwargs, name) for name in names}
    if none is None and None in given.values():
        arrays, given = [batch.flat(x) for x in arrays], dict.fromkeys(names, 1)
    else:
        given = {name: _behind(axis, tuple(arrays[0].shape), operation) for name, axis in given.items()}
        arrays = [batch.front(x) for x in arrays]
    return batch.called(args, kwargs, **{first.name: arrays if several else arrays[0]}, **given)


def _behind(axis: Any, shape: tuple[int, ...], operation: DeclaredOperation) -> Any:
    """Return an axis, or several, counted behind the batch."""
    assert operation.axes is not None
    if axis is None:
        assert operation.axes.none is not None
        axis = operation.axes.none(operation.name, shape)
    several = isinstance(axis, Sequence)
    count = len(shape) + operation.axes.added * (len(axis) if several else 1)
    if count == 0 and operation.kind is kinds.reduction:
        return normal_axes(axis, 0, operation.name)
    found = [normal_axis(one, count, operation.name) + 1 for one in axis] if several else None
    return tuple(found) if found is not None else normal_axis(axis, count, operation.name) + 1


@rule_for("argmax", "argmin")
def reduction_to_index(batch: Batch, x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Reduce along one axis; without one, the elements of each array of the batch in a row."""
    found = along_axes(batch, x, *args, **kwargs)
    flat = batch.argument((x, *args), kwargs, "axis") is None
    kept = flat and batch.argument((x, *args), kwargs, "keepdims")
    return xp.reshape(found, (batch.size, *(1,) * len(x.shape))) if kept else found


@rule_for("astype", "clone", "from_dlpack", "zeros_like", "ones_like", "empty_like")
def on_value(batch: Batch, x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Compute on the whole batch as on one array."""
    return batch.operation.function(x.value, *args, **kwargs)


@rule_for("rand_like", "randn_like")
def random_like(batch: Batch, x: Any, /, **kwargs: Any) -> Any:
    """Draw the same numbers for all elements; `vmap` itself answers where each is to have its own."""
    return batch.front(batch.operation.function(xp.zeros(x.shape, dtype=x.dtype), **kwargs))


@rule_for("random.permutation")
def permutation(batch: Batch, x: Any, /, *, axis: int = 0, **kwargs: Any) -> Any:
    """Shuffle each array, in an order that `vmap` has drawn for all or for each."""
    order = batch.operation.function(x.shape[axis], **kwargs)
    return xp.take(x, order, axis=axis).value


@rule_for("random.bernoulli")
def bernoulli(batch: Batch, p: Any, *, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Compare probabilities that differ with numbers that `vmap` has drawn for all or for each."""
    drawn = xp.random.uniform(shape=p.shape if shape is None else shape, **kwargs)
    return xp.astype(drawn < p, dtype or p.dtype).value


@rule_for("random.multinomial")
def multinomial(batch: Batch, probs: Any, /, num_samples: int, replacement: bool = False, **kwargs: Any) -> Any:
    """Choose by probabilities that differ, with numbers that `vmap` has drawn for all or for each."""
    shape = (*probs.shape[:-1], num_samples) if replacement else probs.shape
    numbers = xp.random.uniform(shape=shape, dtype=xp.float64, **kwargs)
    return categories(xp, probs, numbers, num_samples, replacement).value


@rule_for("full_like")
def full_like(batch: Batch, x: Any, /, fill_value: Any, **kwargs: Any) -> Any:
    """Fill each array with a number of its own."""
    dtype = kwargs.pop("dtype", None) or x.dtype
    return full(batch, x.shape, fill_value, dtype=dtype, **kwargs)


@rule_for("full")
def full(batch: Batch, shape: Any, fill_value: Any, *, dtype: Any = None, **kwargs: Any) -> Any:
    """Fill each array with a number of its own."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    value = batch.front(fill_value)
    if value.ndim != 1:
        raise ValueError(
            f"{batch.operation.name}: fill_value must be a number, found an array of {value.ndim - 1} axes"
        )
    filled = xp.broadcast_to(xp.reshape(value, (batch.size, *(1,) * len(shape))), (batch.size, *shape))
    return xp.astype(filled, dtype or value.dtype)


@rule_for("asarray")
def asarray(batch: Batch, obj: Any, /, **kwargs: Any) -> Any:
    """Convert each array; of a list of arrays, stack them."""
    if isinstance(obj, (list, tuple)):
        return xp.asarray(xp.stack([batch.front(one) for one in obj], axis=1), **kwargs)
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
    return of_unknown_shape(batch) if batch.holds(x) else NotImplemented


BY_KIND[kinds.elementwise] = elementwise
