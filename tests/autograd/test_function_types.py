"""`Function` with types of one's own: tracked through their fields, answered by their handlers, seen by modes."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.autograd import Function, grad
from tests.autograd.test_function_seeds import leaf


@dk.array_type()
class Diagonal:
    def __init__(self, d: Any, name: str = "plain") -> None:
        self.d = d
        self.name = name

    def to_dense(self) -> Any:
        return dk.eye(self.d.size) * self.d


@dk.array_type()
@dataclasses.dataclass(frozen=True)
class LowRank:
    base: Diagonal
    u: Any
    rank: int = 1


class Scale(Function):
    """Multiply what a diagonal holds by a number that is a tensor."""

    @staticmethod
    def forward(ctx: Any, matrix: Any, factor: Any) -> Any:
        ctx.save_for_backward(matrix, factor)
        return Diagonal(matrix.d * factor, matrix.name)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        assert isinstance(g, Diagonal)
        matrix, factor = ctx.saved_tensors
        return Diagonal(g.d * factor), (g.d * matrix.d).sum()


class Solve(Function):
    @staticmethod
    def forward(ctx: Any, matrix: Any, b: Any) -> Any:
        x = b / matrix.d
        ctx.save_for_backward(matrix, x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        matrix, x = ctx.saved_tensors
        gb = g / matrix.d
        return -gb * x, gb


def through_diagonal(d: Any, b: Any) -> Any:
    return Solve.apply(Diagonal(d), b)


def test_a_type_is_tracked_through_its_field() -> None:
    assert dk.autograd.gradcheck(through_diagonal, (leaf(2.0, 3.0), leaf(1.0, -1.0)))
    assert dk.autograd.gradgradcheck(through_diagonal, (leaf(2.0, 3.0), leaf(1.0, -1.0)))


def test_the_object_reaches_forward_as_it_is() -> None:
    seen: list[Any] = []

    class Look(Function):
        @staticmethod
        def forward(ctx: Any, matrix: Any, *rest: Any) -> Any:
            seen.extend([matrix, ctx.needs_input_grad, (matrix.d * 2).requires_grad])
            return matrix.d.sum()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Diagonal(dk.broadcast_to(g, (2,)))

    matrix = Diagonal(leaf(1.0, 2.0))
    y = Look.apply(matrix)
    assert seen[0] is matrix
    assert seen[1:] == [(True,), False]
    y.backward()
    assert matrix.d.grad.tolist() == [1.0, 1.0]
    assert not Look.apply(Diagonal(dk.ones(2))).requires_grad


def test_a_result_is_tracked_through_its_field_and_its_gradient_is_of_its_type() -> None:
    d, factor = leaf(1.0, 2.0), dk.tensor(3.0, requires_grad=True)
    result = Scale.apply(Diagonal(d, "named"), factor)
    assert (type(result), result.name) == (Diagonal, "named")
    assert repr(result.d.grad_fn) == "<ScaleBackward>"
    (result.d * dk.tensor([1.0, 10.0])).sum().backward()
    assert d.grad is not None
    assert factor.grad is not None
    assert (d.grad.tolist(), factor.grad.item()) == ([3.0, 30.0], 21.0)


def test_second_derivatives_flow_through_types() -> None:
    factor = dk.tensor(3.0, requires_grad=True)
    assert dk.autograd.gradgradcheck(lambda d, f: Scale.apply(Diagonal(d), f).d, (leaf(1.0, 2.0), factor))


class Spread(Function):
    """Take apart a type with tensors at two depths."""

    @staticmethod
    def forward(ctx: Any, matrix: Any) -> Any:
        ctx.matrix = matrix
        return matrix.base.d * 2, matrix.u * 3

    @staticmethod
    def backward(ctx: Any, g_d: Any, g_u: Any) -> Any:
        return dataclasses.replace(ctx.matrix, base=Diagonal(g_d * 2), u=g_u * 3)


def test_tensors_are_found_at_any_depth() -> None:
    d, u = leaf(1.0, 2.0), leaf(5.0)
    a, b = Spread.apply(LowRank(Diagonal(d), u, rank=7))
    (a.sum() + b.sum()).backward()
    assert d.grad is not None
    assert u.grad is not None
    assert (d.grad.tolist(), u.grad.tolist()) == ([2.0, 2.0], [3.0])


def test_a_type_that_is_returned_as_it_came() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, matrix: Any) -> Any:
            return matrix

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Diagonal(g.d * 5)

    matrix = Diagonal(leaf(1.0, 2.0), "named")
    result = Same.apply(matrix)
    assert result is not matrix
    assert (result.name, matrix.d.is_leaf) == ("named", True)
    assert grad(result.d.sum(), matrix.d)[0].tolist() == [5.0, 5.0]


@pytest.mark.parametrize("gradient", [LowRank(Diagonal(leaf(1.0)), leaf(1.0)), "text"])
def test_a_gradient_of_another_type_is_refused(gradient: Any) -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, matrix: Any) -> Any:
            return matrix.d * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return gradient

    with pytest.raises(dk.AutogradError) as caught:
        Wrong.apply(Diagonal(leaf(1.0))).sum().backward()
    assert str(caught.value) == (
        "function WrongBackward returned a gradient at index 0 that does not fit a Diagonal: expected a Diagonal with "
        f"gradients in its fields, a tensor or None (got {type(gradient).__name__})"
    )


def test_a_tensor_does_not_fit_a_type_with_two() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, matrix: Any) -> Any:
            return matrix.u * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    message = "that does not fit a LowRank: expected a LowRank with gradients in its fields or None (got Tensor)"
    with pytest.raises(dk.AutogradError, match=re.escape(message)):
        Wrong.apply(LowRank(Diagonal(leaf(1.0)), leaf(1.0))).sum().backward()


def test_a_gradient_in_a_field_is_checked_too() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, matrix: Any) -> Any:
            return matrix.d * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None, Diagonal(dk.ones(7))

    message = "invalid gradient at index 1 - got [7] but expected shape compatible with [2]"
    with pytest.raises(dk.AutogradError, match=re.escape(message)):
        Wrong.apply(1.0, Diagonal(leaf(1.0, 2.0))).sum().backward()


def test_a_type_changed_in_place() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, matrix: Any) -> Any:
            matrix.d.mul_(2)
            ctx.mark_dirty(matrix)
            return matrix

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.d * 2

    x = leaf(1.0, 2.0)
    matrix = Diagonal(x * 1)
    assert Double.apply(matrix) is matrix
    assert matrix.d.tolist() == [2.0, 4.0]
    assert grad(matrix.d.sum(), x)[0].tolist() == [2.0, 2.0]


def test_a_saved_type_that_changed_since_is_noticed() -> None:
    d = leaf(1.0, 2.0) * 1
    result = Scale.apply(Diagonal(d), leaf(1.0))
    with dk.no_grad():
        d += 1
    with pytest.raises(dk.InplaceError, match="backward of ScaleBackward"):
        result.d.sum().backward()


def test_a_type_without_fields_is_any_object() -> None:
    class Bare:
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return NotImplemented

    class Take(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, other: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, None

    x = leaf(1.0)
    assert grad(Take.apply(x, Bare()).sum(), x)[0].item() == 2.0
