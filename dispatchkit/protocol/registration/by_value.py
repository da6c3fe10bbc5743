"""Pickles by value of what no module holds: types with their rules and conversions, as cloudpickle sends them.

A process declares once what arrives, however often it arrives. What it knows is replaced by what is declared later in
the process that sent it, and never by what comes back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from dispatchkit.protocol.overridable import Dispatcher
from dispatchkit.protocol.rules import Rule
from dispatchkit.protocol.surface import Surface
from dispatchkit.protocol.types.declaration import Conversion, Undo
from dispatchkit.versions import is_newer


class PackingProtocol(Dispatcher, Protocol):
    """What a protocol has besides that of a dispatcher: the surface that its types get."""

    @property
    def surface(self) -> Surface:
        """The operators, methods and properties that array types get."""


def pack(protocol: PackingProtocol, cls: type) -> dict[str, Any]:
    """Return what is declared for a type: its declaration, its rules and conversions, and what it keeps its own of.

    Parameters
    ----------
    protocol : to which it is declared
    cls : the type
    """
    record = protocol.types.records.find(cls)
    assert record is not None
    return {
        "declaration": record.declaration,
        "version": record.version,
        "rules": pack_rules(record.owned),
        "conversions": list(record.conversions.values()),
        "kept": protocol.surface.names_kept_by(cls),
    }


def pack_rules(rules: Iterable[Rule], /) -> list[dict[str, Any]]:
    """Return what rules are made of.

    Not the rules themselves, since one that refers to itself, as by a type that its handler names, would be met before
    it is filled. The types come first for the same reason: the signature is made at once of what it names.

    Parameters
    ----------
    rules : to be sent to another process
    """
    names = [field.name for field in dataclasses.fields(Rule) if field.init and field.name != "known"]
    return [_fields_of(rule, names) for rule in rules]


def _fields_of(rule: Rule, names: list[str]) -> dict[str, Any]:
    return {name: getattr(rule, name) for name in names}


def unpack(protocol: PackingProtocol, cls: type, declared: dict[str, Any]) -> None:
    """Declare for a type what another process declares for it.

    Parameters
    ----------
    protocol : to declare it to
    cls : the type, which may still lack its attributes
    declared : what `pack` gave
    """

    def declare() -> None:
        if protocol.types.records.receive(cls, declared["declaration"], declared["version"]):
            if declared["kept"] is not None:
                protocol.surface.install(cls, declared["kept"])
            protocol.journal.invalidate()
        new = [edge for edge in declared["conversions"] if _is_new_conversion(protocol, edge)]
        if new:
            protocol.journal.make(*(_adding_conversion(protocol, edge) for edge in new))
        take_rules(protocol, declared["rules"])

    protocol.journal.lock.run(declare)


def take_rules(protocol: Dispatcher, packed: Iterable[dict[str, Any]], /) -> None:
    """Store rules that another process has packed, as far as they are newer than those that are known.

    Parameters
    ----------
    protocol : that they are rules of
    packed : what `pack_rules` gave
    """

    def add() -> None:
        rules = [Rule(known=protocol.types, **fields) for fields in packed]
        new = [rule for rule in rules if _is_new_rule(protocol, rule)]
        if new:
            protocol.journal.make(*(_adding_rule(protocol, rule) for rule in new))

    protocol.journal.lock.run(add)


def _is_new_rule(protocol: Dispatcher, rule: Rule) -> bool:
    known = protocol.handlers.replaced_by(rule)
    return is_newer(rule.registration, None if known is None else known.registration)


def _is_new_conversion(protocol: Dispatcher, edge: Conversion) -> bool:
    return is_newer(edge.version, protocol.conversions.version_of(edge.source, edge.target))


def _adding_rule(protocol: Dispatcher, rule: Rule) -> Callable[[], Undo]:
    return lambda: protocol.handlers.add(rule)


def _adding_conversion(protocol: Dispatcher, edge: Conversion) -> Callable[[], Undo]:
    return lambda: protocol.conversions.add(edge)
