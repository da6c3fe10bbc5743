"""`checkpoint`: the same values and gradients, with less kept."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.func import checkpoint


def close(one: Any, other: Any) -> None:
    np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-12, atol=1e-12)


@pytest.fixture
def leaves() -> tuple[dk.Tensor, dk.Tensor]:
    return dk.tensor([1.0, 2.0], requires_grad=True), dk.tensor([0.3, 0.7], requires_grad=True)


def test_gradients_are_those_of_the_function(leaves: tuple[dk.Tensor, dk.Tensor]) -> None:
    x, w = leaves

    def f(x: Any, w: Any) -> Any:
        return dk.exp(dk.sin(x) * w).sum()

    assert repr(checkpoint(f)(x, w).grad_fn) == "<CheckpointBackward>"
    for one, other in zip(
        dk.autograd.grad(checkpoint(f)(x, w), (x, w)), dk.autograd.grad(f(x, w), (x, w)), strict=True
    ):
        close(one, other)


def test_gradients_flow_to_what_the_function_takes_from_elsewhere(leaves: tuple[dk.Tensor, dk.Tensor]) -> None:
    x, w = leaves
    h = w * w  # no leaf, and used inside and outside

    def f(x: Any) -> Any:
        return (dk.tanh(x * h) * w).sum()

    got = dk.autograd.grad(checkpoint(f)(x) + h.sum(), (x, w), retain_graph=True)
    want = dk.autograd.grad(f(x) + h.sum(), (x, w))
    for one, other in zip(got, want, strict=True):
        close(one, other)


def test_second_derivatives(leaves: tuple[dk.Tensor, dk.Tensor]) -> None:
    x, w = leaves

    def f(x: Any, w: Any) -> Any:
        return (dk.exp(x * w) * x).sum()

    def second(f: Callable[..., Any]) -> Any:
        first = dk.autograd.grad(f(x, w), (x, w), create_graph=True)
        return dk.autograd.grad(sum((g * g).sum() for g in first), (x, w))

    for one, other in zip(second(checkpoint(f)), second(f), strict=True):
        close(one, other)
    assert dk.autograd.gradgradcheck(checkpoint(f), (x, w))


def test_containers_integers_and_arguments_given_back(leaves: tuple[dk.Tensor, dk.Tensor]) -> None:
    x, w = leaves
    out = checkpoint(lambda p: {"sum": p["x"] + p["w"], "index": dk.argmax(p["x"]), "x": p["x"]})({"x": x, "w": w})
    assert out["x"] is x
    assert not out["index"].requires_grad
    (g,) = dk.autograd.grad((out["sum"] * out["sum"]).sum(), w)
    close(g, 2 * (x + w).detach())


def test_random_numbers_are_the_same_both_times() -> None:
    x = dk.tensor([1.0, 1.0, 1.0], requires_grad=True)
    drawn: list[Any] = []

    def f(x: Any) -> Any:
        drawn.append(dk.rand(3))
        return (x * drawn[-1]).sum()

    y = checkpoint(f)(x)
    after = dk.rand(1)
    dk.rand(5)
    y.backward()
    assert len(drawn) == 2
    close(drawn[0], drawn[1])
    close(x.grad, drawn[0])
    assert not bool((after == drawn[1][0]).all())


def test_nested(leaves: tuple[dk.Tensor, dk.Tensor]) -> None:
    x, w = leaves
    f = checkpoint(lambda x: checkpoint(lambda y: dk.sin(y * w))(x * 2.0).sum())
    for one, other in zip(
        dk.autograd.grad(f(x), (x, w)), dk.autograd.grad(dk.sin(x * 2.0 * w).sum(), (x, w)), strict=True
    ):
        close(one, other)


def test_under_transformations() -> None:
    x = dk.tensor([[1.0, 2.0], [3.0, 4.0]])

    def f(x: Any) -> Any:
        return (dk.sin(x) * x).sum()

    close(dk.func.grad(checkpoint(f))(x), dk.func.grad(f)(x))
    close(dk.func.vmap(dk.func.grad(checkpoint(f)))(x), dk.func.grad(f)(x))
    close(dk.func.hessian(checkpoint(f))(x), dk.func.hessian(f)(x))
    close(dk.func.jvp(checkpoint(f), (x,), (x,))[1], dk.func.jvp(f, (x,), (x,))[1])


def test_nothing_is_recorded_where_nothing_requires_a_gradient() -> None:
    x = dk.tensor([1.0])
    assert checkpoint(dk.exp)(x).grad_fn is None
    y = dk.tensor([1.0], requires_grad=True)
    with dk.no_grad():
        assert checkpoint(dk.exp)(y).grad_fn is None


def test_a_function_that_changes_its_mind_is_found_out() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    calls: list[int] = []

    def fickle(x: Any) -> Any:
        calls.append(0)
        return x * 2.0 if len(calls) == 1 else (x * 2.0).sum()

    y = checkpoint(fickle)(x)
    with pytest.raises(dk.errors.AutogradError, match=r"checkpoint: fickle gave float64 of shape \(2,\) first and "):
        y.sum().backward()


def test_a_source_changed_in_place_is_found_out() -> None:
    leaf = dk.tensor([1.0], requires_grad=True)
    x = leaf * 1.0
    y = checkpoint(lambda x: x * x)(x)
    x.mul_(2.0)
    with pytest.raises(dk.errors.InplaceError, match="CheckpointBackward"):
        y.sum().backward()


def test_less_is_kept() -> None:
    def f(x: Any) -> Any:
        for _ in range(20):
            x = dk.sin(x)
        return x

    def held(f: Callable[..., Any]) -> int:
        x = dk.tensor(np.ones(10_000), requires_grad=True)
        tracemalloc.start()
        y = f(x)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        y.sum().backward()
        return held

    assert held(checkpoint(f)) < held(f) / 5


def test_everything_goes_with_the_last_reference() -> None:
    x = dk.tensor([1.0], requires_grad=True)
    y = checkpoint(lambda x: dk.exp(x) * 2.0)(x)
    gone = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        y.sum().backward()
        del y
        assert gone() is None
    finally:
        gc.enable()


CAPTURED: dict[str, Callable[[Any, Any], Any]] = {
    "operand": lambda x, s: x * s,
    "view": lambda x, s: x * s[::-1],
    "inside a decomposed operation": lambda x, s: dk.einsum("i,i->i", x, s),
    "result of a call": lambda x, s: x * (s + s),
    "also an output": lambda x, s: (x * s, s)[0],
}


@pytest.mark.parametrize("name", CAPTURED)
@pytest.mark.parametrize("given", ["captured", "argument"])
def test_a_constant_that_was_changed_before_backward_raises(name: str, given: str) -> None:
    x, s = dk.tensor([1.0, 2.0], requires_grad=True), dk.tensor([2.0, 2.0])
    f = CAPTURED[name]
    y = checkpoint(f)(x, s) if given == "argument" else checkpoint(lambda x: f(x, s))(x)
    s.mul_(10.0)
    message = (
        r"^a value needed by the backward of CheckpointBackward was changed by an in-place operation: float64 tensor "
        r"of shape \(2,\) is at version 1, expected version 0; "
    )
    with pytest.raises(dk.InplaceError, match=message):
        y.sum().backward()
    assert x.grad is None


def test_a_change_of_what_the_function_made_is_no_change_of_what_it_reads() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)

    def f(x: Any) -> Any:
        made = dk.ones(2)
        made += 1
        return x * made, made

    y, made = checkpoint(f)(x)
    made.mul_(10.0)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_function_may_change_a_constant_that_its_result_does_not_depend_on() -> None:
    x, mean = dk.tensor([1.0, 2.0], requires_grad=True), dk.zeros(2)

    def f(x: Any) -> Any:
        with dk.no_grad():
            mean.mul_(0.9).add_(x * 0.1)
        return x * x

    y = checkpoint(f)(x)
    for count in (1, 2):
        y.sum().backward(retain_graph=True)
        assert x.grad is not None
        assert x.grad.tolist() == [2.0 * count, 4.0 * count]
    mean.zero_()
    with pytest.raises(dk.InplaceError, match="CheckpointBackward"):
        y.sum().backward()
