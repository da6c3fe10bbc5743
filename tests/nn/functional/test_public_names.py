"""The functions of layers are declared with public names, as those of a user's package are."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import dispatchkit as dk

FILES = sorted(Path(dk.nn.functional.__file__ or "").parent.glob("*.py"))
# What bodies and the package itself take besides.
NOT_PUBLIC = {"BACKEND_ERRORS", "enter", "make_home", "starred_names", "tensor_namespace"}
HOMES = (dk, dk.testing)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_imports_public_names_for_its_declarations(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        module = getattr(node, "module", None) or ""
        if isinstance(node, ast.ImportFrom) and module.startswith(("dispatchkit.declare", "dispatchkit.protocol")):
            for name in {alias.name for alias in node.names} - NOT_PUBLIC:
                value = getattr(import_module(module), name)
                assert any(getattr(home, name, None) is value for home in HOMES), f"{module}.{name}"


def test_signatures_name_arrays_as_users_do() -> None:
    functions = dk.overrides.get_overridable_functions()[dk.nn.functional]
    assert len(functions) > 25
    annotations = {str(p.annotation) for f in functions for p in inspect.signature(f).parameters.values()}
    assert {text for text in annotations if "Tensor" in text} == {"Tensor", "Tensor | None"}
    assert not {text for text in annotations if "Array" in text}
