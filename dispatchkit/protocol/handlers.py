"""Rules: handlers registered for an operation or a kind, and which of them fits a call best."""

from __future__ import annotations

import difflib
import inspect
import numbers
import types
from abc import ABC, ABCMeta
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dispatchkit.protocol.hints import ELSEWHERE
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.parameters import Key, Parameters

if TYPE_CHECKING:
    from dispatchkit.protocol.overridable import Overridable

__all__ = [
    "Rule",
    "departures",
    "is_structural",
    "location_of",
    "never_called",
    "never_found",
    "no_arrays",
    "no_own_type",
    "position_distance",
    "stands_for_nothing",
    "type_name",
    "written",
    "wrong_count",
]

ANY = object
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# The built-in numbers that a scalar, of any library, counts as beside its own classes.
WIDENING: dict[type, tuple[type, ...]] = {
    numbers.Integral: (int, float, complex),
    numbers.Real: (float, complex),
    numbers.Complex: (complex,),
}


@dataclass(eq=False)
class Rule:
    """A handler with the types it answers for.

    Attributes
    ----------
    target : the operation or kind
    types : one type that may stand anywhere, or one for each array parameter
    anywhere : whether the single type may stand in any position
    handler : the user's function
    takes : its signature, without the leading operation of a kind rule
    fingerprint : of the operation's signature when the handler was registered, "" for a kind
    """

    target: Overridable | Kind
    types: tuple[type, ...]
    anywhere: bool
    handler: Callable[..., Any]
    takes: inspect.Signature
    fingerprint: str = ""

    @property
    def location(self) -> str:
        """File and line of the handler."""
        return location_of(self.handler)

    @property
    def types_text(self) -> str:
        """The types as people write them."""
        names = ", ".join(map(type_name, self.types))
        return f"{names} in any position" if self.anywhere else names

    @property
    def title(self) -> str:
        """Name of the handler, with the types it answers for."""
        return f"{getattr(self.handler, '__name__', repr(self.handler))}({self.types_text})"

    def __str__(self) -> str:
        return f"{self.title} at {self.location}"

    def refusal(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
        """Return what the handler cannot be given of a call's arguments; empty when it can be called."""
        try:
            self.takes.bind(*args, **kwargs)
        except TypeError as error:
            return self._refused(args, kwargs) or [str(error)]
        return []

    def _refused(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
        parameters = list(self.takes.parameters.values())
        names = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
        refused: list[str] = []
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            refused += [f"the keyword '{name}'" for name in kwargs if name not in names]
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if not any(p.kind is p.VAR_POSITIONAL for p in parameters) and len(args) > len(positional):
            refused.append(f"{len(args)} positional arguments")
        given = {p.name for p in positional[: len(args)]} | kwargs.keys()
        for p in parameters:
            optional = p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            if not optional and p.name not in given:
                refused.append(f"no '{p.name}'")
        return refused

    def takes_everything(self, parameters: Parameters) -> bool:
        """Return whether every call of the operation can be passed on as it is."""
        own = list(parameters.signature.parameters.values())
        first = [p for p in own if p.kind is p.POSITIONAL_ONLY]
        either = [p for p in own if p.kind is p.POSITIONAL_OR_KEYWORD]
        by_name = {p.name: None for p in own if p.kind is p.KEYWORD_ONLY}
        if any(p.kind is p.VAR_KEYWORD for p in own):
            by_name["any keyword at all"] = None
        demanded = {name: None for name in by_name if self._demanded(parameters, name)}
        spread = [None] * 99 if any(p.kind is p.VAR_POSITIONAL for p in own) else []
        least = [None for p in first if p.default is p.empty]
        needed = [p.name for p in either if p.default is p.empty]
        calls: list[tuple[list[None], dict[str, None]]] = [
            (least, {**dict.fromkeys(needed), **demanded}),
            (least, {**{p.name: None for p in either}, **by_name}),
            ([*least, *[None] * len(needed)], demanded),
            ([None] * (len(first) + len(either)) + spread, by_name),
        ]
        # Each of the parameters that go either way by position or by name, the ones before it by position.
        for count in range(len(either) + 1):
            named = {p.name: None for p in either[count:]}
            least_named = {p.name: None for p in either[count:] if p.default is p.empty}
            calls += [([None] * (len(first) + count), {**named, **by_name})]
            calls += [([None] * (len(first) + count), {**least_named, name: None, **demanded}) for name in named]
        return not any(self.refusal(args, kwargs) for args, kwargs in calls)

    @staticmethod
    def _demanded(parameters: Parameters, name: str) -> bool:
        p = parameters.signature.parameters.get(name)
        return p is not None and p.default is p.empty

    def distances(
        self, key: Key, parameters: Parameters, asked: type, order: Callable[[type], Sequence[type]]
    ) -> tuple[int, ...] | None:
        """Return how far the rule's types are from a call's, position by position; None where it does not fit.

        A position without a demand is infinitely far, told as a large number.
        """
        if self.anywhere:
            near = position_distance(asked, self.types[0], order)
            return None if near is None else (near,)
        if len(self.types) == len(key):
            entries: Iterable[Any] = key
        elif len(parameters.arrays) == 1 and isinstance(key[0], tuple) and len(key[0]) == len(self.types):
            entries = key[0]
        else:
            return None
        found: list[int] = []
        for entry, wanted in zip(entries, self.types, strict=True):
            options = entry if isinstance(entry, tuple) else (entry,)
            near_each = [position_distance(one, wanted, order) for one in options]
            reached = [n for n in near_each if n is not None]
            if not reached:
                return None
            found.append(min(reached))
        return tuple(found)

    def demands(self) -> int:
        """Return how many positions the rule speaks about."""
        return sum(cls is not ANY for cls in self.types)

    def serves(self, asked: type, order: Callable[[type], Sequence[type]]) -> bool:
        """Return whether one of the rule's own types is the asked one or a superclass of it."""
        return any(cls is not ANY and position_distance(asked, cls, order) is not None for cls in self.types)


def position_distance(found: type, wanted: type, order: Callable[[type], Sequence[type]]) -> int | None:
    """Return the place of `wanted` among what `found` counts as; None where it is not among them."""
    if wanted is ANY:
        return 1_000_000
    if found is type(None) and wanted is not found:
        return 999_999  # the argument was left out, which every annotation allows
    try:
        return order(found).index(wanted)
    except ValueError:
        return None


def written(handler: Callable[..., Any]) -> Any:
    """Return the function whose code a call of a handler runs: of a partial, a wrapper, a class, an object."""
    found: Any = inspect.unwrap(handler)
    while isinstance(found, partial):
        found = inspect.unwrap(found.func)
    if isinstance(found, type):
        return getattr(found, "__init__")  # noqa: B009  # of the class, not of an instance
    return found if isinstance(found, (types.FunctionType, types.MethodType)) else type(found).__call__


def location_of(function: Callable[..., Any]) -> str:
    """Return file and line of a function, "built in" where it has none."""
    code = getattr(written(function), "__code__", None)
    return "built in" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def type_name(cls: type) -> str:
    """Name a type as in a message: built-in ones by name, others with their module's last part."""
    return "any" if cls is ANY else cls.__qualname__.replace("<locals>.", "")


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
    """Say that a handler can never be called for its operation, and why."""
    return f"{handler} can never be called for {operation}{parameters.signature}: {'; '.join(faults)}"


def no_arrays(handler: str, operation: str, parameters: Parameters) -> str:
    """Say that a handler can never be called for an operation that takes no arrays."""
    first = next(iter(parameters.signature.parameters), "x")
    return (
        f"{handler} can never be called for {operation}: it has no array parameters; name them where it is declared, "
        f"as in operation(arrays=('{first}',))"
    )


def no_own_type(handler: str, found: Sequence[str]) -> str:
    """Say that the types of a handler do not tell whom it is for."""
    return (
        f"{handler} names no type of its own (found: {', '.join(found) or 'nothing'}); annotate the array parameters, "
        f"as in def handler(x: MyType), or pass the type: implements(operation, MyType)"
    )


def stands_for_nothing(cls: type) -> bool:
    """Return whether no object has a class in its MRO: an abstract one of which nothing concrete is derived."""
    if cls.__module__ == "numbers":
        return True  # Python's numbers are registered, not derived
    bare = type(cls) is ABCMeta and cls.__bases__ in ((object,), (ABC,)) and "__init__" not in cls.__dict__
    abstract = is_structural(cls) or inspect.isabstract(cls) or bare
    return abstract and all(map(stands_for_nothing, cls.__subclasses__()))


def is_structural(cls: type) -> bool:
    """Return whether a class is a `typing.Protocol`, or one of the abstract numbers that Python's register with."""
    return bool(getattr(cls, "_is_protocol", False)) or cls.__module__ == "numbers"


def never_found(handler: str, cls: type) -> str:
    """Say that a class is never found where a handler names it, and what to name instead."""
    kind = "protocol" if is_structural(cls) else "abstract base class"
    own = "int, float or complex" if cls.__module__ == "numbers" else "the classes themselves, as in A | B"
    declare = "" if is_structural(cls) else f", or declare {type_name(cls)} an array type first"
    return (
        f"{handler} can never be called for {type_name(cls)}: rules are looked up by the MRO, and no class is derived "
        f"from this {kind}; write {own}{declare}"
    )


def wrong_count(given: int, target: object, count: int) -> str:
    """Say that as many types fit no call of an operation."""
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
