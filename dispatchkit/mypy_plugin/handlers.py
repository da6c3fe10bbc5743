"""What is wrong with the handlers of a module, in the words that `implements` uses."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mypy import nodes
from mypy import types as mypy_types
from mypy.constant_fold import constant_fold_expr
from mypy.nodes import CallExpr, Context, Decorator, Expression, FuncDef, MemberExpr, RefExpr, TypeInfo
from mypy.types import CallableType, Instance, Type, TypeType, get_proper_type

from dispatchkit import catalogue, nn
from dispatchkit.mypy_plugin.surface import METHODS, TENSOR, Find, give_surface
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import of
from dispatchkit.protocol.parameters import Form, Parameters
from dispatchkit.protocol.registration.annotations import departures, never_called, no_own_type, wrong_count
from dispatchkit.tensor import Tensor

# Every operation is declared before one is looked up.
DECLARING = (catalogue, Tensor, nn)
OPERATION = "dispatchkit.declare.typing.Operation"
SCALARS = frozenset({"builtins.bool", "builtins.int", "builtins.float", "builtins.complex"})
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
# Where mypy keeps the statements in a statement.
PARTS = ("func", "defs", "body", "items", "impl", "handlers", "bodies", "else_body", "finally_body")


@dataclass(frozen=True)
class Target:
    """An overridable function.

    Attributes
    ----------
    shown : how messages name it
    parameters : its signature
    is_declared : whether `dk.operation` declares it in the program: which parameters are arrays is not known then
    """

    shown: str
    parameters: Parameters
    is_declared: bool = False

    def __repr__(self) -> str:
        return f"<operation {self.shown}>"


class ModuleHandlers:
    """The handlers that a module registers; its array types get their surface.

    Parameters
    ----------
    tree : the module
    find : finds the node of a full name
    """

    def __init__(self, tree: nodes.MypyFile, find: Find) -> None:
        self.find = find
        # What registering calls register, by the id of the call.
        self.registered: dict[int, FuncDef | Expression] = {}
        for node in _walk(tree):
            match node:
                case nodes.ClassDef() if any(map(_is_array_type, node.decorators)):
                    give_surface(node.info, find)
                case Decorator():
                    self.registered.update((id(call), node.func) for call in node.original_decorators)
                case nodes.AssignmentStmt(rvalue=CallExpr() as call) | nodes.ExpressionStmt(expr=CallExpr() as call):
                    if call.args:  # as in ``implements(operation, Type)(handler)``
                        self.registered[id(call.callee)] = call.args[0]

    def complaints(self, call: Context) -> list[tuple[Context, str]]:
        """Return what is wrong with the handler that a call of `implements` registers, and where."""
        place = self.registered.get(id(call))
        if isinstance(place, RefExpr):
            function = _function_of(place.node)
        else:
            function = _function_of(place)
        target = None
        if isinstance(call, CallExpr) and call.args:
            target = self._target(call.args[0])
        if place is None or function is None or target is None or not isinstance(call, CallExpr):
            return []
        faults, remarks = departures(_signature_of(function), target.parameters)
        if faults:
            return [(place, never_called(function.name, target.shown, target.parameters, faults))]
        types = [_class(arg) for name, arg in zip(call.arg_names, call.args, strict=True) if name is None][1:]
        fault = _fault_of_types(function, target, types)
        if fault:
            texts = [fault]
        else:
            texts = [f"{function.name} for {target.shown}: {remark}" for remark in remarks]
        return [(place, text) for text in texts]

    def _target(self, expr: Expression) -> Target | None:
        """Return the overridable function that an expression is, None where it is not known."""
        if not isinstance(expr, RefExpr):
            return None
        owner = None
        if isinstance(expr, MemberExpr) and isinstance(expr.expr, RefExpr):
            owner = expr.expr.node
        module, _, name = expr.fullname.rpartition(".")
        if isinstance(owner, TypeInfo) and owner.has_base(METHODS) and isinstance(expr, MemberExpr):
            entry = tensor_protocol.surface.members.get(expr.name)
            operation = None
            if entry is not None:
                operation = entry.operation
        else:
            operation = None
            if module.startswith("dispatchkit."):
                operation = of(getattr(sys.modules.get(module), name, None))
        if operation is not None:
            return Target(operation.qualified_name, operation.parameters)
        node = self.find(expr.fullname)
        function, typ = _function_of(node), None
        if isinstance(node, Decorator):
            typ = get_proper_type(node.var.type)
        if function is None or typ is None:
            return None
        if isinstance(typ, Instance) and typ.type.has_base(OPERATION):
            shown = f"{function.fullname.partition('.')[0]}.{function.name}"
            return Target(shown, Parameters(_signature_of(function, skip=1)), is_declared=True)
        return Target(function.fullname, Parameters(_signature_of(function)))


def _walk(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield a statement and those in it."""
    yield node
    for name in PARTS:
        part = getattr(node, name, None)
        if isinstance(part, list):
            members = part
        else:
            members = [part]
        for inner in members:
            if isinstance(inner, nodes.Node):
                yield from _walk(inner)


def _is_array_type(decorator: Expression) -> bool:
    """Return whether a decorator is the method of the library's protocol, which mypy has no name for."""
    callee = None
    if isinstance(decorator, CallExpr):
        callee = decorator.callee
    owner = None
    if isinstance(callee, MemberExpr) and callee.name == "array_type":
        owner = callee.expr
    return isinstance(owner, RefExpr) and owner.fullname == "dispatchkit.protocol.instance.tensor_protocol"


