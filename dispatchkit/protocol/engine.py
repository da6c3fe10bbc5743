"""`DispatchProtocol`: the engine, and what the layers above and other libraries use of it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from dispatchkit.errors import NoImplementationError, RegistrationError
from dispatchkit.protocol.annotations import signature_of
from dispatchkit.protocol.array_type import check_operators, decorate
from dispatchkit.protocol.chain import Chain, build_chain, build_plain_chain, candidates, default_chain
from dispatchkit.protocol.declarations import checked_declaration
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.explain import Explanation, explain_call
from dispatchkit.protocol.fallbacks import Fallback
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.parameters import Form, Key, Parameters
from dispatchkit.protocol.registry import Registry
from dispatchkit.protocol.targets import public_path
from dispatchkit.protocol.type_registry import Declaration

__all__ = ["DispatchProtocol"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=type)


class DispatchProtocol(Registry):
    """A `__torch_function__`-style protocol under a method name of one's own.

    Parameters
    ----------
    name : name of the method by which types take part, such as ``"__units_function__"``
    namespace : printed before the names of functions; the defining module by default

    Examples
    --------
    >>> units = DispatchProtocol("__units_function__")
    >>> @units.overridable
    ... def scale(x, factor=2.0):
    ...     return x * factor
    >>> @units.array_type()
    ... class Metres:
    ...     def __init__(self, value):
    ...         self.value = value
    >>> @units.implements(scale)
    ... def scale_metres(x: Metres, factor=2.0):
    ...     return Metres(x.value * factor)
    >>> scale(Metres(3.0)).value, scale(3.0)
    (6.0, 6.0)
    """

    def __init__(self, name: str, namespace: str | None = None) -> None:
        super().__init__(name)
        self.namespace = namespace

    def __repr__(self) -> str:
        return f"DispatchProtocol({self.method!r})"

    def chain(self, operation: Overridable, key: Key) -> Chain:
        """Return who answers calls of an operation with arguments of these types."""
        return self._remembered(operation, operation.chains, key, lambda: build_chain(operation, key))

    def _remembered(
        self, operation: Overridable, memory: dict[Any, Chain], key: Any, build: Callable[[], Chain]
    ) -> Chain:
        """Return a chain from memory, or build it and keep it unless something was registered meanwhile."""
        found = memory.get(key)
        if found is None:
            generation = self.generation
            found = build()
            with self.lock:
                if generation == self.generation:
                    memory[key] = found
                    self.decided.add(operation)
        return found

    def limited_chain(self, operation: Overridable, key: Key) -> Chain:
        """Return who answers inside a decomposition, where later fallbacks are off."""
        return build_chain(operation, key, limited=True)

    def plain_chain(self, operation: Overridable, key: Key) -> Chain:
        """Return what answers where overrides are off: the default alone."""
        return self._remembered(operation, operation.defaults, (object, key), lambda: build_plain_chain(operation, key))

    def adopt(self, operation: Overridable) -> Callable[..., Any]:
        """Make the public function of an operation, which is not listed and lives as long as somebody uses it."""
        call = operation.make_function()
        operation.function = call
        call.__overridable__ = operation  # type: ignore[attr-defined]
        with self.lock:
            self._known.add(operation)
        return call

    def add(self, operation: Overridable) -> Callable[..., Any]:
        """Take in an operation, list it, and return its public function."""
        call = self.adopt(operation)
        with self.lock:
            name = operation.qualified_name
            known = self.operations.get(name)
            anew = known is not None and known.place == operation.place and "<locals>" not in known.place
            if anew:
                del self.operations[name]  # defined anew, as in a notebook
            self.operations[name if name not in self.operations else f"{name}#{len(self.operations)}"] = operation

        def undo() -> None:
            self.forget(operation)
            if anew and known is not None:
                self.operations[name] = known

        self.on_undo(undo)
        return call

    @overload
    def overridable(self, function: F, /) -> F: ...
    @overload
    def overridable(
        self, /, *, kind: Kind = ..., arrays: tuple[str, ...] | None = ..., namespace: str | None = ...
    ) -> Callable[[F], F]: ...
    def overridable(
        self,
        function: F | None = None,
        /,
        *,
        kind: Kind = kinds.function,
        arrays: tuple[str, ...] | None = None,
        namespace: str | None = None,
    ) -> Any:
        """Make a function overridable: one's own by decorator, a third party's by call.

        Parameters
        ----------
        function : any function with a signature
        kind : the family that kind rules find it by
        arrays : names of the parameters that decide who answers; every parameter by default, lists and tuples
            by their members
        namespace : printed before its name; the protocol's, else its module, by default

        Returns
        -------
        a function of the same signature; its own body is what `fallback.decompose` runs
        """

        def make(fn: F) -> Any:
            if not callable(fn):
                raise RegistrationError(f"overridable takes a function, not {fn!r}; write @overridable above one")
            if isinstance(arrays, str):
                raise RegistrationError(f"overridable: arrays={arrays!r} is text; write arrays=({arrays!r},)")
            if not isinstance(kind, Kind):
                raise RegistrationError(f"overridable: kind={kind!r} is no kind; write one such as dk.kinds.function")
            forms = None if arrays is None else dict.fromkeys(arrays, Form.LOOSE)
            signature = signature_of(fn, "overridable")
            unknown = [name for name in arrays or () if name not in signature.parameters]
            if unknown:
                raise RegistrationError(f"overridable: {fn.__name__} has no parameter '{unknown[0]}'")
            place = namespace or self.namespace or fn.__module__
            entry = Overridable(self, fn.__name__, place, kind, Parameters(signature, forms), fn)
            call = self.add(entry)
            for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
                if hasattr(fn, name):
                    setattr(call, name, getattr(fn, name))
            call.__signature__ = signature  # type: ignore[attr-defined]
            return call

        return make if function is None else make(function)

    def forget(self, operation: Overridable) -> None:
        """Take an operation off the list of overridable functions; calls of it still work."""
        for name, known in list(self.operations.items()):
            if known is operation:
                del self.operations[name]

    def array_type(
        self,
        cls: None = None,
        /,
        *,
        fallback: Fallback | None = None,
        priority: float | None = None,
        fields: tuple[str, ...] | Mapping[str, Any] | None = None,
        dense: str | Callable[[Any], Any] | None = None,
    ) -> Callable[[T], T]:
        """Make an array type of a class: ``@array_type(fallback=fallback.dense)``.

        The class gets the protocol's method, and every operator, method and property of the protocol's plain
        arrays that it does not define itself.

        Parameters
        ----------
        fallback : what answers where it has no rule; inherited, `fallback.refuse` if nobody declares one
        priority : types with a higher one are asked first; inherited, 0 if nobody declares one
        fields : names of the attributes that hold its content, the wrapped array first; by default a
            dataclass's fields, else the constructor's parameters. A dictionary gives a `dk.field` with each name
        dense : the method that makes a plain array, ``"to_dense"`` by default, or a function of the instance

        Raises
        ------
        RegistrationError : if a declaration does not fit the class
        """
        if cls is not None:
            raise RegistrationError("array_type takes what it declares; write @array_type()")
        declaration = Declaration(fallback, priority, fields, dense)

        def make(cls: T) -> T:
            if not isinstance(cls, type):
                raise RegistrationError(f"array_type decorates a class, not {cls!r}; write @array_type()")
            decorate(self, cls, declaration)
            return cls

        return make

    def register_type(
        self,
        cls: type,
        *,
        fallback: Fallback | None = None,
        to_dense: Callable[[Any], Any] | None = None,
        priority: float | None = None,
        fields: tuple[str, ...] | Mapping[str, Any] | None = None,
    ) -> None:
        """Let a class take part that one does not own; nothing visible is added to it.

        Parameters
        ----------
        cls : the class
        fallback, priority, fields : as for `array_type`
        to_dense : makes a plain array of an instance; its ``to_dense`` method by default

        Raises
        ------
        RegistrationError : if `cls` is no class, mixes with arrays anyway, or has the operators of a builtin; if a
            declaration does not fit it
        """
        if not isinstance(cls, type):
            raise RegistrationError(f"register_type takes a class, not {cls!r}")
        if cls in (self.base, type(None)) or self.is_companion(cls):
            raise RegistrationError(f"register_type: {cls.__name__} mixes with arrays as it is")
        check_operators("register_type", self, cls, foreign=True)
        declared = Declaration(fallback, priority, fields, to_dense)
        self.declare(cls, checked_declaration(self, cls, declared, "register_type"))

    def answer_by_rules(
        self, cls: type, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Answer a call as the library's own protocol method of a type does; NotImplemented where it cannot.

        The type's rules come first, then for the base type's family its default, then the declared fallback.
        """
        operation = self.operation(function)
        keywords = dict(kwargs)
        key = operation.parameters.key(args, keywords)
        chain = self._remembered(operation, operation.defaults, (cls, key), lambda: default_chain(operation, key, cls))
        result, declined = chain.attempt(args, keywords)
        if result is NotImplemented:
            return decline("; ".join([reason for _, reason in declined] + [text for _, text in chain.passed]))
        return result

    def map_arguments(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        change: Callable[[str, Any], Any],
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call with each array put through ``change(parameter name, array)``.

        Parameters
        ----------
        function : an overridable function
        args, kwargs : of the call; members of lists and tuples, and of indices, are changed one by one
        change : gives what takes the array's place; of an index it is given the arrays alone, no int, slice or None
        """
        parameters = self.operation(function).parameters
        indices = {p.name for p in parameters.arrays if p.form is Form.INDEX}

        def changed(name: str, value: Any) -> Any:
            if name not in indices or self.records.participates(type(value)) or getattr(value, "ndim", 0) > 0:
                return change(name, value)
            return value

        return parameters.replace(args, kwargs, changed)

    def ask(
        self,
        function: Callable[..., Any],
        relevant: tuple[Any, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Ask the types of some values to answer a call of a function that dispatches by hand.

        Raises
        ------
        NoImplementationError : if all decline
        """
        types = self.participating(tuple(map(type, relevant)))
        for cls in candidates([t for t in types if t is not self.base], self.priority):
            owner: Any = cls
            if not isinstance(self.records.own_method(cls), (classmethod, staticmethod)):
                owner = next(value for value in relevant if type(value) is cls)
            if of(function) is not None or not self.records.is_generated(cls):
                result = getattr(owner, self.method)(function, types, args, kwargs)
                if result is not NotImplemented:
                    return result
        name = f"{function.__module__}.{getattr(function, '__qualname__', function)}"
        raise NoImplementationError(name, self.method, [type_name(cls) for cls in types])

    def redispatch(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
        *,
        without: type,
    ) -> Any:
        """Ask again who answers a call, as if a type had declined.

        Parameters
        ----------
        function : an overridable function
        args, kwargs : of the call
        without : the type whose rules and method are passed over; its fallback is not
        """
        operation = self.operation(function)
        keywords = dict(kwargs or {})
        key = operation.parameters.key(args, keywords)
        return build_chain(operation, key, without=without).run(args, keywords)

    def explain(self, function: Callable[..., Any], /, *args: Any, run: bool = False, **kwargs: Any) -> Explanation:
        """Tell who answers a call, in which order, and why the others do not; nothing is called.

        Parameters
        ----------
        function : an overridable function
        *args, **kwargs : of the call
        run : make the call, and show who declined

        Raises
        ------
        TypeError : if the function is not overridable
        """
        return explain_call(self.operation(function), args, kwargs, run)

    def operation(self, function: Callable[..., Any]) -> Overridable:
        """Return the record behind an overridable function.

        Raises
        ------
        TypeError : if the function is not overridable in this protocol
        """
        found = of(function)
        if found is None or found.protocol is not self:
            name = getattr(function, "__qualname__", repr(function))
            raise TypeError(f"{name} is not overridable by {self.method}")
        return found

    def stub(self, operation: Overridable, key: Key) -> str:
        """Return a handler to paste for calls with arguments of these types; "" where none of them is one's own."""
        own = next((cls for cls in self.participating(key) if cls is not self.base), None)
        if own is None:
            return ""
        named = operation.parameters.signature.parameters
        hints = {
            p.name: self._hint(entry, p.form is Form.STAR)
            for p, entry in zip(operation.parameters.arrays, key, strict=True)
            if p.form is not Form.LOOSE or entry is own or named[p.name].default is inspect.Parameter.empty
        }
        parameters = [
            p.replace(annotation=hints.get(p.name) or p.empty, default=_pasteable(p.default)) for p in named.values()
        ]
        # Annotations that are text print in quotes; a stub has them bare.
        signature = re.sub(r": '([^']*)'", r": \1", str(inspect.Signature(parameters)))
        handler = f"{operation.name}_{own.__name__.lower()}"
        decorator = "protocol" if self.base is None else "dk"
        return f"@{decorator}.implements({public_path(operation)})\ndef {handler}{signature}:\n    ..."

    def _hint(self, entry: Any, spread: bool = False) -> str:
        """Return the annotation of an array parameter for the types it was given."""
        if isinstance(entry, tuple):
            hints = " | ".join(map(self._hint, entry))
            return hints if spread or not hints else f"list[{hints}]"
        if entry is type(None):
            return ""
        if self.base is not None and (entry is self.base or self.wrapped_always(entry)):
            return f"dk.{self.base.__name__}"
        return str(entry.__name__)


class _Ellipsis:
    """Stands for a default in a stub that cannot be written down."""

    def __repr__(self) -> str:
        return "..."


def _pasteable(default: Any) -> Any:
    """Return a default as a stub can have it."""
    if default is inspect.Parameter.empty:
        return default
    try:
        ast.literal_eval(repr(default))
    except (ValueError, SyntaxError):
        return _Ellipsis()
    return default
