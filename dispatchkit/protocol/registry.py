"""Registering handlers, types and conversions, and undoing it."""

from __future__ import annotations

import inspect
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from typing_extensions import override

from dispatchkit.errors import RegistrationError, ReplacementWarning, SignatureWarning
from dispatchkit.protocol.annotations import annotated_signatures, classes_of, resolved_hints, signature_of
from dispatchkit.protocol.array_types import Population
from dispatchkit.protocol.conversions import Conversion, Conversions
from dispatchkit.protocol.handlers import (
    ANY,
    Rule,
    departures,
    is_structural,
    never_called,
    never_found,
    no_arrays,
    no_own_type,
    stands_for_nothing,
    type_name,
    wrong_count,
)
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.members import Surface
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Parameters
from dispatchkit.protocol.targets import target_of
from dispatchkit.protocol.type_registry import Declaration, Record, Undo

__all__ = ["Registry"]

F = TypeVar("F", bound=Callable[..., Any])


class Registry(Population):
    """What is registered with a protocol.

    Attributes
    ----------
    operations : the overridable functions by qualified name
    surface : the operators, methods and properties that array types get
    conversions : the graph of declared conversions
    generation : grows with every registration; a decision made before one is not kept after it
    lock : held while decisions are kept or forgotten
    """

    def __init__(self, method: str) -> None:
        super().__init__(method)
        self.operations: dict[str, Overridable] = {}
        # All that were ever taken in and are still used: a name can be given anew while its old function lives on.
        self._known: weakref.WeakSet[Overridable] = weakref.WeakSet()
        # Those that hold decisions; a registration has nothing to clear in the others.
        self.decided: weakref.WeakSet[Overridable] = weakref.WeakSet()
        self.surface = Surface()
        self.conversions = Conversions(self._edges)
        self.generation = 0
        self._journal: ContextVar[list[Undo] | None] = ContextVar("dispatchkit.journal", default=None)
        self.lock = threading.RLock()
        # Called before registrations become local: what a library declares when it loads is not to be undone.
        self.before_local: list[Callable[[], None]] = []
        self._kind_rules: dict[Kind, list[weakref.ref[Rule]]] = {}

    @override
    def set_base(
        self,
        base: type,
        arrays: tuple[type, ...],
        scalars: tuple[type, ...],
        wrap: Callable[..., Any],
        advice: str,
    ) -> None:
        super().set_base(base, arrays, scalars, wrap, advice)
        with self.lock:
            for operation in list(self._known):
                operation.settle()
        self._changed()

    def take_as_arrays(self, *classes: type) -> None:
        """Let arrays of another library mix with the base type as raw arrays do, in operators and functions."""
        self.mixing(classes)
        self._changed()

    def rules(self) -> list[Rule]:
        """Return the rules registered for operations, also for functions that were defined anew since."""
        with self.lock:
            references = [reference for operation in list(self._known) for reference in operation.rules]
        found = [rule for reference in references if (rule := reference()) is not None]
        return sorted(found, key=lambda rule: (rule.location, str(rule.target), rule.types_text))

    def kind_rules(self, kind: Kind) -> list[weakref.ref[Rule]]:
        """Return the rules registered for a kind."""
        return self._kind_rules.setdefault(kind, [])

    def rules_of_kinds(self) -> list[Rule]:
        """Return the rules registered for kinds."""
        with self.lock:
            references = [reference for held in self._kind_rules.values() for reference in held]
        return [rule for reference in references if (rule := reference()) is not None]

    def _changed(self) -> None:
        """Make every decision anew from now on."""
        with self.lock:
            for operation in list(self.decided):
                operation.clear()
            self.decided.clear()
            # Last: who read the new number decides by what is registered now.
            self.generation += 1

    def _record(self, undo: Undo) -> None:
        self.on_undo(undo)
        self._changed()

    def on_undo(self, undo: Undo) -> None:
        """Have something done when the registrations of the block that is open are undone."""
        journal = self._journal.get()
        if journal is not None:
            journal.append(undo)

    def declare(self, cls: type, declaration: Declaration) -> None:
        """Let a type take part, with what it declares."""
        self._record(self.records.declare(cls, declaration))

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
        entry = target_of(self, target)

        def register(handler: F) -> F:
            rules = self._make_rules(entry, handler, types)
            for rule in rules:
                for _, old in self._rules_of_signature(self._rules_of(entry), rule):
                    # A module that is run again, as a cell of a notebook or by a reload, replaces its own.
                    if _module(old.handler) != _module(handler):
                        what = entry.qualified_name if isinstance(entry, Overridable) else entry
                        text = f"implements: {rule} replaces {old} as the rule for {what}"
                        warnings.warn(text, ReplacementWarning, stacklevel=2)
            for rule in rules:
                self._store(rule)
            return handler

        return register

    def _make_rules(
        self, target: Overridable | Kind, handler: Callable[..., Any], types: tuple[type, ...]
    ) -> list[Rule]:
        takes = signature_of(handler, "implements")
        if isinstance(target, Kind):
            parameters = list(takes.parameters.values())
            if self._lacks_operation(handler, parameters):
                shown = ", ".join(["op", *(p.name for p in parameters)])
                raise RegistrationError(
                    f"{_name(handler)} cannot answer for {target}: the handler of a kind receives the operation first, "
                    f"then the arrays; as in def f({shown})"
                )
            if parameters[0].kind is not parameters[0].VAR_POSITIONAL:
                takes = takes.replace(parameters=parameters[1:])
        else:
            faults, remarks = departures(takes, target.parameters)
            if faults:
                raise RegistrationError(never_called(_name(handler), target.qualified_name, target.parameters, faults))
            if not target.parameters.arrays:
                raise RegistrationError(no_arrays(_name(handler), target.qualified_name, target.parameters))
            for remark in remarks:
                warnings.warn(f"{_name(handler)} for {target.qualified_name}: {remark}", SignatureWarning, stacklevel=3)
        if types:
            return [self._make_rule(target, handler, takes, types, explicit=True)]
        signatures = self._signatures(target, handler, takes)
        # Of the members of unions those combinations count that name a type of one's own.
        own = [signature for signature in signatures if self._own_types(signature)] or signatures[:1]
        return [self._make_rule(target, handler, takes, signature, explicit=False) for signature in own]

    def _lacks_operation(self, handler: Callable[..., Any], parameters: list[inspect.Parameter]) -> bool:
        """Return whether the handler of a kind has no place for the operation, or takes an array in it."""
        if not parameters or parameters[0].kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD):
            return True
        first = parameters[0]
        if first.kind is first.VAR_POSITIONAL:
            return False
        alone = len(parameters) == 1
        return alone or any(
            cls is self.base or self.records.participates(cls)
            for cls in classes_of(resolved_hints(handler).get(first.name, ANY), Form.ONE, _name(handler))
        )

    def _own_types(self, types: tuple[type, ...]) -> list[type]:
        neutral = (ANY, self.base, type(None))
        return [cls for cls in types if cls not in neutral and not self.is_companion(cls)]

    def _signatures(
        self, target: Overridable | Kind, handler: Callable[..., Any], takes: inspect.Signature
    ) -> list[tuple[type, ...]]:
        if isinstance(target, Overridable):
            return annotated_signatures(handler, target.parameters)
        positional = [p for p in takes.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        arrays = [p for p in positional if p.annotation is not p.empty] or positional[:1]
        if not arrays:
            arrays = list(takes.parameters.values())[:1]
        forms = {p.name: Form.ONE for p in arrays}
        return annotated_signatures(handler, Parameters(inspect.Signature(arrays), forms), skip=1)

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
        if not self._own_types(types):
            raise RegistrationError(no_own_type(_name(handler), list(map(type_name, types))))
        for cls in types:
            if stands_for_nothing(cls) and (is_structural(cls) or not self.records.participates(cls)):
                raise RegistrationError(never_found(_name(handler), cls))
        one_array = isinstance(target, Kind) or len(target.parameters.arrays) == 1
        anywhere = len(types) == 1 and (explicit or one_array)
        count = len(types) if isinstance(target, Kind) else len(target.parameters.arrays)
        if not anywhere and not one_array and len(types) != count:
            raise RegistrationError(wrong_count(len(types), target, count))
        fingerprint = target.parameters.fingerprint if isinstance(target, Overridable) else ""
        return Rule(target, types, anywhere, handler, takes, fingerprint)

    def _rules_of(self, target: Overridable | Kind) -> list[weakref.ref[Rule]]:
        return target.rules if isinstance(target, Overridable) else self.kind_rules(target)

    def _store(self, rule: Rule) -> None:
        rules = self._rules_of(rule.target)
        own = self._own_types(rule.types)
        # The youngest of its types owns a rule, so that it goes when that one goes.
        known = [cls for cls in own if self.records.find(cls) is not None] or own
        owner = max(known, key=lambda cls: self.records.make(cls).serial)
        with self.lock:
            record = self.records.make(owner)
            replaced = self._rules_of_signature(rules, rule)
            gone = [old for _, old in replaced]
            undo_declarations = [
                self.records.declare(cls, Declaration()) for cls in own if not self.records.participates(cls)
            ]
            for holder, old in replaced:
                holder.owned.remove(old)
            record.owned.append(rule)
            # At once: a call in another thread finds the old rule or the new one.
            kept = [ref for ref in rules if (found := ref()) is not None and found not in gone]
            rules[:] = [*kept, weakref.ref(rule)]

        def undo() -> None:
            record.owned.remove(rule)
            for holder, old in replaced:
                holder.owned.append(old)
            rules[:] = [*(ref for ref in rules if ref() is not rule), *(weakref.ref(old) for _, old in replaced)]
            for undo_declaration in undo_declarations:
                undo_declaration()

        self._record(undo)

    def _rules_of_signature(self, rules: list[weakref.ref[Rule]], rule: Rule) -> list[tuple[Record, Rule]]:
        """Return the rules that a new one replaces, each with the record that owns it."""
        found: list[tuple[Record, Rule]] = []
        for reference in rules:
            old = reference()
            if old is not None and (old.types, old.anywhere) == (rule.types, rule.anywhere):
                records = [self.records.find(cls) for cls in old.types]
                found += [(holder, old) for holder in records if holder is not None and old in holder.owned][:1]
        return found

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
        if callable(cost):
            raise RegistrationError("converts takes cost and lossy; write @converts()")
        try:
            negative = cost < 0
        except TypeError:
            raise RegistrationError(f"converts: cost is {cost!r}; write a number, as in @converts(cost=2)") from None
        if negative:
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
        for prepare in self.before_local:
            prepare()
        journal: list[Undo] = []
        token = self._journal.set(journal)
        try:
            yield
        finally:
            self._journal.reset(token)
            with self.lock:
                for undo in reversed(journal):
                    undo()
            self._changed()


def _name(handler: Callable[..., Any]) -> str:
    return getattr(handler, "__qualname__", repr(handler))


def _module(handler: Callable[..., Any]) -> str | None:
    return getattr(inspect.unwrap(handler), "__module__", None)


def _conversion_types(function: Callable[..., Any]) -> tuple[type, type]:
    first = next(iter(signature_of(function, "converts").parameters), "")
    hints = resolved_hints(function, skip=())
    name = _name(function)
    sources = classes_of(hints.get(first, ANY), Form.ONE, name)
    targets = classes_of(hints.get("return", ANY), Form.ONE, name)
    if len(sources) != 1 or len(targets) != 1 or ANY in (*sources, *targets):
        raise RegistrationError(
            f"converts: {name} must name one class it takes and one it gives, as in def f(x: A) -> B"
        )
    return sources[0], targets[0]
