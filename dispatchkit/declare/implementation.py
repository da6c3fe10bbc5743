"""What computes an operation on raw arrays: its body, a library's own function, or a kernel."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.backends.arrays import kernels_of, may_share_memory
from dispatchkit.backends.numpy import NumpyNamespace, numpy_namespace
from dispatchkit.declare.following import following, forget
from dispatchkit.declare.rules import Rules
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.parameters import Parameters
from dispatchkit.signatures import read_signature

Function = Callable[..., Any]


class Kernel(NamedTuple):
    """What computes an operation on the arrays of one library.

    Attributes
    ----------
    forward : takes what the body takes, without the namespace; gives `NotImplemented` for a call that it leaves
    rules : what gives the cotangents of the arguments; None where the operation's own rules do, or the library itself
    gradients : the rules as they were declared
    shapes : the array parameters of which they read shape and dtype alone
    flow : takes what `forward` takes; gives its result, and what takes the cotangents of results and, for each array
        parameter, whether its cotangent is wanted, to the cotangents of these. None where a kernel has no such function
    reads : the array parameters that cotangents taken so depend on, and ``"y"`` if they depend on the result
    fewest : elements of the only array parameter from which on `flow` is called
    """

    forward: Function
    rules: Rules | None
    gradients: Any
    shapes: tuple[str, ...] = ()
    flow: Function | None = None
    reads: tuple[str, ...] = ()
    fewest: int = 0


class Implementation:
    """What computes an operation on raw arrays.

    Parameters
    ----------
    name, kind, parameters : of the operation
    body : takes an array namespace, then the arguments
    passthrough : whether the body only passes its arguments on to the namespace's function of the same name
    trusted : whether the body is of this library, which tests that it changes and returns none of its arguments

    Attributes
    ----------
    kernels : what computes the arrays of a library in place of the body, by its name
    """

    def __init__(
        self, name: str, kind: Kind, parameters: Parameters, body: Function, *, passthrough: bool, trusted: bool
    ) -> None:
        self.body = body
        self.passthrough = passthrough
        self.trusted = trusted
        self.parameters = parameters
        self._elementwise = kind.family is kinds.elementwise
        self.kernels: dict[str, Kernel] = {}
        # Name of the namespace's function that is the body on NumPy arrays.
        self._own = name if passthrough else None

    @property
    def _copies(self) -> bool:
        return self._elementwise and self.parameters.unary

    @property
    def arrays_only(self) -> bool:
        """Whether the operation is of one or two arrays and nothing else; then its results have new memory."""
        return self.parameters.binary or self._copies

    @following
    def on_numpy(self) -> Function:
        """What computes NumPy arrays: a kernel, or the namespace's own function where it takes what the body takes."""
        function: Function | None = None if self._own is None else getattr(NumpyNamespace, self._own, None)
        if function is None or _arguments_of(read_signature(function)) != _arguments_of(self.parameters.signature):
            function = partial(self.body, numpy_namespace)
        return self._over(numpy_namespace, function)

    @following
    def kernel(self) -> Function:
        """What computes NumPy arrays with every parameter left out.

        Whoever calls the kernel of one or two arrays takes the result to be new, so that a change of it reaches no
        argument unseen. The bodies of this library are tested for it; what others return is copied.
        """
        function = None
        if self._own is not None:
            function = getattr(numpy_namespace, self._own, None)
        if not self.arrays_only:
            whole: Function | None = None if self._own is None else numpy_namespace.whole.get(self._own)
            if whole is None:
                return self.on_numpy
            return self._over(numpy_namespace, whole)
        compute = self._over(numpy_namespace, function or partial(self.body, numpy_namespace))
        if self.trusted or isinstance(compute, np.ufunc):
            return compute
        return partial(_copy_shared, compute)

    @following
    def by_library(self) -> dict[Any, Function]:
        """What `on` has returned, by namespace."""
        return {}

    def add_kernel(self, library: str, kernel: Kernel) -> None:
        """Compute the arrays of a library by a kernel from now on."""
        self.kernels = {**self.kernels, library: kernel}  # another one, since threads may be reading that
        self.choose_again()

    def choose_again(self) -> None:
        """Decide anew who computes."""
        forget(self, "by_library", "kernel", "on_numpy")

    def _over(self, xp: Any, compute: Function) -> Function:
        """Return what computes arrays of a namespace by kernels, and by a function where none is for a call."""
        kernels = self.kernels
        for library in reversed(kernels_of(xp)):
            if library in kernels:
                forward, rules, flow = kernels[library].forward, kernels[library].rules, kernels[library].flow
                # Those of this library for NumPy leave no call unless they say how gradients flow.
                whole = self.trusted and library == "numpy" and rules is None and flow is None
                if whole:
                    compute = forward
                else:
                    compute = partial(_or_else, forward, compute)
        return compute

    def on(self, xp: Any) -> Function:
        """Return what computes arrays of a namespace."""
        if xp is numpy_namespace:
            return self.on_numpy
        by_library = self.by_library
        compute = by_library.get(xp)
        if compute is None:
            compute = self._over(xp, self._passed_to(xp) or partial(self.body, xp))
            if self._copies and getattr(xp, "mutable", True):  # what cannot be changed may be one array
                compute = partial(_in_new_memory, xp, compute)
            by_library[xp] = compute
        return compute

    def _passed_to(self, xp: Any) -> Function | None:
        """Return another library's function that the body passes its arguments on to, if it takes them as they come."""
        function: Function | None = getattr(xp, self._own, None) if self._own is not None and self.trusted else None
        takes = function is not None and (self.arrays_only or _takes(function, self.parameters.signature))
        if takes:
            return function
        return None


def _or_else(forward: Function, otherwise: Function, /, *args: Any, **kwargs: Any) -> Any:
    r = forward(*args, **kwargs)
    if r is NotImplemented:
        return otherwise(*args, **kwargs)
    return r


def _arguments_of(signature: inspect.Signature) -> tuple[list[Any], set[Any]]:
    """Return what a call may pass by place, in order, and what by name alone, with the defaults."""
    parameters = signature.parameters.values()
    named = {(p.name, p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}
    return [(p.name, p.kind, p.default) for p in parameters if p.kind is not p.KEYWORD_ONLY], named


def _takes(function: Function, signature: inspect.Signature) -> bool:
    """Return whether a function takes every call that a signature allows, and means the same by it."""
    try:
        theirs = read_signature(function).parameters
    except (TypeError, ValueError):
        return False
    places = [p for p in theirs.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for place, p in enumerate(signature.parameters.values()):
        by_place = None
        if place < len(places):
            by_place = places[place]
        by_name = theirs.get(p.name)
        if p.kind is not p.KEYWORD_ONLY and by_place is None:
            return False
        if p.kind is p.POSITIONAL_ONLY:
            continue
        if by_name is None or by_name.kind is p.POSITIONAL_ONLY or by_name.default != p.default:
            return False
        if p.kind is p.VAR_POSITIONAL or (p.kind is p.POSITIONAL_OR_KEYWORD and by_place is not by_name):
            return False
    return True


def _in_new_memory(xp: Any, compute: Function, a: Any) -> Any:
    r = compute(a)
    if may_share_memory(r, a):
        return xp.asarray(r, copy=True)
    return r


def _copy_shared(compute: Function, *args: Any) -> Any:
    r = compute(*args)
    for a in args:
        if r is a or (type(r) is type(a) is np.ndarray and r.base is not None and np.may_share_memory(r, a)):
            return r.copy()
    return r
