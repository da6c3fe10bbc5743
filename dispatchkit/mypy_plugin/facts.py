"""What a module registers, in a form that mypy's cache keeps.

mypy forgets the code of a module once it is checked, and reads only its names from the cache when nothing changed. So
the facts are kept as one of its names: a variable whose type is a literal string. When they change, mypy sees the
module's interface change, and checks again who depends on it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from mypy.nodes import GDEF, Context, MypyFile, SymbolTableNode, TypeInfo, Var
from mypy.types import CallableType, Instance, LiteralType, get_proper_type

NAME = "__dispatchkit_facts__"


@dataclass(eq=False)
class Rule:
    """A registered handler.

    Attributes
    ----------
    target : ``"op:"`` and the operation's key, ``"kind:"`` and a kind's name, or ``"?"`` where it is not known
    types : full names of classes, None for any; None where they are not known
    anywhere : whether the single type may stand in any position
    handler : full name of the function; "" where it has none that can be looked up
    """

    target: str
    types: list[str | None] | None
    anywhere: bool
    handler: str


@dataclass
class Declared:
    """What a class declares as it becomes an array type.

    Attributes
    ----------
    fallback : names of fallbacks, in order; None where it is inherited, ``["?"]`` where it is not known
    dense : whether a function that makes it dense is given
    priority : None where it is inherited
    """

    fallback: list[str] | None
    dense: bool
    priority: float | None


@dataclass
class UserOperation:
    """A function made overridable, or an operation declared.

    Attributes
    ----------
    declared : whether `operation` declares it, by a body that takes a namespace first
    kind : name of its kind; "" where it is not known
    arrays : names of the parameters that decide who answers; None for all, or those annotated with arrays
    method : by which types take part in its protocol
    """

    declared: bool
    kind: str
    arrays: list[str] | None
    method: str


@dataclass
class Facts:
    """What one module registers.

    Attributes
    ----------
    types, operations : by full name
    rules : in the order of registration
    callables : the handlers' types by the place of their rule, while the module is being checked
    complaints : what is wrong with the handlers of a registering call, by the id of its expression
    """

    types: dict[str, Declared] = field(default_factory=dict)
    operations: dict[str, UserOperation] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    callables: dict[int, CallableType] = field(default_factory=dict)
    complaints: dict[int, list[tuple[Context, str]]] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether the module registers nothing."""
        return not (self.types or self.operations or self.rules)


def store(facts: Facts, tree: MypyFile, text: TypeInfo) -> None:
    """Put facts among the names of their module.

    Parameters
    ----------
    facts : to keep
    tree : the module
    text : mypy's record of `str`
    """
    if facts.empty:
        return
    kept: dict[str, Any] = {
        "types": {name: asdict(declared) for name, declared in facts.types.items()},
        "operations": {name: asdict(operation) for name, operation in facts.operations.items()},
        "rules": [asdict(rule) for rule in facts.rules],
    }
    var = Var(NAME, LiteralType(json.dumps(kept, sort_keys=True), Instance(text, [])))
    var._fullname = f"{tree.fullname}.{NAME}"
    tree.names[NAME] = SymbolTableNode(GDEF, var, module_public=False, plugin_generated=True)


def load(tree: MypyFile) -> Facts | None:
    """Return the facts among the names of a module, None where there are none."""
    symbol = tree.names.get(NAME)
    if symbol is None or not isinstance(symbol.node, Var) or symbol.node.type is None:
        return None
    kept = get_proper_type(symbol.node.type)
    if not isinstance(kept, LiteralType) or not isinstance(kept.value, str):
        return None
    found = json.loads(kept.value)
    return Facts(
        types={name: Declared(**declared) for name, declared in found["types"].items()},
        operations={name: UserOperation(**operation) for name, operation in found["operations"].items()},
        rules=[Rule(**rule) for rule in found["rules"]],
    )
