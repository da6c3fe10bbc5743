"""Transformations beside the tape: tensors that require gradients, hooks, `no_grad`; what is left behind."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.random_state import drawer
from dispatchkit.errors import AutogradError, TransformError
from dispatchkit.func import grad, hessian, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap
from dispatchkit.protocol.modes import current
from dispatchkit.transforms.batched import active
from tests.func.support import agree

X = dk.tensor([1.0, 2.0])


def leaf(*values: float) -> dk.Tensor:
    return dk.Tensor(list(values), requires_grad=True)


TRANSFORMS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "grad": lambda f, x: grad(lambda x: f(x).sum())(x),
    "value_and_grad": lambda f, x: value_and_grad(lambda x: f(x).sum())(x),
    "vjp": lambda f, x: vjp(f, x)[1](dk.ones(2))[0],
    "jvp": lambda f, x: jvp(f, (x,), (dk.ones(2),)),
    "linearize": lambda f, x: linearize(f, x)[1](dk.ones(2)),
    "jacrev": lambda f, x: jacrev(f)(x),
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "hessian": lambda f, x: hessian(lambda x: f(x).sum())(x),
    "vmap": lambda f, x: vmap(f)(x),
    "vmap grad": lambda f, x: vmap(grad(lambda x: f(x).sum()))(dk.stack([x, x])),
}


def total(result: Any) -> Any:
    return sum(total(one) for one in result) if isinstance(result, tuple) else result.sum()


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_result_has_no_graph(name: str) -> None:
    result = TRANSFORMS[name](lambda x: x**3, X)
    for one in result if isinstance(result, tuple) else (result,):
        assert type(one) is dk.Tensor
        assert not one.requires_grad
        assert one.grad_fn is None


def test_what_is_passed_on_has_a_graph_where_the_outside_has_one() -> None:
    w = dk.tensor(2.0, requires_grad=True)
    for aux in (
        grad(lambda x: (x.sum(), [x * 2, 3, "s"]), has_aux=True)(X)[1],
        vjp(lambda x: (x, [x]), X, has_aux=True)[2],
    ):
        assert not aux[0].requires_grad
    (_, aux) = grad(lambda x: (x.sum(), w * x), has_aux=True)(X)
    aux.sum().backward()
    assert w.grad is not None
    assert w.grad.item() == 3.0


@pytest.mark.parametrize("name", TRANSFORMS)
def test_what_is_closed_over_can_be_differentiated(name: str) -> None:
    """The derivative by a factor of the function is the result for the factor one."""
    w = dk.tensor(2.0, requires_grad=True)
    total(TRANSFORMS[name](lambda x: w * x**3, X)).backward()
    assert w.grad is not None
    assert w.grad.item() == pytest.approx(total(TRANSFORMS[name](lambda x: x**3, X)).item())


@pytest.mark.parametrize("name", TRANSFORMS)
def test_an_argument_that_requires_a_gradient_can_be_differentiated(name: str) -> None:
    x, step = leaf(1.0, 2.0), 1e-6
    total(TRANSFORMS[name](lambda x: x**4, x)).backward()
    assert x.grad is not None
    for index in range(2):
        ahead, behind = np.asarray([1.0, 2.0]), np.asarray([1.0, 2.0])
        ahead[index] += step
        behind[index] -= step
        values = [total(TRANSFORMS[name](lambda x: x**4, dk.tensor(at))).item() for at in (ahead, behind)]
        assert x.grad[index].item() == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_without_recording_a_result_has_no_graph(name: str) -> None:
    w, x = dk.tensor(2.0, requires_grad=True), leaf(1.0, 2.0)
    expected = TRANSFORMS[name](lambda x: 2 * x**3, X)
    with dk.no_grad():
        result = TRANSFORMS[name](lambda x: w * x**3, x)
    agree(result, expected)
    assert not total(result).requires_grad


@pytest.mark.parametrize("name", TRANSFORMS)
def test_no_gradient_is_accumulated(name: str) -> None:
    w, x = dk.tensor(2.0, requires_grad=True), leaf(1.0, 2.0)
    TRANSFORMS[name](lambda x: w * x**3, x)
    assert w.grad is None
    assert x.grad is None


def test_recording_may_be_switched_off_inside() -> None:
    def f(x: Any) -> Any:
        with dk.no_grad():
            constant = x * 2
        return (constant * x).sum()

    agree(grad(f)(X), 2 * X)


def test_detached_parts_are_constant() -> None:
    agree(grad(lambda x: (x.detach() * x).sum())(X), X)
    agree(jvp(lambda x: x.detach() * x, (X,), (dk.ones(2),))[1], X)
    agree(vmap(grad(lambda x: (x.detach() * x).sum()))(dk.stack([X, X])), dk.stack([X, X]))


def test_hooks_are_called() -> None:
    seen: list[Any] = []

    def tenfold(g: Any) -> Any:
        seen.append(g.tolist())
        return 10 * g

    def f(x: Any) -> Any:
        h = x * 2
        h.register_hook(tenfold)
        return h.sum()

    agree(grad(f)(X), dk.full((2,), 20.0))
    assert seen == [[1.0, 1.0]]
    with pytest.raises(TransformError, match="backward, hooks and retained gradients belong to tensors outside of jvp"):
        jvp(f, (X,), (X,))


def test_the_tape_inside_a_gradient() -> None:
    def f(x: Any) -> Any:
        (g,) = dk.autograd.grad((x**3).sum(), x, create_graph=True)
        return g.sum()

    agree(grad(f)(X), 6 * X)


def test_create_graph_over_a_transformed_function() -> None:
    x = leaf(1.0, 2.0)
    (first,) = dk.autograd.grad(grad(lambda x: (x**4).sum())(x).sum(), x, create_graph=True)
    (second,) = dk.autograd.grad(first.sum(), x)
    agree(second, 24 * X)


def test_a_pull_may_be_used_again_and_its_results_differentiated() -> None:
    w = leaf(3.0, 4.0)
    _, pull = vjp(lambda x: w * x * x, X)
    for retain in (True, False):
        pull(dk.ones(2))[0].sum().backward(retain_graph=retain)
    assert w.grad is not None
    agree(w.grad, 4 * X)


# What is left behind.


def fails(x: Any) -> Any:
    if (x.shape or (0,))[0] != 99:
        raise KeyError("inside")
    return x


@pytest.mark.parametrize("name", TRANSFORMS)
def test_an_exception_leaves_nothing_behind(name: str) -> None:
    with pytest.raises(KeyError, match="inside"):
        TRANSFORMS[name](fails, X)
    assert active.get() == ()
    assert drawer.get() is None
    assert current() is None
    assert dk.is_grad_enabled()
    agree(vmap(dk.sin)(X), dk.sin(X))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_nothing_is_kept_once_it_is_dropped(name: str) -> None:
    gc.disable()
    try:
        x, w = dk.tensor([1.0, 2.0]), dk.tensor([3.0, 4.0])
        kept = []

        def f(x: Any, w: Any = w) -> Any:
            y = dk.exp(x * w)
            kept.append(weakref.ref(y))
            return y

        result = TRANSFORMS[name](f, x)
        kept.append(weakref.ref(w))
        del f, w, result
        assert [ref() for ref in kept] == [None] * len(kept)
    finally:
        gc.enable()


def test_threads_do_not_see_each_others_batches() -> None:
    def work(size: int) -> Any:
        def f(x: Any) -> Any:
            assert [batch.size for batch in active.get()] == [size]
            return grad(lambda y: (y * y).sum() * x.shape[0])(x)

        return vmap(f)(dk.ones((size, 3))).sum().item()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(1, 20))) == [18.0 * size for size in range(1, 20)]


def test_tasks_do_not_see_each_others_batches() -> None:
    async def work(size: int) -> Any:
        await asyncio.sleep(0)
        found = vmap(jacfwd(lambda x: x * x))(dk.ones((size, 2)))
        await asyncio.sleep(0)
        assert active.get() == ()
        return found.sum().item()

    async def everything() -> list[Any]:
        return await asyncio.gather(*(work(size) for size in range(1, 9)))

    assert asyncio.run(everything()) == [4.0 * size for size in range(1, 9)]


# What is refused.

Call = Callable[[], Any]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: grad(dk.sin)(X),
            ValueError,
            r"grad: the function must return a single real number, a scalar tensor; f",
        ),
        (lambda: grad(lambda x: x.sum() * 1j)(X), ValueError, r"found an array of shape \(\) and dtype complex128"),
        (lambda: grad(lambda x: (x.sum(), 1))(X), ValueError, "scalar tensor; found a tuple of length 2"),
        (lambda: grad(lambda x: "s")(X), TypeError, "grad: the function must return tensors, found a str"),
        (
            lambda: grad(dk.sum)(dk.asarray([1, 2])),
            TypeError,
            r"grad: argument 0 holds no floating-point array to diff",
        ),
        (lambda: grad(dk.sum)("s"), TypeError, "differentiate by; found a str"),
        (lambda: grad(dk.sum, 1)(X), ValueError, "grad: argnums=1 asks for argument 1, but 1 were given"),
        (lambda: grad(dk.add, (0, -2))(X, X), ValueError, r"grad: argnums=\(0, -2\) names an argument twice"),
        (lambda: grad(dk.sum, "x")(X), TypeError, "grad: argnums must be an integer or a tuple of integers, not 'x'"),  # type: ignore[call-overload]
        (lambda: grad(dk.sum, has_aux=True)(X), TypeError, "grad: with has_aux the function must return a pair"),
        (lambda: jacrev(dk.sin)(dk.asarray(1)), TypeError, "jacrev: argument 0 holds no floating-point array"),
        (lambda: jacfwd(dk.sin, 2)(X), ValueError, "jacfwd: argnums=2 asks for argument 2"),
        (lambda: jacrev(lambda x: x * 1j)(X), TransformError, "jacrev: the output is complex; jacfwd gives the deriv"),
        (
            lambda: vjp(dk.sin, X)[1](dk.ones(3)),
            ValueError,
            r"vjp: an output has shape \(2,\), its cotangent has shape ",
        ),
        (lambda: vjp(dk.sin, X)[1]("s"), ValueError, "vjp: the cotangent of an output must be an array, found a str"),
        (lambda: vjp(lambda x: (x, x), X)[1]((X,)), ValueError, "vjp: cotangents: the container at the top is a tuple"),
        (lambda: vjp(dk.sin, X, has_aux=True), TypeError, "vjp: with has_aux the function must return a pair"),
        (lambda: jvp(dk.sin, [X], (X,)), TypeError, "jvp: primals must be a tuple with an entry for each argument"),  # type: ignore[arg-type]
        (lambda: jvp(dk.sin, (X,), (X, X)), ValueError, "jvp: 1 primals, but 2 tangents"),
        (lambda: jvp(dk.sin, (X,), (dk.ones(3),)), ValueError, r"has shape \(2,\), its tangent has shape \(3,\)"),
        (lambda: jvp(dk.sin, (X,), (None,)), ValueError, "jvp: the tangent of an argument must be an array, found"),
        (
            lambda: jvp(dk.sin, (X,), (X * 1j,)),
            ValueError,
            "an argument is real, float64, its tangent is complex, compl",
        ),
        (
            lambda: vjp(dk.sin, X)[1](X * 1j),
            ValueError,
            "an output is real, float64, its cotangent is complex, complex1",
        ),
        (lambda: jvp(dk.sin, (X,), (X,), has_aux=True), TypeError, "jvp: with has_aux the function must return a pair"),
        (lambda: jvp(lambda x: "s", (X,), (X,)), TypeError, "jvp: the function must return tensors, found a str"),
        (
            lambda: jvp(lambda d: d["a"], ({"a": X},), ({"b": X},)),
            ValueError,
            r"jvp: tangents: the container at \[0\] is a dict with 'a', but what goes with it is a dict with 'b'",
        ),
        (lambda: jvp(lambda x: x.numpy(), (X,), (X,)), TransformError, "a tensor inside jvp has no array of its own"),
        (lambda: linearize(dk.sin, X)[1](X, X), ValueError, "linearize: 1 arguments, but 2 tangents"),
        (lambda: linearize(dk.multiply, X, X)[1](X), ValueError, "linearize: 2 arguments, but 1 tangents"),
        (lambda: linearize(dk.sin, X)[1](dk.ones(3)), ValueError, r"linearize: an output has shape \(2,\), its cotang"),
        (lambda: grad(lambda x: x.numpy().sum())(X), AutogradError, r"numpy\(\) on a tensor that requires grad"),
    ],
)
def test_what_does_not_fit_is_named(call: Call, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# Assignment.


def assigned(x: Any) -> Any:
    y = dk.zeros_like(x)
    y[0] = x[1]
    y[1] = x[0] * x[1]
    y *= 2
    y[0] = 5.0
    return y + 1


@pytest.mark.parametrize("transform", [jacfwd, jacrev])
def test_assignment_carries_derivatives(transform: Any) -> None:
    agree(transform(assigned)(X), np.asarray([[0.0, 0.0], [4.0, 2.0]]))
    agree(vmap(transform(assigned))(dk.stack([X, X])), np.asarray([[[0.0, 0.0], [4.0, 2.0]]] * 2))
    agree(transform(transform(assigned))(X)[1], np.asarray([[0.0, 2.0], [2.0, 0.0]]))


def test_assignment_does_not_change_the_tangent_of_another() -> None:
    tangent = dk.ones(2)

    def f(x: Any) -> Any:
        y = x + 1.0
        y[0] = 5.0
        return x * 1.0, y

    _, (first, second) = jvp(f, (X,), (tangent,))
    agree([first, second, tangent], [np.asarray([1.0, 1.0]), np.asarray([0.0, 1.0]), np.asarray([1.0, 1.0])])


def test_assignment_where_a_tangent_would_be_lost_is_refused() -> None:
    def into_constant(x: Any) -> Any:
        y = dk.zeros(2)
        y[0] = x[0]
        return y

    def beside_a_view(x: Any) -> Any:
        y = x * 1.0
        view = y[:1]
        y[0] = x[1]
        return view + y

    with pytest.raises(TransformError, match="a value with a tangent cannot be assigned into a tensor made outside"):
        jvp(into_constant, (X,), (X,))
    with pytest.raises(
        TransformError, match="setitem: the tensor shares memory with views of it, whose tangents would"
    ):
        jvp(beside_a_view, (X,), (X,))


REVERSE = [name for name in TRANSFORMS if name not in ("jvp", "jacfwd", "vmap", "vmap grad", "hessian")]


@pytest.mark.parametrize("name", REVERSE)
def test_a_tensor_from_elsewhere_that_is_changed_in_place_keeps_the_value_alone(name: str) -> None:
    buffer = dk.zeros(3)
    view, whole = buffer[:2], buffer[1:]

    def f(x: Any) -> Any:
        buffer[0] = x[0] * 3
        view.mul_(x)
        return view * view

    expected = TRANSFORMS[name](lambda x: dk.stack([9 * x[0] ** 4, 0 * x[1]]), X)
    for _ in range(2):
        agree(TRANSFORMS[name](f, X), expected)
        for one in (buffer, view, whole):
            assert not one.requires_grad
            assert one.grad_fn is None
            assert one.is_leaf
        assert buffer.tolist() == [3.0, 0.0, 0.0]
    # It takes part in graphs as before.
    w = leaf(1.0, 2.0, 3.0)
    (buffer * w).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [3.0, 0.0, 0.0]


def test_a_changed_tensor_that_is_returned_is_differentiated_and_has_no_graph() -> None:
    buffer = dk.zeros(2)

    def f(x: Any) -> Any:
        buffer.copy_(x * x)
        return buffer

    y, pull = vjp(f, X)
    assert not y.requires_grad
    assert not buffer.requires_grad
    assert pull(dk.ones(2))[0].tolist() == [2.0, 4.0]
    assert linearize(f, X)[1](dk.ones(2)).tolist() == [2.0, 4.0]


def test_a_tensor_changed_inside_an_inner_gradient_leaves_the_outer_one_with_its_graph() -> None:
    buffer = dk.zeros(2)

    def inner(x: Any) -> Any:
        buffer.copy_(x * x)
        return (buffer * x).sum()

    def outer(x: Any) -> Any:
        g = grad(inner)(x)
        assert buffer.requires_grad
        return (g * buffer).sum()

    assert grad(outer)(X).tolist() == [12.0, 96.0]
    assert not buffer.requires_grad


def test_a_changed_tensor_keeps_a_graph_that_leads_elsewhere() -> None:
    w = leaf(3.0, 4.0)
    buffer = w * 1

    def f(x: Any) -> Any:
        buffer.mul_(x)
        return buffer.sum()

    assert grad(f)(X).tolist() == [3.0, 4.0]
    buffer.sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [1.0, 2.0]


def test_an_exception_leaves_no_graph_in_a_changed_tensor() -> None:
    buffer = dk.zeros(2)

    def f(x: Any) -> Any:
        buffer.copy_(x)
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        grad(f)(X)
    assert not buffer.requires_grad
    assert buffer.tolist() == X.tolist()


def test_no_grad_around_a_pull_and_around_vjp_alone() -> None:
    x = dk.tensor(3.0, requires_grad=True)
    y, pull = dk.func.vjp(lambda x: x**2, x)
    with dk.no_grad():
        (g,) = pull(dk.asarray(1.0))
    assert (g.item(), g.requires_grad, y.requires_grad) == (6.0, False, True)
    assert dk.autograd.grad(y, x)[0].item() == 6.0  # which the pull has left what it needs
    with dk.no_grad():
        y, pull = dk.func.vjp(lambda x: x**2, x)
    (g,) = pull(dk.asarray(1.0))
    assert (g.item(), g.requires_grad, y.requires_grad) == (6.0, True, False)
    assert dk.autograd.grad(g, x)[0].item() == 2.0
    with dk.no_grad():
        y, pull = dk.func.vjp(lambda x: x**2, x)
        (g,) = pull(dk.asarray(1.0))
    assert (g.item(), g.requires_grad, y.requires_grad) == (6.0, False, False)


def test_no_grad_around_a_pull_inside_of_a_transformation() -> None:
    def slope(x: Any, block: Any) -> Any:
        _, pull = dk.func.vjp(lambda x: x**2, x)
        with block():
            return pull(dk.asarray(1.0))[0]

    x = dk.asarray(3.0)
    assert dk.func.grad(lambda x: slope(x, dk.enable_grad) + x)(x).item() == 3.0
    assert dk.func.grad(lambda x: slope(x, dk.no_grad) + x)(x).item() == 1.0
