"""Checks of what a type declares: what can never work raises at once."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
import numbers
import re
from collections.abc import Mapping
from typing import Any

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.fallbacks import STRATEGIES, Fallback, fallback
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.registration.mismatches import not_at_once
from dispatchkit.protocol.types.array_types import DENSE, ArrayTypes
from dispatchkit.protocol.types.declaration import Declaration
from dispatchkit.protocol.types.fields import FieldRule, rule_of

__all__ = ["checked_declaration", "instance_attributes"]


def checked_declaration(types: ArrayTypes, cls: type, declaration: Declaration, by: str) -> Declaration:
    """Return what a type declares, with its fields as a tuple and their rules apart.

    Parameters
    ----------
    types : of the protocol
    cls, declaration : the type, and what it declares
    by : name of the function that was called

    Raises
    ------
    RegistrationError : if a declaration can never work
    """
    name = type_name(cls)
    _check_fallback(declaration.fallback, name, by)
    _check_priority(declaration.priority, name, by)
    found = declaration.fields
    rules = _checked_rules(name, found, by) if isinstance(found, Mapping) else None
    fields = None if found is None else _checked_fields(cls, found if rules is None else tuple(found), by)
    _check_dense(types, cls, declaration, by)
    _check_from_dense(cls, declaration.from_dense, by)
    return declaration._replace(fields=fields, rules=rules)


def _check_fallback(found: Any, name: str, by: str) -> None:
    if found is not None and not isinstance(found, Fallback):
        raise RegistrationError(f"{by}: fallback={found!r} of {name} is no fallback; write {_right_fallback(found)}")


def _right_fallback(found: Any) -> str:
    """Return how to write the fallback that a wrong argument probably meant."""
    members = re.split(r"[|,\s]+", found) if isinstance(found, str) else found
    if isinstance(members, (list, tuple)) and members:
        words = [str(member).rpartition(".")[2].lower() for member in members]
        meant = [match for word in words for match in difflib.get_close_matches(word, STRATEGIES, n=1)]
        if len(meant) == len(words):
            return " | ".join(f"dk.fallback.{one}" for one in meant)
    return f"one of {', '.join(f'dk.fallback.{one}' for one in STRATEGIES)}, or several joined by |"


def _check_priority(found: Any, name: str, by: str) -> None:
    number = isinstance(found, numbers.Real) and not isinstance(found, bool)
    if found is not None and (not number or math.isnan(found)):
        raise RegistrationError(f"{by}: priority={found!r} of {name} is no number; write one such as priority=1")


def _checked_rules(name: str, found: Mapping[Any, Any], by: str) -> dict[str, FieldRule]:
    rules: dict[str, FieldRule] = {}
    for field, value in found.items():
        rule = rule_of(value) if isinstance(value, dataclasses.Field) else None
        if rule is None:
            raise RegistrationError(f"{by}: fields of {name} give {value!r} for {field!r}; write dk.field()")
        rules[field] = rule
    return rules


def _checked_fields(cls: type, found: Any, by: str) -> tuple[str, ...]:
    name = type_name(cls)
    if isinstance(found, str):
        raise RegistrationError(f"{by}: fields={found!r} of {name} is text; write fields=({found!r},)")
    if not isinstance(found, (tuple, list)):
        raise RegistrationError(
            f"{by}: fields={found!r} of {name} is no tuple of names; write one such as fields=('data',)"
        )
    for field in found:
        if not isinstance(field, str) or not field.isidentifier():
            raise RegistrationError(f"{by}: fields of {name} must be attribute names, not {field!r}")
    # An instance without a __dict__ has only these attributes.
    if cls.__dictoffset__ == 0 and not hasattr(cls, "__getattr__"):
        known = instance_attributes(cls)
        for field in found:
            if field not in known and not hasattr(cls, field):
                listed = ", ".join(dict.fromkeys(known)) or "none"
                raise RegistrationError(
                    f"{by}: fields of {name} name '{field}', which is no attribute; its attributes are {listed}"
                )
    return tuple(found)


def _check_dense(types: ArrayTypes, cls: type, declaration: Declaration, by: str) -> None:
    found, name = declaration.dense, type_name(cls)
    made = getattr(cls, found or DENSE, None) if found is None or isinstance(found, str) else found
    if callable(made) and (fault := not_at_once(made)):
        raise RegistrationError(f"{by}: {getattr(made, '__qualname__', name)} {fault}")
    if callable(found):
        return
    if found is not None and not isinstance(found, str):
        raise RegistrationError(f"{by}: dense must be a method's name or a function, not {found!r}")
    needed = declaration.fallback is not None and fallback.dense in declaration.fallback
    inherited = types.declared(cls, "dense")
    method = found or inherited or DENSE
    if callable(method) or callable(getattr(cls, method, None)) or not (found or needed):
        return
    if found is not None:
        raise RegistrationError(f"{by}: dense={found!r} of {name} names no method of it; define {found}(self)")
    elsewhere = "dense='its_name'" if by == "array_type" else "to_dense=function"
    raise RegistrationError(
        f"{by}: {name} declares fallback.dense, but has no {method}(); define {method}(self), an abstract one where "
        f"only subclasses have it, or pass {elsewhere}"
    )


def _check_from_dense(cls: type, found: Any, by: str) -> None:
    method = getattr(cls, found, None) if isinstance(found, str) else found
    if found is not None and not callable(method):
        raise RegistrationError(
            f"{by}: from_dense={found!r} of {type_name(cls)} is neither a function nor the name of a class method; "
            f"define one that takes an array and an instance"
        )


def instance_attributes(cls: type) -> tuple[str, ...]:
    """Return the attributes that annotations, slots or dataclass fields give to instances."""
    names: list[str] = []
    for ancestor in cls.__mro__:
        names += inspect.get_annotations(ancestor)
        slots = ancestor.__dict__.get("__slots__", ())
        names += (slots,) if isinstance(slots, str) else slots
    return tuple(names)
