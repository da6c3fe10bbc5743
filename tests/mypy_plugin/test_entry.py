"""What mypy loads, and what happens where mypy is not installed."""

from __future__ import annotations

import importlib
import sys

import pytest

pytest.importorskip("mypy.plugin")

from mypy.options import Options
from mypy.plugin import Plugin

from dispatchkit.mypy_plugin import plugin
from dispatchkit.mypy_plugin.reading import PROPERTIES, lookup, member_target
from tests.declared import OPERATIONS


def test_the_entry_gives_a_plugin() -> None:
    made = plugin("2.4.1")(Options())
    assert isinstance(made, Plugin)


def test_without_mypy_the_error_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dispatchkit.mypy_plugin")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mypy.nodes", None)
    with pytest.raises(ModuleNotFoundError, match="plugin of mypy, which is not installed: pip install mypy"):
        importlib.import_module("dispatchkit.mypy_plugin")


def test_every_operation_is_found_under_the_name_that_mypy_has_for_it() -> None:
    for name, operation in OPERATIONS.items():
        found = lookup(operation.place)
        assert found is not None, name
        assert found.key == operation.qualified_name


def test_an_alias_is_its_operation() -> None:
    alias, operation = (lookup(f"dispatchkit.ops.elementwise.arithmetic.{name}") for name in ("mul", "multiply"))
    assert alias is not None
    assert operation is not None
    assert alias.key == operation.key == "dispatchkit.multiply"


def test_tables_are_those_of_the_library() -> None:
    assert {"T", "mT", "real", "imag"} == PROPERTIES
    assert member_target("__array_ufunc__") is None
