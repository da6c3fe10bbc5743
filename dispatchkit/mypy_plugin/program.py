"""What the modules of the analysed program register, and which of them a module sees."""

from __future__ import annotations

from dataclasses import dataclass, field

from mypy.lookup import lookup_fully_qualified
from mypy.nodes import Decorator, FuncDef, Import, ImportFrom, MypyFile, SymbolNode, TypeInfo
from mypy.types import CallableType, Type, get_proper_type

from dispatchkit import catalogue  # noqa: F401  # programs may call any operation
from dispatchkit.mypy_plugin.facts import Declared, Facts, Rule, load, store
from dispatchkit.mypy_plugin.fit import is_companion
from dispatchkit.mypy_plugin.names import TENSOR
from dispatchkit.mypy_plugin.operations import (
    Target,
    built_in,
    lookup,
    operation_parameters,
    overridable_parameters,
)
from dispatchkit.mypy_plugin.reading import Reader
from dispatchkit.protocol.callers import Member
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds

LIBRARY = "dispatchkit"


@dataclass(eq=False)
class View:
    """What one module sees: its own registrations, and those of the modules it imports, directly or not.

    Attributes
    ----------
    declared : array types by full name
    rules : the handlers, each with its type where that is known
    asked : full names of the classes that take part: the declared ones, and those that handlers are for
    """

    declared: dict[str, Declared] = field(default_factory=dict)
    rules: list[tuple[Rule, CallableType | None]] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)


