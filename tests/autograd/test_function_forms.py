"""How a `Function` is written and called: signatures, the oldest form, pickles, once_differentiable, jvp and vmap."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import Function, grad
from dispatchkit.autograd.function import once_differentiable
from dispatchkit.autograd.function_context import FunctionCtx
from dispatchkit.protocol.overridable import of
from tests.autograd.test_function_seeds import Exp, LinearFunction, MulConstant, leaf

exp = Exp.apply


def test_the_public_names() -> None:
    assert dk.autograd.Function is dk.autograd.function.Function is Function
    assert dk.autograd.function.once_differentiable is once_differentiable
    assert dk.autograd.function.FunctionCtx is FunctionCtx


def test_apply_has_the_signature_of_forward() -> None:
    assert str(inspect.signature(LinearFunction.apply)) == "(x: 'Any', weight: 'Any', bias: 'Any' = None) -> 'Any'"
    assert str(inspect.signature(MulConstant.apply)) == "(tensor: 'Any', constant: 'Any') -> 'Any'"
    assert LinearFunction.apply.__qualname__ == "LinearFunction.apply"


def test_keywords_find_their_positions() -> None:
    x, w = leaf(1.0)[None], leaf(2.0)[None]
    assert LinearFunction.apply(weight=w, x=x).tolist() == [[2.0]]
    assert grad(MulConstant.apply(constant=3.0, tensor=x).sum(), x)[0].item() == 3.0


def test_a_call_that_does_not_fit_names_the_signature() -> None:
    with pytest.raises(TypeError, match=r"Exp: got an unexpected keyword argument 'y'; its signature is Exp\(x: Any\)"):
        Exp.apply(leaf(1.0), y=1)
    with pytest.raises(TypeError, match=r"MulConstant: missing a required argument: 'constant'"):
        MulConstant.apply(leaf(1.0))


def test_what_forward_takes_by_keyword_alone_is_refused() -> None:
    class Power(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, *, n: int = 2) -> Any:
            return x**n

    assert Power.apply(leaf(3.0)).item() == 9.0
    with pytest.raises(TypeError, match=r"Power.apply: .* 'n' of forward has none; wrap apply in a function"):
        Power.apply(leaf(3.0), n=3)


def test_any_number_of_inputs() -> None:
    class Total(Function):
        @staticmethod
        def forward(ctx: Any, *xs: Any) -> Any:
            ctx.count = len(xs)
            return sum(xs[1:], xs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return (g,) * ctx.count

    xs = [leaf(float(i)) for i in range(4)]
    y = Total.apply(*xs)
    assert (y.item(), [g.item() for g in grad(y.sum(), xs)]) == (6.0, [1.0] * 4)


def test_apply_may_be_overridden_and_classes_derived() -> None:
    class Named(Exp):
        @classmethod
        def apply(cls, x: Any, *, times: int = 1) -> Any:
            return super().apply(x) * times

    class Shifted(Named):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return Exp.forward(ctx, x) + 1

    y = Shifted.apply(leaf(0.0), times=3)
    assert y.item() == 6.0
    (edge, _), *_ = y.grad_fn.next_functions
    assert repr(edge) == "<ShiftedBackward>"


def test_methods_may_come_from_elsewhere() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    class Assigned(Function):
        backward = Exp.backward

    Assigned.forward = forward  # type: ignore[method-assign]
    assert Assigned.apply(leaf(1.0)).item() == 2.0


class Old(Function):
    def __init__(self, n: int) -> None:
        self.n = n

    def forward(self, x: Any) -> Any:  # type: ignore[override]
        return x * self.n

    def backward(self, g: Any) -> Any:  # type: ignore[override]
        return g * self.n


def test_the_oldest_form_is_refused_with_the_way_to_port_it() -> None:
    with pytest.raises(RuntimeError) as caught:
        Old(3)(leaf(1.0))  # type: ignore[operator]  # as it was written once
    text = str(caught.value)
    assert text.startswith("Old cannot be instantiated. Legacy autograd function with non-static forward method")
    for line in ("y = Old()(x)", "@staticmethod", "def forward(ctx, x):", "y = Old.apply(x)"):
        assert line in text
    with pytest.raises(RuntimeError, match=r"Old.forward is no static method"):
        Old.apply(leaf(1.0))


def test_a_function_of_the_present_form_has_no_instances_either() -> None:
    with pytest.raises(RuntimeError, match=r"y = Exp.apply\(x\)"):
        Exp()


def test_pickles_and_copies() -> None:
    for value in (Exp, Exp.apply, exp):
        assert pickle.loads(pickle.dumps(value)) is value
        assert copy.deepcopy(value) is value
    assert exp(dk.zeros(1)).item() == 1.0


def test_a_pickle_of_an_output_leaves_the_graph_behind() -> None:
    y = Exp.apply(leaf(0.0))
    assert pickle.loads(pickle.dumps(y)).tolist() == [1.0]


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        assert not dk.is_grad_enabled()
        (x,) = ctx.saved_tensors
        return 2 * x * g


ONCE = "SquareBackward: trying to differentiate twice a function that was marked with @once_differentiable"


def test_once_differentiable_is_so_once() -> None:
    x = leaf(3.0)
    (g,) = grad(Square.apply(x).sum(), x, create_graph=True)
    assert (g.item(), repr(g.grad_fn)) == (6.0, "<Error>")
    with pytest.raises(dk.AutogradError, match=ONCE):
        g.sum().backward()
    assert Square.backward.__name__ == "backward"


def test_once_differentiable_is_noticed_from_the_cotangent_too() -> None:
    x, v = leaf(3.0), leaf(1.0)
    (g,) = grad(Square.apply(x), x, v, create_graph=True)
    for source in (x, v):
        with pytest.raises(dk.AutogradError, match=ONCE):
            grad(g.sum(), source, retain_graph=True)


def test_one_may_be_missing_until_it_is_needed() -> None:
    class Bare(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    y = Bare.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match=r"Bare: You must implement either the backward or vjp method"):
        y.sum().backward()
    with pytest.raises(NotImplementedError, match=r"Bare: You must implement the jvp function"):
        Bare.__overridable__.method("jvp")
    with pytest.raises(
        NotImplementedError, match=r"Bare: To use autograd.Function with vmap, you must either override"
    ):
        Bare.__overridable__.vmap_rule()


@pytest.mark.parametrize("name", ["forward", "setup_context", "backward", "vjp", "jvp", "vmap"])
def test_the_methods_of_the_base_are_there_and_raise(name: str) -> None:
    with pytest.raises(NotImplementedError):
        getattr(Function, name)(None, 1, 2)


class Power(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, n: int) -> Any:
        y = x**n
        ctx.save_for_backward(x)
        ctx.save_for_forward(x, y)
        ctx.n = n
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * ctx.n * x ** (ctx.n - 1), None

    @staticmethod
    def jvp(ctx: Any, t: Any, _: Any) -> Any:
        x, _y = ctx.saved_tensors
        return t * ctx.n * x ** (ctx.n - 1)


class SeparatePower(Function):
    @staticmethod
    def forward(x: Any, n: int = 3) -> Any:
        return x**n

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.n = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x, output)

    backward = Power.backward
    jvp = Power.jvp


@pytest.mark.parametrize("power", [Power, SeparatePower])
def test_forward_mode_is_given_a_context_of_its_own(power: Any) -> None:
    x, t = leaf(1.5, 2.0), dk.tensor([1.0, 10.0])
    record = of(power.apply)
    assert record is power.__overridable__
    output, ctx = record.with_context((x, 3))
    tangent = record.method("jvp")(ctx, t, None)
    np.testing.assert_allclose(tangent.detach().array, t.array * 3 * x.array**2)
    assert repr(output.grad_fn) == f"<{power.__name__}Backward>"
    # Both can be differentiated on: the output by backward, the tangent through what was saved.
    np.testing.assert_allclose(grad(output.sum(), x)[0].array, 3 * x.array**2)
    np.testing.assert_allclose(grad(tangent.sum(), x)[0].array, t.array * 6 * x.array)


def test_forward_mode_sees_defaults() -> None:
    output, ctx = SeparatePower.__overridable__.with_context((leaf(2.0),))
    assert (output.item(), ctx.n, ctx.needs_input_grad) == (8.0, 3, (True, False))


def test_the_rule_for_batches() -> None:
    class Rule(Exp):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return Rule.apply(x), in_dims[0]

    class Generated(Exp):
        generate_vmap_rule = True

    class Both(Rule):
        generate_vmap_rule = True

    assert Rule.__overridable__.vmap_rule() is Rule.vmap
    assert Generated.__overridable__.vmap_rule() is None
    with pytest.raises(dk.AutogradError, match=r"Both has both generate_vmap_rule=True and an overridden vmap staticm"):
        Both.__overridable__.vmap_rule()


def test_base_itself_cannot_be_applied() -> None:
    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        Function.apply(leaf(1.0))


class Enabling(Function):
    """Leaves recording switched on inside, as a program may that calls no `with`."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        dk.set_grad_enabled(True)
        return x.detach() * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        dk.set_grad_enabled(True)
        return g * 2


