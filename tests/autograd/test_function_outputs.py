"""What `forward` may return, and what is made of the gradients that `backward` returns."""

from __future__ import annotations

import re
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import Function, grad
from tests.autograd.test_function_context import Product
from tests.autograd.test_function_seeds import leaf

Named = namedtuple("Named", "double triple")


@pytest.mark.parametrize("container", [list, tuple, lambda members: Named(*members)])
def test_sequences_of_outputs_keep_their_type(container: Any) -> None:
    class Multiples(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return container([x * 2, x * 3])

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a * 2 + b * 3

    x = leaf(1.0)
    result = Multiples.apply(x)
    assert type(result) is type(container([1, 2]))
    assert [repr(y.grad_fn) for y in result] == ["<MultiplesBackward>"] * 2
    assert grad(result[0].sum() + result[1].sum(), x)[0].item() == 5.0


def test_an_input_among_several_outputs() -> None:
    class Beside(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x, x * 2

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a * 10 + b * 2

    x = leaf(1.0)
    same, double = Beside.apply(x)
    assert same is not x
    assert np.may_share_memory(same.array, x.array)
    assert grad((same + double).sum(), x)[0].item() == 12.0
    assert x.is_leaf


def test_an_alias_of_an_input_is_changed_with_it() -> None:
    class Through(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf(1.0)
    a = x * 1
    y = Through.apply(a)
    y *= 3
    assert a.item() == 3.0
    (g,) = dk.autograd.grad((a * y).sum(), x)
    assert g.item() == 18.0


def test_gradients_of_two_inputs_never_share_memory() -> None:
    class Add(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.kept = dk.ones(2)
            return a + b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    class Kept(Add):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return ctx.kept, ctx.kept

    for function in (Add, Kept):
        a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
        y = function.apply(a, b)
        y.backward(dk.ones(2), retain_graph=True)
        assert a.grad is not None
        assert b.grad is not None
        assert not np.may_share_memory(a.grad.array, b.grad.array)
        a.grad.zero_()
        y.backward(dk.ones(2))
        assert b.grad.tolist() == [2.0, 2.0]


def test_numpy_arrays_are_gradients_too() -> None:
    class Triple(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * g.detach().numpy()

    x = leaf(1.0, 2.0)
    assert grad(Triple.apply(x).sum(), x)[0].tolist() == [3.0, 3.0]
    (g,) = grad(Triple.apply(x).sum(), x, create_graph=True)
    message = "TripleBackward: .* whose backward returned a NumPy array, which is outside the graph; compute it with"
    with pytest.raises(dk.AutogradError, match=message):
        g.sum().backward()


def test_a_list_of_gradients_counts_like_a_tuple() -> None:
    class Sum(Product):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return [g, 2 * g]

    x, w = leaf(1.0), leaf(1.0)
    assert [g.item() for g in grad(Sum.apply(x, w).sum(), [x, w])] == [1.0, 2.0]


def test_a_complex_gradient_of_a_real_input_is_its_real_part() -> None:
    class Turn(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * (2 + 3j)

    x = leaf(1.0)
    (g,) = grad(Turn.apply(x).sum(), x)
    assert (g.dtype, g.item()) == (dk.float64, 2.0)


def test_a_gradient_that_fits_nobody_is_refused_wherever_it_stands() -> None:
    class Smaller(Product):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None, g.sum()

    message = "Function SmallerBackward returned an invalid gradient at index 1 - got [] but expected shape compatible"
    with pytest.raises(dk.AutogradError, match=re.escape(message)):
        Smaller.apply(leaf(1.0, 2.0), leaf(1.0, 2.0)).sum().backward()
