"""Reading the code of a module: which classes get operators, which functions are operations or handlers, and faults."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mypy import nodes
from mypy import types as mypy_types
from mypy.constant_fold import constant_fold_expr
from mypy.nodes import CallExpr, Decorator, Expression, FuncDef, MemberExpr, RefExpr, SymbolNode, TypeInfo
from mypy.types import AnyType, CallableType, Instance, Type, TypeOfAny, TypeType, get_proper_type

from dispatchkit import catalogue, nn
from dispatchkit.protocol.callers import REFLECTED, Property
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.parameters import Form, Parameters
from dispatchkit.protocol.registration.annotations import departures, never_called, no_own_type, wrong_count
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
        case mypy_types.NoneType() | mypy_types.UninhabitedType():
            return []
        case mypy_types.LiteralType():
            return [hint.fallback]
        case mypy_types.TypeVarType():
            parts = hint.values or [hint.upper_bound]
        case mypy_types.TupleType() if form is Form.ONE:
            return [hint.partial_fallback]
        case mypy_types.UnionType() | mypy_types.TupleType():
            parts = hint.items
        case Instance() if form is not Form.ONE and hint.type.fullname in SEQUENCES:
            parts = hint.args
        case Instance() if hint.type.fullname != "builtins.object":
            return [hint]
        case _:
            return [None]
    return [instance for part in parts for instance in instances(part, form)]


SURFACE = "dispatchkit.tensor.surface"
METHODS = f"{SURFACE}.ArrayMethods"
ARRAY_TYPE_FUNCTION = "dispatchkit.protocol.functions.array_type"
OPERATIONS = ("dispatchkit.declare.typing.Operation", "dispatchkit.declare.typing.Creation")
CALLS = tuple(f"{name}.__call__" for name in OPERATIONS)
OPERATION_DECORATOR = "dispatchkit.declare.decorators.operation"
ARRAY_TYPE = (ARRAY_TYPE_FUNCTION, "dispatchkit.protocol.instance.tensor_protocol.array_type")
KINDS = "dispatchkit.protocol.kinds.kinds"
# What a class that supplies no shape and dtype takes from its dense form.
DERIVED = ("shape", "dtype", "ndim", "size", "device")
SCALARS = frozenset({"builtins.bool", "builtins.int", "builtins.float", "builtins.complex"})
# Where mypy keeps the statements in a statement.
PARTS = ("func", "defs", "body", "items", "impl", "handlers", "bodies", "else_body", "finally_body")
LIMIT = 64

Find = Callable[[str], SymbolNode | None]


@dataclass(frozen=True)
class Rule:
    """A registered handler.

    Attributes
    ----------
    target : the operation's key, ``"kind:"`` and a kind's name, or ``"?"`` where it is not known
    types : full names of classes, None for any; None where they are not known
    anywhere : whether the single type may stand in any position
    handler : full name of the function; "" where it has none that can be looked up
    """

    target: str
    types: list[str | None] | None
    anywhere: bool
    handler: str


@dataclass
class Facts:
    """What one module registers.

    Attributes
    ----------
    rules : the handlers
    complaints : what is wrong with the handlers of a registering call, by the id of its expression
    """

    rules: list[Rule] = field(default_factory=list)
    complaints: dict[int, list[tuple[nodes.Context, str]]] = field(default_factory=dict)


def is_plain(info: TypeInfo) -> bool:
    """Return whether a class is that of plain arrays, of what is in NumPy, or of scalars: none of a user's own."""
    return info.fullname == TENSOR or info.fullname in SCALARS or info.fullname.startswith("numpy.")


