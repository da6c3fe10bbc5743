"""What stands behind a declared operation: its body, its derivative rules, and how it is computed on tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from typing_extensions import override

from dispatchkit.backends.arrays import foreign, making_with, namespace_of
from dispatchkit.backends.numpy import NumpyNamespace, numpy_namespace
from dispatchkit.declare.call_errors import numbers_only
from dispatchkit.declare.compiled_entry_points import leading_function, several_function
from dispatchkit.declare.default_elementwise import leading_handler, plain_handler
from dispatchkit.declare.default_general import arrays_handler, call_handler, gathering_handler
from dispatchkit.declare.docs import Facts
from dispatchkit.declare.entry_point_source import random_source, several_source
from dispatchkit.declare.entry_points import binary_function, unary_function
from dispatchkit.declare.libraries import making_for
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.random_state import overseen
from dispatchkit.declare.rules import Rules
from dispatchkit.declare.samples import Sample
from dispatchkit.declare.sequence_entry_points import gathering_function
from dispatchkit.declare.vjp import Plan, all_cotangents, pull_all
from dispatchkit.declare.wrapping import finalized, make_leaf, spec_of, wrapped
from dispatchkit.graph.node import CallNode, Node, Output
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key, Parameters, flatten

__all__ = ["CREATING", "DeclaredOperation"]

# What makes leaves: its functions take `requires_grad`, their bodies do not.
CREATING = (kinds.creation, kinds.random)
# Parameters of functions that make arrays, which their handlers look at.
MAKING = frozenset({"requires_grad", "dtype"})


class DeclaredOperation(Overridable):
    """An operation on arrays.

    Attributes
    ----------
    body_of_namespace : computes it with the array namespace it is given first
    derivatives : its derivative rules
    differentiable : whether gradients flow through it
    trusted : whether body and rules are of this library, which are tested to give on none of their arguments themselves
        and to keep no gradient, nor give memory that is neither new nor the cotangent's
    passthrough : whether the body only passes its arguments on to the namespace's function of the same name
    kernel : computes it on NumPy arrays, with every parameter left out
    on_numpy : computes it on NumPy arrays
    fast_path : whether a function that `def_numpy` declared does
    whole : computes it on a NumPy array with every parameter left out, where there is a fast path
    samples : valid calls
    facts : what its declaration states of the numbers that it takes and gives
    pull_raw : computes the raw cotangents of a recorded call's inputs
    decomposes : whether the body computes it by way of other operations
    several : whether it gives several arrays
    settlers : bring what the public functions hold up to date with rules and base type
    """

    may_give_none = False

    def __init__(
        self,
        protocol: DispatchProtocol,
        name: str,
        namespace: str,
        kind: Kind,
        parameters: Parameters,
        body: Callable[..., Any],
        differentiable: bool,
        passthrough: bool = False,
    ) -> None:
        super().__init__(protocol, name, namespace, kind, parameters, None)
        self.body_of_namespace = body
        self.derivatives = Rules()
        self.differentiable = differentiable
        self.node_name = "".join(part.capitalize() for part in name.split("_")) + "Backward"
        self.trusted = namespace.partition(".")[0] == "dispatchkit"
        self.passthrough = passthrough
        own = getattr(numpy_namespace, name, None) if passthrough else None
        self.kernel = _kernel(partial(body, numpy_namespace) if own is None else own, trusted=self.trusted)
        self.on_numpy = _on_numpy(body, name if passthrough else None, parameters.signature)
        self.fast_path = False
        self.whole = numpy_namespace.whole.get(name) if passthrough else None
        self.samples: list[Sample] = []
        self.facts = Facts()
        self.decomposes = True
        self.several = False
        self.settlers: list[Callable[[], None]] = []
        self._plan: Plan | None = None
        self.pull_raw: Callable[[Any, Any], Sequence[Any]] = self._first_pull

    @property
    @override
    def source(self) -> Callable[..., Any]:
        return self.body_of_namespace

    @override
    def make_function(self) -> Callable[..., Any]:
        """Return the public function, which computes plain tensors without a look at the table."""
        if self.parameters.unary and self.kind.family is kinds.elementwise:
            return unary_function(self)
        if self.parameters.binary:
            return binary_function(self)
        if self.parameters.gathering:
            return gathering_function(self)
        general = self.make_general()
        if any(p.form is Form.INDEX for p in self.parameters.arrays):
            return general
        if self.parameters.leading and self.kind not in CREATING:
            return leading_function(self, general)
        return several_function(self, general, random_source if self.kind is kinds.random else several_source)

    def make_general(self) -> Callable[..., Any]:
        """Return what answers the calls that the public function does not compute itself."""
        return super().make_function()

    @override
    def make_operator(self, reflected: str) -> Callable[..., Any]:
        return binary_function(self, reflected)

    def compute_on_numpy_by(self, fast: Callable[..., Any]) -> None:
        """Compute NumPy arrays by a function of the same parameters in place of the body."""
        self.on_numpy, self.fast_path = fast, True
        if self.parameters.unary or self.parameters.binary:
            self.kernel = fast if self.trusted else _giving_new_memory(fast)
        self.forget_rules()

    def forget_rules(self) -> None:
        """Read the rules anew, and decide the calls to come by them."""
        self._plan = None
        self.settle()
        self.clear()

    @override
    def settle(self) -> None:
        """Bring what the public functions hold up to date with rules and base type."""
        self.pull_raw = self._first_pull
        for settle in self.settlers:
            settle()

    def _first_pull(self, node: Any, g: Any) -> Sequence[Any]:
        """Compile the rules when a gradient first flows, since most programs differentiate few operations."""
        self.pull_raw = self.plan.pull_raw
        return self.pull_raw(node, g)

    @property
    def plan(self) -> Plan:
        """What follows from the rules, read once."""
        if self._plan is None:
            self._plan = Plan(self.qualified_name, self.parameters, self.derivatives, self.several)
        return self._plan

    def computed_by(self, xp: Any) -> Callable[..., Any]:
        """Return what computes it on arrays of a namespace."""
        return self.on_numpy if xp is numpy_namespace else partial(self.body_of_namespace, xp)

    @property
    def keeps_output(self) -> bool:
        """Whether a rule reads the output."""
        return self.plan.keeps_output

    def save(self, args: tuple[Any, ...], edges: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the array arguments as the rules of the tracked ones need them: the value, or shape and dtype."""
        keeps = self.plan.needs([edge is not None for edge in edges])
        return tuple([value if keep else spec_of(value) for keep, value in zip(keeps, args, strict=True)])

    def save_call(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], tracked: Sequence[bool]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call as the rules of the tracked parameters need them."""
        saved, keywords = list(args), dict(kwargs)
        for p, keep in zip(self.parameters.arrays, self.plan.needs(tracked), strict=True):
            if keep:
                continue
            if p.form is Form.STAR and p.position is not None:
                saved[p.position :] = [spec_of(value) for value in args[p.position :]]
            elif p.position is not None and p.position < len(args):
                saved[p.position] = spec_of(args[p.position])
            elif p.name in keywords:
                keywords[p.name] = spec_of(keywords[p.name])
        return tuple(saved), keywords

    @override
    def default(self, key: Key, result: type | None) -> Callable[..., Any] | None:
        cls = result if result is not None else self.protocol.base
        assert cls is not None
        parameters = self.parameters
        lifted: Any = next((t for t in flatten(key) if issubclass(t, Storage) and t.lifted), None)
        if lifted is not None:
            return self._by_lifted(lifted)
        tensors = [issubclass(t, Storage) if isinstance(t, type) else False for t in key]
        names = parameters.signature.parameters.keys()
        if self.composite or self.several or not tensors:
            handler = call_handler(self, cls)
        elif parameters.binary or (self.kind.family is kinds.elementwise and parameters.unary):
            handler = plain_handler(self, cls, tensors)
        elif parameters.leading and tensors[0] and self.kind not in CREATING:
            handler = leading_handler(self, cls)
        elif parameters.gathering and names.isdisjoint(MAKING):
            handler = gathering_handler(self, cls)
        elif parameters.positional > 1 and any(tensors) and names.isdisjoint(MAKING):
            handler = arrays_handler(self, cls, tensors)
        else:
            handler = call_handler(self, cls)
        if self.kind is kinds.random:
            handler = overseen(self, handler)
        handler = numbers_only(self, handler, key)
        return handler if cls is self.protocol.base else finalized(self, cls, handler, tensors)

    def _by_lifted(self, cls: Any) -> Callable[..., Any]:
        """Return the answer of a type whose instances have no raw array."""

        def handler(*args: Any, **kwargs: Any) -> Any:
            return cls.__tensor_function__(self.function, (cls,), args, kwargs)

        return handler

    @property
    def composite(self) -> bool:
        """Whether gradients flow through the body rather than by rules."""
        return self.differentiable and not self.derivatives and not self.passthrough

    @property
    def fast_base(self) -> type | None:
        """The class that the public function computes itself; None where it cannot."""
        return None if self.composite or self.several else self.protocol.base

    @override
    def decomposition(self) -> Callable[..., Any] | None:
        return self.decomposed if self.decomposes else None

    def decomposed(self, *args: Any, **kwargs: Any) -> Any:
        """Compute by way of other operations; whether a leaf is made is not for the body to know."""
        makes_leaf = self.kind in CREATING and kwargs.pop("requires_grad", False)
        if not foreign:
            y = self.body_of_namespace(tensor_namespace, *args, **kwargs)
        else:
            with making_for(self, args, kwargs):
                y = self.body_of_namespace(tensor_namespace, *args, **kwargs)
        if not makes_leaf:
            return y
        if not isinstance(y, Storage):
            return decline(f"a {type(y).__name__} is no leaf that could require a gradient")
        y._node = make_leaf(y.array)
        return y

    def pull_live(self, node: Node, g: Any) -> list[Any]:
        """Return the cotangents of the inputs of a recorded call as tensors."""
        if not foreign:
            return self._pull_live(node, g)
        arrived = next(one for one in g if one is not None) if type(g) is list else g
        with making_with(namespace_of(arrived._innermost().array)):
            return self._pull_live(node, g)

    def _pull_live(self, node: Node, g: Any) -> list[Any]:
        node.check_versions()
        y = self._outputs_of(node, node.output) if self.keeps_output else None
        kwargs = node.keywords if isinstance(node, CallNode) else {}
        if isinstance(node, CallNode) and node.outputs is not None:
            g = all_cotangents(tensor_namespace, node, g)
        return pull_all(self.parameters, self.plan.pulls, node, tensor_namespace, g, y, node.saved or (), kwargs)

    def _outputs_of(self, node: Node, y: Any) -> Any:
        """Return the output of a recorded call as a tensor of the graph."""
        base = self.protocol.base
        assert base is not None
        if isinstance(y, tuple):
            ys = [wrapped(base, one, Output(node.original, i, one.shape, one.dtype)) for i, one in enumerate(y)]
            return type(y)(*ys) if hasattr(y, "_fields") else tuple(ys)
        return wrapped(base, y, node.original)


def _kernel(kernel: Callable[..., Any], *, trusted: bool) -> Callable[..., Any]:
    """Return what computes NumPy arrays with every parameter left out.

    Whoever calls a kernel takes the result to be new, so that a change of it reaches no argument unseen. The bodies of
    this library are tested for it; what others hand on is copied.
    """
    return kernel if trusted or isinstance(kernel, np.ufunc) else _giving_new_memory(kernel)


def _on_numpy(body: Callable[..., Any], path: str | None, signature: inspect.Signature) -> Callable[..., Any]:
    """Return what computes a body on NumPy arrays: the namespace's own function where it takes the same arguments."""
    own = getattr(NumpyNamespace, path, None) if path is not None else None
    if own is not None and _taken(inspect.signature(own)) == _taken(signature):
        function: Callable[..., Any] = own
        return function
    return partial(body, numpy_namespace)


def _taken(signature: inspect.Signature) -> tuple[list[Any], set[Any]]:
    """Return what a call may pass by place, in order, and what by name alone, with the defaults."""
    found = [(p.name, p.kind, p.default) for p in signature.parameters.values()]
    named = {one for one in found if one[1] is inspect.Parameter.KEYWORD_ONLY}
    return [one for one in found if one not in named], named


def _giving_new_memory(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def copying_kernel(*args: Any) -> Any:
        r = kernel(*args)
        for a in args:
            if r is a or (type(r) is type(a) is np.ndarray and r.base is not None and np.may_share_memory(r, a)):
                return r.copy()
        return r

    return copying_kernel
