"""How a handler can fail to fit the operation that it is registered for, and what the error says."""

from __future__ import annotations

import difflib
import inspect
from abc import ABC, ABCMeta
from collections.abc import Callable, Sequence
from typing import Any

from dispatchkit.protocol.handlers import type_name, written
from dispatchkit.protocol.parameters import ELSEWHERE, Parameters

__all__ = [
    "departures",
    "is_structural",
    "never_called",
    "never_found",
    "no_arrays",
    "no_own_type",
    "not_at_once",
    "stands_for_nothing",
    "wrong_count",
]

# Names that handlers of kinds give their first parameter.
OPERATION = ("op", "operation", "func", "function")
# What is called without computing anything yet.
LATER: dict[str, Callable[[Any], bool]] = {
    "generator": inspect.isgeneratorfunction,
    "coroutine": inspect.iscoroutinefunction,
    "asynchronous generator": inspect.isasyncgenfunction,
}
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def departures(takes: inspect.Signature, parameters: Parameters) -> tuple[list[str], list[str]]:
    """Compare a handler's signature with its operation's.

    Returns
    -------
    faults : what makes it impossible to call the handler at all
    remarks : where its results would differ from what the operation's signature promises
    """
    theirs = parameters.signature.parameters
    return _faults(takes, list(theirs.values())), _remarks(takes, list(theirs.values()))


def never_called(handler: str, operation: str, parameters: Parameters, faults: Sequence[str]) -> str:
    """Return the message for a handler that can never be called for its operation."""
    return f"{handler} can never be called for {operation}{parameters.signature}: {'; '.join(faults)}"


def no_arrays(handler: str, operation: str, parameters: Parameters) -> str:
    """Return the message for a handler of an operation that takes no arrays."""
    first = next(iter(parameters.signature.parameters), "x")
    return (
        f"{handler} can never be called for {operation}: it has no array parameters; name them where it is declared, "
        f"as in operation(arrays=('{first}',))"
    )


def no_own_type(handler: str, found: Sequence[str]) -> str:
    """Return the message for a handler that names plain types alone."""
    return (
        f"{handler} names no type of its own (found: {', '.join(found) or 'nothing'}); annotate the array parameters, "
        f"as in def handler(x: MyType), or pass the type: implements(operation, MyType)"
    )


def not_at_once(function: Callable[..., Any], original: Any = None) -> str:
    """Say why a function computes nothing when it is called, where the original does so; "" where it does, too."""
    for result, is_one in LATER.items():
        if is_one(written(function)) and not is_one(original):
            return f"would answer with a {result}, since it is a {result} function; return the result instead"
    return ""


def stands_for_nothing(cls: type) -> bool:
    """Return whether no object has a class in its MRO: an abstract class without concrete subclasses."""
    if cls.__module__ == "numbers":
        return True  # Python's numbers are registered, not derived
    bare = type(cls) is ABCMeta and cls.__bases__ in ((object,), (ABC,)) and "__init__" not in cls.__dict__
    abstract = is_structural(cls) or inspect.isabstract(cls) or bare
    return abstract and all(map(stands_for_nothing, cls.__subclasses__()))


def is_structural(cls: type) -> bool:
    """Return whether a class is a `typing.Protocol`, or an abstract one of `numbers`."""
    return bool(getattr(cls, "_is_protocol", False)) or cls.__module__ == "numbers"


def never_found(handler: str, cls: type) -> str:
    """Return the message for a handler that names a class without instances, with what to name instead."""
    kind = "protocol" if is_structural(cls) else "abstract base class"
    own = "int, float or complex" if cls.__module__ == "numbers" else "the classes themselves, as in A | B"
    declare = "" if is_structural(cls) else f", or declare {type_name(cls)} an array type first"
    return (
        f"{handler} can never be called for {type_name(cls)}: rules are looked up by the MRO, and no class is derived "
        f"from this {kind}; write {own}{declare}"
    )


def wrong_count(given: int, target: object, count: int) -> str:
    """Return the message for a number of types that fits no call of an operation."""
    return (
        f"implements: {given} types for {target!r}, which has {count} array parameters; give one type "
        f"for any position, or {count}"
    )


def _faults(takes: inspect.Signature, theirs: Sequence[inspect.Parameter]) -> list[str]:
    own = list(takes.parameters.values())
    passed = [p for p in theirs if p.kind in POSITIONAL]
    positional = [p for p in own if p.kind in POSITIONAL]
    faults: list[str] = []
    required = sum(p.default is p.empty and p.kind is p.POSITIONAL_ONLY for p in passed)
    if len(positional) < required and not any(p.kind is p.VAR_POSITIONAL for p in own):
        faults.append(f"it takes {len(positional)} positional arguments, the operation passes {required}")
    endless = any(p.kind is p.VAR_POSITIONAL for p in theirs)
    names = {p.name for p in theirs}
    any_keyword = any(p.kind is p.VAR_KEYWORD for p in theirs)
    for index, p in enumerate(own):
        if p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        by_position = p.kind in POSITIONAL and (index < len(passed) or endless)
        if not (by_position or p.name in names or any_keyword):
            meant = next((f"; did you mean '{one}'?" for one in ELSEWHERE.get(p.name, ()) if one in names), "")
            faults.append(f"it requires '{p.name}', which the operation never passes{meant}")
    return faults


def _remarks(takes: inspect.Signature, theirs: Sequence[inspect.Parameter]) -> list[str]:
    spare = [
        p.name for p in takes.parameters.values() if p.default is not p.empty and p.name not in {t.name for t in theirs}
    ]
    remarks: list[str] = []
    first = next(iter(takes.parameters.values()), None)
    if first is not None and first.name in OPERATION and first.name not in {their.name for their in theirs}:
        remarks.append(f"'{first.name}' receives the first argument; only handlers of kinds receive the operation")
    for their in theirs:
        elsewhere = [one for one in spare if their.name in ELSEWHERE.get(one, ())]
        if their.default is their.empty and not elsewhere:
            continue
        mine = takes.parameters.get(their.name)
        if mine is None:
            near = elsewhere or difflib.get_close_matches(their.name, spare, n=1)
            remarks += [f"'{one}' is never passed; did you mean '{their.name}'?" for one in near]
        elif mine.default not in (mine.empty, ...) and not _same(mine.default, their.default):
            remarks.append(f"'{mine.name}' is {mine.default!r} by default here, {their.default!r} in the operation")
    return remarks


def _same(left: Any, right: Any) -> bool:
    return left is right or (type(left) is type(right) and bool(left == right))
