"""Identities over a module's inputs and outputs, whose backward calls the module's backward hooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Protocol

from dispatchkit.backends.arrays import namespace_of
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.wrapping import wrapped
from dispatchkit.errors import TransformError
from dispatchkit.graph.node import CallNode, Output
from dispatchkit.graph.recording import is_grad_enabled, no_grad
from dispatchkit.graph.storage import Storage, vertex_of
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.tree import with_members

__all__ = ["Boundary"]

Gradients = tuple[Any, ...]
Spec = tuple[Any, tuple[int, ...], Any]


class BackwardHook(Protocol):
    """A function that is called with gradients, and its kind, whose value messages name."""

    @property
    def kind(self) -> Enum: ...

    @property
    def call(self) -> Callable[..., Any]: ...


class Boundary:
    """Two identities around one call of a module, and the gradients that have come through the outer one.

    Parameters
    ----------
    module : that is called
    pre_hooks : called with the gradients of the outputs
    hooks : called with the gradients of the inputs and outputs
    """

    def __init__(self, module: object, pre_hooks: Sequence[BackwardHook], hooks: Sequence[BackwardHook]) -> None:
        self.module = module
        self.pre_hooks, self.hooks = pre_hooks, hooks
        self.inputs = 0
        self.tracks_inputs = False
        self.grad_output: Gradients | None = None

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the positional arguments behind the inner identity."""
        self.inputs = len(args)
        args, self.tracks_inputs = self._passed(args, self._at_inputs, [_spec(x) for x in args])
        return args

    def leave(self, output: Any) -> Any:
        """Return the output behind the outer identity; only a tensor, and tensors in a tuple, have one."""
        if not isinstance(output, (Storage, tuple)):
            warnings.warn(
                f"{type(self.module).__name__}: for backward hooks to be called, the module's output should be a "
                f"tensor or a tuple of tensors, but it is a {type(output).__name__}",
                stacklevel=4,
            )
        several = isinstance(output, tuple)
        values = output if several else (output,)
        made, _ = self._passed(values, self._at_outputs, [None] * len(values))
        return made if several else made[0]

    def _passed(
        self, values: tuple[Any, ...], act: Callable[[Gradients], Gradients], missing: Sequence[Spec | None]
    ) -> tuple[tuple[Any, ...], bool]:
        """Return values with an identity over the tensors among them, and whether gradients flow through it."""
        tracked = [i for i, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad]
        if not tracked or not is_grad_enabled():
            return values, False
        if any(values[i].is_tracer for i in tracked):
            raise TransformError(
                f"{type(self.module).__name__}: backward hooks cannot see gradients inside vmap or jvp; remove the "
                f"hooks, or call the module outside"
            )
        made = list(values)
        identity = Identity(self.module, tracked, act, missing)
        for i, y in zip(tracked, identity.over([values[i] for i in tracked]), strict=True):
            made[i] = y
        return with_members(values, made), True

    def _at_outputs(self, grads: Gradients) -> Gradients:
        """Run the pre-hooks on the gradients of the outputs, and keep them for the hooks."""
        for hook in self.pre_hooks:
            grads = _replaced(self.module, hook, hook.call(self.module, grads), grads, "grad_output")
        if self.tracks_inputs:
            self.grad_output = grads
            return grads
        nothing = (None,) * self.inputs
        for hook in self.hooks:
            found = hook.call(self.module, nothing, grads)
            if found is not None and not (isinstance(found, tuple) and all(g is None for g in found)):
                raise RuntimeError(
                    f"{type(self.module).__name__}: a full backward hook of a module where no input requires a "
                    f"gradient must return None, or None for all gradients; it returned a {type(found).__name__}"
                )
        return grads

    def _at_inputs(self, grads: Gradients) -> Gradients:
        """Run the hooks, unless the gradients have come to the inputs without passing the outputs."""
        if self.grad_output is None:
            return grads
        for hook in self.hooks:
            found = hook.call(self.module, grads, self.grad_output)
            grads = _replaced(self.module, hook, found, grads, "grad_input")
        self.grad_output = None
        return grads