class Reader:
    """Collects the facts of one module.

    Parameters
    ----------
    find : finds the node of a full name
    look_up : finds the operation of a full name
    facts : to fill
    """

    def __init__(self, find: Find, look_up: Callable[[str], Target | None], facts: Facts) -> None:
        self.find = find
        self.look_up = look_up
        self.facts = facts

    def read(self, tree: nodes.MypyFile) -> None:
        """Collect what the statements of a module register, including nested ones."""
        for node in walk(tree):
            match node:
                case nodes.ClassDef():
                    if any(isinstance(d, CallExpr) and _full_name(d.callee) in ARRAY_TYPE for d in node.decorators):
                        give_surface(node.info, self.find)
                case Decorator():
                    for call in node.original_decorators:
                        if isinstance(call, CallExpr) and call.args and _full_name(call.callee).endswith(".implements"):
                            self._register(call, node.func)
                case nodes.AssignmentStmt(rvalue=CallExpr() as call) | nodes.ExpressionStmt(expr=CallExpr() as call):
                    inner = call.callee  # as in ``implements(operation, Type)(handler)``
                    if isinstance(inner, CallExpr) and inner.args and _full_name(inner.callee).endswith(".implements"):
                        self._register(inner, call.args[0])

    def _target(self, expr: Expression) -> Target | None:
        """Return the operation that an expression is, None where it is not known."""
        if not isinstance(expr, RefExpr):
            return None
        owner = expr.expr.node if isinstance(expr, MemberExpr) and isinstance(expr.expr, RefExpr) else None
        if isinstance(owner, TypeInfo) and owner.has_base(METHODS) and isinstance(expr, MemberExpr):
            return member_target(expr.name)
        return self.look_up(expr.fullname)

    def _register(self, call: CallExpr, handler: FuncDef | Expression) -> None:
        """Record a handler, and what is wrong with it."""
        function = function_of(handler.node if isinstance(handler, RefExpr) else handler)
        kind, target = _kind(call.args[0]), self._target(call.args[0])
        types = [_class(arg) for name, arg in zip(call.arg_names, call.args, strict=True) if name is None][1:]
        signatures: list[list[TypeInfo | None]] = []
        if types:
            signatures = [] if None in types else [types]
        elif function is not None and (target is not None or kind is not None):
            signatures = annotated(function, None if target is None else target.parameters)
        # Of the combinations of union members, those count that name a type besides plain arrays.
        signatures = [signature for signature in signatures if _names_own_type(signature)] or signatures[:1]
        if target is not None and function is not None:
            complaints, fatal = _complaints(function, target, signatures)
            self.facts.complaints[id(call)] = [(handler, text) for text in complaints]
            if fatal:
                return
        key = f"kind:{kind}" if kind is not None else "?" if target is None else target.key
        # Of a name that is given again, mypy knows one function.
        named = function is not None and function_of(self.find(function.fullname)) is function
        name = function.fullname if function is not None and named and key != "?" else ""
        count = None if target is None else len(target.parameters.arrays)
        for signature in signatures:
            anywhere = len(signature) == 1 and (bool(types) or kind is not None or count == 1)
            names = [None if info is None else info.fullname for info in signature]
            known = anywhere or count is None or len(names) == count
            self.facts.rules.append(Rule(key, names if known else None, anywhere, name))
        if not signatures:
            self.facts.rules.append(Rule(key, None, False, name))


