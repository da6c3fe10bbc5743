"""Annotations that Python computes when they are read, as 3.14 does: names in them need not be defined yet."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.errors import RegistrationError
from dispatchkit.signatures import annotation_texts, annotations_of, copy_annotations, read_signature

# Where Python computes them at once, they are kept as text, which says the same.
LATE = "" if sys.version_info >= (3, 14) else "from __future__ import annotations\n"
CLASS = """
@dk.array_type(fallback=dk.fallback.dense)
class A:
    other: Missing
    def to_dense(self):
        return dk.ones(2)
"""
FUNCTION = """
class F(dk.autograd.Function):
    @staticmethod
    def forward(ctx: Missing, x: Missing) -> Missing:
        return x * 2
    @staticmethod
    def backward(ctx: Missing, g: Missing) -> Missing:
        return g * 2
"""
OPERATION = """
@dk.operation(arrays=["x"])
def twice(xp, x: Missing, /, *, by: Missing = 2) -> Missing:
    return x * by
@twice.def_vjp
def twice_vjp(g: Missing, by: Missing) -> Missing:
    return g * by
"""


def run(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"dk": dk, "__name__": __name__}
    exec(LATE + source, names)  # noqa: S102
    return names


def test_a_class_with_an_annotation_that_names_a_later_class_becomes_an_array_type() -> None:
    names = run(CLASS)
    with dk.densify(on="allow"):
        assert dk.sin(names["A"]()).tolist() == dk.sin(dk.ones(2)).tolist()


def test_a_dataclass_with_one_becomes_an_array_type_and_a_parameter() -> None:
    names = run(
        "import dataclasses\n"
        "@dk.array_type(fallback=dk.fallback.dense)\n@dataclasses.dataclass\n"
        "class A:\n    x: dk.Tensor\n    note: Missing = None\n    def to_dense(self):\n        return self.x\n"
    )
    parameter: Any = dk.nn.Parameter(names["A"](dk.ones(2)))
    assert parameter.x.requires_grad


def test_a_rule_with_types_may_have_any_annotation() -> None:
    names = run(
        CLASS + "@dk.implements(dk.sin, A)\ndef rule(x: Missing, /, *, note: Missing = 1) -> Missing:\n    return 5"
    )
    assert dk.sin(names["A"]()) == 5


def test_a_rule_may_promise_a_result_that_is_defined_later() -> None:
    names = run(CLASS + "@dk.implements(dk.sin)\ndef rule(x: A, /) -> Missing:\n    return 5")
    assert dk.sin(names["A"]()) == 5


@pytest.mark.parametrize("written", ["Missing", "dk.Tensor | Missing", "list[Missing]"])
def test_a_rule_for_what_is_not_defined_is_refused_in_its_own_words(written: str) -> None:
    text = (
        f"the annotation '{written}' of parameter 'x' of rule cannot be resolved (name 'Missing' is not defined); "
        "pass the types instead: implements(operation, Type, ...)"
    )
    with pytest.raises(RegistrationError) as caught:
        run(f"@dk.implements(dk.sin)\ndef rule(x: {written}, /):\n    return 5")
    assert str(caught.value) == text


def test_a_function_of_users_has_a_derivative() -> None:
    x = dk.ones(2, requires_grad=True)
    run(FUNCTION)["F"].apply(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_operation_that_says_its_arrays_has_a_derivative() -> None:
    x = dk.ones(2, requires_grad=True)
    run(OPERATION)["twice"](x, by=3).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_function_made_overridable_is_listed_and_has_a_dummy() -> None:
    with dk.local_registrations():
        rescale = run("@dk.overridable\ndef rescale(x: Missing, factor: int = 2) -> Missing:\n    return x * factor")
        assert rescale["rescale"](dk.ones(2)).tolist() == [2.0, 2.0]
        assert "rescale(" in repr(dk.tensor_protocol.operations)
        assert dk.overrides.get_testing_overrides()[rescale["rescale"]](1) == -1
        assert annotation_texts(rescale["rescale"])["x"] == "Missing"


def test_annotations_and_signatures_are_read_where_names_are_missing() -> None:
    function = run("def function(x: Missing, y: int = 3):\n    return x")["function"]

    def other(x: Any, y: Any = 3) -> None: ...

    assert list(read_signature(function).parameters) == ["x", "y"]
    assert list(annotations_of(function)) == ["x", "y"]
    assert annotation_texts(function) == {"x": "Missing", "y": "int"}
    copy_annotations(other, function)
    assert annotation_texts(other) == {"x": "Missing", "y": "int"}
