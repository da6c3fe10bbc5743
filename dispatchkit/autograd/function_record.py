"""The record behind each `Function`: who answers `apply`, and the default implementation."""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

from typing_extensions import override

from dispatchkit.autograd.function_context import FunctionCtx
from dispatchkit.autograd.function_node import FunctionNode, recorded
from dispatchkit.autograd.function_pull import pulled
from dispatchkit.autograd.function_transforms import in_batches, pushed, vmapped
from dispatchkit.autograd.tensor_leaves import NO_LEAVES, TENSOR, tensor_leaves
from dispatchkit.backends.arrays import foreign, in_own_graph
from dispatchkit.errors import AutogradError
from dispatchkit.graph.recording import is_grad_enabled, no_grad
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.callers import continue_chain, decide
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.modes import ask_modes, live
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key, Parameters, flatten
from dispatchkit.transforms import Dual
from dispatchkit.transforms.tracer import top_level

__all__ = ["METHODS", "OLD_FORM", "FunctionRecord"]

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
In place of

    class {name}(Function):
        def forward(self, x):
            self.save_for_backward(x)
            ...
        def backward(self, grad_output):
            ...

    y = {name}()(x)

write

    class {name}(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ...
        @staticmethod
        def backward(ctx, grad_output):
            ...

    y = {name}.apply(x)

and pass what the constructor took to apply, too, with a gradient of None for it."""


class FunctionRecord(Overridable):
    """A `Function` as the protocol and the graph see it.

    Parameters
    ----------
    cls : the `Function`
    base : the class `Function` itself, whose methods count as not defined

    Attributes
    ----------
    node_name : as printed in ``grad_fn``
    separate : whether `setup_context` fills the context, and `forward` takes none
    """

    keeps_output = True
    trusted = False

    def __init__(self, cls: type, base: type) -> None:
        self.cls: Any = cls
        self.base: Any = base
        self.node_name = f"{cls.__name__}Backward"
        self.separate = self.defines("setup_context")
        signature = self._signature()
        super().__init__(tensor_protocol, cls.__name__, cls.__module__, kinds.function, Parameters(signature), None)
        own = signature.parameters.values()
        self._full = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in own) if self.separate else 0

    def _signature(self) -> inspect.Signature:
        """Return the signature of `apply`: that of `forward` without its context."""
        try:
            signature = inspect.signature(self.cls.forward)
        except ValueError:  # a function written in C that does not tell
            signature = inspect.signature(self.base.forward)
        parameters = list(signature.parameters.values())
        if (
            not self.separate
            and parameters
            and parameters[0].kind
            in (
                inspect.Parameter.POSITIONAL_ONLY,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
            )
        ):
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
        found: Callable[..., Any] = getattr(self.cls, name)
        return found

    @override
    def make_function(self) -> Callable[..., Any]:
        table, cls = self.table, self.cls

        def apply(*args: Any, **kwargs: Any) -> Any:
            if live and (answer := ask_modes(self, args, kwargs)) is not NotImplemented:
                return answer
            types = tuple(map(type, args))
            first = None if kwargs else table.get(types)
            if first is None:
                # The members of lists and tuples are asked, too, so with these each call is decided anew.
                whole = not kwargs and not any(issubclass(t, (list, tuple)) for t in types)
                first = decide(self, args, kwargs, *((types,) if whole else ()))
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
        participates = tensor_protocol.types.participates
        others = [cls for cls in flatten(key) if not issubclass(cls, Storage)]
        return self._apply_to_types if any(map(participates, others)) else self._apply

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
        """Run and record a call without array types."""
        if kwargs or len(args) < self._full:
            args = self._inputs(args, kwargs)
        inputs = tuple([TENSOR if isinstance(arg, Storage) else NO_LEAVES for arg in args])
        given = [arg for arg in args if isinstance(arg, Storage)]
        ctx, result = self._run(args, tuple([isinstance(arg, Storage) and arg._node is not None for arg in args]))
        return recorded(self, ctx, given, inputs, result)

    def _apply_to_types(self, *args: Any, **kwargs: Any) -> Any:
        """Run and record a call whose arguments may hold tensors in their fields."""
        inputs = self._inputs(args, kwargs)
        top = top_level([tensor for arg in inputs for tensor in tensor_leaves(arg).take(arg)])
        return self._with_context(inputs, {})[0] if top is None else self.transformed(top, inputs, {})

    def _with_context(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, FunctionCtx]:
        args = self._inputs(args, kwargs)
        inputs = tuple(map(tensor_leaves, args))
        parts = [layout.take(arg) for layout, arg in zip(inputs, args, strict=True)]
        ctx, result = self._run(args, _needs(parts))
        seen = copy.copy(ctx)
        return recorded(self, ctx, [tensor for own in parts for tensor in own], inputs, result), seen

    def _run(self, args: tuple[Any, ...], needs: tuple[bool, ...]) -> tuple[FunctionCtx, Any]:
        cls = self.cls
        if foreign and any(isinstance(arg, Storage) and in_own_graph(arg._innermost().array) for arg in args):
            raise AutogradError(
                f"{cls.__name__}.apply: an array is part of PyTorch's graph, which would record what forward does and "
                f"not use backward; make the whole function one of PyTorch's by "
                f"dispatchkit.interop.torch.as_torch_function"
            )
        ctx = FunctionCtx(cls.__name__, needs, True in needs and is_grad_enabled())
        with no_grad():
            if not self.separate:
                return ctx, cls.forward(ctx, *args)
            result = cls.forward(*args)
            cls.setup_context(ctx, args, result)
        return ctx, result

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
        if not self.separate:
            return self._with_context(args, {})
        output = self.function(*args)
        args = self._inputs(args, {})
        ctx = FunctionCtx(self.cls.__name__, _needs([tensor_leaves(arg).take(arg) for arg in args]), False)
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
    def transformed(self, top: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inputs = self._inputs(args, kwargs)
        return pushed(self, top, inputs) if isinstance(top, Dual) else in_batches(self, top, inputs)

    @functools.cached_property
    def vmapped(self) -> Any:
        """The `Function` that runs the methods of this one on batches."""
        return vmapped(self.cls, self.base)

    def backward(self) -> Callable[..., Any]:
        """Return the method that pulls cotangents back, under whichever of its names.

        Raises
        ------
        NotImplementedError : if there is none
        AutogradError : if there are two
        """
        if not self.defines("vjp"):
            return self.method("backward")
        if self.defines("backward"):
            raise AutogradError(
                f"{self.cls.__name__}: Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
                f"You should only implement one of them."
            )
        return self.method("vjp")

    def pull_raw(self, node: FunctionNode, g: Any) -> list[Any]:
        """Return the raw cotangent of each tensor of a recorded call."""
        backward = self.backward()
        with no_grad():
            return pulled(backward, node, g, live=False)

    def pull_live(self, node: FunctionNode, g: Any) -> list[Any]:
        """Return the cotangents as tensors of the graph."""
        return pulled(self.backward(), node, g, live=True)


def _needs(parts: list[list[Any]]) -> tuple[bool, ...]:
    """Return for the tensors of each argument whether one of them requires a gradient."""
    return tuple([any(tensor._node is not None for tensor in own) for own in parts])
