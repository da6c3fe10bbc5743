"""What a type's author has written: the operations that its rules answer, and those that its methods view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.rules import Rule
from dispatchkit.tensor import Tensor
from dispatchkit.testing.findings import Subject

FALLBACKS = 8  # operations that the type's author has nothing for, which stand for all of these
GENERATED = "<string>"  # the file of what dataclasses write


def is_authored(subject: Subject, operation: Overridable) -> bool:
    """Return whether the type has a rule, an operator, a method or a property of its own for an operation."""
    known: dict[Overridable, bool] = subject.memory.setdefault("authored", {})
    if operation not in known:
        known[operation] = _is_authored(subject, operation)
    return known[operation]


def is_examined_in_full(subject: Subject, operation: Overridable) -> bool:
    """Return whether all calls of an operation are made: what the type does not write itself a few stand for."""
    if subject.thorough or operation in subject.by_fallback or is_authored(subject, operation):
        return True
    if len(subject.by_fallback) < FALLBACKS:
        subject.by_fallback.add(operation)
        return True
    return False


def _is_authored(subject: Subject, operation: Overridable) -> bool:
    if any(True for _ in own_rules(subject, operation)):
        return True
    return has_member(subject, operation)


def has_member(subject: Subject, operation: Overridable) -> bool:
    """Return whether the author has written the protocol's method, or one that is called for the operation."""
    if writes(subject.cls, tensor_protocol.method):
        return True
    return any(
        writes(subject.cls, form)
        for member in tensor_protocol.surface
        if member.operation is operation
        for form in forms_of(member.name)
    )


def own_rules(subject: Subject, operation: Overridable) -> Iterator[Rule]:
    """Yield the rules for an operation, or its kinds, that name the type or a superclass other than plain tensors."""
    own = set(subject.cls.__mro__) - {tensor_protocol.types.base, object}
    for rule in operation.rules_for_calls():
        if not own.isdisjoint(rule.types):
            yield rule


def forms_of(name: str) -> list[str]:
    """Return the names of an operator, of its reflected form and of that in place; of another method its own."""
    if not name.startswith("__"):
        return [name]
    stem = name[2:]
    return [name, f"__r{stem}", f"__i{stem}"]


def writes(cls: type, name: str) -> bool:
    """Return whether a class, or a superclass that is not the library's, has a method or property of its own."""
    return written(cls, name) is not None


def _is_lent(function: Any, owner: type) -> bool:
    """Return whether a function of a class is the library's, as those of the protocol's surface are."""
    module, home = str(function.__module__), owner.__module__
    # A class of the library may be said to be of the package that its module is in.
    is_own = module == home or module.startswith(f"{home}.")
    return not is_own and module.partition(".")[0] == "dispatchkit"


def written(cls: type, name: str) -> Any:
    """Return the function of a method or property as its author wrote it; None where the class has none of its own."""
    for owner in cls.__mro__:
        if owner in (Tensor, object) or owner.__module__ == "dispatchkit":
            return None
        if name in vars(owner):
            value = vars(owner)[name]
            function = getattr(value, "fget", getattr(value, "__func__", value))
            code = getattr(function, "__code__", None)
            if code is None or (code.co_filename == GENERATED and "__dataclass_fields__" in vars(owner)):
                return None
            if _is_lent(function, owner):
                return None
            return function
    return None
