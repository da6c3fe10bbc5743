"""`DispatchPlugin`: which question of mypy is answered where."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mypy import plugin
from mypy.errorcodes import ErrorCode
from mypy.nodes import Decorator, MypyFile, TypeInfo
from mypy.options import Options
from mypy.types import FunctionLike, Instance, Type, get_proper_type
from typing_extensions import override

from dispatchkit.mypy_plugin.calls import Calls, has_surface
from dispatchkit.mypy_plugin.operations import BINARY, PROPERTIES, TENSOR, member_target
from dispatchkit.mypy_plugin.program import LIBRARY, Program, imports_library
from dispatchkit.mypy_plugin.reading import INSTANCE, OPERATION

PARAMETER = "dispatchkit.nn.parameter.Parameter"
HANDLER = ErrorCode("handler", "A handler that does not fit its operation", "dispatchkit")
DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()
LOW = 10  # the priority of a dependency that no import states


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
        return [(LOW, ".".join(parts[:count]), -1) for count in range(1, len(parts))]

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
        return self._read_module if fullname == f"{INSTANCE}.array_type" else None

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
        decorated = isinstance(self.program.find(fullname), Decorator)
        return partial(self.calls.function, name=fullname) if decorated else None

    @override
    def get_method_hook(self, fullname: str) -> Callable[[plugin.MethodContext], Type] | None:
        owner, _, name = fullname.rpartition(".")
        if name in ("implements", "array_type"):
            return self._implements
        if owner.startswith("numpy.") and name in BINARY:
            return partial(self.calls.raw_operator, name=name)
        if member_target(name) is not None and self._gives(owner, name):
            return partial(self.calls.method, name=name)
        return None

    @override
    def get_method_signature_hook(self, fullname: str) -> Callable[[plugin.MethodSigContext], FunctionLike] | None:
        return self.calls.operation if fullname == f"{OPERATION}.__call__" else None

    @override
    def get_attribute_hook(self, fullname: str) -> Callable[[plugin.AttributeContext], Type] | None:
        owner, _, name = fullname.rpartition(".")
        if name in PROPERTIES and self._gives(owner, name):
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
