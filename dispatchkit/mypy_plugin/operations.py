"""What the plugin knows of operations: those of dispatchkit from the library itself, others from their code."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mypy import nodes, types
from mypy.constant_fold import constant_fold_expr
from mypy.types import CallableType, Instance, Type, get_proper_type

from dispatchkit import catalogue, nn
from dispatchkit.protocol.callers import REFLECTED, Property
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.parameters import Form, Parameters
from dispatchkit.tensor import Tensor

# Every operation is declared before one is looked up.
DECLARING = (catalogue, Tensor, nn)
# mypy's name of the class of plain arrays.
TENSOR = "dispatchkit.tensor.tensor.Tensor"
REVERSED = frozenset(REFLECTED.values())
BINARY = frozenset(REFLECTED) | REVERSED
PROPERTIES = frozenset(m.name for m in tensor_protocol.surface if isinstance(m.value, Property))
METHOD = tensor_protocol.method
ARRAYS = frozenset({TENSOR, "numpy.ndarray", "numpy.generic"})
SEQUENCES = {f"builtins.{name}" for name in ("list", "tuple", "set", "frozenset")}
SEQUENCES |= {f"typing.{name}" for name in ("Sequence", "MutableSequence", "Collection", "Iterable")}
# The kinds of parameters that are not positional, by mypy's names.
PARAMETER_KINDS = {
    "ARG_STAR": inspect.Parameter.VAR_POSITIONAL,
    "ARG_NAMED": inspect.Parameter.KEYWORD_ONLY,
    "ARG_NAMED_OPT": inspect.Parameter.KEYWORD_ONLY,
    "ARG_STAR2": inspect.Parameter.VAR_KEYWORD,
}
PLACED = inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True, eq=False)
class Target:
    """An overridable function.

    Attributes
    ----------
    key : its unique name
    shown : how messages name it
    parameters : its signature, and which parameters are arrays
    kinds : names of its kind and of those around it; empty where they are not known
    """

    key: str
    shown: str
    parameters: Parameters
    kinds: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<operation {self.shown}>"


def built_in(operation: Overridable) -> Target:
    """Return what is known of an operation of the library."""
    name = operation.qualified_name
    return Target(name, name, operation.parameters, tuple(kind.name for kind in operation.kind.lineage()))


def member_target(name: str) -> Target | None:
    """Return the operation that an operator, method or property views, None where there is none."""
    entry = tensor_protocol.surface.members.get(name)
    return None if entry is None or entry.operation is None else built_in(entry.operation)


def lookup(fullname: str) -> Target | None:
    """Return the operation of the library that a variable of one of its modules holds, None where it holds none."""
    module, _, name = fullname.rpartition(".")
    if not module.startswith("dispatchkit."):
        return None
    operation = of(getattr(sys.modules.get(module), name, None))
    return None if operation is None else built_in(operation)


def signature_of(function: nodes.FuncDef, skip: int = 0) -> inspect.Signature:
    """Return a function's signature as `inspect` would; a default that is not written out is ``...``."""
    typ = function.type
    bare = typ.arg_names if isinstance(typ, CallableType) else function.arg_names
    # Not there for a function that mypy has read from its cache.
    arguments: Sequence[nodes.Argument] = getattr(function, "arguments", ())
    parameters: list[inspect.Parameter] = []
    for index, (name, kind) in enumerate(zip(function.arg_names, function.arg_kinds, strict=True)):
        argument = arguments[index] if arguments else None
        absolute = kind.is_positional() and (bare[index] is None or (argument is not None and argument.pos_only))
        default: Any = inspect.Parameter.empty
        if kind.is_optional():
            default = literal(None if argument is None else argument.initializer)
        form = inspect.Parameter.POSITIONAL_ONLY if absolute else PARAMETER_KINDS.get(kind.name, PLACED)
        # mypy keeps the names of positional-only parameters in the code alone.
        written = f"_{index}" if argument is None else argument.variable.name
        parameters.append(inspect.Parameter(name or written, form, default=default))
    return inspect.Signature(parameters[skip:])


def literal(written: nodes.Expression | None) -> Any:
    """Return the value that is written out, ``...`` for one that has to be computed."""
    if isinstance(written, nodes.NameExpr) and written.name == "None":
        return None
    if isinstance(written, nodes.TupleExpr):
        items = tuple(map(literal, written.items))
        return ... if ... in items else items
    value = None if written is None else constant_fold_expr(written, "")
    return ... if value is None else value


def target_of_function(function: nodes.FuncDef, *, declared: bool) -> Target:
    """Return an operation of the program's own, whose body takes a namespace first, or a function made overridable."""
    if not declared:
        return Target(function.fullname, function.fullname, Parameters(signature_of(function)))
    signature = signature_of(function, skip=1)
    typ = function.type
    hints = typ.arg_types[1:] if isinstance(typ, CallableType) else [None] * len(signature.parameters)
    forms = {name: Form.LOOSE for name, hint in zip(signature.parameters, hints, strict=True) if may_be_array(hint)}
    return Target(
        function.fullname, f"{function.fullname.partition('.')[0]}.{function.name}", Parameters(signature, forms)
    )


def may_be_array(typ: Type | None) -> bool:
    """Return whether a parameter's type is an array, a sequence of some or unknown, or a union with one."""
    return any(
        instance is None or any(base.fullname in ARRAYS or METHOD in base.names for base in instance.type.mro)
        for instance in instances(typ, Form.LOOSE)
    )


def instances(typ: Type | None, form: Form) -> list[Instance | None]:
    """Return the classes that a type names, for parameters that take several arrays those of its members.

    None stands for any class, and for what names none.
    """
    hint = None if typ is None else get_proper_type(typ)
    parts: Sequence[Type]
    match hint:
        case types.NoneType() | types.UninhabitedType():
            return []
        case types.LiteralType():
            return [hint.fallback]
        case types.TypeVarType():
            parts = hint.values or [hint.upper_bound]
        case types.TupleType() if form is Form.ONE:
            return [hint.partial_fallback]
        case types.UnionType() | types.TupleType():
            parts = hint.items
        case Instance() if form is not Form.ONE and hint.type.fullname in SEQUENCES:
            parts = hint.args
        case Instance() if hint.type.fullname != "builtins.object":
            return [hint]
        case _:
            return [None]
    return [instance for part in parts for instance in instances(part, form)]
