"""What the arguments of a call count as: array types, plain arrays and scalars, or foreign values."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum

from mypy.nodes import TypeInfo
from mypy.types import (
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    TypeVarType,
    UninhabitedType,
    UnionType,
    get_proper_type,
)

from dispatchkit.mypy_plugin.annotations import SEVERAL
from dispatchkit.mypy_plugin.fit import is_companion, takes_part
from dispatchkit.mypy_plugin.names import TENSOR
from dispatchkit.protocol.parameters import Form

NO_ARRAYS = frozenset(f"builtins.{name}" for name in ("str", "bytes", "list", "tuple", "dict", "set", "frozenset"))
SCALARS = ("builtins.int", "builtins.float", "builtins.complex")
NUMPYS = ("numpy.integer", "numpy.floating", "numpy.complexfloating")
LIMIT = 32


class Role(Enum):
    """What an argument is to the protocol."""

    TYPE = "a type that takes part"
    PLAIN = "a plain array or a scalar"
    NONE = "left out"
    NO_ARRAY = "no array"
    UNKNOWN = "not known from its type"


@dataclass(frozen=True, eq=False)
class Argument:
    """One array of a call.

    Attributes
    ----------
    role : what it is
    typ : its type
    info : the class; None where there is none
    """

    role: Role
    typ: Type
    info: TypeInfo | None = None

    @property
    def name(self) -> str:
        """The name of its class."""
        return "NoneType" if self.info is None else self.info.name

    @property
    def asked(self) -> bool:
        """Whether it takes part: also plain tensors do, if last."""
        return self.role is Role.TYPE or (self.info is not None and self.info.fullname == TENSOR)


# The arguments of one array position: one, or the members of a sequence.
Entry = tuple[Argument, ...]


def base_names(argument: Argument) -> list[str]:
    """Return what an argument counts as in signatures, the nearest first."""
    if argument.info is None:
        return []
    own = [base.fullname for base in argument.info.mro]
    if argument.role is Role.TYPE or argument.info.fullname == TENSOR:
        return own
    place = next((i for i, names in enumerate(zip(SCALARS, NUMPYS, strict=True)) if set(names) & set(own)), None)
    wider = [] if place is None else [name for name in SCALARS[place:] if name not in own]
    return [*own[:-1], *wider, TENSOR, own[-1]]


def combinations(
    types: Iterable[tuple[Form, list[Type]]], taking_part: Collection[str], method: str
) -> list[list[Entry]] | None:
    """Return the choices of arguments that unions stand for; None where they are too many.

    Parameters
    ----------
    types : for each array parameter its form, and the types it is given: several for a sequence written out
    taking_part : full names of classes that take part without their class saying so
    method : by which types take part
    """
    choices: list[list[Entry]] = []
    for form, given in types:
        each = [_alternatives(typ, form, taking_part, method) for typ in given]
        if form in (Form.INDEX, Form.LOOSE):
            # These take what is no array, too.
            each = [[a for a in alternatives if a.role is not Role.UNKNOWN] for alternatives in each]
        if form is Form.ONE and len(each) == 1:
            choices.append([(argument,) for argument in each[0]])
        else:
            choices.append([tuple(itertools.chain.from_iterable(each))])
    count = 1
    for options in choices:
        count *= len(options)
    return [list(choice) for choice in itertools.product(*choices)] if count <= LIMIT else None


def _alternatives(typ: Type, form: Form, taking_part: Collection[str], method: str) -> list[Argument]:
    """Return what values of a type may be; for a sequence, what its members may be."""
    proper = get_proper_type(typ)
    match proper:
        case UnionType():
            return [a for item in proper.items for a in _alternatives(item, form, taking_part, method)]
        case TypeVarType():
            bound = proper.values or [proper.upper_bound]
            found = [a for item in bound for a in _alternatives(item, form, taking_part, method)]
            return [Argument(a.role, proper if len(found) == 1 else a.typ, a.info) for a in found]
        case NoneType():
            return [Argument(Role.NONE, proper)]
        case UninhabitedType():
            return []
        case LiteralType():
            return _alternatives(proper.fallback, form, taking_part, method)
        case TupleType():
            if form is Form.ONE or takes_part(proper.partial_fallback.type, taking_part, method):
                return _alternatives(proper.partial_fallback, form, taking_part, method)
            return [a for item in proper.items for a in _alternatives(item, Form.ONE, taking_part, method)]
        case Instance():
            if form is not Form.ONE and proper.type.fullname in SEVERAL:
                return [a for item in proper.args for a in _alternatives(item, Form.ONE, taking_part, method)]
            return [_classify(proper, form, taking_part, method)]
    return [Argument(Role.UNKNOWN, proper)]


def _classify(typ: Instance, form: Form, taking_part: Collection[str], method: str) -> Argument:
    info = typ.type
    if info.fullname == TENSOR:
        return Argument(Role.PLAIN, typ, info)
    if takes_part(info, taking_part, method):
        return Argument(Role.TYPE, typ, info)
    if is_companion(info):
        return Argument(Role.PLAIN, typ, info)
    return Argument(Role.NO_ARRAY if info.fullname in NO_ARRAYS else Role.UNKNOWN, typ, info)
