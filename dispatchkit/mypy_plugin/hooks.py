"""`DispatchPlugin`: declarations, and calls, whose keywords are checked and whose results handlers agree on.

Who answers is not decided here. Where handlers are for the types of a call, its result is what all of them are
annotated with, if that is the same; any other call has the result that its declaration gives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Any

from mypy import nodes, plugin
from mypy import types as mypy_types
from mypy.argmap import map_actuals_to_formals
from mypy.errorcodes import ErrorCode
from mypy.nodes import ARG_STAR, ARG_STAR2, CallExpr, MypyFile, TypeInfo
from mypy.options import Options
from mypy.subtypes import is_same_type
from mypy.types import AnyType, CallableType, FunctionLike, Instance, Type, get_proper_type
from typing_extensions import override

from dispatchkit.mypy_plugin import reading
from dispatchkit.mypy_plugin.program import LIBRARY, Program, imports_library
from dispatchkit.mypy_plugin.reading import TENSOR, Rule, Target, function_of, instances, is_plain, member_target
from dispatchkit.protocol.parameters import Form

ANYTHING = [ARG_STAR, ARG_STAR2]
PARAMETER = "dispatchkit.nn.parameter.Parameter"
# Operations that answer their first argument alone by another one.
ALONE = frozenset({"dispatchkit.where"})


def unknown() -> AnyType:
    """Return the type of what is decided when the program runs."""
    return AnyType(mypy_types.TypeOfAny.special_form)


class Calls:
    """Answers mypy's questions about calls.

    Parameters
    ----------
    program : the analysed program
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        # The call whose first overload was seen last, and its result; whether that overload was a generic one.
        self._seen: tuple[nodes.Context | None, Type, bool] = (None, unknown(), False)

    def operation(self, ctx: plugin.MethodSigContext) -> FunctionLike:
        """Check a call of an operation against its signature, and give the call its result.

        `Operation` has overloads: its own signature, before it one whose result has the class of the first array, and
        others so that numbers and array types pass for those who do without the plugin. mypy asks for one after the
        other; all become what was inferred for the first.
        """
        bound, call = ctx.default_signature, ctx.context
        if not isinstance(call, CallExpr) or not isinstance(ctx.type, Instance) or bound.param_spec() is not None:
            return bound
        signature, plain = map(get_proper_type, ctx.type.args)
        generic = bool(bound.variables)
        if isinstance(signature, mypy_types.Parameters) and bound.arg_kinds == signature.arg_kinds != ANYTHING:
            is_first = generic or self._seen[0] is not call or not self._seen[2]
            if is_first and bound.arg_types[generic:] == signature.arg_types[generic:]:
                declared = bound.copy_modified(arg_types=signature.arg_types, ret_type=plain, variables=[])
                self._seen = (call, self._checked(ctx.api, declared, call), generic)
        seen, result, _ = self._seen
        if seen is not call:
            return bound
        free = unknown()
        return bound.copy_modified(
            arg_types=[free, free], arg_kinds=[ARG_STAR, ARG_STAR2], arg_names=[None, None], ret_type=result
        )

    def _checked(self, api: Any, bound: CallableType, call: CallExpr) -> Type:
        """Report keywords and arguments that an operation does not take, and return the result of the call."""
        named = call.callee if isinstance(call.callee, (nodes.NameExpr, nodes.MemberExpr)) else None
        target = None if named is None else self.program.target(named.fullname)
        if target is not None and target.key in ALONE and len(call.args) == 1:
            return unknown()
        arrays = list(map(reading.may_be_array, bound.arg_types))
        extra: list[str] = []
        if target is not None:
            names = list(target.parameters.signature.parameters)
            arrays = [name in target.parameters.names for name in names]
            extra = names[len(bound.arg_types) :]
        relaxed = bound.copy_modified(
            arg_types=[unknown() if array else typ for array, typ in zip(arrays, bound.arg_types, strict=False)]
            + [unknown() for _ in extra],
            arg_kinds=bound.arg_kinds + [nodes.ARG_NAMED_OPT for _ in extra],
            arg_names=bound.arg_names + extra,
            name=None if named is None else named.name,
            definition=None,
        )
        with api.msg.filter_errors(save_filtered_errors=True) as errors:
            api.expr_checker.check_call(relaxed, call.args, call.arg_kinds, call, call.arg_names)
        if errors.has_new_errors():
            api.msg.add_errors(errors.filtered_errors())
        if errors.has_new_errors() or ARG_STAR in call.arg_kinds or ARG_STAR2 in call.arg_kinds:
            return unknown()
        types_of_arguments: list[Type] = [
            api.lookup_type(arg) if api.has_type(arg) else api.get_expression_type(arg) for arg in call.args
        ]
        places = map_actuals_to_formals(
            call.arg_kinds, call.arg_names, relaxed.arg_kinds, relaxed.arg_names, types_of_arguments.__getitem__
        )
        types: list[list[Type]] = [[types_of_arguments[place] for place in actuals] for actuals in places]
        plain = _kept(bound.ret_type, types[:1])
        if target is not None:
            return self._result(api, target, types, plain, unknown())
        free = [typ for array, entry in zip(arrays, types, strict=True) if array for typ in entry]
        members = [instance for typ in free for instance in instances(typ, Form.LOOSE)]
        return plain if all(m is not None and is_plain(m.type) for m in members) else unknown()

    def method(self, ctx: plugin.MethodContext, name: str) -> Type:
        """Return the result of a method or operator that views an operation."""
        target, default = member_target(name), ctx.default_return_type
        of_class = isinstance(get_proper_type(ctx.type), FunctionLike | mypy_types.TypeType)  # ``Tensor | None``
        if target is None or of_class or any(ARG_STAR in kinds or ARG_STAR2 in kinds for kinds in ctx.arg_kinds):
            return default
        types: list[list[Type]] = [[ctx.type], *ctx.arg_types]
        return self._result(ctx.api, target, types[::-1] if name in reading.REVERSED else types, default, default)

    def raw_operator(self, ctx: plugin.MethodContext, name: str) -> Type:
        """Return the result of an operator of a NumPy array: a tensor or array type on its other side answers."""
        other = get_proper_type(ctx.arg_types[0][0]) if ctx.arg_types and ctx.arg_types[0] else None
        if not isinstance(other, Instance) or not has_surface(other.type, name):
            return ctx.default_return_type
        plain = other if other.type.fullname == TENSOR else unknown()
        return self.method(ctx._replace(default_return_type=plain), name)

    def attribute(self, ctx: plugin.AttributeContext, name: str) -> Type:
        """Return the type of a property that views an operation."""
        target, default = member_target(name), ctx.default_attr_type
        return default if target is None else self._result(ctx.api, target, [[ctx.type]], default, default)

    def function(self, ctx: plugin.FunctionContext, name: str) -> Type:
        """Return the result of a function of the program's own that handlers are for."""
        target, default = self.program.target(name), ctx.default_return_type
        if target is None or name not in self.program.handlers(ctx.api.tree.fullname):  # type: ignore[attr-defined]
            return default
        return self._result(ctx.api, target, ctx.arg_types, default, default)

    def _result(self, api: Any, target: Target, types: Sequence[list[Type]], plain: Type, default: Type) -> Type:
        """Return the type of a call's result: what the handlers for its arguments agree on, `Any` where they differ.

        Parameters
        ----------
        api : of the type checker
        target : the operation
        types : what is passed for each parameter
        plain : the result on tensors
        default : the result on other types where no handler is for them
        """
        parameters = target.parameters.signature.parameters
        passed = {name: entry for name, entry in zip(parameters, types, strict=False) if entry}
        arguments: list[list[Instance | None]] = []
        for array in target.parameters.arrays:
            members = [instance for typ in passed.get(array.name, ()) for instance in instances(typ, array.form)]
            # An index, and what may be of any type, holds what is no array, too.
            loose = array.form in (Form.INDEX, Form.LOOSE)
            arguments.append([instance for instance in members if instance is not None or not loose])
        known = [[instance for instance in entry if instance is not None] for entry in arguments]
        classes = [instance.type for entry in known for instance in entry if not is_plain(instance.type)]
        owners = [info.get_containing_type_info(reading.METHOD) for info in classes]
        # A class that has written the protocol's method itself decides when the program runs.
        if any(None in entry for entry in arguments) or any(o is not None and o.fullname != TENSOR for o in owners):
            return unknown()
        visible = self.program.handlers(api.tree.fullname) if classes else {}
        names = (target.key, *(f"kind:{kind}" for kind in target.kinds), "?")
        rules = [rule for name in names for rule in visible.get(name, ()) if _fits(rule, known)]
        if not rules:
            return plain if all(info.has_base(TENSOR) for info in classes) else default
        answers = [self._answer(rule, [parameters[name] for name in passed]) for rule in rules]
        # Of a union, another member may have another handler.
        arrays = zip(target.parameters.arrays, known, strict=True)
        union = any(array.form is Form.ONE and len(entry) > 1 for array, entry in arrays)
        agreed = not union and all(is_same_type(answers[0], answer) for answer in answers)
        return answers[0] if agreed else unknown()

    def _answer(self, rule: Rule, passed: Sequence[Parameter]) -> Type:
        """Return what a handler is annotated to give; `Any` where it may decline, or does not take what is passed."""
        function = function_of(self.program.find(rule.handler))
        typ = None if function is None else function.type
        if not isinstance(typ, CallableType) or typ.variables:
            return unknown()
        count = sum(p.kind is p.POSITIONAL_ONLY for p in passed) + rule.target.startswith("kind:")
        named = {p.name for p in passed if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        room = sum(kind.is_positional() for kind in typ.arg_kinds)
        takes = typ.is_kw_arg or typ.is_var_arg or (count <= room and named.issubset(typ.arg_names))
        parts = map(get_proper_type, mypy_types.flatten_nested_unions([typ.ret_type]))
        declines = any(isinstance(part, Instance) and part.type.name.endswith("NotImplementedType") for part in parts)
        return typ.ret_type if takes and not declines else unknown()


def _kept(plain: Type, types: Sequence[list[Type]]) -> Type:
    """Return the result on tensors, of the class of the first of them."""
    result = get_proper_type(plain)
    members = [instance for entry in types for typ in entry for instance in instances(typ, Form.SEQUENCE)]
    first = members[0] if len(members) == 1 else None
    if not isinstance(result, Instance) or result.type.fullname != TENSOR or first is None:
        return plain
    return first if first.type.has_base(TENSOR) and not first.type.has_base(PARAMETER) else plain


def _fits(rule: Rule, arguments: Sequence[Sequence[Instance]]) -> bool:
    """Return whether a handler may be asked for arguments of these classes."""
    if rule.types is None:
        return True
    if rule.anywhere:
        return any(_counts_as(instance, rule.types[0]) for entry in arguments for instance in entry)
    if len(rule.types) != len(arguments):
        return False
    pairs = list(zip(rule.types, arguments, strict=True))
    return all(not entry or any(_counts_as(m, wanted) for m in entry) for wanted, entry in pairs) and any(
        wanted is not None and m.type.has_base(wanted) and not is_plain(m.type)
        for wanted, entry in pairs
        for m in entry
    )


def _counts_as(instance: Instance, wanted: str | None) -> bool:
    """Return whether a handler for a class may take an argument: scalars pass for other ones, and for tensors."""
    info = instance.type
    scalars = wanted in reading.SCALARS and (info.fullname in reading.SCALARS or info.has_base("numpy.generic"))
    return wanted is None or info.has_base(wanted) or (is_plain(info) if wanted == TENSOR else scalars)


def has_surface(info: TypeInfo, name: str) -> bool:
    """Return whether a class has a member of the surface of arrays, from its decorator or inherited."""
    owner = info.get_containing_type_info(name)
    return owner is not None and (owner.module_name == reading.SURFACE or owner.names[name].plugin_generated)


HANDLER = ErrorCode("handler", "A handler that does not fit its operation", LIBRARY)
DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()


class DispatchPlugin(plugin.Plugin):
    """The plugin, made by mypy for each run."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.program = Program()
        self.calls = Calls(self.program)

    @override
    def set_modules(self, modules: dict[str, MypyFile]) -> None:
        super().set_modules(modules)
        self.program.modules = modules

    # Dependencies and the cache.

    @override
    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Let a module that uses the library depend on the packages around it.

        They import the modules in which the handlers of its types are, which it need not import itself.
        """
        if file.is_stub or file.fullname.partition(".")[0] == LIBRARY or not imports_library(file):
            return []
        parts = file.fullname.split(".")
        return [(10, ".".join(parts[:count]), -1) for count in range(1, len(parts))]  # 10 is the lowest priority

    @override
    def get_additional_indirect_deps(self, file: MypyFile) -> set[str]:
        return self.program.consulted.get(file.fullname, set())

    @override
    def report_config_data(self, ctx: plugin.ReportConfigContext) -> str:
        """Return what the cache is valid for: the plugin as it is now."""
        # Asked before a module is written to the cache: what it registers is to be written, too.
        if not ctx.is_check:
            self.program.keep(ctx.id)
        return DIGEST

    # Declarations.

    @override
    def get_class_decorator_hook_2(self, fullname: str) -> Callable[[plugin.ClassDefContext], bool] | None:
        return self._read_module if fullname == reading.ARRAY_TYPE_FUNCTION else None

    def _read_module(self, ctx: plugin.ClassDefContext) -> bool:
        self.program.facts(ctx.api.cur_mod_id, read=True)
        return True

    def _implements(self, ctx: plugin.FunctionContext | plugin.MethodContext) -> Type:
        """Report what is wrong with a handler; the module's array types have their methods from here on."""
        tree: MypyFile = ctx.api.tree  # type: ignore[attr-defined]  # of the type checker
        for place, text in self.program.facts(tree.fullname, read=True).complaints.get(id(ctx.context), ()):
            ctx.api.fail(text, place, code=HANDLER)
        return ctx.default_return_type

    # Calls.

    @override
    def get_function_hook(self, fullname: str) -> Callable[[plugin.FunctionContext], Type] | None:
        if fullname.endswith(".implements"):
            return self._implements
        if fullname == PARAMETER:
            return _parameter
        decorated = isinstance(self.program.find(fullname), nodes.Decorator)
        return partial(self.calls.function, name=fullname) if decorated else None

    @override
    def get_method_hook(self, fullname: str) -> Callable[[plugin.MethodContext], Type] | None:
        owner, _, name = fullname.rpartition(".")
        if name in ("implements", "array_type"):
            return self._implements
        if owner.startswith("numpy.") and name in reading.BINARY:
            return partial(self.calls.raw_operator, name=name)
        if member_target(name) is not None and self._gives(owner, name):
            return partial(self.calls.method, name=name)
        return None

    @override
    def get_method_signature_hook(self, fullname: str) -> Callable[[plugin.MethodSigContext], FunctionLike] | None:
        return self.calls.operation if fullname in reading.CALLS else None

    @override
    def get_attribute_hook(self, fullname: str) -> Callable[[plugin.AttributeContext], Type] | None:
        owner, _, name = fullname.rpartition(".")
        if name in reading.PROPERTIES and self._gives(owner, name):
            return partial(self.calls.attribute, name=name)
        return None

    def _gives(self, owner: str, name: str) -> bool:
        node = self.program.find(owner)
        return isinstance(node, TypeInfo) and has_surface(node, name)


def _parameter(ctx: plugin.FunctionContext) -> Type:
    """Return what `Parameter` makes: of an array type one of the same class."""
    data = get_proper_type(ctx.arg_types[0][0]) if ctx.arg_types and ctx.arg_types[0] else None
    other = isinstance(data, Instance) and data.type.fullname != TENSOR and has_surface(data.type, "__add__")
    return data if data is not None and other else ctx.default_return_type
