"""`implements` and `converts`: handlers and conversions are checked, then stored; those of a notebook are pickled."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from dispatchkit.errors import RegistrationError, ReplacementWarning, SignatureWarning
from dispatchkit.protocol.handlers import ANY, Rule, function_name, type_name
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.parameters import Form, Parameters, signature_of
from dispatchkit.protocol.registration.annotations import (
    Registering,
    annotated_signatures,
    classes_of,
    departures,
    is_structural,
    never_called,
    never_found,
    no_own_type,
    not_at_once,
    resolved_hints,
    stands_for_nothing,
    wrong_count,
)
from dispatchkit.protocol.registration.array_type import check_operators
from dispatchkit.protocol.types.array_types import ArrayTypes
from dispatchkit.protocol.types.declaration import Conversion, is_newer

F = TypeVar("F", bound=Callable[..., Any])


def implements(
    protocol: Registering, target: Overridable | Kind, types: tuple[type, ...], declines: bool | None
) -> Callable[[F], F]:
    """Return the decorator of `DispatchProtocol.implements`."""

    def register(handler: F) -> F:
        rules = _make_rules(protocol.types, target, handler, types)
        for cls in {cls for rule in rules for cls in protocol.types.named_own(rule.types)}:
            if not protocol.types.participates(cls):
                check_operators("implements", protocol, cls, foreign=True)
        for rule in rules:
            rule.declines, rule.registration = declines, rules[0].registration
        for rule in rules:
            old = protocol.handlers.replaced_by(rule)
            # A module that runs again, as a cell of a notebook or by a reload, may replace its rules.
            if old is not None and _module(old.handler) != _module(handler):
                what = target.qualified_name if isinstance(target, Overridable) else target
                text = f"implements: {rule} replaces {old} as the rule for {what}"
                warnings.warn(text, ReplacementWarning, stacklevel=2)
        for rule in rules:
            with protocol.journal.lock:
                undo = protocol.handlers.add(rule)
            protocol.journal.record(undo)
        return handler

    return register


def _make_rules(
    known: ArrayTypes, target: Overridable | Kind, handler: Callable[..., Any], types: tuple[type, ...]
) -> list[Rule]:
    takes, name = signature_of(handler, "implements"), function_name(handler)
    if fault := not_at_once(handler, target.source if isinstance(target, Overridable) else None):
        raise RegistrationError(f"implements: {name} {fault}")
    if isinstance(target, Kind):
        parameters = list(takes.parameters.values())
        if _lacks_operation(known, handler, parameters):
            shown = ", ".join(["op", *(p.name for p in parameters)])
            raise RegistrationError(
                f"{name} cannot answer for {target}: the handler of a kind receives the operation first, "
                f"then the arrays; as in def f({shown})"
            )
        if parameters[0].kind is not parameters[0].VAR_POSITIONAL:
            takes = takes.replace(parameters=parameters[1:])
    else:
        faults, remarks = departures(takes, target.parameters)
        if faults:
            raise RegistrationError(never_called(name, target.qualified_name, target.parameters, faults))
        if not target.parameters.arrays:
            first = next(iter(target.parameters.signature.parameters), "x")
            advice = f"name them where it is declared, as in operation(arrays=('{first}',))"
            text = f"{name} can never be called for {target.qualified_name}: it has no array parameters; {advice}"
            raise RegistrationError(text)
        for remark in remarks:
            warnings.warn(f"{name} for {target.qualified_name}: {remark}", SignatureWarning, stacklevel=3)
    if types:
        return [_make_rule(known, target, handler, takes, types, explicit=True)]
    signatures = _signatures(target, handler, takes)
    # Of the combinations of union members, those count that name a type besides plain arrays.
    relevant = [signature for signature in signatures if known.named_own(signature)] or signatures[:1]
    return [_make_rule(known, target, handler, takes, signature, explicit=False) for signature in relevant]


def _lacks_operation(known: ArrayTypes, handler: Callable[..., Any], parameters: list[inspect.Parameter]) -> bool:
    """Return whether the handler of a kind has no first parameter for the operation, or takes an array there."""
    if not parameters or parameters[0].kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD):
        return True
    first = parameters[0]
    if first.kind is first.VAR_POSITIONAL:
        return False
    alone = len(parameters) == 1
    return alone or any(
        cls is known.base or known.participates(cls)
        for cls in classes_of(resolved_hints(handler).get(first.name, ANY), Form.ONE, function_name(handler))
    )


def _signatures(
    target: Overridable | Kind, handler: Callable[..., Any], takes: inspect.Signature
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
    known: ArrayTypes,
    target: Overridable | Kind,
    handler: Callable[..., Any],
    takes: inspect.Signature,
    types: tuple[type, ...],
    explicit: bool,
) -> Rule:
    for cls in types:
        if not isinstance(cls, type):
            raise RegistrationError(f"implements: {cls!r} is not a class")
    if not known.named_own(types):
        raise RegistrationError(no_own_type(function_name(handler), list(map(type_name, types))))
    for cls in types:
        if stands_for_nothing(cls) and (is_structural(cls) or not known.participates(cls)):
            raise RegistrationError(never_found(function_name(handler), cls))
    one_array = isinstance(target, Kind) or len(target.parameters.arrays) == 1
    anywhere = len(types) == 1 and (explicit or one_array)
    count = len(types) if isinstance(target, Kind) else len(target.parameters.arrays)
    if not anywhere and not one_array and len(types) != count:
        raise RegistrationError(wrong_count(len(types), target, count))
    fingerprint = target.parameters.fingerprint if isinstance(target, Overridable) else ""
    return Rule(target, types, anywhere, handler, takes, fingerprint)


def converts(protocol: Dispatcher, cost: float, lossy: bool) -> Callable[[F], F]:
    """Return the decorator of `DispatchProtocol.converts`."""
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
        if fault := not_at_once(function):
            raise RegistrationError(f"converts: {function_name(function)} {fault}")
        protocol.journal.record(protocol.conversions.add(Conversion(source, target, function, cost, lossy)))
        return function

    return register


def _module(handler: Callable[..., Any]) -> str | None:
    return getattr(inspect.unwrap(handler), "__module__", None)


def _conversion_types(function: Callable[..., Any]) -> tuple[type, type]:
    first = next(iter(signature_of(function, "converts").parameters), "")
    hints = resolved_hints(function, skip=())
    name = function_name(function)
    sources = classes_of(hints.get(first, ANY), Form.ONE, name)
    targets = classes_of(hints.get("return", ANY), Form.ONE, name)
    if len(sources) != 1 or len(targets) != 1 or ANY in (*sources, *targets):
        raise RegistrationError(
            f"converts: {name} must name one class it takes and one it gives, as in def f(x: A) -> B"
        )
    return sources[0], targets[0]


def packed(protocol: Registering, cls: type) -> dict[str, Any]:
    """Return what is declared for a class: its declaration, its rules and conversions, and what it keeps its own of."""
    record = protocol.types.records.find(cls)
    assert record is not None
    kept = protocol.surface.kept(cls)
    return {"declaration": record.declaration, "version": record.version, "owned": list(record.owned), "kept": kept}


def unpack(protocol: Registering, cls: type, state: dict[str, Any]) -> None:
    """Declare for a class what another process has declared for it.

    Parameters
    ----------
    protocol : to declare it to
    cls : the class, which may still lack its attributes
    state : what `packed` gave
    """
    with protocol.journal.lock:
        changed = protocol.types.records.receive(cls, state["declaration"], state["version"])
        if changed and state["kept"] is not None:
            protocol.surface.install(cls, state["kept"])
        for item in state["owned"]:
            changed = _take(protocol, item) or changed
        if changed:
            protocol.journal.changed()


def _take(protocol: Registering, item: Any) -> bool:
    """Store a rule or a conversion in place of an earlier one; return whether it was not known."""
    if isinstance(item, Rule):
        old = protocol.handlers.replaced_by(item)
        if not is_newer(item.registration, None if old is None else old.registration):
            return False
        protocol.handlers.add(item)
        return True
    if not isinstance(item, Conversion) or not is_newer(item.version, protocol.conversions.version_of(item)):
        return False
    protocol.conversions.add(item)
    return True


def place_of(protocol: Any) -> tuple[str, str]:
    """Return the module that holds a protocol, and its name there.

    Raises
    ------
    TypeError : if none does that another process could import
    """
    for module, held in list(sys.modules.items()):
        if module != "__main__":
            for name, value in list(getattr(held, "__dict__", {}).items()):
                if value is protocol:
                    return module, name
    raise TypeError(f"{protocol!r} cannot be pickled: no module holds it that another process could import; write one")


def protocol_at(module: str, name: str) -> Any:
    """Return the protocol that a module holds."""
    return getattr(import_module(module), name)
