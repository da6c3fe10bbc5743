"""Types load when they are first asked for, and all structured matrices at once."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import dispatchkit as dk
from tests.test_import import run


def test_a_structure_loads_when_it_is_first_asked_for() -> None:
    program = """
import sys, dispatchkit.types as types
before = "dispatchkit.types.structured" in sys.modules
types.MetadataTensor
between = "dispatchkit.types.structured" in sys.modules
print(before, between, types.ScalarTensor.__module__, "StructuredTensor" in vars(types))
"""
    assert run(program) == "False False dispatchkit.types True"


def test_every_name_is_there() -> None:
    assert set(dk.types.__all__) <= {*dir(dk.types)}
    assert all(getattr(dk.types, name).__module__ == "dispatchkit.types" for name in dk.types.__all__)


def test_type_checkers_see_the_names_that_load() -> None:
    # Listed twice, since type checkers read imports alone and a program needs the names before it imports them.
    tree = ast.parse(Path(dk.types.__file__ or "").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {(alias.asname, node.module) for node in imports for alias in node.names}
    assert {name for name, _ in seen} == set(dk.types.__all__) - {"MetadataTensor"}
    for name, module in seen:
        assert getattr(import_module(module or ""), name or "") is getattr(dk.types, name or "")
    structured = import_module("dispatchkit.types.structured")
    public = {name for name in structured.__all__ if isinstance(getattr(structured, name), type)}
    assert public - {"InvQuadLogdet"} <= set(dk.types.__all__)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'dispatchkit.types' has no attribute 'NoTensor'$"):
        dk.types.NoTensor  # type: ignore[attr-defined]  # noqa: B018


def test_a_saved_structure_loads_where_nothing_asked_for_its_type(tmp_path: Path) -> None:
    dk.save(dk.types.ScalarTensor(3, 2.0), tmp_path / "s.npz")
    program = f"import dispatchkit as dk; print(dk.load({str(tmp_path / 's.npz')!r}))"
    assert run(program) == "ScalarTensor(n=3, value=2.0)"
