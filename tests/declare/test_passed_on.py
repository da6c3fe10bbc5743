"""Operations that other libraries' functions compute in place of their bodies: the bodies only pass arguments on."""

from __future__ import annotations

import ast
import inspect
import textwrap

from dispatchkit.declare.operation import DeclaredOperation
from tests.declared import OPERATIONS

# What their bodies do besides, and why it is left out: the namespaces of other libraries do it, or need not.
BESIDES = {
    "getitem": "a view where NumPy makes a scalar",
    "reshape": "a tuple of a list",
    "squeeze": "the axes of length 1 where none are given",
}


def passes_on(entry: DeclaredOperation) -> bool:
    """Return whether a body is one call of its namesake with its own arguments, by place or by their names."""
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(entry.implementation.body))).body
    assert isinstance(function, ast.FunctionDef)
    _, *rest = function.body  # the docstring
    call = rest[0].value if len(rest) == 1 and isinstance(rest[0], ast.Return) else None
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != f"xp.{entry.name}":
        return False
    return all(isinstance(one, ast.Name) for one in call.args) and all(
        one.arg == ast.unparse(one.value) for one in call.keywords
    )


def test_bodies_that_are_said_to_pass_on_do_nothing_else() -> None:
    passing = [entry for entry in OPERATIONS.values() if entry.implementation.passthrough]
    assert len(passing) > 100
    assert {entry.name for entry in passing if not passes_on(entry)} == BESIDES.keys()
