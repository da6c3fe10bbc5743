"""Running cases, to compare what happens with what mypy says."""

from __future__ import annotations

import ast
import contextlib
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import dispatchkit as dk
from tests.mypy_plugin.harness import Case

__all__ = ["run"]


class Ran:
    """What happened.

    Attributes
    ----------
    revealed : the values given to `reveal_type`, by line
    raised : what the statements at the top level raised or warned of, by first line
    """

    def __init__(self) -> None:
        self.revealed: dict[int, Any] = {}
        self.raised: dict[int, Exception] = {}

    def reveal_type(self, value: Any) -> Any:
        """Note a value, and the line that reveals it."""
        self.revealed[sys._getframe(1).f_lineno] = value
        return value


@contextlib.contextmanager
def importable(case: Case) -> Iterator[None]:
    """Have the further modules of a case, whose code is written to no disk, found by `import`."""
    made = [file.removesuffix(".py") for file in case.files if file != f"{case.name}.py"]
    try:
        for name in made:
            if name in case.source:
                module = sys.modules[name] = ModuleType(name)
                exec("\n".join(case.files[f"{name}.py"]), vars(module))  # noqa: S102  # the case is the test
        yield
    finally:
        for name in made:
            sys.modules.pop(name, None)


def run(case: Case) -> Ran:
    """Run the statements of a case one by one; one that raises does not keep the next from running."""
    ran = Ran()
    module = ModuleType(case.name)
    names = vars(module) | {"reveal_type": ran.reveal_type}
    sys.modules[case.name] = module  # where dataclasses look their names up
    tree = ast.parse(case.source)
    try:
        with dk.local_registrations(), importable(case), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for statement in tree.body:
                before = len(caught)
                try:
                    exec(compile(ast.Module([statement], []), case.name, "exec", dont_inherit=True), names)  # noqa: S102
                except Exception as error:  # noqa: BLE001  # what it is, is what is looked at
                    ran.raised[statement.lineno] = error
                for warning in caught[before:]:
                    if isinstance(warning.message, dk.SignatureWarning):
                        ran.raised[statement.lineno] = warning.message
    finally:
        del sys.modules[case.name]
    return ran
