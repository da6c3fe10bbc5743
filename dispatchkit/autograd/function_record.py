"""The record behind each `Function`: who answers `apply`, the default implementation, forward mode and batches."""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dispatchkit.autograd.function_context import (
    ASKED,
    FunctionCtx,
    inputs_of,
    map_tensors,
    members_of,
    tensors_in,
    with_members_of,
    with_tensors,
)
from dispatchkit.autograd.function_intermediates import Dependents, kept_besides
from dispatchkit.autograd.function_node import FunctionNode, pull_cotangents, record_call, stretches_to
from dispatchkit.autograd.function_tangents import COMBINED, push_tangents
from dispatchkit.backends.arrays import foreign, in_own_graph, project
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import AutogradError
from dispatchkit.graph.recording import is_grad_enabled, no_grad, unrecorded
from dispatchkit.graph.storage import Storage
from dispatchkit.marks import override
from dispatchkit.protocol.callers import continue_chain, decide
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.modes import ask_modes
from dispatchkit.protocol.observers import live, observing
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key, Parameters
from dispatchkit.signatures import read_signature
from dispatchkit.tensor import Tensor
from dispatchkit.transforms import Batched, Dual
from dispatchkit.transforms.batched import randomness_at
from dispatchkit.transforms.tracer import reopen_level, top_level


@dataclass
class VmapInfo:
    """What the `vmap` method of a `Function` receives: the length of the batch, and what random functions do."""

    batch_size: int
    randomness: str


def in_batches(record: FunctionRecord, top: Batched, args: tuple[Any, ...]) -> Any:
    """Return the outputs of a `Function` for a whole batch, by its `vmap` or by its methods run on batches.

    Raises
    ------
    NotImplementedError : if it has neither
    AutogradError : if its rule returns no pair, or forward takes the context
    """
    level, size = top.level, top.value.shape[0]
    rule = record.vmap_rule()
    inside = [_inside(arg, level) for arg in args]
    batched = [_batched_parts(arg, level) for arg in args]
    if rule is None:
        if not record.separate:
            raise AutogradError(COMBINED.format(name=record.name, where="with generate_vmap_rule=True"))
        shapes = [_shapes_in(arg) for arg in args]
        call = _BatchedCall(level, size, batched, shapes)
        return call.with_batches(record.vmapped.apply(call, *inside))
    dims = tuple([0 if any(parts) else None for parts in batched])
    result = rule(VmapInfo(size, randomness_at(level)), dims, *inside)
    if not isinstance(result, tuple) or len(result) != 2:
        raise AutogradError(f"{record.name}.vmap must return a pair (output, out_dims)")
    output, out_dims = result
    outputs = members_of(output)
    if isinstance(out_dims, (tuple, list)):
        axes = list(out_dims)
        if type(out_dims) is not type(output):
            raise AutogradError(
                f"{record.name}.vmap returned an incompatible (out_dims, output): out_dims is a "
                f"{type(out_dims).__name__}, the output a {type(output).__name__}; out_dims is one axis, or axes in a "
                f"container of the output's class"
            )
    else:
        axes = [out_dims] * len(outputs)
    if len(axes) != len(outputs):
        raise AutogradError(f"{record.name}.vmap returned {len(outputs)} outputs and {len(axes)} out_dims")
    placed = [
        y if axis is None or not isinstance(y, Tensor) else Batched(tensor_namespace.moveaxis(y, axis, 0), level)
        for y, axis in zip(outputs, axes, strict=True)
    ]
    return with_members_of(output, placed)


def _in_batch(x: Any, level: int) -> bool:
    return isinstance(x, Batched) and x.level == level


def _inside(value: Any, level: int) -> Any:
    """Return a value with the arrays inside the batches of a level."""
    return map_tensors(value, lambda x: x.value if _in_batch(x, level) else x)


def _batched_parts(value: Any, level: int) -> list[bool]:
    """Return for each tensor in a value whether it is in a batch of a level."""
    return [_in_batch(x, level) for x in tensors_in(value)]


