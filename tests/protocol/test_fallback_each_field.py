"""`fallback.each_field`: every type has it first; who declares nothing has copies alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.report.covering.coverage import read_baseline
from tests.report.reports import coverage_of


@dataclass
class Pair:
    left: Any
    right: Any
    shape, dtype = (2,), dk.float64

    def to_dense(self) -> Any:
        return self.left + self.right


@pytest.mark.parametrize(
    ("fallback", "answered"),
    [
        (None, {"clone"}),
        (dk.fallback.refuse, {"clone"}),
        (dk.fallback.decompose, {"clone"}),
        (dk.fallback.dense, {"clone", "astype", "zeros_like"}),
        (dk.fallback.rewrap, {"clone", "astype", "zeros_like"}),
    ],
)
def test_it_comes_before_what_the_type_declares(fallback: Any, answered: set[str]) -> None:
    cls: Any = dk.array_type(fallback=fallback)(type("Pair", (Pair,), {}))
    x = cls(dk.ones(2), dk.ones(2))
    for name in ("clone", "astype", "zeros_like"):
        steps = dk.tensor_protocol.chain(dk.tensor_protocol.operation(getattr(dk, name)), (cls,)).steps
        assert bool(steps and steps[0].source.name == "each_field") is (name in answered), name
    assert type(dk.clone(x)) is cls


def test_it_may_be_declared_and_is_asked_once() -> None:
    cls: Any = dk.array_type(fallback=dk.fallback.dense | dk.fallback.each_field)(type("Pair", (Pair,), {}))
    steps = dk.tensor_protocol.chain(dk.tensor_protocol.operation(dk.clone), (cls,)).steps
    assert [step.source.name for step in steps] == ["dense", "each_field"]


def test_other_operations_do_not_have_it() -> None:
    cls: Any = dk.array_type(fallback=dk.fallback.each_field)(type("Pair", (Pair,), {}))
    with pytest.raises(dk.NoImplementationError, match="exp is not computed on each field alone"):
        dk.exp(cls(dk.ones(2), dk.ones(2)))
    named: Any = dk.array_type(fallback=dk.fallback.dense)(type("Nothing", (), {"to_dense": lambda self: dk.ones(2)}))
    with dk.densify(on="allow"):
        assert type(dk.clone(named())) is dk.Tensor


def test_the_former_name_is_the_same_with_a_warning() -> None:
    text = (
        r"^dk\.fallback\.fieldwise is deprecated, and goes with the next minor version; write dk\.fallback\.each_field$"
    )
    with pytest.warns(DeprecationWarning, match=text) as caught:
        assert dk.fallback.fieldwise == dk.fallback.each_field
    assert caught[0].filename == __file__


def test_a_baseline_of_an_earlier_version_is_read() -> None:
    text = coverage_of(dk.types.ScalarTensor).to_json()
    assert read_baseline(text.replace('"each field"', '"fieldwise"')) == read_baseline(text)
    assert any(row["bucket"] == "each field" for row in read_baseline(text)["ScalarTensor"]["functions"])
