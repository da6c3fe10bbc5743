"""`DispatchProtocol`: the engine, and what the layers above and other libraries use of it."""

from __future__ import annotations

import inspect
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, overload

from dispatchkit.errors import RegistrationError, SignatureWarning
from dispatchkit.protocol.array_type import decorate
from dispatchkit.protocol.conversions import Conversion, Conversions
from dispatchkit.protocol.fallbacks import Fallback, refuse
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.parameters import Form, Key, Parameters, flatten
from dispatchkit.protocol.participants import Declaration, Records, Undo
from dispatchkit.protocol.resolution import Chain, build_chain, build_plain_chain, default_chain
from dispatchkit.protocol.rules import ANY, WIDENING, Rule, annotated_signatures, departures, type_name
from dispatchkit.protocol.surface import Surface

__all__ = ["DispatchProtocol"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=type)

_journal: ContextVar[list[Undo] | None] = ContextVar("dispatchkit.journal", default=None)


class DispatchProtocol:
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
        self.method = name
        self.namespace = namespace
        self.records = Records(name)
        self.surface = Surface()
        self.base: type | None = None
        self.wrap: Callable[[Any], Any] = _same
        self.advice = ""
        self.conversions = Conversions(self._edges)
        self.lock = threading.RLock()
        self.generation = 0
        self.operations: dict[str, Overridable] = {}
        self._arrays: tuple[type, ...] = ()
        self._companions: tuple[type, ...] = (int, float, complex, type(None))
        self._kind_rules: dict[Kind, list[weakref.ref[Rule]]] = {}

    def __repr__(self) -> str:
        return f"DispatchProtocol({self.method!r})"

    # What the layer that brings arrays tells the protocol.

    def set_base(
        self, base: type, arrays: tuple[type, ...], scalars: tuple[type, ...], wrap: Callable[[Any], Any], advice: str
    ) -> None:
        """Name the plain array type: the last that is asked, and the default of its subclasses.

        Parameters
        ----------
        base : the class
        arrays : raw array types that count as the base type and reach handlers wrapped
        scalars : further scalar types that mix with arrays
        wrap : makes an instance of the base type of a raw array or scalar
        advice : what messages tell people who pass something else
        """
        self.base, self.wrap, self.advice = base, wrap, advice
        self._arrays = arrays
        self._companions = (*self._companions, *arrays, *scalars)
        self._changed()

    def participating(self, key: Key) -> tuple[type, ...]:
        """Return the distinct types of a key that take part in the protocol."""
        return tuple(cls for cls in flatten(key) if self.records.participates(cls))

    def is_companion(self, cls: type) -> bool:
        """Return whether values of a type mix with arrays without taking part: scalars, raw arrays, None."""
        return issubclass(cls, self._companions)

    def admits(self, cls: type) -> bool:
        """Return whether an array argument may be of this type."""
        return self.is_companion(cls) or self.records.participates(cls)

    def is_stranger(self, cls: type) -> bool:
        """Return whether operators leave values of this type to Python."""
        return not self.admits(cls)

    def wrapped_always(self, cls: type) -> bool:
        """Return whether values of a type reach handlers as instances of the base type."""
        return issubclass(cls, self._arrays) and not issubclass(cls, (int, float, complex))

    def counts_as(self, cls: type) -> tuple[type, ...]:
        """Return what a value of a type counts as in signatures, the nearest first."""
        if self.base is None or not self.is_companion(cls) or cls is type(None):
            return cls.__mro__
        own = cls.__mro__[:-1]
        wider = [w for scalar in own for w in WIDENING.get(scalar, ()) if w not in own]
        return (*own, *dict.fromkeys(wider), self.base, object)

    def priority(self, cls: type) -> float:
        """Return the declared priority of a type, 0 where none is declared."""
        declared: float | None = self.records.declared(cls, "priority")
        return 0 if declared is None else declared

    def fallback(self, cls: type) -> Fallback:
        """Return the declared fallback of a type, `refuse` where none is declared."""
        declared: Fallback | None = self.records.declared(cls, "fallback")
        return refuse if declared is None else declared

    def takes_default(self, cls: type) -> bool:
        """Return whether a type is computed as the base type is."""
        if self.base is None or not issubclass(cls, self.base):
            return False
        return self.records.is_generated(cls)

    def map_arrays(self, value: Any, change: Callable[[Any], Any], *also: type) -> Any:
        """Return a result with `change` made to each array in it; tuples keep their type."""
        if isinstance(value, (tuple, list)):
            members = [self.map_arrays(member, change, *also) for member in value]
            return type(value)(*members) if hasattr(value, "_fields") else type(value)(members)
        if isinstance(value, also) or self.records.participates(type(value)):
            return change(value)
        return value

    # Decisions.

    def chain(self, operation: Overridable, key: Key) -> Chain:
        """Return who answers calls of an operation with arguments of these types."""
        found = operation.chains.get(key)
        if found is None:
            generation = self.generation
            found = build_chain(operation, key)
            with self.lock:
                if generation == self.generation:
                    operation.chains[key] = found
        return found

    def limited_chain(self, operation: Overridable, key: Key) -> Chain:
        """Return who answers inside a decomposition, where later fallbacks are off."""
        return build_chain(operation, key, limited=True)

    def plain_chain(self, operation: Overridable, key: Key) -> Chain:
        """Return what answers where overrides are off: the default alone."""
        found = operation.defaults.get((object, key))
        if found is None:
            found = operation.defaults[object, key] = build_plain_chain(operation, key)
        return found

    def kind_rules(self, kind: Kind) -> list[weakref.ref[Rule]]:
        """Return the rules registered for a kind."""
        return self._kind_rules.setdefault(kind, [])

    def _changed(self) -> None:
        """Make every decision anew from now on."""
        with self.lock:
            self.generation += 1
            for operation in self.operations.values():
                operation.clear()

    def _record(self, undo: Undo) -> None:
        journal = _journal.get()
        if journal is not None:
            journal.append(undo)
        self._changed()

    # What users do.

    def add(self, operation: Overridable) -> Callable[..., Any]:
        """Take in an operation and return its public function."""
        call = operation.make_function()
        operation.function = call
        call.__overridable__ = operation  # type: ignore[attr-defined]
        with self.lock:
            self.operations[operation.qualified_name] = operation
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
            forms = None if arrays is None else dict.fromkeys(arrays, Form.LOOSE)
            signature = inspect.signature(fn)
            unknown = [name for name in arrays or () if name not in signature.parameters]
            if unknown:
                raise RegistrationError(f"overridable: {fn.__name__} has no parameter '{unknown[0]}'")
            place = namespace or self.namespace or fn.__module__
            entry = Overridable(self, fn.__name__, place, kind, Parameters(signature, forms), fn)
            call = self.add(entry)
            for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
                setattr(call, name, getattr(fn, name))
            call.__signature__ = signature  # type: ignore[attr-defined]
            return call

        return make if function is None else make(function)

    def implements(self, target: Callable[..., Any] | Kind, *types: type) -> Callable[[F], F]:
        """Register a handler for an operation, or for a whole kind.

        Parameters
        ----------
        target : an overridable function, one of its views (a method), or a kind; the handler of a kind receives
            the operation first
        types : one type that may stand in any position, or one for each array parameter; by default the
            handler's annotations say them

        Returns
        -------
        a decorator that gives the handler back

        Raises
        ------
        RegistrationError : if the target is not overridable, no type takes part, or the handler cannot be called
        """
        entry: Overridable | Kind | None = target if isinstance(target, Kind) else of(target)
        if entry is None:
            name = getattr(target, "__qualname__", repr(target))
            raise RegistrationError(f"implements: {name} is not overridable; make it so with overridable({name})")
        if isinstance(entry, Overridable) and entry.protocol is not self:
            raise RegistrationError(f"implements: {entry.qualified_name} belongs to {entry.protocol!r}, not to {self!r}")

        def register(handler: F) -> F:
            for rule in self._make_rules(entry, handler, types):
                self._store(rule)
            return handler

        return register

    def _make_rules(self, target: Overridable | Kind, handler: Callable[..., Any], types: tuple[type, ...]) -> list[Rule]:
        takes = inspect.signature(handler)
        if isinstance(target, Kind):
            parameters = list(takes.parameters.values())
            if not parameters or parameters[0].kind in (parameters[0].KEYWORD_ONLY, parameters[0].VAR_KEYWORD):
                raise RegistrationError(
                    f"{_name(handler)} cannot answer for {target}: the handler of a kind takes the operation first"
                )
            if parameters[0].kind is not parameters[0].VAR_POSITIONAL:
                takes = takes.replace(parameters=parameters[1:])
        else:
            faults, remarks = departures(takes, target.parameters)
            if faults:
                raise RegistrationError(
                    f"{_name(handler)} can never be called for {target.qualified_name}"
                    f"{target.parameters.signature}: {'; '.join(faults)}"
                )
            for remark in remarks:
                warnings.warn(f"{_name(handler)} for {target.qualified_name}: {remark}", SignatureWarning, stacklevel=4)
        signatures = [types] if types else self._signatures(target, handler, takes)
        return [self._make_rule(target, handler, takes, signature, bool(types)) for signature in signatures]

    def _signatures(
        self, target: Overridable | Kind, handler: Callable[..., Any], takes: inspect.Signature
    ) -> list[tuple[type, ...]]:
        if isinstance(target, Overridable):
            return annotated_signatures(handler, target.parameters)
        first = [p for p in takes.parameters.values() if p.kind is not p.VAR_KEYWORD][:1]
        return annotated_signatures(
            handler, Parameters(inspect.Signature(first), {p.name: Form.ONE for p in first}), skip=1
        )

    def _make_rule(
        self,
        target: Overridable | Kind,
        handler: Callable[..., Any],
        takes: inspect.Signature,
        types: tuple[type, ...],
        explicit: bool,
    ) -> Rule:
        for cls in types:
            if not isinstance(cls, type):
                raise RegistrationError(f"implements: {cls!r} is not a class")
        own = [cls for cls in types if cls is not ANY and cls is not self.base and not self.is_companion(cls)]
        if not own and not (explicit and ANY not in types and self._plain_target(target)):
            wanted = ", ".join(map(type_name, types)) or "nothing"
            raise RegistrationError(
                f"{_name(handler)} names no type of its own (found: {wanted}); annotate the array parameters, as in "
                f"def handler(x: MyType), or pass the type: implements(operation, MyType)"
            )
        one_array = isinstance(target, Kind) or len(target.parameters.arrays) == 1
        anywhere = len(types) == 1 and (explicit or one_array)
        count = 1 if isinstance(target, Kind) else len(target.parameters.arrays)
        if not anywhere and not one_array and len(types) != count:
            raise RegistrationError(
                f"implements: {len(types)} types for {target!r}, which has {count} array parameters; give one type "
                f"for any position, or {count}"
            )
        return Rule(target, types, anywhere, handler, takes)

    def _plain_target(self, target: Overridable | Kind) -> bool:
        """Return whether rules for plain arrays are allowed: not for what the library itself computes."""
        return isinstance(target, Overridable) and not target.parameters.strict

    def _store(self, rule: Rule) -> None:
        target = rule.target
        rules = target.rules if isinstance(target, Overridable) else self.kind_rules(target)
        owner = next((cls for cls in rule.types if not self.is_companion(cls) and cls not in (ANY, self.base)), rule.types[0])
        with self.lock:
            record = self.records.make(owner)
            replaced = [
                old
                for old in record.owned
                if isinstance(old, Rule)
                and (old.target, old.types, old.anywhere) == (target, rule.types, rule.anywhere)
            ]
            undo_declaration = None
            if record.declaration is None and not self.records.participates(owner) and not self.is_companion(owner):
                undo_declaration = self.records.declare(owner, Declaration())
            for old in replaced:
                record.owned.remove(old)
            record.owned.append(rule)
            rules[:] = [ref for ref in rules if ref() is not None and ref() not in replaced]
            rules.append(weakref.ref(rule))

        def undo() -> None:
            record.owned[:] = [*(old for old in record.owned if old is not rule), *replaced]
            rules[:] = [*(ref for ref in rules if ref() is not rule), *map(weakref.ref, replaced)]
            if undo_declaration is not None:
                undo_declaration()

        self._record(undo)

    def declare(self, cls: type, declaration: Declaration) -> None:
        """Let a type take part, with what it declares."""
        self._record(self.records.declare(cls, declaration))

    def array_type(
        self,
        *,
        fallback: Fallback | None = None,
        priority: float | None = None,
        fields: tuple[str, ...] | None = None,
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
            dataclass's fields, else the constructor's parameters
        dense : the method that makes a plain array, ``"to_dense"`` by default, or a function of the instance

        Raises
        ------
        RegistrationError : if a declaration does not fit the class
        """
        declaration = Declaration(fallback, priority, None if fields is None else tuple(fields), dense)

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
        fields: tuple[str, ...] | None = None,
    ) -> None:
        """Let a class take part that one does not own; nothing visible is added to it.

        Parameters
        ----------
        cls : the class
        fallback, priority, fields : as for `array_type`
        to_dense : makes a plain array of an instance; its ``to_dense`` method by default

        Raises
        ------
        RegistrationError : if `cls` is no class, or one that mixes with arrays anyway
        """
        if not isinstance(cls, type):
            raise RegistrationError(f"register_type takes a class, not {cls!r}")
        if cls is self.base or self.is_companion(cls):
            raise RegistrationError(f"register_type: {cls.__name__} mixes with arrays as it is")
        self.declare(cls, Declaration(fallback, priority, fields, to_dense))

    def answer_by_rules(self, cls: type, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Answer a call as the library's own protocol method of a type does; NotImplemented where it cannot.

        The type's rules come first, then for the base type's family its default, then the declared fallback.
        """
        operation = self.operation(function)
        keywords = dict(kwargs)
        key = operation.parameters.key(args, keywords)
        chain = operation.defaults.get((cls, key))
        if chain is None:
            chain = operation.defaults[cls, key] = default_chain(operation, key, cls)
        return chain.attempt(args, keywords)[0]

    def converts(self, cost: float = 1, lossy: bool = False) -> Callable[[F], F]:
        """Declare a conversion: ``@converts() def dense_of(x: A) -> B``.

        Parameters
        ----------
        cost : what a path pays for this edge; the cheapest path is taken
        lossy : whether something is lost; among equally dear paths one without loss goes first

        Raises
        ------
        RegistrationError : if the annotations do not name two classes, or the cost is negative
        """
        if cost < 0:
            raise RegistrationError(f"converts: cost is {cost}; it cannot be negative")

        def register(function: F) -> F:
            source, target = _conversion_types(function)
            record = self.records.make(source)
            edge = Conversion(source, target, function, cost, lossy)
            replaced = [c for c in record.owned if isinstance(c, Conversion) and c.target is target]
            record.owned[:] = [*(one for one in record.owned if one not in replaced), edge]

            def undo() -> None:
                record.owned[:] = [*(one for one in record.owned if one is not edge), *replaced]

            self._record(undo)
            return function

        return register

    def _edges(self, cls: type) -> list[Conversion]:
        records = [record for record in map(self.records.find, cls.__mro__) if record is not None]
        return [edge for record in records for edge in record.owned if isinstance(edge, Conversion)]

    @contextmanager
    def local_registrations(self) -> Iterator[None]:
        """Undo on leaving what is registered inside the block."""
        journal: list[Undo] = []
        token = _journal.set(journal)
        try:
            yield
        finally:
            _journal.reset(token)
            with self.lock:
                for undo in reversed(journal):
                    undo()
            self._changed()

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

    def stub(self, operation: Overridable, types: tuple[type, ...]) -> str:
        """Return a handler to paste for an operation and a type of a call."""
        own = next((cls for cls in types if cls is not self.base), None)
        if own is None:
            return ""
        names = {p.name for p in operation.parameters.arrays}
        signature = operation.parameters.signature
        arrays = [p.replace(annotation=own) if p.name in names else p for p in signature.parameters.values()]
        text = str(inspect.Signature([p.replace(annotation=p.empty) for p in arrays]))
        for name in names:
            text = text.replace(f"{name}", f"{name}: {own.__name__}", 1)
        handler = f"{operation.name}_{own.__name__.lower()}"
        target = operation.qualified_name.replace("dispatchkit.", "dk.")
        return f"@dk.implements({target})\ndef {handler}{text}:\n    ..."


def _same(value: Any) -> Any:
    return value


def _name(handler: Callable[..., Any]) -> str:
    return getattr(handler, "__qualname__", repr(handler))


def _conversion_types(function: Callable[..., Any]) -> tuple[type, type]:
    signature = inspect.signature(function)
    first = next(iter(signature.parameters.values()), None)
    parameters = Parameters(signature, {} if first is None else {first.name: Form.ONE})
    sources = annotated_signatures(function, parameters)
    shadow = Parameters(inspect.Signature([inspect.Parameter("target", inspect.Parameter.POSITIONAL_ONLY)]), {"target": Form.ONE})

    def target(target: Any) -> None: ...

    target.__annotations__ = {"target": function.__annotations__.get("return", object)}
    target.__qualname__ = function.__qualname__
    targets = annotated_signatures(target, shadow)
    if len(sources) != 1 or len(targets) != 1 or ANY in (*sources[0], *targets[0]) or not sources[0]:
        raise RegistrationError(
            f"converts: {_name(function)} must name one class it takes and one it gives, as in def f(x: A) -> B"
        )
    return sources[0][0], targets[0][0]