@dataclass
class _BatchedCall:
    """A call in batches, and which tensors of its inputs and outputs differ within the batch.

    Attributes
    ----------
    level, size : of the batch
    inputs, outputs : for the tensors of each input and output whether it differs within the batch
    shapes : of the tensors of each input, without the batch
    """

    level: int
    size: int
    inputs: list[list[bool]]
    shapes: list[list[tuple[int, ...]]]
    outputs: list[list[bool]] = field(default_factory=list)

    def wrap(self, values: Sequence[Any], batched: Sequence[Sequence[bool]]) -> list[Any]:
        """Return values with batches where the tensors differ."""
        result = []
        for value, differing in zip(values, batched, strict=True):
            pairs = zip(tensors_in(value), differing, strict=False)
            result.append(with_tensors(value, [Batched(x, self.level) if differs else x for x, differs in pairs]))
        return result

    def without_batches(self, output: Any) -> Any:
        """Return an output with the arrays inside its batches, and note where the batches are."""
        outputs = members_of(output)
        self.outputs = [_batched_parts(y, self.level) for y in outputs]
        return with_members_of(output, [_inside(y, self.level) for y in outputs])

    def with_batches(self, output: Any) -> Any:
        """Return an output with its batches again."""
        return with_members_of(output, self.wrap(members_of(output), self.outputs))


def _context_of(ctx: Any) -> FunctionCtx:
    """Return the context that the rules of a `Function` see for a batch, from the one that the graph keeps."""
    seen: FunctionCtx = copy.copy(ctx.seen)
    batched = ctx.batched.get("to_save" if ctx.saved_for_forward is None else "saved_for_forward", ())
    seen.to_save = tuple(ctx.call.wrap(ctx.saved_tensors, batched))
    return seen


def vmap_function(cls: Any, base: Any) -> Any:
    """Return the `Function` that runs the methods of another on batches, its first argument being the call.

    Parameters
    ----------
    cls : the `Function`
    base : the class `Function`
    """

    def forward(call: _BatchedCall, *args: Any) -> Any:
        return call.without_batches(cls.forward(*call.wrap(args, call.inputs)))

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        call, *args = inputs
        seen = FunctionCtx(cls.__name__, ctx.needs_input_grad[1:], False)
        cls.setup_context(seen, tuple(call.wrap(args, call.inputs)), call.with_batches(output))
        ctx.batched = {}
        for name in ASKED:
            if name in vars(seen):
                values = vars(seen).pop(name)
                vars(ctx)[name] = tuple([_inside(value, call.level) for value in values])
                ctx.batched[name] = [_batched_parts(value, call.level) for value in values]
        ctx.call, ctx.seen, ctx.materialize_grads = call, seen, seen.materialize_grads
        ctx.mark_dirty(*ctx.dirty_tensors)

    def backward(ctx: Any, *cotangents: Any) -> Any:
        call = ctx.call
        with reopen_level(call.level):
            result = cls.__overridable__.backward()(_context_of(ctx), *call.wrap(cotangents, call.outputs))
        if isinstance(result, (tuple, list)):
            grads = list(result)
        else:
            grads = [result]
        places = zip(grads, call.inputs, call.shapes, strict=False)
        return None, *(_unbatched_gradient(call, g, batched, shapes) for g, batched, shapes in places)

    def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
        call = ctx.call
        result = cls.__overridable__.method("jvp")(_context_of(ctx), *call.wrap(tangents, call.inputs))
        return with_members_of(result, [_inside(t, call.level) for t in members_of(result)])

    rules = (forward, setup_context, backward, jvp)
    methods = {rule.__name__: staticmethod(rule) for rule in rules}
    return type(cls.__name__, (base,), {**methods, "generate_vmap_rule": True, "__module__": cls.__module__})


def _unbatched_gradient(call: _BatchedCall, g: Any, batched: Sequence[bool], shapes: Sequence[tuple[int, ...]]) -> Any:
    """Return the gradient of an input: the batch in front where the input has one, else the sum over it."""
    grads = []
    for x, differs, shape in zip(tensors_in(g), batched, shapes, strict=False):
        if tuple(x.shape) != shape and stretches_to(shape, tuple(x.shape)):
            # Summed here, without the batch: with it in front, another axis could be taken for it.
            x = project(tensor_namespace, x, shape, x.dtype)
        if _in_batch(x, call.level):
            if differs:
                x = x.value
            else:
                x = tensor_namespace.sum(x.value, axis=0)
        elif differs:
            x = tensor_namespace.broadcast_to(x, (call.size, *x.shape))
        grads.append(x)
    return with_tensors(g, grads)


