"""The twelve types of `twelve`, and their 120 faults: each an edit of the text of a module, which is run anew."""

from __future__ import annotations

import importlib
import linecache
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dispatchkit as dk
from dispatchkit.testing import Conformance, ConformanceError, check_type

NAMES = (
    *("bits", "coded", "columns", "fixed", "modular", "outer"),
    *("pair", "permutation", "quantised", "ring", "span", "tagged"),
)


@dataclass(frozen=True)
class Fault:
    """An edit of a right type.

    Attributes
    ----------
    module : of the type
    about : what is wrong, in a few words
    operation : whose rule or method has it, "" for what is none of an operation
    old, new : the text that is edited, and what takes its place
    """

    module: str
    about: str
    operation: str
    old: str
    new: str

    @property
    def name(self) -> str:
        """What tests call it."""
        return f"{self.module}: {self.operation or 'type'}: {self.about}"


def module_of(name: str) -> Any:
    """Return the module of a right type."""
    return importlib.import_module(f"tests.testing.twelve.{name}")


def faults() -> list[Fault]:
    """Return all faults."""
    return [Fault(name, *entry) for name in NAMES for entry in module_of(name).FAULTS]


@contextmanager
def planted(fault: Fault) -> Iterator[Any]:
    """Run the module of a type with a fault in it, under a name of its own, in which its instances can be pickled."""
    right = module_of(fault.module)
    text, _, _ = Path(right.__file__).read_text(encoding="utf-8").partition("FAULTS = [")
    if text.count(fault.old) != 1:
        raise ValueError(f"{fault.name}: the text to edit stands {text.count(fault.old)} times in the module")
    text = text.replace(fault.old, fault.new)
    name = f"{right.__name__}_with_a_fault"
    module: Any = types.ModuleType(name)
    module.__file__ = f"{name}.py"
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
    sys.modules[name] = module
    try:
        exec(compile(text, module.__file__, "exec"), vars(module))  # noqa: S102  # a module of these tests
        yield module
    finally:
        del sys.modules[name], linecache.cache[module.__file__]


def check(module: Any, **options: Any) -> Conformance:
    """Return what `check_type` finds of the type of a module."""
    cls = type(module.samples()[0])
    try:
        return check_type(cls, module.samples, **{"skip": getattr(module, "SKIP", ()), **options})
    except ConformanceError as error:
        return error.conformance


def operation_of(fault: Fault) -> Any:
    """Return the function whose rule or method has the fault, None where it is none of one."""
    function: Any = None
    if fault.operation:
        function = dk.tensor_protocol.operations[f"dispatchkit.{fault.operation}"].function
    return function


def own_operations(cls: type) -> list[Any]:
    """Return the functions that a type has rules for, of those of a kind two."""
    rules = [rule for rule in dk.tensor_protocol.rules() if cls in rule.types]
    direct = [rule.target.function for rule in rules if hasattr(rule.target, "function")]
    of_kinds = [dk.abs, dk.exp] if len(direct) < len(rules) else []
    return list(dict.fromkeys([*direct, *of_kinds]))
