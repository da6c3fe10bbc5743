"""What the declaration of an array type may say, checked before anything is registered."""

from __future__ import annotations

import dataclasses
import math
import numbers
import re
from collections.abc import Mapping
from typing import Any

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.fallbacks import STRATEGIES, Fallback, fallback
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.registration.annotations import not_at_once
from dispatchkit.protocol.types.array_types import DENSE, ArrayTypes, is_read_only
from dispatchkit.protocol.types.declaration import RELATIONS, Declaration, FieldRule, Relation, rule_of
from dispatchkit.signatures import annotations_of
from dispatchkit.wording import nearest


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
    declared = declaration.fields
    rules = None
    if isinstance(declared, Mapping):
        rules = _checked_rules(name, declared, by)
    fields = None
    if declared is not None:
        fields = _checked_fields(cls, declared if rules is None else tuple(declared), by)
    _check_dense(types, cls, declaration, by)
    _check_from_dense(cls, declaration.from_dense, by)
    _check_derivative(types, cls, declaration.derivative, fields, by)
    relation = _checked_relation(declaration.relation, name, by)
    _check_refuses(declaration.refuses, name, by)
    return declaration._replace(fields=fields, rules=rules, relation=relation)


def _checked_relation(declared: Any, name: str, by: str) -> Relation | None:
    if declared is None or isinstance(declared, Relation):
        return declared
    if isinstance(declared, str) and declared in RELATIONS:
        return RELATIONS[declared]
    if isinstance(declared, (int, float)) and not isinstance(declared, bool) and declared >= 0:
        return Relation(tolerance=float(declared))
    if callable(declared):
        return Relation(declared)
    raise RegistrationError(
        f"{by}: relation={declared!r} of {name} is none; write {' or '.join(map(repr, RELATIONS))}, a tolerance such "
        f"as 1e-3, a function of a result and the dense result, or a dispatchkit.testing.Relation"
    )


def _check_refuses(declared: Any, name: str, by: str) -> None:
    for error in declared or ():
        if not (isinstance(error, type) and issubclass(error, Exception)):
            raise RegistrationError(f"{by}: refuses of {name} must be exceptions, not {error!r}")


def _check_fallback(declared: Any, name: str, by: str) -> None:
    if declared is not None and not isinstance(declared, Fallback):
        raise RegistrationError(
            f"{by}: fallback={declared!r} of {name} is no fallback; write {_right_fallback(declared)}"
        )


def _right_fallback(wrong: Any) -> str:
    """Return how to write the fallback that a wrong argument probably meant."""
    members = wrong
    if isinstance(wrong, str):
        members = re.split(r"[|,\s]+", wrong)
    if isinstance(members, (list, tuple)) and members:
        words = [str(member).rpartition(".")[2].lower() for member in members]
        meant = [match for word in words for match in nearest(word, STRATEGIES)]
        if len(meant) == len(words):
            return " | ".join(f"dk.fallback.{name}" for name in meant)
    return f"one of {', '.join(f'dk.fallback.{name}' for name in STRATEGIES)}, or several joined by |"


def _check_priority(priority: Any, name: str, by: str) -> None:
    number = isinstance(priority, numbers.Real) and not isinstance(priority, bool)
    if priority is not None and (not number or math.isnan(priority)):
        raise RegistrationError(f"{by}: priority={priority!r} of {name} is no number; write one such as priority=1")


def _checked_rules(name: str, fields: Mapping[Any, Any], by: str) -> dict[str, FieldRule]:
    rules: dict[str, FieldRule] = {}
    for field, value in fields.items():
        rule = None
        if isinstance(value, dataclasses.Field):
            rule = rule_of(value)
        if rule is None:
            raise RegistrationError(f"{by}: fields of {name} give {value!r} for {field!r}; write dk.field()")
        rules[field] = rule
    return rules


