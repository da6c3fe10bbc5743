"""Drift: handlers written against an operation whose signature is another by now.

A handler stores the fingerprint of its operation's signature when it is registered. Inside a process that tells the
handlers of a function that was defined anew. Across versions a file tells it: ``--record`` writes the fingerprint of
every handler's operation, and a later run with ``--baseline`` compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.handlers import Rule
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.registration.annotations import departures

Fingerprints: TypeAlias = "Mapping[tuple[str, str, str], str]"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a file records of a handler.

    Attributes
    ----------
    operation : qualified name of the operation
    handler : module and qualified name of the function
    types : that it answers for
    fingerprint : the operation's signature
    """

    operation: str
    handler: str
    types: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Drifted:
    """A handler that its operation has left behind.

    Attributes
    ----------
    operation : qualified name of the operation
    handler : the handler with its types, file and line
    reason : what has changed
    """

    operation: str
    handler: str
    reason: str

    def __str__(self) -> str:
        return f"  {self.operation}: {self.handler}\n    {self.reason}"


def fingerprints(modules: Sequence[str] = (), *, protocol: DispatchProtocol = tensor_protocol) -> list[Fingerprint]:
    """Return the fingerprints of the operations that handlers are registered for.

    Parameters
    ----------
    modules : names of modules and packages whose handlers count; all by default
    protocol : whose handlers they are

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.report.drift import fingerprints
    >>> found = fingerprints(["dispatchkit.types"])
    >>> {one.fingerprint for one in found if one.operation == "dispatchkit.mean"}
    {'(x, /, *, axis=None, keepdims=False)'}
    """
    return [
        Fingerprint(_operation(rule).qualified_name, _name(rule), rule.types_text, _current(rule, protocol))
        for rule in _rules(modules, protocol)
    ]


def drifted(
    modules: Sequence[str] = (),
    baseline: Iterable[Fingerprint] = (),
    *,
    protocol: DispatchProtocol = tensor_protocol,
) -> list[Drifted]:
    """Return the handlers written against another signature than their operation's.

    Parameters
    ----------
    modules : names of modules and packages whose handlers count; all by default
    baseline : what `fingerprints` returned when the handlers were written
    protocol : whose handlers they are

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.report.drift import drifted, fingerprints
    >>> drifted(["dispatchkit.types"], fingerprints(["dispatchkit.types"]))
    []
    """
    known = {(entry.operation, entry.handler, entry.types): entry.fingerprint for entry in baseline}
    left_behind = [
        Drifted(_operation(rule).qualified_name, str(rule), reason)
        for rule in _rules(modules, protocol)
        for reason in _reasons(rule, known, protocol)
    ]
    names = {operation.qualified_name for operation in protocol.operations.values()}
    left_behind += [
        Drifted(operation, f"{handler}({types})", "the operation is gone")
        for operation, handler, types in known
        if operation not in names and _within(handler.partition(":")[0], modules)
    ]
    return left_behind


def _reasons(rule: Rule, baseline: Fingerprints, protocol: DispatchProtocol) -> Iterator[str]:
    operation = _operation(rule)
    now = _current(rule, protocol)
    recorded = baseline.get((operation.qualified_name, _name(rule), rule.types_text), now)
    if operation not in protocol.operations.values():
        yield f"{operation.name} was defined anew, and the handler answers for the function before"
    for before in dict.fromkeys((rule.fingerprint, recorded)):
        if before != now:
            yield f"the signature was {before}, and is {now}"
    yield from departures(rule.takes, operation.parameters)[1]


def _current(rule: Rule, protocol: DispatchProtocol) -> str:
    """Return the fingerprint of the function that now has the name of a rule's operation."""
    operation = _operation(rule)
    if operation not in protocol.operations.values():
        operation = protocol.operations.get(operation.qualified_name, operation)
    return operation.parameters.fingerprint


def _rules(modules: Sequence[str], protocol: DispatchProtocol) -> list[Rule]:
    return [rule for rule in protocol.handlers.of_operations() if _within(rule.handler.__module__, modules)]


def _within(module: str, modules: Sequence[str]) -> bool:
    return not modules or any(module == name or module.startswith(f"{name}.") for name in modules)


def _operation(rule: Rule) -> Overridable:
    assert isinstance(rule.target, Overridable)
    return rule.target


def _name(rule: Rule) -> str:
    handler = rule.handler
    return f"{handler.__module__}:{getattr(handler, '__qualname__', type(handler).__qualname__)}"


def read_fingerprints(path: Path) -> list[Fingerprint]:
    """Return what a file records.

    Raises
    ------
    ValueError : if it is no such file
    """
    try:
        entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["handlers"]
        return [Fingerprint(**entry) for entry in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no file that drift --record wrote") from error


def write_fingerprints(path: Path, recorded: list[Fingerprint]) -> None:
    """Record fingerprints in a file."""
    text = json.dumps({"handlers": [asdict(fingerprint) for fingerprint in recorded]}, indent=2)
    path.write_text(f"{text}\n", encoding="utf-8")
