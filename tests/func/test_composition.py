"""Transformations of transformations: against PyTorch, against formulas and differences, to depth four."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit import func
from dispatchkit.func import grad, hessian, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap
from tests.func.support import agree, differences, flat, numbers

W = 0.5 * np.random.default_rng(1).normal(size=(3, 3))
X = np.random.default_rng(0).normal(size=(4, 3))


class Library:
    """dispatchkit or PyTorch: arrays, functions of arrays, and transformations."""

    def __init__(self, xp: Any, transforms: Any, array: Callable[[Any], Any]) -> None:
        self.xp, self.f, self.array = xp, transforms, array
        self.w, self.x = array(W), array(X)
        self.one = array(np.asarray(1.0))

    def scalar(self, x: Any) -> Any:
        return self.xp.tanh(self.w @ x).sum() * (x * x).sum()

    def vector(self, x: Any) -> Any:
        return self.xp.sin(self.w @ x) * x.sum()

    def solved(self, x: Any) -> Any:
        return self.xp.linalg.solve(self.xp.outer(x, x) + self.array(np.eye(3)), self.xp.exp(x))


Program = Callable[[Library], Any]
PROGRAMS: dict[str, Program] = {
    "grad grad": lambda n: n.f.grad(lambda y: (n.f.grad(n.scalar)(y) ** 2).sum())(n.x[0]),
    "grad grad grad": lambda n: n.f.grad(lambda z: n.f.grad(lambda y: (n.f.grad(n.scalar)(y) ** 2).sum())(z).sum())(
        n.x[0]
    ),
    "jacfwd jacrev": lambda n: n.f.jacfwd(n.f.jacrev(n.vector))(n.x[0]),
    "jacrev jacfwd": lambda n: n.f.jacrev(n.f.jacfwd(n.vector))(n.x[0]),
    "jacrev jacrev": lambda n: n.f.jacrev(n.f.jacrev(n.vector))(n.x[0]),
    "jacfwd jacfwd": lambda n: n.f.jacfwd(n.f.jacfwd(n.vector))(n.x[0]),
    "jacfwd jacfwd jacfwd": lambda n: n.f.jacfwd(n.f.jacfwd(n.f.jacfwd(n.vector)))(n.x[0]),
    "jacrev jacfwd jacrev": lambda n: n.f.jacrev(n.f.jacfwd(n.f.jacrev(n.vector)))(n.x[0]),
    "jacfwd jacrev jacfwd": lambda n: n.f.jacfwd(n.f.jacrev(n.f.jacfwd(n.vector)))(n.x[0]),
    "jacrev jacrev jacrev": lambda n: n.f.jacrev(n.f.jacrev(n.f.jacrev(n.vector)))(n.x[0]),
    "vmap grad": lambda n: n.f.vmap(n.f.grad(n.scalar))(n.x),
    "vmap hessian": lambda n: n.f.vmap(n.f.hessian(n.scalar))(n.x),
    "vmap jacrev jacfwd jacrev": lambda n: n.f.vmap(n.f.jacrev(n.f.jacfwd(n.f.jacrev(n.vector))))(n.x),
    "grad vmap": lambda n: n.f.grad(lambda y: n.f.vmap(n.vector)(y).sum())(n.x),
    "jacrev vmap": lambda n: n.f.jacrev(n.f.vmap(n.vector))(n.x),
    "jacfwd vmap grad": lambda n: n.f.jacfwd(n.f.vmap(n.f.grad(n.scalar)))(n.x),
    "grad vmap grad": lambda n: n.f.grad(lambda y: (n.f.vmap(n.f.grad(n.scalar))(y) ** 2).sum())(n.x),
    "jacrev vmap jacfwd": lambda n: n.f.jacrev(n.f.vmap(n.f.jacfwd(n.vector)))(n.x),
    "jvp vmap jvp": lambda n: n.f.jvp(n.f.vmap(lambda a: n.f.jvp(n.vector, (a,), (a * 2,))[1]), (n.x,), (n.x * 3,)),
    "vmap vjp vmap": lambda n: n.f.vmap(lambda a: n.f.vjp(lambda q: n.f.vmap(lambda b: b * q)(n.x), a)[1](n.x)[0])(n.x),
    "hessian-vector, forward over reverse": lambda n: n.f.jvp(n.f.grad(n.scalar), (n.x[0],), (n.x[1],))[1],
    "hessian-vector, reverse over reverse": lambda n: n.f.vjp(n.f.grad(n.scalar), n.x[0])[1](n.x[1])[0],
    "hessian-vector, reverse over forward": lambda n: n.f.grad(lambda y: n.f.jvp(n.scalar, (y,), (n.x[1],))[1])(n.x[0]),
    "hessian-vector, forward over forward": lambda n: n.f.jvp(
        lambda y: n.f.jvp(n.scalar, (y,), (n.x[0],))[1], (n.x[0],), (n.x[1],)
    ),
    "vmap of hessian-vector": lambda n: n.f.vmap(lambda a, b: n.f.jvp(n.f.grad(n.scalar), (a,), (b,))[1])(n.x, n.x * 2),
    "closures of two batches": lambda n: n.f.vmap(
        lambda a: n.f.vmap(lambda b: n.f.grad(lambda c: (c * a * b).sum() ** 2)(b))(n.x)
    )(n.x),
    "pull made outside, called inside vmap": lambda n: n.f.vmap(n.f.vjp(n.vector, n.x[0])[1])(n.x),
    "pull made and called inside vmap": lambda n: n.f.vmap(lambda a: n.f.vjp(n.vector, a)[1](a * 2)[0])(n.x),
    "jacrev, two arguments": lambda n: n.f.jacrev(lambda a, b: {"p": a * b, "q": a.sum() * b}, (0, 1))(n.x[0], n.x[1]),
    "jacfwd, two arguments": lambda n: n.f.jacfwd(lambda a, b: {"p": a * b, "q": a.sum() * b}, (0, 1))(n.x[0], n.x[1]),
    "hessian, two arguments": lambda n: n.f.hessian(lambda a, b: (a * b * b).sum() * a.sum(), (0, 1))(n.x[0], n.x[1]),
    "jacrev of a container": lambda n: n.f.jacrev(lambda d: [d["a"] * d["b"][0], d["a"].sum()])(
        {"a": n.x[0], "b": [n.x[1]]}
    ),
    "jacrev in chunks": lambda n: n.f.jacrev(n.vector, chunk_size=2)(n.x[0]),
    "jacrev, has_aux": lambda n: n.f.jacrev(lambda a: (n.vector(a), a * 2), has_aux=True)(n.x[0]),
    "jacfwd, has_aux": lambda n: n.f.jacfwd(lambda a: (n.vector(a), a * 2), has_aux=True)(n.x[0]),
    "jvp, has_aux": lambda n: n.f.jvp(lambda a: (n.vector(a), a * 2), (n.x[0],), (n.x[1],), has_aux=True),
    "grad, has_aux": lambda n: n.f.grad(lambda a: (n.scalar(a), a * 2), has_aux=True)(n.x[0]),
    "hessian of linear algebra": lambda n: n.f.hessian(lambda a: n.solved(a).sum())(n.x[0]),
    "vmap jacrev of linear algebra": lambda n: n.f.vmap(n.f.jacrev(n.solved))(n.x),
}


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # PyTorch's own
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = Library(torch, torch.func, lambda a: torch.tensor(np.asarray(a, dtype=float)))
    expected = [y.detach().numpy() for y in flat_torch(PROGRAMS[name](theirs))]
    agree([np.asarray(numbers(y)) for y in flat(PROGRAMS[name](Library(dk, func, dk.asarray)))], expected)


def flat_torch(result: Any) -> list[Any]:
    if isinstance(result, dict):
        result = list(result.values())
    return [r for one in result for r in flat_torch(one)] if isinstance(result, (tuple, list)) else [result]


OURS = Library(dk, func, dk.asarray)


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_jacobians_agree_with_differences(transform: Any) -> None:
    agree(transform(OURS.vector)(OURS.x[0]), differences(OURS.vector, X[0]), rtol=1e-6, atol=1e-7)
    agree(transform(OURS.solved)(OURS.x[0]), differences(OURS.solved, X[0]), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("inner", [jacrev, jacfwd])
@pytest.mark.parametrize("outer", [jacrev, jacfwd])
def test_second_derivatives_agree_with_differences(outer: Any, inner: Any) -> None:
    agree(outer(inner(OURS.vector))(OURS.x[0]), differences(jacrev(OURS.vector), X[0]), rtol=1e-5, atol=1e-6)


def powers(order: int) -> list[list[str]]:
    """Return every choice of modes for derivatives of an order."""
    return [[*rest, mode] for rest in (powers(order - 1) if order > 1 else [[]]) for mode in ("forward", "reverse")]


def derivative(mode: str, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return grad(f) if mode == "reverse" else lambda x: jvp(f, (x,), (dk.ones_like(x),))[1]


@pytest.mark.parametrize("modes", powers(4), ids="-".join)
def test_four_derivatives_of_a_power_in_any_order_of_modes(modes: list[str]) -> None:
    f: Callable[[Any], Any] = lambda x: x**6 + dk.sin(x)  # noqa: E731  # what is differentiated below
    for mode in modes:
        f = derivative(mode, f)
    assert f(dk.tensor(1.5)).item() == pytest.approx(360 * 1.5**2 + np.sin(1.5))
    x = dk.tensor([0.5, 1.5])
    np.testing.assert_allclose(vmap(f)(x).numpy(), 360 * x.numpy() ** 2 + np.sin(x.numpy()))


@pytest.mark.parametrize("outer", ["forward", "reverse"])
@pytest.mark.parametrize("inner", ["forward", "reverse"])
def test_perturbations_are_not_confused(outer: str, inner: str) -> None:
    """Siskind and Pearlmutter: ``d/dx (x * d/dy (x + y))`` is 1, not 2."""

    def f(x: Any) -> Any:
        return x * derivative(inner, lambda y: x + y)(dk.tensor(1.0))

    assert derivative(outer, f)(dk.tensor(2.0)).item() == 1.0

    def g(x: Any) -> Any:
        return x * derivative(inner, lambda y: x * y * y)(x)

    assert derivative(outer, g)(dk.tensor(2.0)).item() == pytest.approx(24.0)  # of 2x³


def test_perturbations_of_a_batch_are_not_confused() -> None:
    x = dk.tensor([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        return x * grad(lambda y: jvp(lambda z: x * y * z * z, (x,), (dk.ones_like(x),))[1] * y)(x)

    # d/dy 2 x y x y = 4 x² y at y = x, times x.
    np.testing.assert_allclose(vmap(f)(x).numpy(), 4 * x.numpy() ** 4)
    np.testing.assert_allclose(vmap(grad(f))(x).numpy(), 16 * x.numpy() ** 3)
    np.testing.assert_allclose(grad(lambda x: vmap(f)(x).sum())(x).numpy(), 16 * x.numpy() ** 3)


def test_a_closure_of_an_outer_dual_is_constant_inside() -> None:
    def outer(x: Any) -> Any:
        y, t = jvp(lambda y: x * x * y, (x,), (dk.ones_like(x),))
        return y + t

    y, t = jvp(outer, (dk.tensor(3.0),), (dk.tensor(1.0),))
    assert (y.item(), t.item()) == (36.0, 33.0)


def test_a_pull_is_used_after_the_batch_it_was_given() -> None:
    _, pull = vjp(OURS.vector, OURS.x[0])
    rows = vmap(pull)(dk.eye(3))[0]
    agree(rows, jacrev(OURS.vector)(OURS.x[0]))
    agree(pull(OURS.x[1])[0], OURS.x[1] @ rows)
    agree(jvp(lambda ct: pull(ct)[0], (OURS.x[1],), (OURS.x[2],))[1], OURS.x[2] @ rows)
    agree(grad(lambda ct: (pull(ct)[0] ** 2).sum())(OURS.x[1]), 2 * rows @ (rows.T @ OURS.x[1]))


def test_a_function_is_called_once_by_linearize() -> None:
    calls: list[None] = []

    def f(x: Any) -> Any:
        calls.append(None)
        return OURS.vector(x)

    y, push = linearize(f, OURS.x[0])
    jacobian = vmap(push)(dk.eye(3)).T
    for row in OURS.x:
        agree(push(row), jacobian @ row)
    agree(y, OURS.vector(OURS.x[0]))
    assert len(calls) == 1


def test_linearize_inside_vmap_and_gradients() -> None:
    def tangent(x: Any, t: Any) -> Any:
        return linearize(OURS.vector, x)[1](t)

    def expected(x: Any, t: Any) -> Any:
        return jvp(OURS.vector, (x,), (t,))[1]

    agree(vmap(tangent)(OURS.x, OURS.x * 2), vmap(expected)(OURS.x, OURS.x * 2))
    agree(jacrev(tangent)(OURS.x[0], OURS.x[1]), jacrev(expected)(OURS.x[0], OURS.x[1]))
    agree(jacfwd(tangent)(OURS.x[0], OURS.x[1]), jacrev(expected)(OURS.x[0], OURS.x[1]))


@pytest.mark.parametrize("chunk_size", [1, 2, 4])
def test_jacfwd_in_chunks(chunk_size: int) -> None:
    agree(jacfwd(OURS.vector, chunk_size=chunk_size)(OURS.x[0]), jacrev(OURS.vector)(OURS.x[0]))


def test_value_and_grad_of_a_batch_of_functions_with_more_to_give() -> None:
    (value, more), g = vmap(value_and_grad(lambda x: (OURS.scalar(x), {"double": x * 2}), has_aux=True))(OURS.x)
    agree(value, vmap(OURS.scalar)(OURS.x))
    agree(more["double"], 2 * OURS.x)
    agree(g, vmap(grad(OURS.scalar))(OURS.x))


def test_jacobians_of_holomorphic_functions() -> None:
    z = dk.tensor([1.0 + 2.0j, -0.5j])
    agree(
        jacfwd(lambda z: z * z * dk.sum(z))(z),
        np.diag(2 * z.numpy() * z.numpy().sum()) + np.outer(z.numpy() ** 2, [1, 1]),
    )
    agree(jacrev(lambda z: dk.real(z * dk.conj(z)))(z), np.diag(2 * z.numpy()))


# The same over drawn shapes: broadcasting, reductions, products, dtypes.

SHAPES = st.lists(st.integers(1, 3), max_size=3).map(tuple)


def broadcastable(shape: tuple[int, ...], draw: st.DrawFn) -> tuple[int, ...]:
    cut = draw(st.integers(0, len(shape)))
    return tuple(draw(st.sampled_from([1, n])) for n in shape[cut:])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """Draw two arrays that broadcast, each of one of the floating dtypes."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    shape = draw(SHAPES)
    dtypes = st.sampled_from([np.float32, np.float64])
    return tuple(rng.uniform(0.5, 2.0, size=broadcastable(shape, draw)).astype(draw(dtypes)) for _ in range(2))  # type: ignore[return-value]  # a pair


