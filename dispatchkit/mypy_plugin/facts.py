"""What a module registers, in a form that mypy's cache keeps.

mypy forgets the code of a module once it is checked, and reads only its names from the cache when nothing changed. So
the facts are kept as one of its names: a variable whose type is a literal string. When they change, mypy sees the
module's interface change, and checks again who depends on it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from mypy.nodes import GDEF, Context, MypyFile, SymbolTableNode, TypeInfo, Var
from mypy.types import Instance, LiteralType, get_proper_type

NAME = "__dispatchkit_facts__"


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
    complaints: dict[int, list[tuple[Context, str]]] = field(default_factory=dict)


def store(facts: Facts, tree: MypyFile, text: TypeInfo) -> None:
    """Put facts among the names of their module.

    Parameters
    ----------
    facts : to keep
    tree : the module
    text : mypy's record of `str`
    """
    if not facts.rules:
        return
    kept = json.dumps([asdict(rule) for rule in facts.rules], sort_keys=True)
    var = Var(NAME, LiteralType(kept, Instance(text, [])))
    var._fullname = f"{tree.fullname}.{NAME}"
    tree.names[NAME] = SymbolTableNode(GDEF, var, module_public=False, plugin_generated=True)


def load(tree: MypyFile) -> Facts:
    """Return the facts among the names of a module."""
    symbol = tree.names.get(NAME)
    typ = get_proper_type(symbol.node.type) if symbol is not None and isinstance(symbol.node, Var) else None
    if not isinstance(typ, LiteralType) or not isinstance(typ.value, str):
        return Facts()
    return Facts([Rule(**rule) for rule in json.loads(typ.value)])
