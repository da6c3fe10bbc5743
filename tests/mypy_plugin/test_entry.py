"""What mypy loads, and what happens where mypy is not installed."""

from __future__ import annotations

import importlib
import sys

import pytest

pytest.importorskip("mypy.plugin")

from mypy.options import Options
from mypy.plugin import Plugin

from dispatchkit.mypy_plugin import plugin


def test_the_entry_gives_a_plugin() -> None:
    made = plugin("2.4.1")(Options())
    assert isinstance(made, Plugin)


def test_without_mypy_the_error_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dispatchkit.mypy_plugin")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mypy.nodes", None)
    with pytest.raises(ModuleNotFoundError, match="plugin of mypy, which is not installed: pip install mypy"):
        importlib.import_module("dispatchkit.mypy_plugin")
