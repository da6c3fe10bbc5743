"""Calls of operations, operators, methods and properties: their arguments checked, their results found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

from mypy.argmap import map_actuals_to_formals
from mypy.nodes import (
    ARG_NAMED_OPT,
    ARG_POS,
    ARG_STAR,
    ARG_STAR2,
    CallExpr,
    Context,
    Expression,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    RefExpr,
    TempNode,
    TupleExpr,
)
from mypy.operators import op_methods
from mypy.plugin import AttributeContext, FunctionContext, MethodContext, MethodSigContext
from mypy.typeops import make_simplified_union
from mypy.types import AnyType, CallableType, FunctionLike, Instance, Parameters, Type, TypeType, get_proper_type

from dispatchkit.errors import ForeignArgumentError, NoImplementationError
from dispatchkit.mypy_plugin.arguments import Entry, Role, combinations
from dispatchkit.mypy_plugin.dispatch import Call, unknown
from dispatchkit.mypy_plugin.fit import takes_part
from dispatchkit.mypy_plugin.names import CALL, TENSOR
from dispatchkit.mypy_plugin.operations import ORDERED, REVERSED, Target, member, mentions_tensor
from dispatchkit.mypy_plugin.program import Program
from dispatchkit.protocol.callers import REFLECTED
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.parameters import ArrayParameter, Form

Given = tuple[ArrayParameter, list[Type]]

# Operations that answer their first argument alone by another one.
ALONE = frozenset({"dispatchkit.where"})


class Calls:
    """Answers mypy's questions about calls.

    Parameters
    ----------
    program : the analysed program
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        # The call whose first overload was seen last, and its result.
        self._seen: tuple[Context | None, Type] = (None, unknown())

    # Functions: ``dk.add(x1, x2)`` calls an object of the type `Operation`.

    def operation(self, ctx: MethodSigContext) -> FunctionLike:
        """Check a call of an operation against its signature, and give the call its result.

        `Operation` has overloads: its own signature, and others so that numbers and array types pass for those who do
        without the plugin. mypy asks for one after the other; all become what was found for the first.
        """
        bound, call = ctx.default_signature, ctx.context
        if not isinstance(call, CallExpr) or bound.param_spec() is not None:
            return bound
        own = get_proper_type(ctx.type.args[0]) if isinstance(ctx.type, Instance) else None
        takes_anything = bound.arg_kinds == [ARG_STAR, ARG_STAR2]
        if isinstance(own, Parameters) and bound.arg_types == own.arg_types and not takes_anything:
            self._seen = (call, self._checked(ctx.api, bound, call))
        seen, result = self._seen
        if seen is not call:
            return bound
        free = unknown()
        return bound.copy_modified(
            arg_types=[free, free], arg_kinds=[ARG_STAR, ARG_STAR2], arg_names=[None, None], ret_type=result
        )

    def _checked(self, api: Any, bound: CallableType, call: CallExpr) -> Type:
        callee = call.callee
        target = self.program.target(callee.fullname) if isinstance(callee, RefExpr) else None
        if target is not None and target.key in ALONE and len(call.args) == 1:
            return unknown()
        bare = _relaxed(bound, target)
        if isinstance(callee, (NameExpr, MemberExpr)):
            bare = bare.copy_modified(name=callee.name, definition=None)
        with api.msg.filter_errors(save_filtered_errors=True) as errors:
            api.expr_checker.check_call(bare, call.args, call.arg_kinds, call, call.arg_names)
        if errors.has_new_errors():
            api.msg.add_errors(errors.filtered_errors())
            return unknown()
        formals = map_actuals_to_formals(
            call.arg_kinds, call.arg_names, bare.arg_kinds, bare.arg_names, lambda i: _type_of(api, call.args[i])
        )
        if any(kind in (ARG_STAR, ARG_STAR2) for kind in call.arg_kinds):
            return unknown()
        if target is None:
            return self._of_any_operation(api, bound, call, formals)
        given: list[Given] = []
        for p in target.parameters.arrays:
            place = list(target.parameters.signature.parameters).index(p.name)
            given.append((p, [t for actual in formals[place] for t in _members(api, p.form, call.args[actual])]))
        named = [name for name in call.arg_names if name is not None]
        count = len(call.args) - len(named)
        return self.result(api, target, bound.ret_type, given, named, count, call)

    def _of_any_operation(self, api: Any, bound: CallableType, call: CallExpr, formals: list[list[int]]) -> Type:
        """Return the result of an operation that is only known by its signature: plain on plain tensors."""
        given: list[Type] = []
        for typ, actuals in zip(bound.arg_types, formals, strict=False):
            if mentions_tensor(typ) or isinstance(get_proper_type(typ), AnyType):
                given += [t for actual in actuals for t in _members(api, Form.LOOSE, call.args[actual])]
        key = combinations([(Form.SEQUENCE, given)], (), tensor_protocol.method)
        plain = key is not None and all(
            a.role in (Role.PLAIN, Role.NONE) for entries in key for e in entries for a in e
        )
        return bound.ret_type if plain else unknown()

    # Methods, operators and properties of array types: generated, so their signatures are checked by mypy itself.

    def method(self, ctx: MethodContext, name: str) -> Type:
        """Return the result of a method or operator that views an operation."""
        found = member(name)
        target = None if found is None else self.program.of_member(found)
        if target is None or isinstance(get_proper_type(ctx.type), FunctionLike | TypeType):
            return ctx.default_return_type  # also of a class, as in ``Tensor | None``
        plain = self.program.annotated_result(target)
        if plain is None:
            return ctx.default_return_type
        if any(kind in (ARG_STAR, ARG_STAR2) for kinds in ctx.arg_kinds for kind in kinds):
            return unknown()
        given: list[Given] = []
        arguments: list[list[Type]] = [[ctx.type], *ctx.arg_types]
        if name in REVERSED:
            arguments.reverse()
        written: list[list[Expression] | None] = [None, *ctx.args]
        signature = list(target.parameters.signature.parameters)
        for p in target.parameters.arrays:
            place = signature.index(p.name)
            types = arguments[place] if place < len(arguments) else []
            if name not in ORDERED and p.form is Form.SEQUENCE and place < len(written) and written[place]:
                types = [t for arg in written[place] or () for t in _members(ctx.api, p.form, arg)]
            given.append((p, types))
        named, count = [], 1
        for p_name, actuals in zip(signature[1:], ctx.arg_types, strict=False):
            parameter = target.parameters.signature.parameters[p_name]
            if actuals and parameter.kind is parameter.POSITIONAL_ONLY:
                count += 1
            elif actuals:
                named.append(p_name)
        return self.result(ctx.api, target, plain, given, named, count, ctx.context, name)

    def raw_operator(self, ctx: MethodContext, name: str) -> Type:
        """Return the result of an operator of a NumPy array: a tensor or array type on its other side answers."""
        tree: MypyFile = ctx.api.tree  # type: ignore[attr-defined]  # of the type checker
        asked = self.program.view(tree.fullname).asked
        for typ in ctx.arg_types[0] if ctx.arg_types else ():
            other = get_proper_type(typ)
            if isinstance(other, Instance) and takes_part(other.type, asked, tensor_protocol.method):
                return self.method(ctx, name)
        return ctx.default_return_type

    def attribute(self, ctx: AttributeContext, name: str) -> Type:
        """Return the type of a property that views an operation."""
        found = member(name)
        target = None if found is None else self.program.of_member(found)
        plain = None if target is None else self.program.annotated_result(target)
        if target is None or plain is None:
            return ctx.default_attr_type
        given: list[Given] = [(p, [ctx.type]) for p in target.parameters.arrays]
        return self.result(ctx.api, target, plain, given, (), 1, ctx.context)

    # Functions made overridable.

    def function(self, ctx: FunctionContext, target: Target) -> Type:
        """Return the result of a function made overridable."""
        given: list[Given] = []
        names = list(target.parameters.signature.parameters)
        for p in target.parameters.arrays:
            place = names.index(p.name)
            given.append((p, list(ctx.arg_types[place]) if place < len(ctx.arg_types) else []))
        named = [n for actuals in ctx.arg_names for n in actuals if n is not None]
        count = sum(map(len, ctx.arg_names)) - len(named)
        return self.result(ctx.api, target, ctx.default_return_type, given, named, count, ctx.context)

    def parameter(self, ctx: FunctionContext) -> Type:
        """Return what `Parameter` makes: of an array type or subclass of Tensor one of the same class."""
        tree: MypyFile = ctx.api.tree  # type: ignore[attr-defined]  # of the type checker
        asked = self.program.view(tree.fullname).asked
        for typ in ctx.arg_types[0] if ctx.arg_types else ():
            data = get_proper_type(typ)
            if isinstance(data, Instance) and data.type.fullname != TENSOR:
                return data if takes_part(data.type, asked, tensor_protocol.method) else ctx.default_return_type
        return ctx.default_return_type

    # All of them.

    def result(
        self,
        api: Any,
        target: Target,
        plain: Type,
        given: Sequence[Given],
        names: Collection[str],
        count: int,
        context: Context,
        operator: str = "",
    ) -> Type:
        """Return the type of a call's result, and report where nobody answers it.

        Parameters
        ----------
        api : of the type checker
        target : the operation
        plain : the result's type on plain tensors
        given : the types of each array argument
        names : of the keywords passed
        count : of the arguments passed by position
        context : where errors are reported
        operator : the name of the operator or method that was used, "" for a function
        """
        tree: MypyFile = api.tree
        view = self.program.view(tree.fullname)
        key = combinations([(p.form, types) for p, types in given], view.asked, target.method)
        if key is None:
            return unknown()
        infer = _inference(api, context)
        call = Call(target, plain, view, names, count, infer)
        found: list[Type] = []
        for entries in key:
            foreign = self._foreign(api, target, given, entries, context, operator)
            if foreign is not None:
                found.append(foreign)
                continue
            answer = call.result(entries)
            if answer is None:
                types = dict.fromkeys(a.name for e in entries for a in e if a.asked)
                error = NoImplementationError(target.shown, target.method, list(types))
                api.fail(error.headline(), context, code=CALL)
                return unknown()
            found.append(answer)
        return make_simplified_union(found)

    def _foreign(
        self,
        api: Any,
        target: Target,
        given: Sequence[Given],
        entries: Sequence[Entry],
        context: Context,
        operator: str,
    ) -> Type | None:
        """Report an argument that is no array, and return the result of the call; None where all are arrays."""
        if target.method != tensor_protocol.method:
            return None
        demanding = [
            (p, a)
            for (p, _), entry in zip(given, entries, strict=True)
            if p.form not in (Form.INDEX, Form.LOOSE)
            for a in entry
            if a.role is Role.NO_ARRAY or (a.role is Role.NONE and not _may_be_left_out(target, p))
        ]
        for p, argument in demanding[:1]:
            sign = SIGNS.get(operator)
            if sign in ("==", "!="):
                return cast("Type", api.named_generic_type("builtins.bool", []))  # as Python has it
            if sign is not None:
                left, right = (entry[0].typ for entry in entries)
                api.msg.unsupported_operand_types(sign, left, right, context)
            else:
                error = ForeignArgumentError(
                    target.shown, p.name, argument.name, tensor_protocol.types.advice_for(object)
                )
                api.fail(str(error), context, code=CALL)
            return unknown()
        return None


