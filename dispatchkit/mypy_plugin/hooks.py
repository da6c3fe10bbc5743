"""`DispatchPlugin`: which question of mypy is answered where."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mypy.nodes import CallExpr, MypyFile, SymbolNode, TypeInfo
from mypy.options import Options
from mypy.plugin import (
    AttributeContext,
    ClassDefContext,
    FunctionContext,
    MethodContext,
    MethodSigContext,
    Plugin,
    ReportConfigContext,
)
from mypy.types import FunctionLike, Type
from typing_extensions import override

from dispatchkit.mypy_plugin.calls import Calls
from dispatchkit.mypy_plugin.names import HANDLER, INSTANCE, METHODS, OPERATION, PARAMETER
from dispatchkit.mypy_plugin.operations import ORDERED, PROPERTIES, member
from dispatchkit.mypy_plugin.program import LIBRARY, Program, imports_library

LOW = 10  # the priority of a dependency that no import states


class DispatchPlugin(Plugin):
    """The plugin, made by mypy for each run."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.program = Program({})
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
    def report_config_data(self, ctx: ReportConfigContext) -> str:
        """Return what the cache is valid for: the plugin as it is now."""
        # Asked before a module is written to the cache: what it registers is to be written, too.
        if not ctx.is_check:
            self.program.keep(ctx.id)
        return _digest()

    # Classes.

    @override
    def get_class_decorator_hook_2(self, fullname: str) -> Callable[[ClassDefContext], bool] | None:
        return self._read_module if fullname == f"{INSTANCE}.array_type" else None

    def _read_module(self, ctx: ClassDefContext) -> bool:
        tree = ctx.api.modules.get(ctx.api.cur_mod_id)
        if tree is not None:
            self.program.read(tree)
        return True

    # Registrations.

    @override
    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        if fullname.endswith(".implements"):
            return self._implements
        if fullname == PARAMETER:
            return self.calls.parameter
        target = self.program.overridden(fullname)
        return None if target is None else partial(self.calls.function, target=target)

    @override
    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        owner, _, name = fullname.rpartition(".")
        if name in ("implements", "array_type"):
            return self._implements
        if owner.startswith("numpy.") and name in ORDERED:
            return partial(self.calls.raw_operator, name=name)
        if member(name) is not None and self._gives(owner, name):
            return partial(self.calls.method, name=name)
        return None

    def _implements(self, ctx: FunctionContext | MethodContext) -> Type:
        """Report what is wrong with a handler; the module's array types have their surface from here on."""
        tree: MypyFile = ctx.api.tree  # type: ignore[attr-defined]  # of the type checker
        facts = self.program.read(tree)
        if isinstance(ctx.context, CallExpr):
            for place, text in facts.complaints.get(id(ctx.context), ()):
                ctx.api.fail(text, place, code=HANDLER)
        return ctx.default_return_type

    # Calls.

    @override
    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        return self.calls.operation if fullname == f"{OPERATION}.__call__" else None

    @override
    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        owner, _, name = fullname.rpartition(".")
        if name in PROPERTIES and self._gives(owner, name):
            return partial(self.calls.attribute, name=name)
        return None

    def _gives(self, owner: str, name: str) -> bool:
        """Return whether a class has a member from the plugin, its own or inherited."""
        node: SymbolNode | None = self.program.find(owner)
        for base in node.mro if isinstance(node, TypeInfo) else ():
            if name in base.names:
                return base.fullname == METHODS or base.names[name].plugin_generated
        return False


@functools.cache
def _digest() -> str:
    found = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()
