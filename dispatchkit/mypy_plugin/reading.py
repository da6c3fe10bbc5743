"""Reading the code of a module: which classes become array types, which functions operations or their handlers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mypy.nodes import (
    AssignmentStmt,
    Block,
    CallExpr,
    ClassDef,
    Context,
    Decorator,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    IfStmt,
    LambdaExpr,
    MatchStmt,
    MemberExpr,
    MypyFile,
    NameExpr,
    OpExpr,
    OverloadedFuncDef,
    RefExpr,
    ReturnStmt,
    Statement,
    StrExpr,
    SymbolNode,
    TryStmt,
    TupleExpr,
    TypeAlias,
    TypeInfo,
    Var,
    WhileStmt,
    WithStmt,
)
from mypy.types import CallableType, Instance, TypeType, get_proper_type

from dispatchkit.mypy_plugin import fit
from dispatchkit.mypy_plugin.annotations import annotated
from dispatchkit.mypy_plugin.facts import Declared, Facts, Rule, UserOperation
from dispatchkit.mypy_plugin.names import (
    FALLBACKS,
    INSTANCE,
    KINDS,
    METHODS,
    OPERATION_DECORATOR,
    PROTOCOL,
    TENSOR_PROTOCOL,
)
from dispatchkit.mypy_plugin.operations import Target, literal, member
from dispatchkit.mypy_plugin.surface import give_surface
from dispatchkit.protocol.callers import Member
from dispatchkit.protocol.fallbacks import STRATEGIES
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds

REGISTERING = ("implements", "array_type", "register_type", "overridable")


class ReadModules(Protocol):
    """What a reader asks of the modules that were read before."""

    def find(self, fullname: str, /) -> SymbolNode | None:
        """Return the node of a full name, None if there is none."""

    def declared_before(self, tree: MypyFile, /) -> set[str]:
        """Return the full names of the array types of the modules that a module imports."""

    def of_member(self, member: Member, /) -> Target | None:
        """Return the operation that a method calls."""

    def target(self, fullname: str, /) -> Target | None:
        """Return the operation that a variable or function is, None where it is none."""


class Reader:
    """Collects the facts of one module.

    Parameters
    ----------
    program : the modules read so far
    tree : the module
    facts : to fill
    """

    def __init__(self, program: ReadModules, tree: MypyFile, facts: Facts) -> None:
        self.program = program
        self.tree = tree
        self.facts = facts
        # What the variables of this module hold, whose types are not inferred yet: by full name.
        self.protocols: dict[str, str] = {TENSOR_PROTOCOL: tensor_protocol.method}
        self.aliases: dict[str, tuple[str, str]] = {}
        self.depth = 0

    # What is called: the name of the registering function, and the method of the protocol it belongs to.

    def registering(self, callee: Expression) -> tuple[str, str] | None:
        """Return which registering function an expression is, and of which protocol; None where it is none."""
        if not isinstance(callee, RefExpr):
            return None
        if callee.fullname == OPERATION_DECORATOR:
            return "operation", tensor_protocol.method
        if callee.fullname in self.aliases:
            return self.aliases[callee.fullname]
        module, _, name = callee.fullname.rpartition(".")
        if module == INSTANCE and name in REGISTERING:
            return name, tensor_protocol.method
        if isinstance(callee, MemberExpr) and callee.name in REGISTERING and isinstance(callee.expr, RefExpr):
            method = self._protocol(callee.expr)
            return None if method is None else (callee.name, method)
        return None

    def _protocol(self, expr: RefExpr) -> str | None:
        """Return the method of the protocol that a variable holds, "" where it is not known; None for others."""
        if expr.fullname in self.protocols:
            return self.protocols[expr.fullname]
        typ = None if not isinstance(expr.node, Var) or expr.node.type is None else get_proper_type(expr.node.type)
        if isinstance(typ, Instance) and any(base.fullname == PROTOCOL for base in typ.type.mro):
            return f"?{expr.fullname}"
        return None

    # The walk through the code, in order.

    def read(self, statements: Iterable[Statement]) -> None:
        """Collect the facts of statements, including nested ones."""
        for statement in statements:
            self._read_one(statement)

    def _read_one(self, statement: Statement) -> None:
        match statement:
            case ClassDef():
                self._read_class(statement)
                self.read(statement.defs.body)
            case Decorator():
                self._read_decorated(statement)
                self._read_body(statement.func)
            case FuncDef():
                self._read_body(statement)
            case OverloadedFuncDef():
                self.read(item for item in (*statement.items, statement.impl) if item is not None)
            case AssignmentStmt():
                self._read_assignment(statement)
            case ExpressionStmt(expr=CallExpr()) | ReturnStmt(expr=CallExpr()):
                assert isinstance(statement.expr, CallExpr)
                self._read_call(statement.expr)
            case _:
                for block in _blocks(statement):
                    self.read(block.body)

    def _read_body(self, function: FuncDef) -> None:
        self.depth += 1
        self.read(function.body.body)
        self.depth -= 1

    def _read_assignment(self, o: AssignmentStmt) -> None:
        """Record variables that hold protocols, or registering functions under another name."""
        if len(o.lvalues) == 1 and isinstance(o.lvalues[0], NameExpr):
            name, value = o.lvalues[0].fullname, o.rvalue
            if isinstance(value, CallExpr) and isinstance(value.callee, RefExpr) and value.callee.fullname == PROTOCOL:
                self.protocols[name] = f"?{name}"
            elif isinstance(value, RefExpr) and (found := self.registering(value)) is not None:
                self.aliases[name] = found
        if isinstance(o.rvalue, CallExpr):
            self._read_call(o.rvalue)

    # Classes.

    def _read_class(self, o: ClassDef) -> None:
        """Record a class that is decorated as an array type."""
        for decorator in o.decorators:
            if isinstance(decorator, CallExpr) and (found := self.registering(decorator.callee)) is not None:
                name, method = found
                if name == "array_type":
                    self._declare(o.info, decorator, "dense")
                    if method == tensor_protocol.method:
                        give_surface(o.info, self.program.find)

    def _declare(self, info: TypeInfo, call: CallExpr, dense: str) -> None:
        given = _keywords(call)
        fallback = given.get("fallback")
        self.facts.types[info.fullname] = Declared(
            None if fallback is None or _is_none(fallback) else self._fallback(fallback),
            dense in given,
            _number(literal(given.get("priority"))),
        )

    def _fallback(self, expr: Expression) -> list[str]:
        if isinstance(expr, OpExpr) and expr.op == "|":
            return [*self._fallback(expr.left), *self._fallback(expr.right)]
        held = expr.expr if isinstance(expr, MemberExpr) and expr.name in STRATEGIES else None
        if isinstance(expr, MemberExpr) and isinstance(held, RefExpr) and held.fullname == FALLBACKS:
            return [expr.name]
        return ["?"]

    # Functions.

    def _read_decorated(self, o: Decorator) -> None:
        """Record what the decorators of a function make it, the innermost first."""
        for decorator in reversed(o.original_decorators):
            call = decorator if isinstance(decorator, CallExpr) else None
            found = self.registering(decorator if call is None else call.callee)
            if found is None:
                continue
            name, method = found
            if name in ("operation", "overridable"):
                self._note_operation(o.func, call, name == "operation", method)
            elif name == "implements" and call is not None and call.args:
                self._register(call, o.func, o.func)

    def _read_call(self, o: CallExpr) -> None:
        """Record what is registered by a call: ``implements(operation, Type)(handler)``."""
        if isinstance(o.callee, CallExpr) and len(o.args) == 1:
            found = self.registering(o.callee.callee)
            if found is not None and found[0] == "implements" and o.callee.args:
                self._register(o.callee, o.args[0], o.args[0])
        else:
            found = self.registering(o.callee)
            if found is not None and found[0] == "register_type" and o.args:
                info = _class(o.args[0])
                if info is not None:
                    self._declare(info, o, "to_dense")

    def _note_operation(self, function: FuncDef, call: CallExpr | None, declared: bool, method: str) -> None:
        given = {} if call is None else _keywords(call)
        kind = given.get("kind")
        named = given.get("arrays")
        arrays = None
        if isinstance(named, TupleExpr):
            arrays = [item.value for item in named.items if isinstance(item, StrExpr)]
        name = "function" if kind is None else self.kind(kind) or ""
        self.facts.operations[function.fullname] = UserOperation(declared, name, arrays, method)

    def kind(self, expr: Expression) -> str | None:
        """Return the name of the kind that an expression is, None where it is none."""
        if isinstance(expr, MemberExpr) and isinstance(expr.expr, RefExpr) and expr.expr.fullname == KINDS:
            return expr.name if hasattr(kinds, expr.name) else None
        return None

    def target(self, expr: Expression) -> Target | None:
        """Return the operation that an expression is, None where it is not known."""
        if not isinstance(expr, RefExpr):
            return None
        if isinstance(expr, MemberExpr) and isinstance(expr.expr, RefExpr) and isinstance(expr.expr.node, TypeInfo):
            found = member(expr.name)
            if found is not None and any(base.fullname == METHODS for base in expr.expr.node.mro):
                return self.program.of_member(found)
        return self.program.target(expr.fullname)

    # Handlers.

    def _register(self, call: CallExpr, handler: FuncDef | Expression, where: Context) -> None:
        """Record a handler, and what is wrong with it."""
        function = handler if isinstance(handler, FuncDef) else _function(handler)
        kind, target = self.kind(call.args[0]), self.target(call.args[0])
        explicit = len(_positional(call)) > 1
        method = tensor_protocol.method if target is None else target.method
        declared = self.facts.types.keys() | self.program.declared_before(self.tree)
        found = self._signatures(call, function, kind, target)
        # Of the combinations of union members, those count that name a type besides plain arrays.
        signatures = [types for types in found if fit.own_types(types, declared, method)] or found[:1]
        fatal = False
        if target is not None and function is not None:
            complaints, fatal = fit.complaints(function, target)
            wrong = fit.complaints_of_types(function.name, target, signatures, explicit, declared)
            self.facts.complaints[id(call)] = [(where, text) for text in (*complaints, *wrong)]
            fatal = fatal or bool(wrong)
        if fatal:
            return
        key = f"kind:{kind}" if kind is not None else "?" if target is None else f"op:{target.key}"
        one = explicit or kind is not None or (target is not None and len(target.parameters.arrays) == 1)
        if not signatures:
            self._note_rule(Rule(key, None, False, ""), None)
        for types in signatures:
            names = [None if info is None else info.fullname for info in types]
            # What a function registers holds once it is called, and perhaps not for long: that can only be followed
            # for classes that the function defines as well.
            local = all("@" in info.fullname for info in fit.own_types(types, declared, method))
            name = "" if function is None or self.depth else function.fullname
            followed = function if self.depth == 0 or local else None
            self._note_rule(Rule(key, names, len(types) == 1 and one, name), followed)

    def _signatures(
        self, call: CallExpr, function: FuncDef | None, kind: str | None, target: Target | None
    ) -> list[list[TypeInfo | None]]:
        """Return the types that a handler is for, one signature for each choice; none where it is not known."""
        given = [_class(arg) for arg in _positional(call)[1:]]
        if given:
            return [] if None in given else [given]
        if function is None or (target is None and kind is None):
            return []
        return annotated(function, None if target is None else target.parameters)

    def _note_rule(self, rule: Rule, function: FuncDef | None) -> None:
        typ = None
        if function is not None and function.type is not None:
            typ = get_proper_type(function.type)
        if isinstance(typ, CallableType):
            self.facts.callables[len(self.facts.rules)] = typ
        self.facts.rules.append(rule)


def _blocks(statement: Statement) -> list[Block]:
    """Return the blocks inside a statement that is neither a class nor a function."""
    match statement:
        case Block():
            return [statement]
        case IfStmt():
            return [*statement.body, *([] if statement.else_body is None else [statement.else_body])]
        case ForStmt() | WhileStmt():
            return [statement.body, *([] if statement.else_body is None else [statement.else_body])]
        case WithStmt():
            return [statement.body]
        case TryStmt():
            others = [statement.else_body, statement.finally_body]
            return [statement.body, *statement.handlers, *(block for block in others if block is not None)]
        case MatchStmt():
            return statement.bodies
    return []


def _positional(call: CallExpr) -> list[Expression]:
    return [arg for name, arg in zip(call.arg_names, call.args, strict=True) if name is None]


def _keywords(call: CallExpr) -> dict[str, Expression]:
    return {name: arg for name, arg in zip(call.arg_names, call.args, strict=True) if name is not None}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _is_none(expr: Expression) -> bool:
    return isinstance(expr, NameExpr) and expr.name == "None"


def _class(expr: Expression) -> TypeInfo | None:
    """Return the class that an expression names, C of a variable annotated ``type[C]``; None where it is not known."""
    node: SymbolNode | None = expr.node if isinstance(expr, RefExpr) else None
    declared = get_proper_type(node.type) if isinstance(node, Var) and node.type is not None else None
    if isinstance(declared, TypeType) and isinstance(declared.item, Instance):
        return declared.item.type
    if isinstance(node, TypeAlias):
        target = get_proper_type(node.target)
        return target.type if isinstance(target, Instance) else None
    return node if isinstance(node, TypeInfo) else None


def _function(expr: Expression) -> FuncDef | None:
    """Return the function that an expression names, None for a lambda and what is not known."""
    if isinstance(expr, LambdaExpr) or not isinstance(expr, RefExpr):
        return None
    if isinstance(expr.node, Decorator):
        return expr.node.func
    return expr.node if isinstance(expr.node, FuncDef) else None
