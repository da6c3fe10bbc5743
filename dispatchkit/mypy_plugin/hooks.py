"""`DispatchPlugin`: what mypy asks of the plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mypy import plugin
from mypy.argmap import map_actuals_to_formals
from mypy.errorcodes import ErrorCode
from mypy.lookup import lookup_fully_qualified
from mypy.nodes import (
    ARG_NAMED_OPT,
    ARG_STAR,
    ARG_STAR2,
    CallExpr,
    Expression,
    MemberExpr,
    MypyFile,
    NameExpr,
    SymbolNode,
)
from mypy.types import AnyType, FunctionLike, Instance, Parameters, Type, TypeOfAny, get_proper_type

from dispatchkit.marks import override
from dispatchkit.mypy_plugin.handlers import OPERATION, ModuleHandlers
from dispatchkit.mypy_plugin.surface import SURFACE, TENSOR, give_surface
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.surface import REFLECTED

BINARY = frozenset({*REFLECTED, *REFLECTED.values()})
CREATION = "dispatchkit.declare.typing.Creation"
# What the functions that make arrays take, too.
FURTHER = ["requires_grad", "like"]
# It answers its first argument alone by another operation.
WHERE = "dispatchkit.ops.searching.searching.where"
# A member of every array that no class defines itself.
MEMBER = "__array_namespace__"
METHOD = tensor_protocol.method
ANYTHING = [ARG_STAR, ARG_STAR2]
PARAMETER = "dispatchkit.nn.parameter.Parameter"
ARRAY_TYPE = "dispatchkit.protocol.functions.array_type"
HANDLER = ErrorCode("handler", "A handler that does not fit its operation", "dispatchkit")


class DispatchPlugin(plugin.Plugin):
    """The plugin, made by mypy for each run."""

    # The module that is being checked, and its handlers.
    _module: tuple[MypyFile, ModuleHandlers] | None = None

    def _find(self, fullname: str) -> SymbolNode | None:
        """Return the node of a full name, None if there is none."""
        symbol = lookup_fully_qualified(fullname, self._modules or {})
        if symbol is None:
            return None
        return symbol.node

    @override
    def get_class_decorator_hook_2(self, fullname: str) -> Callable[[plugin.ClassDefContext], bool] | None:
        if fullname == ARRAY_TYPE:
            return self._array_type
        return None

    def _array_type(self, ctx: plugin.ClassDefContext) -> bool:
        give_surface(ctx.cls.info, self._find)
        return True

    @override
    def get_function_hook(self, fullname: str) -> Callable[[plugin.FunctionContext], Type] | None:
        if fullname.endswith(".implements"):
            return self._implements
        if fullname == PARAMETER:
            return _parameter
        return None

    @override
    def get_method_hook(self, fullname: str) -> Callable[[plugin.MethodContext], Type] | None:
        owner, _, name = fullname.rpartition(".")
        if name in ("implements", "array_type"):
            return self._implements
        if owner.startswith("numpy.") and name in BINARY:
            return _raw_operator
        return None

    @override
    def get_method_signature_hook(self, fullname: str) -> Callable[[plugin.MethodSigContext], FunctionLike] | None:
        if fullname in (f"{OPERATION}.__call__", f"{CREATION}.__call__"):
            return _call
        return None

    def _implements(self, ctx: plugin.FunctionContext | plugin.MethodContext) -> Type:
        """Report what is wrong with a handler; the module's array types have their methods from here on."""
        tree: MypyFile = ctx.api.tree  # type: ignore[attr-defined]  # of the type checker
        if self._module is None or self._module[0] is not tree:
            self._module = (tree, ModuleHandlers(tree, self._find))
        for place, text in self._module[1].complaints(ctx.context):
            ctx.api.fail(text, place, code=HANDLER)
        return ctx.default_return_type


