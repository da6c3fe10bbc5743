"""The stubs are those of the declarations, and methods show the signatures that it declares."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import dispatchkit as dk
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.surface import method_signature
from tests.typing.surface_stub import CATALOGUE, FUNCTIONS, PATH


@pytest.mark.parametrize(
    ("make", "path"),
    [("make_stub", PATH), ("make_catalogue", CATALOGUE), ("make_functions", FUNCTIONS)],
)
def test_the_stub_is_up_to_date(make: str, path: Path) -> None:
    # In an interpreter of its own, since operations that other tests declare add methods.
    program = f"from tests.typing.surface_stub import {make}; print({make}(), end='')"
    root = Path(__file__).parents[2]
    made = subprocess.run([sys.executable, "-c", program], cwd=root, check=True, capture_output=True, text=True).stdout
    assert path.read_text(encoding="utf-8") == made, "run `python -m tests.typing.surface_stub`"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("sum", "(self, /, axis=None, keepdims=False, dtype=None)"),
        ("reshape", "(self, /, shape, copy=None)"),
        ("searchsorted", "(self, x2, /, side='left', sorter=None)"),
    ],
)
def test_methods_have_the_signature_of_their_operation(name: str, parameters: str) -> None:
    signature = inspect.signature(getattr(dk.Tensor, name))
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    assert str(inspect.Signature(bare)) == parameters


def test_keywords_of_methods_go_by_position_in_the_order_of_the_signature() -> None:
    x = dk.ones((2, 3))
    bound = inspect.signature(dk.Tensor.sum).bind(x, 0, True)
    assert bound.arguments == {"self": x, "axis": 0, "keepdims": True}
    assert x.sum(0, True).shape == dk.sum(x, axis=0, keepdims=True).shape == (1, 3)


def test_a_required_keyword_after_an_optional_one_stays_a_keyword() -> None:
    operation = tensor_protocol.operation(dk.sum)
    x, axis, keepdims, dtype = operation.parameters.signature.parameters.values()
    signature = inspect.Signature([x, axis, keepdims.replace(default=inspect.Parameter.empty), dtype])

    class Declared:
        parameters = type("Parameters", (), {"signature": signature})

    kinds = [p.kind.description for p in method_signature(Declared()).parameters.values()]  # type: ignore[arg-type]
    assert kinds == ["positional-only", "positional or keyword", "keyword-only", "keyword-only"]
