"""What people do with `Function`: the examples of PyTorch's "Extending PyTorch" note."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.autograd import Function, grad, gradcheck, gradgradcheck
from dispatchkit.autograd.function import once_differentiable
from dispatchkit.autograd.function_context import FunctionCtx
from dispatchkit.errors import AutogradError


def leaf(*values: float) -> dk.Tensor:
    return dk.Tensor(list(values), requires_grad=True)


def random(*shape: int, seed: int = 0) -> dk.Tensor:
    return dk.Tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=True)


class LinearFunction(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Any, weight: Any, bias: Any = None) -> Any:
        ctx.save_for_backward(x, weight, bias)
        output = x.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Any) -> Any:
        x, weight, bias = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(x)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_x, grad_weight, grad_bias


class SeparateLinear(Function):
    @staticmethod
    def forward(x: Any, weight: Any, bias: Any) -> Any:
        output = x.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: Any, output: Any) -> None:
        x, weight, bias = inputs
        ctx.save_for_backward(x, weight, bias)

    backward = LinearFunction.backward


@pytest.mark.parametrize("linear", [LinearFunction, SeparateLinear])
def test_the_linear_layer(linear: Any) -> None:
    x, w, b = random(20, 3), random(5, 3, seed=1), random(5, seed=2)
    y = linear.apply(x, w, b)
    npt.assert_allclose(y.detach().numpy(), x.array @ w.array.T + b.array)
    assert gradcheck(linear.apply, (x, w, b), eps=1e-6, atol=1e-4)
    assert gradgradcheck(linear.apply, (x, w, b))


def test_the_linear_layer_without_bias() -> None:
    x, w = random(4, 3), random(5, 3, seed=1)
    assert gradcheck(LinearFunction.apply, (x, w))
    assert gradcheck(lambda x, w: SeparateLinear.apply(x, w, None), (x, w))
    assert gradcheck(lambda x, w: LinearFunction.apply(x, w, None), (x, w))


def test_its_name_stands_in_grad_fn() -> None:
    y = LinearFunction.apply(random(1, 1), dk.ones((1, 1)))
    assert repr(y.grad_fn) == "<LinearFunctionBackward>"
    assert repr(LinearFunction.apply(dk.ones((1, 1), requires_grad=True), dk.ones((1, 1)))) == (
        "tensor([[1.]], grad_fn=<LinearFunctionBackward>)"
    )


def test_the_frozen_weight_gets_no_gradient() -> None:
    x, w = random(4, 3), dk.ones((5, 3))
    LinearFunction.apply(x, w).sum().backward()
    assert x.grad is not None
    assert w.grad is None


def test_defaults_and_keywords_by_wrapping_apply() -> None:
    def linear(x: Any, weight: Any, bias: Any = None) -> Any:
        return LinearFunction.apply(x, weight, bias)

    x, w, b = random(2, 3), random(4, 3), random(4)
    npt.assert_array_equal(linear(x, weight=w, bias=b).array, LinearFunction.apply(x, w, b).array)
    assert linear(x, w).shape == (2, 4)


class MulConstant(Function):
    @staticmethod
    def forward(tensor: Any, constant: Any) -> Any:
        return tensor * constant

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: Any, output: Any) -> None:
        _, ctx.constant = inputs

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Any) -> Any:
        return grad_output * ctx.constant, None


class LazyMulConstant(MulConstant):
    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: Any, output: Any) -> None:
        ctx.set_materialize_grads(False)
        _, ctx.constant = inputs

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Any) -> Any:
        if grad_output is None:
            return None, None
        return grad_output * ctx.constant, None


@pytest.mark.parametrize("multiply", [MulConstant, LazyMulConstant])
def test_multiplication_by_a_constant(multiply: Any) -> None:
    assert gradcheck(lambda x: multiply.apply(x, 5.5), (random(3),))
    assert gradgradcheck(lambda x: multiply.apply(x, 5.5), (random(3),))


class Exp(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Any) -> Any:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Any) -> Any:
        (result,) = ctx.saved_tensors
        return grad_output * result


def test_exp_saves_its_output() -> None:
    assert gradcheck(Exp.apply, (random(3),))
    assert gradgradcheck(Exp.apply, (random(3),))
    x = leaf(0.5)
    y = Exp.apply(x)
    for _ in range(3):
        (y,) = grad(y.sum(), x, create_graph=True)
    npt.assert_allclose(y.array, np.exp([0.5]))


class Cube(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        # The intermediate is an output, so that gradients of it flow.
        dx = 3 * x**2
        return x**3, dx

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: Any, output: Any) -> None:
        (x,) = inputs
        _, dx = output
        ctx.save_for_backward(x, dx)

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Any, grad_dx: Any) -> Any:
        x, dx = ctx.saved_tensors
        return grad_output * dx + grad_dx * 6 * x


def test_the_cube_returns_its_intermediate() -> None:
    def cube(x: Any) -> Any:
        return Cube.apply(x)[0]

    assert gradcheck(cube, (random(3),))
    assert gradgradcheck(cube, (random(3),))


class HiddenCube(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Any) -> Any:
        dx = 3 * x**2
        ctx.save_for_backward(dx)
        return x**3

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Any) -> Any:
        (dx,) = ctx.saved_tensors
        return grad_output * dx


def test_an_intermediate_that_is_no_output_has_no_second_derivative_and_says_so() -> None:
    assert gradcheck(HiddenCube.apply, (leaf(1.5),))
    with pytest.raises(AutogradError, match="that forward computed and kept, which is neither an input nor an output"):
        gradgradcheck(HiddenCube.apply, (leaf(1.5),))


class NumpySort(Function):
    @staticmethod
    def forward(x: Any, dim: int) -> Any:
        x = x.detach().numpy()
        ind = np.argsort(x, axis=dim)
        ind_inv = np.argsort(ind, axis=dim)
        return dk.asarray(np.take_along_axis(x, ind, axis=dim)), dk.asarray(ind), dk.asarray(ind_inv)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: Any, output: Any) -> None:
        _, ctx.dim = inputs
        _, ind, ind_inv = output
        ctx.mark_non_differentiable(ind, ind_inv)
        ctx.save_for_backward(ind, ind_inv)

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Any, _0: Any, _1: Any) -> Any:
        ind, ind_inv = ctx.saved_tensors
        return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None


class NumpyTake(Function):
    @staticmethod
    def forward(x: Any, ind: Any, ind_inv: Any, dim: int) -> Any:
        return dk.asarray(np.take_along_axis(x.numpy(), ind.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: Any, output: Any) -> None:
        _, ind, ind_inv, ctx.dim = inputs
        ctx.save_for_backward(ind, ind_inv)

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Any) -> Any:
        ind, ind_inv = ctx.saved_tensors
        return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None, None, None


def test_a_numpy_function_made_differentiable() -> None:
    def sort(x: Any, dim: int = -1) -> Any:
        return NumpySort.apply(x, dim)[0]

    x = random(3, 4)
    npt.assert_array_equal(sort(x).array, np.sort(x.array))
    assert gradcheck(sort, (x,))
    assert gradgradcheck(sort, (x,))
    assert gradcheck(lambda x: sort(x, 0), (x,))
    values, indices, inverse = NumpySort.apply(x, 1)
    assert [t.requires_grad for t in (values, indices, inverse)] == [True, False, False]


class Convolution(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Any, kernel: Any) -> Any:
        ctx.save_for_backward(x, kernel)
        return dk.asarray(np.convolve(x.numpy(), kernel.numpy(), mode="valid"))

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad_output: Any) -> Any:
        x, kernel = (t.numpy() for t in ctx.saved_tensors)
        g = grad_output.numpy()
        return np.convolve(g, kernel[::-1], mode="full"), np.convolve(x[::-1], g, mode="valid")


def test_a_convolution_in_numpy_is_differentiable_once() -> None:
    x, kernel = random(6), random(3, seed=1)
    assert gradcheck(Convolution.apply, (x, kernel))
    with pytest.raises(RuntimeError, match=r"ConvolutionBackward: .* marked with @once_differentiable"):
        gradgradcheck(Convolution.apply, (x, kernel))


class WrongSquare(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, a: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return a + x * x

    @staticmethod
    def backward(ctx: FunctionCtx, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g, 3 * x * g


def test_gradcheck_shows_where_a_function_is_wrong() -> None:
    with pytest.raises(dk.GradcheckError) as caught:
        gradcheck(WrongSquare.apply, (leaf(0.0), leaf(2.0)))
    lines = str(caught.value).splitlines()
    assert lines[:3] == [
        "Jacobian mismatch for output 0 with respect to input 1,",
        "numerical: [[4.]]",
        "analytical: [[6.]]",
    ]
