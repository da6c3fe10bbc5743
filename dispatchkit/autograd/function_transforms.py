"""A `Function` in forward mode and in batches: its own `jvp` and `vmap`, or its methods run on batches as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dispatchkit.autograd.function_pull import stretches_to
from dispatchkit.autograd.tensor_leaves import NO_LEAVES, mapped, tensor_leaves
from dispatchkit.backends.cotangents import project
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import AutogradError
from dispatchkit.tensor import Tensor
from dispatchkit.transforms import Batched, Dual, Tracer
from dispatchkit.transforms.batched import randomness_at
from dispatchkit.transforms.dual import tangent_at, value_at
from dispatchkit.transforms.tracer import reopened
from dispatchkit.tree import with_members

__all__ = ["in_batches", "pushed", "vmapped"]

COMBINED = (
    "{name}: In order to use an autograd.Function {where}, it must override the setup_context staticmethod; there is a "
    "forward that takes the context"
)


class TransformedFunction(Protocol):
    """What a transformation asks of the record of a `Function`."""

    @property
    def name(self) -> str: ...

    @property
    def separate(self) -> bool: ...

    @property
    def vmapped(self) -> Any: ...

    def method(self, name: str) -> Callable[..., Any]: ...

    def with_context(self, args: tuple[Any, ...]) -> tuple[Any, Any]: ...

    def vmap_rule(self) -> Callable[..., Any] | None: ...


def pushed(record: TransformedFunction, top: Dual, args: tuple[Any, ...]) -> Any:
    """Return outputs with their tangents, by the `jvp` of a `Function`.

    Raises
    ------
    NotImplementedError : if it has none
    AutogradError : if the tangents do not fit the outputs
    """
    level = top.level
    jvp = record.method("jvp")
    values = tuple([mapped(arg, lambda x: value_at(x, level)) for arg in args])
    if not record.separate and any(isinstance(x, Tracer) for x in values):
        raise AutogradError(COMBINED.format(name=record.name, where="in several transformations at once"))
    output, ctx = record.with_context(values)
    found = jvp(ctx, *[_tangent_of(arg, level) for arg in args])
    outputs, several = _members(output)
    tangents = list(found) if isinstance(found, (tuple, list)) else [found]
    if len(tangents) != len(outputs):
        raise AutogradError(
            f"{record.name}.jvp returned an incorrect number of tangents (expected {len(outputs)}, got {len(tangents)})"
        )
    paired = [_paired(record, index, y, t, level) for index, (y, t) in enumerate(zip(outputs, tangents, strict=True))]
    return with_members(output, paired) if several else paired[0]


def _tangent_of(arg: Any, level: int) -> Any:
    """Return the tangent of an argument, of an array type one that holds tangents; None where it has none."""
    parts = tensor_leaves(arg)
    tangents = [tangent_at(x, level) for x in parts.take(arg)]
    if all(t is None for t in tangents):
        return None
    return parts.put(arg, tangents)


def _paired(record: TransformedFunction, index: int, y: Any, t: Any, level: int) -> Any:
    if t is None or not isinstance(y, Tensor):
        return y
    if not isinstance(t, Tensor) or t.shape != y.shape:
        found = f"a tensor of shape {t.shape}" if isinstance(t, Tensor) else f"a {type(t).__name__}"
        raise AutogradError(
            f"{record.name}.jvp returned an invalid tangent at index {index}: the output has shape {tuple(y.shape)}, "
            f"found {found}"
        )
    return Dual(y, t, level)


def _members(output: Any) -> tuple[list[Any], bool]:
    several = isinstance(output, (tuple, list)) and tensor_leaves(output) is NO_LEAVES
    return (list(output), True) if several else ([output], False)


@dataclass
class VmapInfo:
    """What the `vmap` method of a `Function` receives: the length of the batch, and what random functions do."""

    batch_size: int
    randomness: str


def in_batches(record: TransformedFunction, top: Batched, args: tuple[Any, ...]) -> Any:
    """Return the outputs of a `Function` for a whole batch, by its `vmap` or by its methods run on batches.

    Raises
    ------
    NotImplementedError : if it has neither
    AutogradError : if its rule returns no pair, or forward takes the context
    """
    level, size = top.level, top.value.shape[0]
    rule = record.vmap_rule()
    inside = [mapped(arg, lambda x: x.value if _in_batch(x, level) else x) for arg in args]
    if rule is None:
        if not record.separate:
            raise AutogradError(COMBINED.format(name=record.name, where="with generate_vmap_rule=True"))
        tensors = [tensor_leaves(arg).take(arg) for arg in args]
        differing = [[_in_batch(x, level) for x in own] for own in tensors]
        call = _Call(level, size, differing, [[tuple(x.shape) for x in own] for own in tensors])
        output = record.vmapped.apply(call, *inside)
        return call.entered(output)
    dims = tuple([0 if any(_in_batch(x, level) for x in tensor_leaves(arg).take(arg)) else None for arg in args])
    found = rule(VmapInfo(size, randomness_at(level)), dims, *inside)
    if not isinstance(found, tuple) or len(found) != 2:
        raise AutogradError(f"{record.name}.vmap must return a pair (output, out_dims)")
    output, out_dims = found
    outputs, several = _members(output)
    axes = list(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * len(outputs)
    if len(axes) != len(outputs):
        raise AutogradError(f"{record.name}.vmap returned {len(outputs)} outputs and {len(axes)} out_dims")
    placed = [
        y if axis is None or not isinstance(y, Tensor) else Batched(tensor_namespace.moveaxis(y, axis, 0), level)
        for y, axis in zip(outputs, axes, strict=True)
    ]
    return with_members(output, placed) if several else placed[0]


def _in_batch(x: Any, level: int) -> bool:
    return isinstance(x, Batched) and x.level == level


@dataclass
class _Call:
    """A call in batches, and which tensors of its inputs and outputs differ within the batch.

    Attributes
    ----------
    level, size : of the batch
    inputs, outputs : for the tensors of each input and output whether it differs within the batch
    shapes : of the tensors of each input, without the batch
    several : whether there are several outputs
    """

    level: int
    size: int
    inputs: list[list[bool]]
    shapes: list[list[tuple[int, ...]]]
    outputs: list[list[bool]] = field(default_factory=list)
    several: bool = False

    def wrapped(self, values: Sequence[Any], places: Sequence[Sequence[bool]]) -> list[Any]:
        """Return values with batches where the tensors differ."""
        made = []
        for value, own in zip(values, places, strict=True):
            parts = tensor_leaves(value)
            tensors = [
                Batched(x, self.level) if differs else x for x, differs in zip(parts.take(value), own, strict=False)
            ]
            made.append(value if parts is NO_LEAVES else parts.put(value, tensors))
        return made

    def left(self, output: Any) -> Any:
        """Return an output with the arrays inside its batches, and note where the batches are."""
        outputs, self.several = _members(output)
        self.outputs = [[_in_batch(x, self.level) for x in tensor_leaves(y).take(y)] for y in outputs]
        inside = [mapped(y, lambda x: x.value if _in_batch(x, self.level) else x) for y in outputs]
        return with_members(output, inside) if self.several else inside[0]

    def entered(self, output: Any) -> Any:
        """Return an output with its batches again."""
        outputs, several = _members(output)
        made = self.wrapped(outputs, self.outputs)
        return with_members(output, made) if several else made[0]


class _Context:
    """The context that the methods of a `Function` see for a batch: a view of the one that the graph keeps.

    Attributes that they set are kept separately, in `attributes`.
    """

    def __init__(self, ctx: Any, call: _Call) -> None:
        self.__dict__["_ctx"] = ctx
        self.__dict__["_call"] = call

    def __getattr__(self, name: str) -> Any:
        own = self._ctx.attributes
        return own[name] if name in own else getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._ctx.attributes[name] = value

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        needs: tuple[bool, ...] = self._ctx.needs_input_grad[1:]
        return needs

    def _inside(self, values: Sequence[Any]) -> list[Any]:
        level = self._call.level
        return [mapped(value, lambda x: x.value if _in_batch(x, level) else x) for value in values]

    def save_for_backward(self, *tensors: Any) -> None:
        level = self._call.level
        self._ctx.saved_in_batches = [[_in_batch(x, level) for x in tensor_leaves(t).take(t)] for t in tensors]
        self._ctx.save_for_backward(*self._inside(tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        level = self._call.level
        self._ctx.saved_in_batches = [[_in_batch(x, level) for x in tensor_leaves(t).take(t)] for t in tensors]
        self._ctx.save_for_forward(*self._inside(tensors))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._ctx.mark_non_differentiable(*self._inside(tensors))

    def mark_dirty(self, *tensors: Any) -> None:
        self._ctx.mark_dirty(*self._inside(tensors))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return tuple(self._call.wrapped(self._ctx.saved_tensors, self._ctx.saved_in_batches))


def vmapped(cls: Any, base: Any) -> Any:
    """Return the `Function` that runs the methods of another on batches, its first argument being the call.

    Parameters
    ----------
    cls : the `Function`
    base : the class `Function`
    """

    def forward(call: _Call, *args: Any) -> Any:
        return call.left(cls.forward(*call.wrapped(args, call.inputs)))

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        call, *args = inputs
        ctx.call, ctx.attributes = call, {}
        cls.setup_context(_Context(ctx, call), tuple(call.wrapped(args, call.inputs)), call.entered(output))

    def backward(ctx: Any, *cotangents: Any) -> Any:
        call = ctx.call
        with reopened(call.level):
            found = cls.__overridable__.backward()(_Context(ctx, call), *call.wrapped(cotangents, call.outputs))
        grads = list(found) if isinstance(found, (tuple, list)) else [found]
        places = zip(grads, call.inputs, call.shapes, strict=False)
        return None, *(_returned(call, g, own, shapes) for g, own, shapes in places)

    def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
        call = ctx.call
        found = cls.__overridable__.method("jvp")(_Context(ctx, call), *call.wrapped(tangents, call.inputs))
        ts, several = _members(found)
        made = [mapped(t, lambda x: x.value if _in_batch(x, call.level) else x) for t in ts]
        return tuple(made) if several else made[0]

    rules = (forward, setup_context, backward, jvp)
    methods = {rule.__name__: staticmethod(rule) for rule in rules}
    return type(cls.__name__, (base,), {**methods, "generate_vmap_rule": True, "__module__": cls.__module__})


def _returned(call: _Call, g: Any, own: Sequence[bool], shapes: Sequence[tuple[int, ...]]) -> Any:
    """Return the gradient of an input: the batch in front where the input has one, else the sum over it."""
    parts = tensor_leaves(g)
    if parts is NO_LEAVES:
        return g
    made = []
    for x, differs, shape in zip(parts.take(g), own, shapes, strict=False):
        if tuple(x.shape) != shape and stretches_to(shape, tuple(x.shape)):
            # Summed here, without the batch: with it in front, another axis could be taken for it.
            x = project(tensor_namespace, x, shape, x.dtype)
        if differs and _in_batch(x, call.level):
            made.append(x.value)
        elif _in_batch(x, call.level):
            made.append(tensor_namespace.sum(x.value, axis=0))
        elif differs:
            made.append(tensor_namespace.broadcast_to(x, (call.size, *x.shape)))
        else:
            made.append(x)
    return parts.put(g, made)
