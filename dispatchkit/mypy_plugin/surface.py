"""The operators, methods and properties that a class gets, with the signatures of their operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from mypy.nodes import (
    ARG_NAMED,
    ARG_NAMED_OPT,
    ARG_OPT,
    ARG_POS,
    ARG_STAR,
    ARG_STAR2,
    MDEF,
    ArgKind,
    Argument,
    Block,
    Decorator,
    FuncDef,
    OverloadedFuncDef,
    SymbolNode,
    SymbolTableNode,
    TypeInfo,
    Var,
)
from mypy.types import AnyType, CallableType, Instance, Overloaded, Type, TypeOfAny
from mypy.typevars import fill_typevars

from dispatchkit.mypy_plugin.operations import ORDERED, PROPERTIES
from dispatchkit.protocol.callers import Member, method_signature
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable

Lookup = Callable[[str], SymbolNode | None]
Formal = tuple[str, ArgKind, Type, bool]

KINDS = {
    inspect.Parameter.VAR_POSITIONAL: (ARG_STAR, ARG_STAR),
    inspect.Parameter.VAR_KEYWORD: (ARG_STAR2, ARG_STAR2),
    inspect.Parameter.KEYWORD_ONLY: (ARG_NAMED, ARG_NAMED_OPT),
    inspect.Parameter.POSITIONAL_ONLY: (ARG_POS, ARG_OPT),
    inspect.Parameter.POSITIONAL_OR_KEYWORD: (ARG_POS, ARG_OPT),
}


def give_surface(info: TypeInfo, lookup: Lookup) -> None:
    """Give a class the members of the library's table that neither it nor a superclass defines.

    Parameters
    ----------
    info : the class
    lookup : finds the node of a full name
    """
    for member in tensor_protocol.surface:
        if _defined(info, member.name):
            continue
        if inspect.isdatadescriptor(member.value) and member.operation is None:
            _add_property(info, member.name, _any(), settable=True)
        elif member.operation is None:
            _add_function(info, member, lookup)
        elif member.name in PROPERTIES:
            _add_property(info, member.name, _any())
        else:
            _add_method(info, member, lookup)
    whole = _instance(lookup, "builtins.int")
    shape = _instance(lookup, "builtins.tuple").copy_modified(args=[whole])
    derived: dict[str, Type] = {"shape": shape, "dtype": _any(), "ndim": whole, "size": whole, "device": _any()}
    for name, typ in derived.items():
        if not _defined(info, name):
            _add_property(info, name, typ)


def _instance(lookup: Lookup, fullname: str) -> Instance:
    node = lookup(fullname)
    assert isinstance(node, TypeInfo)
    return Instance(node, [])


def _defined(info: TypeInfo, name: str) -> bool:
    return any(name in base.names for base in info.mro[:-1])


def _any() -> AnyType:
    return AnyType(TypeOfAny.explicit)


def _add_property(info: TypeInfo, name: str, typ: Type, *, settable: bool = False) -> None:
    var = Var(name, typ)
    var.info = info
    var.is_property = True
    var.is_settable_property = settable
    var._fullname = f"{info.fullname}.{name}"
    info.names[name] = SymbolTableNode(MDEF, var, plugin_generated=True)


def _add_function(info: TypeInfo, member: Member, lookup: Lookup) -> None:
    """Add a method that calls no single operation, such as `__len__`, as the function behind it is annotated."""
    function = lookup(f"{member.value.__module__}.{member.value.__qualname__}")
    typ = function.type if isinstance(function, FuncDef) else None
    if not isinstance(typ, CallableType):
        return
    formals = [
        (name or f"x{place}", kind, formal, name is None)
        for place, (name, kind, formal) in enumerate(zip(typ.arg_names, typ.arg_kinds, typ.arg_types, strict=True))
    ]
    made = _function(info, member.name, formals[1:], lookup, typ.ret_type)
    info.names[member.name] = SymbolTableNode(MDEF, made, plugin_generated=True)


def _add_method(info: TypeInfo, member: Member, lookup: Lookup) -> None:
    operation = member.operation
    assert operation is not None
    if member.name in ORDERED:
        formals: list[Formal] = [("other", ARG_POS, _any(), True)]
    else:
        formals = _formals(operation, lookup)[1:]
    functions = [_function(info, member.name, formals, lookup)]
    if member.varargs is not None:
        spread = [
            (name, ARG_STAR, _instance(lookup, "builtins.int"), False)
            if name == member.varargs
            else (name, BY_KEYWORD[kind], typ, False)
            for name, kind, typ, _ in formals
        ]
        functions.append(_function(info, member.name, spread, lookup))
    node: SymbolNode = functions[0] if len(functions) == 1 else _overloaded(info, functions)
    info.names[member.name] = SymbolTableNode(MDEF, node, plugin_generated=True)


BY_KEYWORD = {ARG_POS: ARG_NAMED, ARG_OPT: ARG_NAMED_OPT, ARG_NAMED: ARG_NAMED, ARG_NAMED_OPT: ARG_NAMED_OPT}


def _formals(operation: Overridable, lookup: Lookup) -> list[Formal]:
    """Return name, kind, type and whether it goes by position alone, of each parameter of a method."""
    arrays = {p.name for p in operation.parameters.arrays}
    written = _written(operation, lookup)
    found: list[Formal] = []
    for index, p in enumerate(method_signature(operation).parameters.values()):
        required, optional = KINDS[p.kind]
        kind = required if p.default is p.empty else optional
        typ = _any() if p.name in arrays or index >= len(written) else written[index]
        found.append((p.name, kind, typ, p.kind is p.POSITIONAL_ONLY))
    return found


def _written(operation: Overridable, lookup: Lookup) -> list[Type]:
    """Return the types of an operation's parameters as its body is annotated."""
    node = lookup(operation.place)
    body = node.func if isinstance(node, Decorator) else node
    if not isinstance(body, FuncDef) or not isinstance(body.type, CallableType):
        return []
    return body.type.arg_types[1:]


def _function(
    info: TypeInfo, name: str, formals: Sequence[Formal], lookup: Lookup, result: Type | None = None
) -> FuncDef:
    fallback = _instance(lookup, "builtins.function")
    own = fill_typevars(info)
    parts: list[Formal] = [("self", ARG_POS, own, True), *formals]
    names = [None if absolute else part for part, _, _, absolute in parts]
    types, kinds = [typ for _, _, typ, _ in parts], [kind for _, kind, _, _ in parts]
    arguments = [Argument(Var(part, typ), typ, None, kind, pos_only=absolute) for part, kind, typ, absolute in parts]
    for argument in arguments:
        argument.variable.info = info
    function = FuncDef(name, arguments, Block([]))
    function.info = info
    function.type = CallableType(types, kinds, names, result or _any(), fallback, name=f"{name} of {info.name}")
    function.type.definition = function
    function._fullname = f"{info.fullname}.{name}"
    function.line = info.line
    return function


def _overloaded(info: TypeInfo, functions: Sequence[FuncDef]) -> OverloadedFuncDef:
    items: list[Decorator | FuncDef] = []
    for function in functions:
        var = Var(function.name, function.type)
        var.info = info
        function.is_decorated = True
        item = Decorator(function, [], var)
        item.is_overload = True
        items.append(item)
    found = OverloadedFuncDef(items)
    found.info = info
    found._fullname = functions[0].fullname
    found.type = Overloaded([f.type for f in functions if isinstance(f.type, CallableType)])
    return found
