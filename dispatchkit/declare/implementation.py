"""What computes an operation on raw arrays: its body, or faster functions in the place of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import may_share_memory
from dispatchkit.backends.numpy import NumpyNamespace, numpy_namespace
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.parameters import Parameters

__all__ = ["Implementation"]

Function = Callable[..., Any]


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
    arrays_only : whether the operation is of one or two arrays and nothing else; then its results have new memory
    by_library : what `on` has returned, by namespace
    fast_path : whether a function that `def_numpy` declared computes NumPy arrays in place of the body
    """

    def __init__(
        self, name: str, kind: Kind, parameters: Parameters, body: Function, *, passthrough: bool, trusted: bool
    ) -> None:
        self.body = body
        self.passthrough = passthrough
        self.trusted = trusted
        self._copies = parameters.unary and kind.family is kinds.elementwise
        self.arrays_only = parameters.binary or self._copies
        self.fast_path = False
        self.by_library: dict[Any, Function] = {}
        self._signature = parameters.signature
        # Name of the namespace's function that is the body on NumPy arrays.
        self._own = name if passthrough else None

    @cached_property
    def on_numpy(self) -> Function:
        """What computes NumPy arrays: the namespace's own function where it takes the arguments of the body."""
        own: Function | None = None if self._own is None else getattr(NumpyNamespace, self._own, None)
        if own is not None and _taken(inspect.signature(own)) == _taken(self._signature):
            return own
        return partial(self.body, numpy_namespace)

    @cached_property
    def kernel(self) -> Function:
        """What computes NumPy arrays with every parameter left out."""
        own = None if self._own is None else getattr(numpy_namespace, self._own, None)
        return self._kernel(partial(self.body, numpy_namespace) if own is None else own)

    def compute_on_numpy_by(self, fast: Function) -> None:
        """Compute NumPy arrays by a function of the same parameters in place of the body."""
        self.on_numpy, self.fast_path = fast, True
        self.kernel = self._kernel(fast)

    def on(self, xp: Any) -> Function:
        """Return what computes arrays of a namespace."""
        if xp is numpy_namespace:
            return self.on_numpy
        found = self.by_library.get(xp)
        if found is None:
            found = self._passed_to(xp) or partial(self.body, xp)
            if self._copies and getattr(xp, "mutable", True):  # what cannot be changed may be one array
                found = partial(_in_new_memory, xp, found)
            self.by_library[xp] = found
        return found

    def _passed_to(self, xp: Any) -> Function | None:
        """Return another library's function that the body passes its arguments on to, if it takes them as they come."""
        own: Function | None = getattr(xp, self._own, None) if self._own is not None and self.trusted else None
        return own if own is not None and (self.arrays_only or _takes(own, self._signature)) else None

    def _kernel(self, compute: Function) -> Function:
        """Return the kernel where a function computes NumPy arrays.

        Whoever calls the kernel of one or two arrays takes the result to be new, so that a change of it reaches no
        argument unseen. The bodies of this library are tested for it; what others return is copied.
        """
        if not self.arrays_only:
            whole: Function | None = None if self._own is None else numpy_namespace.whole.get(self._own)
            return whole or self.on_numpy
        return compute if self.trusted or isinstance(compute, np.ufunc) else partial(_copied, compute)


def _taken(signature: inspect.Signature) -> tuple[list[Any], set[Any]]:
    """Return what a call may pass by place, in order, and what by name alone, with the defaults."""
    found = [(p.name, p.kind, p.default) for p in signature.parameters.values()]
    named = {one for one in found if one[1] is inspect.Parameter.KEYWORD_ONLY}
    return [one for one in found if one not in named], named


def _takes(function: Function, signature: inspect.Signature) -> bool:
    """Return whether a function takes every call that a signature allows, and means the same by it."""
    try:
        theirs = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    places = [p for p in theirs.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for place, p in enumerate(signature.parameters.values()):
        by_place = places[place] if place < len(places) else None
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
    return xp.asarray(r, copy=True) if may_share_memory(r, a) else r


def _copied(compute: Function, *args: Any) -> Any:
    r = compute(*args)
    for a in args:
        if r is a or (type(r) is type(a) is np.ndarray and r.base is not None and np.may_share_memory(r, a)):
            return r.copy()
    return r