def _signature_of(function: FuncDef, skip: int = 0) -> inspect.Signature:
    """Return a function's signature as `inspect` would; a default that is not written out is ``...``."""
    typ = function.type
    if isinstance(typ, CallableType):
        bare = typ.arg_names
    else:
        bare = function.arg_names
    # Not there for a function that mypy has read from its cache.
    arguments: Sequence[nodes.Argument] = getattr(function, "arguments", ())
    parameters: list[inspect.Parameter] = []
    for index, (name, kind) in enumerate(zip(function.arg_names, function.arg_kinds, strict=True)):
        argument = None
        if arguments:
            argument = arguments[index]
        absolute = kind.is_positional() and (bare[index] is None or (argument is not None and argument.pos_only))
        default: Any = inspect.Parameter.empty
        if kind.is_optional():
            initializer = None
            if argument is not None:
                initializer = argument.initializer
            default = _literal(initializer)
        form: Any = PARAMETER_KINDS.get(kind.name, PLACED)
        if absolute:
            form = inspect.Parameter.POSITIONAL_ONLY
        # mypy keeps the names of positional-only parameters in the code alone.
        if argument is None:
            written = f"_{index}"
        else:
            written = argument.variable.name
        parameters.append(inspect.Parameter(name or written, form, default=default))
    return inspect.Signature(parameters[skip:])


def _literal(written: Expression | None) -> Any:
    """Return the value that is written out, ``...`` for one that has to be computed."""
    if isinstance(written, nodes.NameExpr) and written.name == "None":
        return None
    if isinstance(written, nodes.TupleExpr):
        items = tuple(map(_literal, written.items))
        if ... in items:
            return ...
        return items
    value = None
    if written is not None:
        value = constant_fold_expr(written, "")
    if value is None:
        return ...
    return value


def _fault_of_types(function: FuncDef, target: Target, types: list[TypeInfo | None]) -> str | None:
    """Return what is wrong with the types that a handler is for, None for what is right or not known.

    Parameters
    ----------
    function : the handler
    target : the overridable function
    types : that the registering call gives, None for one that is not known; by default the annotations say them
    """
    count = len(target.parameters.arrays)
    choices = [[cls] for cls in types] or _annotation_classes(function, target.parameters)
    if types and None in types:
        return None
    if all(cls is None or _is_plain(cls) for choice in choices for cls in choice):
        return no_own_type(function.name, ["any" if cls is None else cls.name for cls, *_ in choices])
    if target.is_declared or count == 1 or len(choices) in (1, count):
        return None
    return wrong_count(len(choices), target, count)


def _is_plain(info: TypeInfo) -> bool:
    """Return whether a class is that of plain arrays, of what is in NumPy, or of scalars: none of a user's own."""
    return info.fullname == TENSOR or info.fullname in SCALARS or info.fullname.startswith("numpy.")


def _annotation_classes(function: FuncDef, parameters: Parameters) -> list[list[TypeInfo | None]]:
    """Return the classes that a handler's annotations name for each array parameter; None stands for any."""
    typ = function.type
    hints: Sequence[Type | None]
    if isinstance(typ, CallableType):
        hints = typ.arg_types
    else:
        hints = [None] * len(function.arg_names)
    named = dict(zip(function.arg_names, hints, strict=True))
    placed: dict[int | None, Type | None] = dict(
        enumerate(hint for hint, kind in zip(hints, function.arg_kinds, strict=True) if not kind.is_named())
    )
    return [_classes_of(placed.get(p.position, named.get(p.name)), p.form) or [None] for p in parameters.arrays]


def _classes_of(typ: Type | None, form: Form) -> list[TypeInfo | None]:
    """Return the classes that a type names, for parameters that take several arrays those of its members.

    None stands for any class, and for what names none.
    """
    hint = None
    if typ is not None:
        hint = get_proper_type(typ)
    parts: Sequence[Type]
    match hint:
        case mypy_types.NoneType() | mypy_types.UninhabitedType():
            return []
        case mypy_types.LiteralType():
            return [hint.fallback.type]
        case mypy_types.TypeVarType():
            parts = hint.values or [hint.upper_bound]
        case mypy_types.TupleType() if form is Form.ONE:
            return [hint.partial_fallback.type]
        case mypy_types.UnionType() | mypy_types.TupleType():
            parts = hint.items
        case Instance() if form is not Form.ONE and hint.type.fullname in SEQUENCES:
            parts = hint.args
        case Instance() if hint.type.fullname != "builtins.object":
            return [hint.type]
        case _:
            return [None]
    return [cls for part in parts for cls in _classes_of(part, form)]


def _class(expr: Expression) -> TypeInfo | None:
    """Return the class that an expression names, C of a variable annotated ``type[C]``; None where it is not known."""
    node = None
    if isinstance(expr, RefExpr):
        node = expr.node
    declared = None
    if isinstance(node, nodes.Var):
        declared = get_proper_type(node.type)
    if isinstance(declared, TypeType) and isinstance(declared.item, Instance):
        return declared.item.type
    if isinstance(node, TypeInfo):
        return node
    return None


def _function_of(node: object) -> FuncDef | None:
    """Return the function that a name stands for, without its decorators; None for a lambda and what is not known."""
    function = node
    if isinstance(node, Decorator):
        function = node.func
    if isinstance(function, FuncDef):
        return function
    return None