BINARY = [dk.add, dk.subtract, dk.multiply, dk.divide, dk.pow, dk.maximum, dk.atan2, dk.hypot, dk.logaddexp]


@given(pairs(), st.sampled_from(BINARY), st.sampled_from([(0, 0), (0, None), (None, 0)]))
def test_elementwise_functions_of_drawn_shapes(pair: tuple[Any, Any], f: Any, dims: tuple[int | None, ...]) -> None:
    inputs = [dk.tensor(x if dim is None else np.stack([x, 2 * x])) for x, dim in zip(pair, dims, strict=True)]

    def each(x: Any, y: Any) -> Any:
        value, tangent = jvp(f, (x, y), (dk.cos(x), dk.ones_like(y)))
        grads = grad(lambda x, y: f(x, y).sum(), (0, 1))(x, y)
        return value, tangent, *grads

    found = vmap(each, in_dims=dims)(*inputs)
    for index in range(2):
        own = [x if dim is None else x[index] for x, dim in zip(inputs, dims, strict=True)]
        agree([y[index] for y in found], each(*own), rtol=1e-5, atol=1e-6)
    assert found[0].dtype == found[1].dtype == np.result_type(*pair)
    assert [g.dtype for g in found[2:]] == [x.dtype for x in pair]


@given(st.data(), st.sampled_from([dk.sum, dk.mean, dk.max, dk.prod, dk.var, dk.logsumexp]))
def test_reductions_of_drawn_shapes(data: st.DataObject, f: Any) -> None:
    shape = data.draw(SHAPES)
    x = dk.tensor(np.random.default_rng(data.draw(st.integers(0, 9))).normal(size=(2, *shape)))
    axes = data.draw(st.none() | st.sets(st.sampled_from(range(len(shape))), min_size=1) if shape else st.none())
    axis = None if axes is None else tuple(a - len(shape) if data.draw(st.booleans()) else a for a in axes)
    keepdims = data.draw(st.booleans())

    def each(x: Any) -> Any:
        def reduced(x: Any) -> Any:
            return f(x, axis=axis, keepdims=keepdims)

        return *jvp(reduced, (x,), (dk.sin(x),)), grad(lambda x: (reduced(x) ** 2).sum())(x)

    found = vmap(each)(x)
    for index in range(2):
        agree([y[index] for y in found], each(x[index]))


