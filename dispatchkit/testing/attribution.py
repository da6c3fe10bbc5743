"""Who is at fault: failures get the rule or method that they come from, and those of one are one entry."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dispatchkit.protocol.handlers import Rule, location_of, type_name
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.testing.calls import TypeCall
from dispatchkit.testing.entered import entering, rules_of
from dispatchkit.testing.findings import Failure
from dispatchkit.testing.programs import program, shrunk
from dispatchkit.testing.subject import Subject

__all__ = ["gathered"]

# The checks of what a method or an operator gives.
FORMS = frozenset({"operators", "reflected", "inplace", "methods"})
# The methods that a check on the type itself looks at.
METHODS = {
    "dense": ("to_dense",),
    "gradient": ("to_dense",),
    "alias": ("to_dense",),
    "assignment": ("__setitem__",),
    "copy": ("__copy__", "__reduce__", "__reduce_ex__", "__getstate__"),
    "deepcopy": ("__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__"),
    "pickle": ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"),
    "repr": ("__repr__", "__str__"),
}


def gathered(subject: Subject, failures: Iterable[Failure], order: Iterable[str]) -> list[Failure]:
    """Return one failure for each handler, on the smallest call that shows it, with what else fails by it.

    Parameters
    ----------
    subject : the type under test
    failures : as the checks found them
    order : the names of the checks, the most telling first
    """
    rank = {name: place for place, name in enumerate(order)}
    found = list(failures)
    own = set(rules_of(subject))
    entered = [_entered(subject, failure, own) for failure in found]
    suspects = {rules[0] for rules in entered if len(rules) == 1}
    groups: defaultdict[Any, list[Failure]] = defaultdict(list)
    for failure, rules in zip(found, entered, strict=True):
        handler = _handler(subject, failure, rules, suspects)
        key = handler or (failure.check, failure.operation)
        groups[key].append(replace(failure, handler=handler))
    return [_first(subject, group, rank) for group in groups.values()]


def _entered(subject: Subject, failure: Failure, own: set[Rule]) -> list[Rule]:
    """Return the rules of the type that the call of a failure enters, those of inner calls first."""
    if not failure.operation or _method(subject, failure):
        return []
    operation = tensor_protocol.operations[failure.operation]
    with entering() as noted:
        try:
            if isinstance(failure.made, TypeCall):
                failure.made.result()
            else:
                operation.function(failure.made, *([failure.made.dtype] if operation.name == "astype" else []))
        except Exception:  # noqa: BLE001, S110  # that it fails is known
            pass
    return [rule for rule in noted.rules if rule in own]


def _handler(subject: Subject, failure: Failure, rules: list[Rule], suspects: set[Rule]) -> str:
    method = _method(subject, failure)
    if method:
        return method
    if not rules:
        return ""
    own = [rule for rule in rules if getattr(rule.target, "qualified_name", "") == failure.operation]
    return str(next((rule for rule in rules if rule in suspects), (own or rules)[-1]))


def _method(subject: Subject, failure: Failure) -> str:
    """Return the method of the type's author that a failure is about, with its file and line; "" where it is none."""
    first = failure.call.partition(" ")[0].partition("(")[0]
    names: list[str] = []
    if failure.check in FORMS:
        names = [first, first.rpartition(".")[2]]
    elif failure.check == "attributes":
        names = [first, f"__{first}__"]
    elif not failure.operation or failure.check == "assignment":
        names = list(METHODS.get(failure.check, ()))
    for name in names:
        owner = next((cls for cls in subject.cls.__mro__ if name in vars(cls)), None)
        if owner is None or owner.__module__.startswith("dispatchkit."):
            continue
        function = getattr(vars(owner)[name], "fget", vars(owner)[name])
        if hasattr(function, "__code__") and function.__module__ == owner.__module__:
            return f"{type_name(owner)}.{name} at {location_of(function)}"
    return ""


def _first(subject: Subject, group: list[Failure], rank: dict[str, int]) -> Failure:
    """Return the failure of a group that tells most, shrunk, with the others named in it."""
    chosen = min(group, key=lambda failure: (rank.get(failure.check, 99), _size(subject, failure)))
    rest = [f"{one.check} of {one.call}" for one in group if one is not chosen]
    small = shrunk(subject, chosen)
    made = replace(small, handler=chosen.handler, also=tuple(dict.fromkeys(rest)))
    return replace(made, program=program(subject, made))


def _size(subject: Subject, failure: Failure) -> tuple[int, int]:
    if not isinstance(failure.made, TypeCall):
        return (0, len(failure.call))
    sizes = [int(np.prod(getattr(value, "shape", ()), dtype=int)) for value in failure.made.values()]
    return (sum(sizes) if all(sizes) else sys.maxsize, len(failure.call))  # one without elements shows little