def walk(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield a statement and those in it."""
    yield node
    for name in PARTS:
        part = getattr(node, name, None)
        for inner in part if isinstance(part, list) else [part]:
            if isinstance(inner, nodes.Node):
                yield from walk(inner)


def give_surface(info: TypeInfo, find: Find) -> None:
    """Give a class the members of `ArrayMethods` that neither it nor a superclass defines."""
    defined = {name for base in info.mro[:-1] for name in base.names}
    for source, names in ((METHODS, None), (TENSOR, DERIVED)):
        members = find(source)
        assert isinstance(members, TypeInfo)
        for name in members.names if names is None else names:
            node = members.names[name].node
            if isinstance(node, nodes.OverloadedFuncDef) and node.is_property:
                # Of a property that can be set, mypy checks that it is the class's own.
                node = nodes.Var(name, AnyType(TypeOfAny.explicit))
                node.info, node._fullname = info, f"{info.fullname}.{name}"
                node.is_property = node.is_settable_property = True
            if name not in defined:
                info.names[name] = nodes.SymbolTableNode(nodes.MDEF, node, plugin_generated=True)


def annotated(function: FuncDef, parameters: Parameters | None) -> list[list[TypeInfo | None]]:
    """Return the signatures that a handler's annotations declare, unions expanded; None stands for any type.

    Parameters
    ----------
    function : the handler
    parameters : of the operation; None for the handler of a kind
    """
    typ = function.type
    hints: Sequence[Type | None] = typ.arg_types if isinstance(typ, CallableType) else [None] * len(function.arg_names)
    if parameters is None:
        positional = [h for h, kind in zip(hints, function.arg_kinds, strict=True) if kind.is_positional()][1:]
        said = [hint for hint in positional if not isinstance(get_proper_type(hint), AnyType | None)]
        choices = [instances(hint, Form.ONE) or [None] for hint in said or positional[:1] or [None]]
    else:
        named = dict(zip(function.arg_names, hints, strict=True))
        placed: dict[int | None, Type | None] = dict(
            enumerate(hint for hint, kind in zip(hints, function.arg_kinds, strict=True) if not kind.is_named())
        )
        choices = [instances(placed.get(p.position, named.get(p.name)), p.form) or [None] for p in parameters.arrays]
    signatures = itertools.islice(itertools.product(*choices), LIMIT)
    return [[None if instance is None else instance.type for instance in signature] for signature in signatures]


def _names_own_type(signature: Sequence[TypeInfo | None]) -> bool:
    return any(info is not None and not is_plain(info) for info in signature)


def _complaints(
    function: FuncDef, target: Target, signatures: Sequence[Sequence[TypeInfo | None]]
) -> tuple[list[str], bool]:
    """Return what is wrong with a handler, in the words that `implements` uses, and whether it is refused for it."""
    faults, remarks = departures(signature_of(function), target.parameters)
    if faults:
        return [never_called(function.name, target.shown, target.parameters, faults)], True
    count = len(target.parameters.arrays)
    for signature in signatures[:1]:
        if not _names_own_type(signature):
            shown = ["any" if info is None else info.name for info in signature]
            return [no_own_type(function.name, shown)], True
        if count != 1 and len(signature) not in (1, count):
            return [wrong_count(len(signature), target, count)], True
    return [f"{function.name} for {target.shown}: {remark}" for remark in remarks], False


def _full_name(expr: Expression) -> str:
    """Return the full name of what an expression stands for, of an attribute that of its owner with its own."""
    if isinstance(expr, MemberExpr) and isinstance(expr.expr, RefExpr) and not expr.fullname:
        return f"{expr.expr.fullname}.{expr.name}"
    return expr.fullname if isinstance(expr, RefExpr) else ""


def _kind(expr: Expression) -> str | None:
    """Return the name of the kind that an expression is, None where it is none."""
    owner, _, name = _full_name(expr).rpartition(".")
    return name if owner == KINDS and hasattr(kinds, name) else None


def is_operation(node: object) -> bool:
    """Return whether a name stands for an operation that `dk.operation` declares."""
    if not isinstance(node, Decorator):
        return False
    typ = get_proper_type(node.var.type)  # which mypy infers only after modules are read
    names = [_full_name(d.callee if isinstance(d, CallExpr) else d) for d in node.original_decorators]
    return OPERATION_DECORATOR in names or (isinstance(typ, Instance) and typ.type.fullname in OPERATIONS)


def _class(expr: Expression) -> TypeInfo | None:
    """Return the class that an expression names, C of a variable annotated ``type[C]``; None where it is not known."""
    node = expr.node if isinstance(expr, RefExpr) else None
    declared = get_proper_type(node.type) if isinstance(node, nodes.Var) else None
    if isinstance(declared, TypeType) and isinstance(declared.item, Instance):
        return declared.item.type
    return node if isinstance(node, TypeInfo) else None


def function_of(node: object) -> FuncDef | None:
    """Return the function that a name stands for, without its decorators; None for a lambda and what is not known."""
    function = node.func if isinstance(node, Decorator) else node
    return function if isinstance(function, FuncDef) else None