@given(st.data())
def test_products_of_drawn_shapes(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    n, m, k = (data.draw(st.integers(1, 3)) for _ in range(3))
    stack = data.draw(SHAPES)
    left = data.draw(st.sampled_from([(m,), (n, m), (*stack, n, m)]))
    right = data.draw(st.sampled_from([(m,), (m, k), (*stack, m, k)]))
    dims = data.draw(st.sampled_from([(0, 0), (0, None), (None, 0)]))
    inputs = [
        dk.tensor(rng.normal(size=shape if dim is None else (2, *shape)))
        for shape, dim in zip((left, right), dims, strict=True)
    ]

    def each(x: Any, y: Any) -> Any:
        value, tangent = jvp(dk.matmul, (x, y), (dk.sin(x), dk.cos(y)))
        return value, tangent, *grad(lambda x, y: ((x @ y) ** 2).sum(), (0, 1))(x, y)

    found = vmap(each, in_dims=dims)(*inputs)
    for index in range(2):
        own = [x if dim is None else x[index] for x, dim in zip(inputs, dims, strict=True)]
        agree([y[index] for y in found], each(*own))


def test_the_hessian_of_a_quadratic_form() -> None:
    a = dk.tensor(W)
    agree(hessian(lambda x: x @ a @ x)(OURS.x[0]), a + a.T)


def test_a_tensor_that_has_left_its_transformation_is_refused() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept[:] = [x * 2]
        return x * 3

    def failing(x: Any) -> Any:
        keep(x)
        raise ValueError("later")

    x = dk.tensor([1.0, 2.0])
    calls: dict[str, Any] = {
        "vmap": lambda f: dk.func.vmap(f)(x),
        "jvp": lambda f: dk.func.jvp(f, (x,), (x,)),
    }
    for name, call in calls.items():
        for f in (keep, failing):
            with contextlib.suppress(ValueError):
                call(f)
            message = (
                f"^dispatchkit.add: a tensor from inside a function under {name} was used after {name} had ended; "
                "give it out of the function as a result or with has_aux, rather than by a variable or a list from "
                "elsewhere$"
            )
            with pytest.raises(dk.TransformError, match=message):
                kept[0] + 1
            with pytest.raises(dk.TransformError, match="was used after"):
                dk.func.vmap(lambda y: y + kept[0].sum())(x)


def test_a_gradient_is_that_of_the_argument_as_it_was_given() -> None:
    """The argument is in a graph already, so the function may change it in place."""
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    g = dk.func.grad(lambda t: (t.mul_(2.0) * t).sum())(x * 1)
    assert g.tolist() == [8.0, 16.0]
    g.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [8.0, 8.0]
