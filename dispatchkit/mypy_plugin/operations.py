"""What the plugin knows of operations: those of dispatchkit from the library itself, others from their code."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mypy.nodes import (
    Argument,
    Expression,
    FloatExpr,
    FuncDef,
    IntExpr,
    NameExpr,
    StrExpr,
    TupleExpr,
    UnaryExpr,
)
from mypy.types import AnyType, CallableType, Instance, TupleType, Type, TypeVarType, UnionType, get_proper_type

from dispatchkit import nn
from dispatchkit.mypy_plugin.annotations import SEVERAL
from dispatchkit.mypy_plugin.names import TENSOR
from dispatchkit.protocol.callers import REFLECTED, Member, Property
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.parameters import Form, Parameters
from dispatchkit.tensor import Tensor

# Every operation is declared before one is looked up.
DECLARING = (Tensor, nn)
REVERSED = frozenset(REFLECTED.values())
ORDERED = frozenset(REFLECTED) | REVERSED
ARRAYS = frozenset({TENSOR, "numpy.ndarray", "numpy.generic"})
KINDS = {
    "ARG_POS": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "ARG_OPT": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "ARG_STAR": inspect.Parameter.VAR_POSITIONAL,
    "ARG_NAMED": inspect.Parameter.KEYWORD_ONLY,
    "ARG_NAMED_OPT": inspect.Parameter.KEYWORD_ONLY,
    "ARG_STAR2": inspect.Parameter.VAR_KEYWORD,
}


@dataclass(frozen=True, eq=False)
class Target:
    """An overridable function.

    Attributes
    ----------
    key : its unique name
    shown : how messages name it
    parameters : its signature, and which parameters are arrays
    kinds : names of its kind and of those around it, the narrowest first; empty where they are not known
    decomposes : whether its body may answer; None where it is not known
    method : by which types take part in its protocol; "" where it is not known
    by_fields : whether types without a rule have it by their fields: always, never, or (None) by values
    """

    key: str
    shown: str
    parameters: Parameters
    kinds: tuple[str, ...]
    decomposes: bool | None
    method: str = tensor_protocol.method
    by_fields: bool | None = False

    def __repr__(self) -> str:
        return f"<operation {self.shown}>"

    @property
    def name(self) -> str:
        """The last part of its name."""
        return self.shown.rpartition(".")[2]


def built_in(operation: Overridable) -> Target:
    """Return what is known of an operation of the library."""
    return Target(
        operation.qualified_name,
        operation.qualified_name,
        operation.parameters,
        tuple(kind.name for kind in operation.kind.lineage()),
        operation.decomposition() is not None,
        by_fields=(operation.by_fields_always or None) if operation.by_fields else False,
    )


def member(name: str) -> Member | None:
    """Return the entry of the library's table of operators, methods and properties, None where there is none."""
    found = tensor_protocol.surface.members.get(name)
    return found if found is not None and found.operation is not None else None


PROPERTIES = frozenset(m.name for m in tensor_protocol.surface if isinstance(m.value, Property))


def lookup(fullname: str) -> Target | None:
    """Return the operation of the library that a variable of one of its modules holds, None where it holds none."""
    module, _, name = fullname.rpartition(".")
    if not module.startswith("dispatchkit."):
        return None
    operation = of(getattr(sys.modules.get(module), name, None))
    return None if operation is None else built_in(operation)


def signature_of(function: FuncDef, skip: int = 0) -> inspect.Signature:
    """Return a function's signature as `inspect` would; a default that is not written out is ``...``."""
    typ = function.type
    bare = typ.arg_names if isinstance(typ, CallableType) else function.arg_names
    # Not there for a function that mypy has read from its cache.
    arguments: Sequence[Argument] = getattr(function, "arguments", ())
    parameters: list[inspect.Parameter] = []
    for index, (name, kind) in enumerate(zip(function.arg_names, function.arg_kinds, strict=True)):
        own = arguments[index] if arguments else None
        absolute = kind.is_positional() and (bare[index] is None or (own is not None and own.pos_only))
        default: Any = inspect.Parameter.empty
        if kind.is_optional():
            default = literal(None if own is None else own.initializer)
        form = inspect.Parameter.POSITIONAL_ONLY if absolute else KINDS[kind.name]
        # mypy keeps the names of positional-only parameters in the code alone.
        written = f"_{index}" if own is None else own.variable.name
        parameters.append(inspect.Parameter(name or written, form, default=default))
    return inspect.Signature(parameters[skip:])


def literal(written: Expression | None) -> Any:
    """Return the value that is written out, ``...`` for one that has to be computed."""
    match written:
        case IntExpr() | FloatExpr() | StrExpr():
            return written.value
        case NameExpr(name="None" | "True" | "False"):
            return {"None": None, "True": True, "False": False}[written.name]
        case UnaryExpr(op="-", expr=IntExpr() | FloatExpr() as number):
            return -number.value
        case TupleExpr():
            items = [literal(item) for item in written.items]
            return ... if ... in items else tuple(items)
    return ...


def operation_parameters(function: FuncDef, arrays: Sequence[str] | None) -> Parameters:
    """Return the parameters of an operation that is declared by this body, as `dk.operation` reads them.

    Parameters
    ----------
    function : the body
    arrays : names of the array parameters; None for those that the annotations say
    """
    signature = signature_of(function, skip=1)
    types = function.type.arg_types if isinstance(function.type, CallableType) else [None] * len(function.arg_names)
    forms: dict[str, Form] = {}
    for p, typ in zip(signature.parameters.values(), types[1:], strict=True):
        hint = None if typ is None else get_proper_type(typ)
        if arrays is not None and p.name not in arrays:
            continue
        if hint is None or isinstance(hint, AnyType):
            if (arrays is not None and p.kind is not p.VAR_POSITIONAL) or p.kind is p.POSITIONAL_ONLY:
                forms[p.name] = Form.ONE
            elif p.kind is p.VAR_POSITIONAL:
                forms[p.name] = Form.STAR
        elif arrays is not None or mentions_tensor(hint):
            several = any(map(_is_sequence, hint.items if isinstance(hint, UnionType) else [hint]))
            forms[p.name] = Form.STAR if p.kind is p.VAR_POSITIONAL else Form.SEQUENCE if several else Form.ONE
    return Parameters(signature, forms)


def overridable_parameters(function: FuncDef, arrays: Sequence[str] | None) -> Parameters:
    """Return the parameters of a function made overridable."""
    return Parameters(signature_of(function), None if arrays is None else dict.fromkeys(arrays, Form.LOOSE))


def mentions_tensor(typ: Type) -> bool:
    """Return whether a type is a plain or raw array, or a union, a type variable or a sequence with one."""
    match get_proper_type(typ):
        case UnionType(items=parts) | TupleType(items=parts):
            return any(map(mentions_tensor, parts))
        case TypeVarType() as variable:
            return any(map(mentions_tensor, variable.values or [variable.upper_bound]))
        case Instance() as hint:
            if any(base.fullname in ARRAYS or tensor_protocol.method in base.names for base in hint.type.mro):
                return True
            return _is_sequence(hint) and any(map(mentions_tensor, hint.args))
    return False


def _is_sequence(typ: Type) -> bool:
    hint = get_proper_type(typ)
    return isinstance(hint, TupleType) or (isinstance(hint, Instance) and hint.type.fullname in SEVERAL)