def _replaced(module: object, hook: BackwardHook, found: Any, grads: Gradients, what: str) -> Gradients:
    """Return the gradients that a hook has given, the ones before where it gave None.

    Raises
    ------
    RuntimeError : if there are too few or too many
    """
    if found is None:
        return grads
    gives = found if isinstance(found, (tuple, list)) else (found,)
    if len(gives) != len(grads):
        raise RuntimeError(
            f"{type(module).__name__}: a {hook.kind.value} returned an invalid number of {what}, got {len(gives)}, but "
            f"expected {len(grads)}"
        )
    return tuple(gives)


class Identity:
    """The operation behind a node that passes tensors on as they are, and their gradients to a function.

    Parameters
    ----------
    module : for messages
    places : of the tensors, among the values that the gradients are given for
    act : takes a gradient or None for each value, and gives what goes on
    missing : for each value, whether it is None or zeros that stand for a missing gradient
    """

    node_name = "BackwardHookFunctionBackward"
    keeps_output = False
    trusted = False

    def __init__(
        self,
        module: object,
        places: Sequence[int],
        act: Callable[[Gradients], Gradients],
        missing: Sequence[Spec | None],
    ) -> None:
        self.module, self.places, self.act, self.missing = module, places, act, missing

    def over(self, tensors: Sequence[Any]) -> list[Any]:
        """Return tensors of the same memory behind one node."""
        n = CallNode()
        n.operation = self
        n.edges = tuple([vertex_of(x) for x in tensors])
        n.saved, n.keywords = (), {}
        n.extras = None
        n.shape, n.dtype = (), None
        self.specs = [_spec(x) for x in tensors]
        n.outputs = [(shape, dtype) for _, shape, dtype in self.specs]
        made = []
        for index, x in enumerate(tensors):
            y = x.as_subclass(tensor_protocol.types.results_of(type(x)))
            y._node = Output(n, index, *n.outputs[index])
            made.append(y)
        return made

    def pull_live(self, node: Any, g: Sequence[Any]) -> list[Any]:
        """Return the gradients of the inputs, tensors, zeros where none arrived."""
        arrived = dict(zip(self.places, g, strict=True))
        grads = [_zeros(spec) if arrived.get(i) is None else arrived[i] for i, spec in enumerate(self.missing)]
        found = self.act(tuple(grads))
        return [self._checked(found[i], spec) for i, spec in zip(self.places, self.specs, strict=True)]

    def pull_raw(self, node: Any, g: Sequence[Any]) -> list[Any]:
        """Return the gradients of the inputs, raw arrays."""
        base = tensor_namespace.Tensor
        with no_grad():
            found = self.pull_live(node, [None if one is None else wrapped(base, one) for one in g])
        return [one.array for one in found]

    def _checked(self, g: Any, spec: Spec) -> Any:
        if g is None:
            return _zeros(spec)
        if not isinstance(g, Storage):
            raise TypeError(
                f"{type(self.module).__name__}: a backward hook returned a {type(g).__name__}, not a tensor or None"
            )
        if tuple(g.array.shape) != spec[1]:
            raise ValueError(
                f"{type(self.module).__name__}: a backward hook returned a gradient of shape {tuple(g.array.shape)} "
                f"in place of one of shape {spec[1]}"
            )
        return g


def _spec(value: Any) -> Any:
    """Return library, shape and dtype of a tensor, None of anything else."""
    if not isinstance(value, Storage) or value.is_tracer:
        return None
    return namespace_of(value.array), tuple(value.array.shape), value.array.dtype


def _zeros(spec: Spec | None) -> Any:
    if spec is None:
        return None
    xp, shape, dtype = spec
    return wrapped(tensor_namespace.Tensor, xp.zeros(shape, dtype=dtype))