RETURNED_INPUT = (
    "{name}: A input that has been returned as-is as output is being saved for backward, which would take it for the "
    "input and for the output. Return and save a view of it instead, such as x.view_as(x), or fill the context in "
    "forward(ctx, ...)"
)
BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
METHODS = ("forward", "setup_context", "backward", "vjp", "jvp", "vmap")
APPLY = """Apply {name} to arguments, and record it in the graph where one of them requires a gradient.

Parameters
----------
*args, **kwargs
    What `forward` takes, without the context: tensors, array types and anything else.

Returns
-------
Any
    What `forward` returns.
"""
MISSING = {
    "forward": "You must implement the forward function for custom autograd.Function.",
    "backward": (
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
        "backward mode AD."
    ),
    "jvp": "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
    "vmap": (
        "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
        "generate_vmap_rule=True."
    ),
}
OLD_FORM = """\
Legacy autograd function with non-static forward method: the methods of a Function are static, and it has no instances.
Write @staticmethod above def forward(ctx, x): and above def backward(ctx, grad_output):, let ctx be what self was, and
y = {name}.apply(x) in place of y = {name}()(x); pass what the constructor took to apply, too, with a gradient of None.\
"""


class FunctionRecord(Overridable):
    """A `Function` as the protocol and the graph see it.

    Parameters
    ----------
    cls : the `Function`
    base : the class `Function` itself, whose methods count as not defined

    Attributes
    ----------
    node_name : as printed in ``grad_fn``
    refuses : whether what PyTorch refuses is refused, where it would be right here
    cotangents_in : the class of the tensors that `backward` is given
    separate : whether `setup_context` fills the context, and `forward` takes none
    is_observed : whether the next call looks which tensors `forward` computes on the way and keeps
    kept : by place among what is saved, or by attribute, whether `forward` computes from its inputs what it keeps there
        besides inputs and outputs
    """

    is_observed = True
    keeps_output = True
    trusted = False

    def __init__(self, cls: type, base: type) -> None:
        self.cls: Any = cls
        self.kept: dict[int | str, bool] = {}
        self.base: Any = base
        self.node_name = f"{cls.__name__}Backward"
        self.refuses: bool = getattr(cls, "_refuses_as_pytorch", False)
        self.cotangents_in: type = getattr(cls, "_cotangents_in", Tensor)
        self.separate = self.defines("setup_context")
        signature = self._signature()
        parameters = Parameters(signature, whole=tensor_protocol.types.participates)
        super().__init__(tensor_protocol, cls.__name__, cls.__module__, kinds.function, parameters, None)
        if self.separate:
            self._full = sum(p.kind in BY_PLACE for p in signature.parameters.values())
        else:
            self._full = 0

    def _signature(self) -> inspect.Signature:
        """Return the signature of `apply`: that of `forward` without its context."""
        try:
            signature = read_signature(self.cls.forward)
        except ValueError:  # a function written in C that does not tell
            signature = read_signature(self.base.forward)
        parameters = list(signature.parameters.values())
        if not self.separate and parameters and parameters[0].kind in BY_PLACE:
            parameters = parameters[1:]
        return signature.replace(parameters=parameters)

    def defines(self, name: str) -> bool:
        """Return whether the `Function` defines a method."""
        return getattr(self.cls, name) is not getattr(self.base, name)

    def method(self, name: str) -> Callable[..., Any]:
        """Return a method of the `Function`.

        Raises
        ------
        NotImplementedError : naming the `Function` and what to define
        """
        if not self.defines(name):
            raise NotImplementedError(f"{self.cls.__name__}: {MISSING[name]}")
        method: Callable[..., Any] = getattr(self.cls, name)
        return method

    @override
    def make_function(self) -> Callable[..., Any]:
        decisions, cls = self.decisions, self.cls

        def apply(*args: Any, **kwargs: Any) -> Any:
            if live and (answer := ask_modes(self, args, kwargs)) is not NotImplemented:
                return answer
            types = tuple(map(type, args))
            first = None
            if not kwargs:
                first = decisions.get(types)
            if first is None:
                # The members of lists and tuples are asked, too, so with these each call is decided anew.
                whole = not kwargs and not any(issubclass(t, (list, tuple)) for t in types)
                first = decide(self, args, kwargs, decisions, *((types,) if whole else ()))
            result = first(*args, **kwargs)
            if result is NotImplemented:
                return continue_chain(self, first, args, kwargs, result)
            return result

        apply.__qualname__ = f"{cls.__qualname__}.apply"
        apply.__module__ = cls.__module__
        apply.__doc__ = APPLY.format(name=cls.__name__)
        apply.__signature__ = self.parameters.signature  # type: ignore[attr-defined]  # what inspect reads
        return apply

    @override
    def computes(self, cls: type) -> bool:
        """Return True: arguments may be anything."""
        return True

    @override
    def default(self, key: Key, result: type | None) -> Callable[..., Any]:
        self.method("forward")
        self._check_form()
        return self._apply

    def _check_form(self) -> None:
        """Raise if a method was written without ``@staticmethod``; functions from elsewhere may be assigned."""
        for name in METHODS:
            owner = next(cls for cls in self.cls.__mro__ if name in cls.__dict__)
            method = owner.__dict__[name]
            if isinstance(method, types.FunctionType) and method.__qualname__ == f"{owner.__qualname__}.{name}":
                raise AutogradError(
                    f"{self.cls.__name__}.{name} is no static method. " + OLD_FORM.format(name=self.name)
                )

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        """Run and record a call."""
        if kwargs or len(args) < self._full:
            args = self._inputs(args, kwargs)
        tensors, needs = inputs_of(args)
        for tensor in tensors:
            if tensor.is_tracer:
                return self.call_transformed(top_level(tensors), args, {})
        ctx, result = self._run(args, tensors, needs)
        return record_call(self, ctx, args, tensors, result)

    def _run(self, args: tuple[Any, ...], tensors: list[Any], needs: tuple[bool, ...]) -> tuple[FunctionCtx, Any]:
        """Return the context and what `forward` gives, from the tensors in the arguments and what needs a gradient."""
        cls = self.cls
        if foreign and any(isinstance(arg, Storage) and in_own_graph(arg._innermost().array) for arg in args):
            raise AutogradError(
                f"{cls.__name__}.apply: an array is part of PyTorch's graph, which would record what forward does and "
                f"not use backward; make the whole function one of PyTorch's by "
                f"dispatchkit.interop.torch.as_torch_function"
            )
        ctx = FunctionCtx(cls.__name__, needs, True in needs and is_grad_enabled())
        if not ctx._is_recorded or not self.is_observed:
            result = self._forward(ctx, args)
            if ctx._is_recorded and (besides := kept_besides(ctx, tensors, result)):
                self._note_besides(ctx, besides)
            return ctx, result
        with observing(dependents := Dependents(tensors)):
            result = self._forward(ctx, args)
        besides = kept_besides(ctx, tensors, result)
        for place, tensor in besides:
            self.kept[place] = tensor in dependents or self.kept.get(place, False)
        self._note_besides(ctx, besides)
        return ctx, result

    def _note_besides(self, ctx: FunctionCtx, besides: Sequence[tuple[int | str, Any]]) -> None:
        """Note what a context keeps besides inputs and outputs: the next call looks at what is not known yet."""
        self.is_observed = any(place not in self.kept for place, _ in besides)
        ctx._intermediates = [place for place, _ in besides if self.kept.get(place, False)]

    def _forward(self, ctx: FunctionCtx, args: tuple[Any, ...]) -> Any:
        """Return what `forward` gives, and fill the context."""
        cls = self.cls
        with unrecorded():
            if not self.separate:
                return cls.forward(ctx, *args)
            result = cls.forward(*args)
            cls.setup_context(ctx, args, result)
            if ctx.to_save or ctx.saved_for_forward:
                self._check_saved(ctx, args, result)
        return result

    def _check_saved(self, ctx: FunctionCtx, args: tuple[Any, ...], result: Any) -> None:
        """Raise if what is saved is both an input and an output, which have different derivatives."""
        saved = {id(part) for value in (*ctx.to_save, *(ctx.saved_for_forward or ())) for part in tensors_in(value)}
        if not saved:
            return
        inputs = {id(part) for arg in args for part in tensors_in(arg)}
        outputs = {id(part) for value in members_of(result) for part in tensors_in(value)}
        changed = {id(part) for value in ctx.dirty_tensors for part in tensors_in(value)}
        if saved & inputs & outputs - changed:
            raise AutogradError(RETURNED_INPUT.format(name=self.name))

    def _inputs(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the inputs of a call by position: keywords in their places, defaults where they are known."""
        if not kwargs and len(args) >= self._full:
            return args
        self.check_call(args, kwargs)
        named = self.parameters.signature.parameters
        for name in kwargs:
            if name not in named or named[name].kind is inspect.Parameter.KEYWORD_ONLY:
                raise TypeError(
                    f"{self.name}.apply: the inputs of a Function have positions, and '{name}' of forward has none; "
                    f"wrap apply in a function that takes it by keyword"
                )
        bound = self.parameters.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args

    def with_context(self, args: tuple[Any, ...]) -> tuple[Any, FunctionCtx]:
        """Return what `apply` gives, and a context filled as for `jvp`: for types that implement forward mode.

        Parameters
        ----------
        args : of `apply`
        """
        args = self._inputs(args, {})
        tensors, needs = inputs_of(args)
        if not self.separate:
            ctx, result = self._run(args, tensors, needs)
            seen = copy.copy(ctx)
            return record_call(self, ctx, args, tensors, result), seen
        output = self.function(*args)
        ctx = FunctionCtx(self.cls.__name__, needs, False)
        with no_grad():
            self.cls.setup_context(ctx, args, output)
        return output, ctx

    def vmap_rule(self) -> Callable[..., Any] | None:
        """Return the `vmap` method; None where the `Function` declares that it can run on batches as it is.

        Raises
        ------
        NotImplementedError : if it has neither
        AutogradError : if it has both
        """
        if not self.cls.generate_vmap_rule:
            return self.method("vmap")
        if self.defines("vmap"):
            raise AutogradError(
                f"{self.cls.__name__} has both generate_vmap_rule=True and an overridden vmap staticmethod; please set "
                f"generate_vmap_rule=False or delete the overridden vmap staticmethod"
            )
        return None

    @override
    def call_transformed(self, top: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inputs = self._inputs(args, kwargs)
        if isinstance(top, Dual):
            return push_tangents(self, top, inputs)
        return in_batches(self, top, inputs)

    @functools.cached_property
    def node_class(self) -> type[FunctionNode]:
        """The class of its nodes, of their name."""
        return type(self.node_name, (FunctionNode,), {"__slots__": (), "__module__": self.cls.__module__})

    @functools.cached_property
    def vmapped(self) -> Any:
        """The `Function` that runs the methods of this one on batches."""
        return vmap_function(self.cls, self.base)

    def backward(self) -> Callable[..., Any]:
        """Return the method that pulls cotangents back, under whichever of its names.

        Raises
        ------
        NotImplementedError : if there is none
        AutogradError : if there are two
        """
        backward: Callable[..., Any] = self.cls.backward
        if self.cls.vjp is self.base.vjp:
            if backward is self.base.backward:
                self.method("backward")  # raises
            return backward
        if self.defines("backward"):
            raise AutogradError(
                f"{self.cls.__name__}: Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
                f"You should only implement one of them."
            )
        return self.method("vjp")

    def pull_raw(self, node: FunctionNode, g: Any) -> list[Any]:
        """Return the raw cotangent of each tensor of a recorded call."""
        backward = self.backward()
        with unrecorded():
            return pull_cotangents(backward, node, g, self.cotangents_in)

    def pull_live(self, node: FunctionNode, g: Any) -> list[Any]:
        """Return the cotangents as tensors of the graph."""
        return pull_cotangents(self.backward(), node, g, None)


def _shapes_in(value: Any) -> list[tuple[int, ...]]:
    """Return the shapes of the tensors in an argument."""
    return [tuple(x.shape) for x in tensors_in(value)]