def _checked_fields(cls: type, fields: Any, by: str) -> tuple[str, ...]:
    name = type_name(cls)
    if isinstance(fields, str):
        raise RegistrationError(f"{by}: fields={fields!r} of {name} is text; write fields=({fields!r},)")
    if not isinstance(fields, (tuple, list)):
        raise RegistrationError(
            f"{by}: fields={fields!r} of {name} is no tuple of names; write one such as fields=('data',)"
        )
    for field in fields:
        if not isinstance(field, str) or not field.isidentifier():
            raise RegistrationError(f"{by}: fields of {name} must be attribute names, not {field!r}")
        if is_read_only(getattr(cls, field, None)):
            behind = f"name the attribute behind it, as '_{field}'"
            raise RegistrationError(f"{by}: fields of {name} name '{field}', a read-only property; {behind}")
    # An instance without a __dict__ has only these attributes.
    if cls.__dictoffset__ == 0 and not hasattr(cls, "__getattr__"):
        known = instance_attributes(cls)
        for field in fields:
            if field not in known and not hasattr(cls, field):
                listed = ", ".join(dict.fromkeys(known)) or "none"
                raise RegistrationError(
                    f"{by}: fields of {name} name '{field}', which is no attribute; its attributes are {listed}"
                )
    return tuple(fields)


def _check_dense(types: ArrayTypes, cls: type, declaration: Declaration, by: str) -> None:
    dense, name = declaration.dense, type_name(cls)
    maker = dense
    if dense is None or isinstance(dense, str):
        maker = getattr(cls, dense or DENSE, None)
    if callable(maker) and (fault := not_at_once(maker)):
        raise RegistrationError(f"{by}: {getattr(maker, '__qualname__', name)} {fault}")
    if callable(dense):
        return
    if dense is not None and not isinstance(dense, str):
        raise RegistrationError(f"{by}: dense must be a method's name or a function, not {dense!r}")
    needed = declaration.fallback is not None and fallback.dense in declaration.fallback
    inherited = types.declared_value(cls, "dense")
    method = dense or inherited or DENSE
    if callable(method) or callable(getattr(cls, method, None)) or not (dense or needed):
        return
    if dense is not None:
        raise RegistrationError(f"{by}: dense={dense!r} of {name} names no method of it; define {dense}(self)")
    elsewhere = "to_dense=function"
    if by == "array_type":
        elsewhere = "dense='its_name'"
    raise RegistrationError(
        f"{by}: {name} declares fallback.dense, but has no {method}(); define {method}(self), an abstract one where "
        f"only subclasses have it, or pass {elsewhere}"
    )


def _check_from_dense(cls: type, from_dense: Any, by: str) -> None:
    method = from_dense
    if isinstance(from_dense, str):
        method = getattr(cls, from_dense, None)
    if from_dense is not None and not callable(method):
        raise RegistrationError(
            f"{by}: from_dense={from_dense!r} of {type_name(cls)} is neither a function nor the name of a class "
            f"method; define one that takes an array and an instance"
        )


def _check_derivative(types: ArrayTypes, cls: type, law: Any, fields: tuple[str, ...] | None, by: str) -> None:
    function = law
    if isinstance(law, str):
        function = getattr(cls, law, None)
    if law is not None and not callable(function):
        raise RegistrationError(
            f"{by}: derivative={law!r} of {type_name(cls)} is neither a function nor the name of a static method; "
            f"define one that takes an array, an output and an argument"
        )
    if law is not None and not (types.field_names(cls) if fields is None else fields):
        raise RegistrationError(
            f"{by}: derivative={law!r} of {type_name(cls)} needs a first field, the array that is wrapped; declare "
            f"fields=(...)"
        )


def instance_attributes(cls: type) -> tuple[str, ...]:
    """Return the attributes that annotations, slots or dataclass fields give to instances."""
    names: list[str] = []
    for ancestor in cls.__mro__:
        names += annotations_of(ancestor)
        slots = ancestor.__dict__.get("__slots__", ())
        if isinstance(slots, str):
            names += (slots,)
        else:
            names += slots
    return tuple(names)