SIGNS = {method: sign for sign, method in op_methods.items()}
SIGNS |= {reflected: SIGNS[name] for name, reflected in REFLECTED.items()}


def _may_be_left_out(target: Target, parameter: ArrayParameter) -> bool:
    return target.parameters.signature.parameters[parameter.name].default is None


def _relaxed(bound: CallableType, target: Target | None) -> CallableType:
    """Return an operation's signature with arrays of any type, and all keywords that the function takes."""
    arrays = None if target is None else {p.name for p in target.parameters.arrays}
    free = unknown()
    types: list[Type] = []
    own = [] if target is None else list(target.parameters.signature.parameters.values())
    for index, typ in enumerate(bound.arg_types):
        array = mentions_tensor(typ) if arrays is None else index < len(own) and own[index].name in arrays
        types.append(free if array else typ)
    extra = [p.name for p in own[len(types) :]]
    return bound.copy_modified(
        arg_types=[*types, *(free for _ in extra)],
        arg_kinds=[*bound.arg_kinds, *(ARG_NAMED_OPT for _ in extra)],
        arg_names=[*bound.arg_names, *extra],
    )


def _type_of(api: Any, expr: Expression) -> Type:
    typ: Type = api.lookup_type(expr) if api.has_type(expr) else api.get_expression_type(expr)
    return typ


def _members(api: Any, form: Form, expr: Expression) -> list[Type]:
    """Return the type of an argument, or those of the members of a sequence that is written out."""
    if form is not Form.ONE and form is not Form.INDEX and isinstance(expr, (ListExpr, TupleExpr)):
        return [_type_of(api, item) for item in expr.items]
    return [_type_of(api, expr)]


def _inference(api: Any, context: Context) -> Any:
    def infer(typ: CallableType, types: Sequence[Type]) -> Type:
        arguments = [TempNode(t) for t in types]
        with api.msg.filter_errors():
            result, _ = api.expr_checker.check_call(typ, arguments, [ARG_POS] * len(arguments), context)
        found: Type = result
        return found

    return infer
