"""What the modules of the analysed program register, which of them a module sees, and how mypy's cache keeps it.

mypy forgets the code of a module once it is checked, and reads only its names from the cache when nothing changed. So
the facts are kept as one of its names: a variable whose type is a literal string. When they change, mypy sees the
module's interface change, and checks again who depends on it.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from mypy.lookup import lookup_fully_qualified
from mypy.nodes import GDEF, ImportFrom, MypyFile, SymbolNode, SymbolTableNode, TypeInfo, Var
from mypy.types import Instance, LiteralType, get_proper_type

from dispatchkit.mypy_plugin import reading
from dispatchkit.mypy_plugin.reading import Facts, Reader, Rule, Target

LIBRARY = "dispatchkit"
NAME = "__dispatchkit_facts__"


class Program:
    """The modules of the analysed program."""

    def __init__(self) -> None:
        # As mypy keeps them.
        self.modules: dict[str, MypyFile] = {}
        self._facts: dict[str, tuple[MypyFile, Facts]] = {}
        self._neighbours: dict[str, tuple[MypyFile, int, set[str]]] = {}
        self._handlers: dict[str, tuple[MypyFile, dict[str, list[Rule]]]] = {}
        # The modules that a module was found to see when one of its calls was resolved.
        self.consulted: dict[str, set[str]] = {}

    def find(self, fullname: str) -> SymbolNode | None:
        """Return the node of a full name, None if there is none."""
        symbol = lookup_fully_qualified(fullname, self.modules)
        return None if symbol is None else symbol.node

    # Facts.

    def facts(self, module: str, *, read: bool = False) -> Facts:
        """Return what a module registers.

        Parameters
        ----------
        module : its name
        read : whether to read it though it imports the library only by way of others
        """
        tree = self.modules.get(module)
        if tree is None or tree.is_stub:
            return Facts()
        known = self._facts.get(module)
        if known is not None and known[0] is tree:
            return known[1]
        facts = _load(tree)
        unread = tree.is_cache_skeleton or not tree.defs or not (read or imports_library(tree))
        if facts.rules or not unread:
            self._facts[module] = (tree, facts)
        if not facts.rules and not unread:
            Reader(self.find, self.target, facts).read(tree)
        return facts

    def keep(self, module: str) -> None:
        """Put what a module registers among its names, where mypy will write it to its cache."""
        tree, text = self.modules.get(module), self.find("builtins.str")
        rules = [] if tree is None else self.facts(module).rules
        if rules and tree is not None and isinstance(text, TypeInfo):
            kept = json.dumps([asdict(rule) for rule in rules], sort_keys=True)
            var = Var(NAME, LiteralType(kept, Instance(text, [])))
            var._fullname = f"{module}.{NAME}"
            tree.names[NAME] = SymbolTableNode(GDEF, var, module_public=False, plugin_generated=True)

    # Operations.

    def target(self, fullname: str) -> Target | None:
        """Return the operation that a variable or function is, None where it is none."""
        node = self.find(fullname)
        known, function = reading.lookup(fullname), reading.function_of(node)
        if known is not None or function is None:
            return known
        return reading.target_of_function(function, declared=reading.is_operation(node))

    # Visibility.

    def handlers(self, module: str) -> dict[str, list[Rule]]:
        """Return the handlers that a module sees, by target: its own, and those of the modules that it imports."""
        known = self._handlers.get(module)
        if known is not None and known[0] is self.modules[module]:
            return known[1]
        handlers: dict[str, list[Rule]] = {}
        self._handlers[module] = (self.modules[module], handlers)
        reached = self._reachable(module)
        self.consulted[module] = reached - {module}
        for name in sorted(reached):
            for rule in self.facts(name).rules:
                handlers.setdefault(rule.target, []).append(rule)
        return handlers

    def _reachable(self, module: str) -> set[str]:
        reached: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop()
            tree = self.modules.get(name)
            if name not in reached and tree is not None and not tree.is_stub:
                reached.add(name)
                waiting += self._neighbours_of(name, tree) - reached
        return reached

    def _neighbours_of(self, name: str, tree: MypyFile) -> set[str]:
        """Return the modules that a module's names come from, and the packages around it."""
        known = self._neighbours.get(name)
        # A package around a module may be analysed after it: it has more names then.
        if known is not None and known[0] is tree and known[1] == len(tree.names):
            return known[2]
        neighbours = {imported for node in tree.imports for imported, _ in getattr(node, "ids", ())}
        neighbours.add(name.rpartition(".")[0])
        for symbol in tree.names.values():
            node = symbol.node
            if isinstance(node, MypyFile):
                neighbours.add(node.fullname)
            elif node is not None and not symbol.plugin_generated:
                neighbours.add(self._module_of(node.fullname))
        self._neighbours[name] = (tree, len(tree.names), neighbours)
        return neighbours

    def _module_of(self, fullname: str) -> str:
        module = fullname.rpartition(".")[0]
        while module and module not in self.modules:
            module = module.rpartition(".")[0]
        return module


def imports_library(file: MypyFile) -> bool:
    """Return whether a module imports dispatchkit, or a part of it."""
    plain = [name for node in file.imports for name, _ in getattr(node, "ids", ())]
    names = plain + [node.id for node in file.imports if isinstance(node, ImportFrom)]
    return any(name.partition(".")[0] == LIBRARY for name in names)


def _load(tree: MypyFile) -> Facts:
    """Return the facts among the names of a module."""
    symbol = tree.names.get(NAME)
    typ = get_proper_type(symbol.node.type) if symbol is not None and isinstance(symbol.node, Var) else None
    if not isinstance(typ, LiteralType) or not isinstance(typ.value, str):
        return Facts()
    return Facts([Rule(**rule) for rule in json.loads(typ.value)])
