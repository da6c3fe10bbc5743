"""In-place operators where one side is an array type: written back, or refused."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk


@dk.array_type()
class Duck(dk.ArrayMethods):
    """Answers with a tensor for some operations, with its like for others."""

    shape = (2,)
    dtype = dk.float64


@dk.implements(dk.subtract)
def subtract_duck(x1: dk.Tensor, x2: Duck, /) -> Any:
    return x1 - 0.5


@dk.implements(dk.add)
def add_duck(x1: dk.Tensor, x2: Duck, /) -> Any:
    return Duck()


@dk.implements(dk.multiply)
def multiply_by_duck(x1: dk.Tensor, x2: Duck, /) -> Any:
    return dk.ones(3)


def test_a_tensor_that_a_duck_gives_is_written_back() -> None:
    t: Any = dk.ones(2)
    same = t
    t -= Duck()
    assert t is same
    assert t.tolist() == [0.5, 0.5]
    assert t._version == 1


def test_a_recorded_result_takes_its_gradient_along() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    t: Any = x * 3
    t -= Duck()
    t.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_duck_as_the_result_raises_and_leaves_the_tensor_alone() -> None:
    t: Any = dk.ones(2)
    message = (
        "add_: the result is a Duck, which cannot be written into a Tensor; use the result of the operation instead"
    )
    with pytest.raises(TypeError, match=message):
        t += Duck()
    assert t.tolist() == [1.0, 1.0]
    assert t._version == 0


def test_a_result_of_another_shape_raises_and_leaves_the_tensor_alone() -> None:
    t: Any = dk.ones(2)
    with pytest.raises(ValueError, match=r"multiply_: the result has shape \(3,\), the tensor changed in place \(2,\)"):
        t *= Duck()
    assert t.tolist() == [1.0, 1.0]


def test_a_duck_without_a_rule_raises_the_protocols_error() -> None:
    t: Any = dk.ones(2)
    with pytest.raises(dk.NoImplementationError, match=r"no implementation found for 'dispatchkit.divide'"):
        t /= Duck()
    assert t.tolist() == [1.0, 1.0]


def test_a_duck_that_is_changed_in_place_becomes_the_result() -> None:
    @dk.implements(dk.add)
    def add(x1: Duck, x2: float, /) -> Any:
        return dk.ones(1)

    d: Any = Duck()
    d += 1.0
    assert type(d) is dk.Tensor


def test_assignment_of_a_duck_raises() -> None:
    t: Any = dk.ones(2)
    with pytest.raises(TypeError):
        t[:] = Duck()
    assert t.tolist() == [1.0, 1.0]


def test_assignment_of_a_structured_type_writes_its_dense_form() -> None:
    t: Any = dk.ones((2, 2))
    with dk.densify(on="allow"):
        t[:] = dk.types.ScalarTensor(2, 3.0)
    assert t.tolist() == [[3.0, 0.0], [0.0, 3.0]]


def test_a_structured_operand_is_added_in_place() -> None:
    t: Any = dk.ones((2, 2))
    t += dk.types.ScalarTensor(2, 3.0)
    assert t.tolist() == [[4.0, 1.0], [1.0, 4.0]]