@pytest.mark.parametrize("outside", [dk.enable_grad, dk.no_grad])
def test_what_the_methods_switch_holds_inside_them_alone(outside: Any) -> None:
    x = leaf(1.0)
    total = Enabling.apply(x).sum()
    with outside():
        before = dk.is_grad_enabled()
        Enabling.apply(x)
        assert dk.is_grad_enabled() == before
        total.backward()
        assert dk.is_grad_enabled() == before
    assert x.grad is not None
    assert x.grad.tolist() == [2.0]


@pytest.mark.parametrize("records", [False, True])
def test_a_block_that_forward_enters_and_leaves_open_is_left_later(records: bool) -> None:
    kept: list[Any] = []

    class Opening(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            kept.append(dk.enable_grad())
            kept[-1].__enter__()
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    with dk.set_grad_enabled(records):
        Opening.apply(dk.ones(2))
        assert dk.is_grad_enabled()
        kept[-1].__exit__(None, None, None)
        assert dk.is_grad_enabled() == records


def python_calls(function: Any) -> int:
    """Return how many functions of Python a call calls."""
    calls = 0

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    function()
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls


def test_a_function_of_plain_tensors_asks_for_little() -> None:
    x, n = leaf(1.0, 2.0), dk.ones(2)

    def passes() -> None:
        MulConstant.apply(x, 2.0).backward(n)

    assert python_calls(passes) < 80
    assert python_calls(lambda: MulConstant.apply(n, 2.0)) < 25
