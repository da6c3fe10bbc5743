"""The classes that a handler's annotations name, as `implements` reads them."""

from __future__ import annotations

import itertools

from mypy.nodes import FuncDef, TypeInfo
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from dispatchkit.protocol.parameters import ArrayParameter, Form, Parameters

SEVERAL = frozenset(
    {
        *(f"builtins.{name}" for name in ("list", "tuple", "set", "frozenset")),
        *(f"typing.{name}" for name in ("Sequence", "MutableSequence", "Collection", "Iterable")),
    }
)
LIMIT = 64


def annotated(function: FuncDef, parameters: Parameters | None) -> list[list[TypeInfo | None]]:
    """Return the signatures that a handler's annotations declare, unions expanded; None stands for any type.

    Parameters
    ----------
    function : the handler
    parameters : of the operation; None for the handler of a kind
    """
    typ = function.type
    types: list[Type | None] = (
        list(typ.arg_types) if isinstance(typ, CallableType) else [None] * len(function.arg_names)
    )
    if parameters is None:
        hints = _of_kind(function, types)
        choices = [_classes(hint, Form.ONE) for hint in hints]
    else:
        choices = [_classes(_hint(function, types, array), array.form) for array in parameters.arrays]
    return [list(choice) for choice in itertools.islice(itertools.product(*choices), LIMIT)]


def _of_kind(function: FuncDef, types: list[Type | None]) -> list[Type | None]:
    positional = [hint for hint, kind in list(zip(types, function.arg_kinds, strict=True))[1:] if kind.is_positional()]
    said = [hint for hint in positional if hint is not None and not isinstance(get_proper_type(hint), AnyType)]
    return list(said) or positional[:1] or [None]


def _hint(function: FuncDef, types: list[Type | None], array: ArrayParameter) -> Type | None:
    position = array.position
    if position is not None and position < len(types) and not function.arg_kinds[position].is_named():
        return types[position]
    return types[function.arg_names.index(array.name)] if array.name in function.arg_names else None


def _classes(hint: Type | None, form: Form) -> list[TypeInfo | None]:
    """Return the classes that an annotation names; None for any, and for what names no class."""
    typ = None if hint is None else get_proper_type(hint)
    match typ:
        case UnionType():
            return [info for item in typ.items if not _is_none(item) for info in _classes(item, form)] or [None]
        case TypeVarType():
            return [info for item in typ.values or [typ.upper_bound] for info in _classes(item, form)]
        case LiteralType():
            return [typ.fallback.type]
        case TupleType():
            if form is Form.ONE:
                return [typ.partial_fallback.type]
            return [info for item in typ.items for info in _classes(item, form)] or [None]
        case Instance():
            if form is not Form.ONE and typ.type.fullname in SEVERAL:
                return [info for item in typ.args for info in _classes(item, form)] or [None]
            return [None if typ.type.fullname == "builtins.object" else typ.type]
    return [None]


def _is_none(typ: Type) -> bool:
    return isinstance(get_proper_type(typ), NoneType)


def shown(info: TypeInfo | None) -> str:
    """Name a class as messages do."""
    return "any" if info is None else info.name