class Program:
    """The modules of the analysed program.

    Parameters
    ----------
    modules : as mypy keeps them
    """

    def __init__(self, modules: dict[str, MypyFile]) -> None:
        self.modules = modules
        self._facts: dict[str, tuple[MypyFile, Facts]] = {}
        self._edges: dict[str, tuple[MypyFile, int, set[str]]] = {}
        self._views: dict[str, tuple[MypyFile, View]] = {}
        self._targets: dict[str, Target] = {}
        # The modules that a module was found to see when one of its calls was resolved.
        self.consulted: dict[str, set[str]] = {}

    def find(self, fullname: str) -> SymbolNode | None:
        """Return the node of a full name, None if there is none."""
        symbol = lookup_fully_qualified(fullname, self.modules)
        return None if symbol is None else symbol.node

    # Facts.

    def facts(self, module: str) -> Facts:
        """Return what a module registers."""
        tree = self.modules.get(module)
        if tree is None:
            return Facts()
        known = self._facts.get(module)
        if known is not None and known[0] is tree:
            return known[1]
        kept = load(tree)
        if kept is not None:
            self._facts[module] = (tree, kept)
            return kept
        if tree.is_stub or tree.is_cache_skeleton or not tree.defs or not imports_library(tree):
            return Facts()
        return self.read(tree)

    def read(self, tree: MypyFile) -> Facts:
        """Read the code of a module, once."""
        known = self._facts.get(tree.fullname)
        if known is not None and known[0] is tree:
            return known[1]
        facts = Facts()
        self._facts[tree.fullname] = (tree, facts)
        if not tree.is_stub:
            Reader(self, tree, facts).read(tree.defs)
        return facts

    def keep(self, module: str) -> None:
        """Put what a module registers where mypy will write it to its cache."""
        tree, text = self.modules.get(module), self.find("builtins.str")
        if tree is not None and isinstance(text, TypeInfo) and (module in self._facts or imports_library(tree)):
            store(self.facts(module), tree, text)

    def declared_before(self, tree: MypyFile) -> set[str]:
        """Return the full names of the array types of the modules that a module imports."""
        return {name for module in self._neighbours(tree.fullname, tree) for name in self.facts(module).types}

    # Operations.

    def of_member(self, member: Member) -> Target | None:
        """Return the operation that a method views."""
        operation = member.operation
        if operation is None:
            return None
        key = operation.qualified_name
        if key not in self._targets:
            self._targets[key] = built_in(operation)
        return self._targets[key]

    def target(self, fullname: str) -> Target | None:
        """Return the operation that a variable or function is, None where it is none."""
        return lookup(fullname) or self._user_target(fullname)

    def overridden(self, fullname: str) -> Target | None:
        """Return a function made overridable, None for others and for operations."""
        module = self._module_of(fullname)
        noted = self.facts(module).operations.get(fullname) if module else None
        return None if noted is None or noted.declared else self._user_target(fullname)

    def annotated_result(self, target: Target) -> Type | None:
        """Return what the body of an operation of the library is annotated to give."""
        node = self.find(tensor_protocol.operations[target.key].place)
        body = node.func if isinstance(node, Decorator) else None
        typ = None if body is None or body.type is None else get_proper_type(body.type)
        return typ.ret_type if isinstance(typ, CallableType) else None

    def _user_target(self, fullname: str) -> Target | None:
        module = self._module_of(fullname)
        noted = self.facts(module).operations.get(fullname) if module else None
        if noted is None:
            return None
        node = self.find(fullname)
        function = node.func if isinstance(node, Decorator) else node
        if not isinstance(function, FuncDef):
            return None
        if noted.declared:
            parameters, place = operation_parameters(function, noted.arrays), module.partition(".")[0]
        else:
            parameters, place = overridable_parameters(function, noted.arrays), module
        around = tuple(kind.name for kind in getattr(kinds, noted.kind).lineage()) if noted.kind else ()
        return Target(fullname, f"{place}.{function.name}", parameters, around, None, noted.method)

    # Visibility.

    def view(self, module: str) -> View:
        """Return what a module sees."""
        known = self._views.get(module)
        if known is not None and known[0] is self.modules[module]:
            return known[1]
        found = View()
        self._views[module] = (self.modules[module], found)
        reached = self._reachable(module)
        self.consulted[module] = {name for name in reached if name != module}
        for name in sorted(reached):
            facts = self.facts(name)
            found.declared |= facts.types
            for index, rule in enumerate(facts.rules):
                found.rules.append((rule, self._callable(facts, index, rule)))
        named = {name for rule, _ in found.rules for name in rule.types or () if name is not None}
        nodes = {name: self.find(name) for name in named}
        mixing = {name for name, node in nodes.items() if isinstance(node, TypeInfo) and is_companion(node)}
        found.asked = found.declared.keys() | (named - mixing - {TENSOR})
        return found

    def _callable(self, facts: Facts, index: int, rule: Rule) -> CallableType | None:
        if index in facts.callables:
            return facts.callables[index]
        node = self.find(rule.handler) if rule.handler else None
        function = node.func if isinstance(node, Decorator) else node
        typ = get_proper_type(function.type) if isinstance(function, FuncDef) and function.type is not None else None
        return typ if isinstance(typ, CallableType) else None

    def _reachable(self, module: str) -> set[str]:
        found: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop()
            tree = self.modules.get(name)
            if name in found or tree is None or tree.is_stub:
                continue
            found.add(name)
            waiting += self._neighbours(name, tree) - found
        return found

    def _neighbours(self, name: str, tree: MypyFile) -> set[str]:
        """Return the modules that a module's names come from, and the packages around it."""
        known = self._edges.get(name)
        # A package around a module may be analysed after it: it has more names then.
        if known is not None and known[0] is tree and known[1] == len(tree.names):
            return known[2]
        found = {imported for node in tree.imports for imported, _ in getattr(node, "ids", ())}
        parent = name.rpartition(".")[0]
        if parent:
            found.add(parent)
        for symbol in tree.names.values():
            node = symbol.node
            if isinstance(node, MypyFile):
                found.add(node.fullname)
            elif node is not None and not symbol.plugin_generated:
                found.add(self._module_of(node.fullname))
        found.discard(name)
        self._edges[name] = (tree, len(tree.names), found)
        return found

    def _module_of(self, fullname: str) -> str:
        module = fullname.rpartition(".")[0]
        while module and module not in self.modules:
            module = module.rpartition(".")[0]
        return module


def imports_library(file: MypyFile) -> bool:
    """Return whether a module imports dispatchkit, or a part of it."""
    for node in file.imports:
        if isinstance(node, Import) and any(name.partition(".")[0] == LIBRARY for name, _ in node.ids):
            return True
        if isinstance(node, ImportFrom) and node.id.partition(".")[0] == LIBRARY:
            return True
    return False
