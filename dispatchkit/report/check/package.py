"""What a package holds: its modules, its array types, its rules, and the rules that its import replaced."""

from __future__ import annotations

import pkgutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from dispatchkit.errors import ReplacementWarning
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.handlers import Rule
from dispatchkit.report.loading import import_named

__all__ = ["Package", "load_package"]


@dataclass(frozen=True)
class Package:
    """A package that has been imported.

    Attributes
    ----------
    name : of the package or module
    types : the array types that it defines
    rules : the rules that it registers
    replaced : what was said of rules that replaced those of another module
    """

    name: str
    types: tuple[type, ...]
    rules: tuple[Rule, ...]
    replaced: tuple[str, ...]

    def owns(self, module: str) -> bool:
        """Return whether a module belongs to the package."""
        return module == self.name or module.startswith(f"{self.name}.")


def load_package(name: str, protocol: DispatchProtocol) -> Package:
    """Import a package with all its modules, and return what it holds.

    Raises
    ------
    ImportError : if it, or a module of it, cannot be imported
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ReplacementWarning)
        modules = list(_imported(name))
    bare = Package(name, (), (), ())
    types: dict[type, None] = {}
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and bare.owns(value.__module__) and protocol.types.participates(value):
                types[value] = None
    rules = [rule for rule in protocol.rules() if bare.owns(getattr(rule.handler, "__module__", ""))]
    replaced = dict.fromkeys(str(one.message) for one in caught if one.category is ReplacementWarning)
    return Package(name, tuple(types), tuple(rules), tuple(replaced))


def _imported(name: str) -> Iterator[object]:
    """Yield a package and all its modules but those that are programs."""
    package = import_named(name)
    yield package
    for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
        if found.name.rpartition(".")[2] != "__main__":
            yield import_named(found.name)
