"""Second derivatives of a `Function` that keeps what `forward` computes on the way raise, rather than lack a part."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.errors import AutogradError

MESSAGE = (
    "Cube.*: trying to differentiate twice through a tensor that forward computed and kept, which is neither an input"
)


class CubeBySaved(dk.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        square = x**2
        ctx.save_for_backward(x, square)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, square = ctx.saved_tensors
        return 3 * square * g * x / x


class CubeByAttribute(dk.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.square = x**2
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 3 * ctx.square * g


class CubeBySetup(dk.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        (x,) = inputs
        ctx.save_for_backward(x * x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (square,) = ctx.saved_tensors
        return 3 * square * g


class CubeInPlace(dk.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        square = dk.ones(x.shape)
        square *= x
        square.mul_(x)
        ctx.save_for_backward(square)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (square,) = ctx.saved_tensors
        return 3 * square * g


CUBES = [CubeBySaved, CubeByAttribute, CubeBySetup, CubeInPlace]


def at_two() -> dk.Tensor:
    return dk.tensor(2.0, requires_grad=True)


@pytest.mark.parametrize("function", CUBES)
def test_the_first_derivative_is_right_and_recorded(function: Any) -> None:
    x = at_two()
    for create_graph in (False, True, True):
        (g,) = dk.autograd.grad(function.apply(x), x, create_graph=create_graph)
        assert g.item() == 12.0
        assert g.requires_grad is create_graph


@pytest.mark.parametrize("function", CUBES)
def test_the_second_derivative_raises(function: Any) -> None:
    for _ in range(2):  # a second call knows from the first what to look for
        x = at_two()
        (g,) = dk.autograd.grad(function.apply(x), x, create_graph=True)
        with pytest.raises(AutogradError, match=MESSAGE):
            dk.autograd.grad(g, x)
        with pytest.raises(AutogradError, match="save the inputs and compute it in backward, or return it"):
            dk.func.grad(dk.func.grad(function.apply))(dk.tensor(2.0))


class Masked(dk.autograd.Function):
    """Keeps what does not depend on its input: a mask, and a number."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        mask = dk.asarray([1.0, 0.0, 1.0])
        ctx.scale = dk.full((), 2.0) * 3
        ctx.save_for_backward(x, mask * 2)
        return x**2 * mask * 2 * ctx.scale

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, twice = ctx.saved_tensors
        return 2 * x * twice * ctx.scale * g


def test_what_does_not_depend_on_inputs_is_a_constant() -> None:
    x = dk.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for _ in range(2):
        (g,) = dk.autograd.grad(Masked.apply(x).sum(), x, create_graph=True)
        assert dk.autograd.grad(g.sum(), x)[0].tolist() == [24.0, 0.0, 24.0]
    assert dk.autograd.gradgradcheck(Masked.apply, (x,))


def test_a_later_call_that_keeps_something_is_looked_at_from_the_next_one_on() -> None:
    class Sometimes(dk.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, keeps: bool) -> Any:
            ctx.keeps = keeps
            ctx.save_for_backward(x**2 if keeps else x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (kept,) = ctx.saved_tensors
            return (3 * kept * g if ctx.keeps else 3 * kept * kept * g), None

    x = at_two()
    (g,) = dk.autograd.grad(Sometimes.apply(x, False), x, create_graph=True)
    assert dk.autograd.grad(g, x)[0].item() == 12.0
    Sometimes.apply(x, True)
    (g,) = dk.autograd.grad(Sometimes.apply(x, True), x, create_graph=True)
    with pytest.raises(AutogradError, match="neither an input"):
        dk.autograd.grad(g, x)