def _call(ctx: plugin.MethodSigContext) -> FunctionLike:
    """Report a call whose number or names of arguments do not fit an operation, in place of all overloads of it.

    A call that fits gives anything where it passes array types or NumPy's arrays: overloads know some of their places.
    """
    call, overload = ctx.context, ctx.default_signature
    signature = None
    if isinstance(ctx.type, Instance):
        signature = get_proper_type(ctx.type.args[0])
    if not isinstance(call, CallExpr) or not isinstance(signature, Parameters) or signature.arg_kinds == ANYTHING:
        return overload
    free = AnyType(TypeOfAny.special_form)
    name = None
    if isinstance(call.callee, NameExpr | MemberExpr):
        name = call.callee
    further = []
    if isinstance(ctx.type, Instance) and ctx.type.type.fullname == CREATION:
        further = FURTHER
    shown = None
    if name is not None:
        shown = name.name
    expected = overload.copy_modified(
        arg_types=[free] * (len(signature.arg_types) + len(further)),
        arg_kinds=[*signature.arg_kinds, *(ARG_NAMED_OPT for _ in further)],
        arg_names=[*signature.arg_names, *further],
        name=shown,
        definition=None,
    )
    api: Any = ctx.api  # of the type checker
    types = [_type_of(api, arg) for arg in call.args]
    kinds, names = call.arg_kinds, call.arg_names
    places = map_actuals_to_formals(kinds, names, expected.arg_kinds, expected.arg_names, types.__getitem__)
    is_index = name is not None and name.fullname == WHERE and len(call.args) == 1
    is_raw = not further and any(isinstance(typ, Instance) and typ.type.fullname == "numpy.ndarray" for typ in types)
    is_known = not (is_index or is_raw or ARG_STAR in kinds or any(map(_is_other_array, types)))
    if (is_index or api.expr_checker.check_argument_count(expected, types, kinds, names, places, call)) and is_known:
        return overload
    return overload.copy_modified(
        arg_types=[free, free], arg_kinds=ANYTHING, arg_names=[None, None], ret_type=free, variables=[]
    )


def _array_of(typ: Type) -> Instance | None:
    """Return the type of a tensor or array type, None for any other."""
    typ = get_proper_type(typ)
    owner = None
    if isinstance(typ, Instance):
        owner = typ.type.get_containing_type_info(MEMBER)
    # It comes from the decorator, or is inherited.
    is_array = owner is not None and (owner.module_name == SURFACE or owner.names[MEMBER].plugin_generated)
    if isinstance(typ, Instance) and is_array:
        return typ
    return None


def _type_of(api: Any, argument: Expression) -> Type:
    """Return the type of an argument, which is inferred unless it is known."""
    if api.has_type(argument):
        known: Type = api.lookup_type(argument)
        return known
    inferred: Type = api.get_expression_type(argument)
    return inferred


def _is_other_array(typ: Type) -> bool:
    """Return whether a type is an array, but no tensor."""
    typ = get_proper_type(typ)
    if not isinstance(typ, Instance) or typ.type.has_base(TENSOR):
        return False
    return _array_of(typ) is not None or typ.type.has_readable_member(METHOD)


def _first_argument(ctx: plugin.FunctionContext | plugin.MethodContext) -> Instance | None:
    """Return the type of the first argument of a call if it is a tensor or array type."""
    if ctx.arg_types and ctx.arg_types[0]:
        return _array_of(ctx.arg_types[0][0])
    return None


def _raw_operator(ctx: plugin.MethodContext) -> Type:
    """Return the result of an operator of a NumPy array: a tensor or array type on its other side answers."""
    other = _first_argument(ctx)
    if other is None:
        return ctx.default_return_type
    if other.type.has_base(TENSOR):
        return other
    return AnyType(TypeOfAny.special_form)


def _parameter(ctx: plugin.FunctionContext) -> Type:
    """Return what `Parameter` makes: of an array type one of the same class."""
    data = _first_argument(ctx)
    if data is None or data.type.fullname == TENSOR:
        return ctx.default_return_type
    return data
