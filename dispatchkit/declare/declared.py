"""The record of a declared operation, with what computes it on raw arrays and which parameters count axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dispatchkit.backends.arrays import foreign, kernels_of, making_with, may_share_memory
from dispatchkit.backends.numpy import NumpyNamespace, numpy_namespace
from dispatchkit.declare.derivative import Derivative
from dispatchkit.declare.docs import HELD, Facts
from dispatchkit.declare.following import following, forget
from dispatchkit.declare.libraries import library_like, making_for
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.rules import Rules
from dispatchkit.declare.samples import Sample, elementwise_samples, reduction_samples
from dispatchkit.declare.wrapping import make_leaf
from dispatchkit.errors import RegistrationError
from dispatchkit.graph.storage import Storage
from dispatchkit.marks import override
from dispatchkit.protocol.callers import make_function
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.kinds import CreationKind, Kind, kinds
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.parameters import Parameters
from dispatchkit.protocol.steps import decline
from dispatchkit.signatures import read_signature
from dispatchkit.versions import new_version

# Gives the axes that None stands for, of the operation's name and the shape of its array.
WhenNone: TypeAlias = Callable[[str, tuple[int, ...]], Any]


def all_axes(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return every axis."""
    return tuple(range(len(shape)))


def unit_axes(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes of length 1."""
    return tuple(i for i, n in enumerate(shape) if n == 1)


def only_axis(name: str, shape: tuple[int, ...]) -> int:
    """Return the one axis that there is.

    Raises
    ------
    ValueError : where there are others
    """
    if len(shape) != 1:
        raise ValueError(f"{name}: axis must be given for an array of {len(shape)} axes")
    return 0


class Axes(NamedTuple):
    """The parameters that count axes of the first argument, an array or a sequence of arrays.

    Parameters
    ----------
    parameters : their names; each takes an int or a tuple
    none : what None stands for; None where that is the elements of the array in a row
    added : whether they count the axes of the result, to which they add

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.testing.Axes(("axis",)).added
    False
    """

    parameters: tuple[str, ...]
    none: WhenNone | None = all_axes
    added: bool = False


Function = Callable[..., Any]


class Kernel(NamedTuple):
    """What computes an operation on the arrays of one library.

    Attributes
    ----------
    forward : takes what the body takes, without the namespace; gives `NotImplemented` for a call that it leaves
    rules : what gives the cotangents of the arguments; None where the operation's own rules do, or the library itself
    gradients : the rules as they were declared
    """

    forward: Function
    rules: Rules | None
    gradients: Any


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
                forward, rules, _ = kernels[library]
                # Those of this library for NumPy leave no call unless they have gradients.
                whole = self.trusted and library == "numpy" and rules is None
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


# The kinds whose operations compute along `axis`.
ALONG_AXES = (kinds.reduction, kinds.sorting, kinds.fft)
# What makes leaves: its functions take these keywords, their bodies do not.
AROUND = LEAF, LIKE = "requires_grad", "like"


class Declared(Overridable):
    """An operation on arrays, as it was declared.

    Attributes
    ----------
    implementation : computes it on raw arrays
    derivative : its rules, and what follows from them
    differentiable : whether gradients flow through it
    decomposes : whether the body computes it by way of other operations
    its : what its declaration says, as of `dispatchkit.declare.decorators.operation`
    on_change : by function, what is called with it when rules or base type have changed, for what it holds of them
    call : what the public function calls where that is one that pickles by value can hold
    """

    call: Function

    may_give_none = False

    def __init__(
        self, protocol: Dispatcher, body: Callable[..., Any], namespace: str, parameters: Parameters, its: Any
    ) -> None:
        name, passthrough = body.__name__, its.passthrough
        super().__init__(protocol, name, namespace, its.kind, parameters, None)
        trusted = namespace.partition(".")[0] == "dispatchkit"
        self.implementation = Implementation(name, its.kind, parameters, body, passthrough=passthrough, trusted=trusted)
        self.derivative = Derivative(protocol, namespace, name, parameters)
        self.differentiable: bool = its.differentiable
        self.decomposes: bool = its.decomposes and not passthrough
        self.its = its
        self.on_change: dict[Any, Callable[[Any], None]] = {}

    @override
    def make_packable_function(self) -> Callable[..., Any]:
        self.call = self.make_function()

        # A pickle by value holds the record alone of what it refers to, and no function that was compiled for it.
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return self.call(*args, **kwargs)
            except Exception as error:
                hide_frames(error)
                raise

        return call

    @override
    def packed_state(self) -> dict[str, Any]:
        kernels = self.implementation.kernels.items()
        return {
            **super().packed_state(),
            "its": self.its,
            "namespace": self.namespace,
            "forms": {array.name: array.form for array in self.parameters.arrays},
            "several": self.several,
            "rules": self.derivative.rules.declarations(),
            "kernels": {library: (kernel.forward, kernel.gradients) for library, kernel in kernels},
            "changed": self.changed,
        }

    def make_general(self) -> Callable[..., Any]:
        """Return what answers the calls that the public function does not compute itself."""
        return make_function(self)

    @property
    def several(self) -> bool:
        """Whether it gives several arrays."""
        return self.parameters.several

    @cached_property
    def axes(self) -> Axes | None:
        """The parameters that count axes, None where nothing is said of them."""
        known, axis = self.parameters.listed, self.its.axis
        if axis is None:
            if self.kind.family in ALONG_AXES and "axis" in known:
                return Axes(("axis",))
            return None
        axes = axis
        if isinstance(axis, str):
            axes = Axes((axis,))
        unknown = [name for name in axes.parameters if name not in known]
        if unknown:
            raise RegistrationError(
                f"operation: {self.name} has no parameter '{unknown[0]}' to count axes; it has {', '.join(known)}"
            )
        return axes

    @property
    def facts(self) -> Facts:
        """What its declaration states of the numbers that it takes and gives."""
        takes = self.its.takes or HELD.get(self.its.content or "real", "numbers")
        return Facts(self.its.real, takes, self.its.gives, self.its.special)

    @cached_property
    def samples(self) -> list[Sample]:
        """Valid calls."""
        stated, content = self.its.samples, self.its.content
        if stated is not None:
            return list(stated() if callable(stated) else stated)
        if self.kind.family is kinds.elementwise:
            return elementwise_samples(self.parameters, self.its.domain, content or "real")
        if self.kind.family is kinds.reduction:
            return reduction_samples(self.parameters, content or "distinct")
        return []

    @property
    @override
    def source(self) -> Callable[..., Any]:
        return self.implementation.body

    @override
    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """Return what a kernel or the body gives of a namespace and raw arrays of it."""
        xp, *arguments = args
        return self.implementation.on(xp)(*arguments, **kwargs)

    @property
    def base(self) -> type:
        """The class of plain tensors."""
        assert self.types.base is not None
        return self.types.base

    @property
    def composite(self) -> bool:
        """Whether gradients flow through the body rather than by rules."""
        return self.differentiable and not self.derivative.rules and not self.implementation.passthrough

    @property
    def gives_views(self) -> bool:
        """Whether a result may show the memory of an argument."""
        return self.kind.family in (kinds.manipulation, kinds.indexing, kinds.assignment)

    @property
    def gives_new_memory(self) -> bool:
        """Whether a result of any library shows the memory of an argument only where it is that argument."""
        known = self.parameters.gathering or self.kind.family in (kinds.reduction, kinds.searching)
        return self.implementation.trusted and known

    @override
    def refresh(self) -> None:
        """Let what was compiled from rules and base type be compiled anew."""
        self.derivative.forget_plan()
        for function, change in list(self.on_change.items()):
            change(function)

    def rules_changed(self) -> None:
        """Read the rules anew, and decide the calls to come by them."""
        self.changed = new_version()
        self.refresh()
        self.protocol.journal.forget(self)

    @override
    def decomposition(self) -> Callable[..., Any] | None:
        if self.decomposes and not self.parameters.nullary:
            return self.decompose
        return None

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Compute by way of other operations; what makes leaves is done here, since the body takes no such keyword."""
        makes_leaf, like = (isinstance(self.kind, CreationKind) and kwargs.pop(name, None) for name in AROUND)
        body = self.implementation.body
        if isinstance(self.kind, CreationKind) and like is not None:
            with making_with(library_like(self.qualified_name, like)[0]):
                y = body(tensor_namespace, *args, **kwargs)
        elif not foreign:
            y = body(tensor_namespace, *args, **kwargs)
        else:
            with making_for(self, args, kwargs):
                y = body(tensor_namespace, *args, **kwargs)
        if not makes_leaf:
            return y
        if not isinstance(y, Storage):
            return decline(f"a {type(y).__name__} is no leaf that could require a gradient")
        y._node = make_leaf(y.array)
        return y
