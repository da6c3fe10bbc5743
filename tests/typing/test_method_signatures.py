"""Methods show the signatures that the declarations of their operations have."""

from __future__ import annotations

import inspect

import pytest

import dispatchkit as dk
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.surface import method_signature


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
