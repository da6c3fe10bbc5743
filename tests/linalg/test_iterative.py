"""`linalg.cg`: solutions without looking into the matrix, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import AutogradError
from tests.interop.everywhere import Diagonal

pytest.importorskip("scipy")
A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.25], [0.5, -0.25, 2.0]])
B = np.array([1.0, 2.0, -1.0])
D = np.array([1.0, 2.0, 4.0])


def symmetric(a: Any) -> Any:
    return (a + a.mT) / 2


def test_it_solves_with_tensors_types_and_functions() -> None:
    want = np.linalg.solve(A, B)
    a = dk.asarray(A)
    for operator in (a, A, lambda v: a @ v, dk.types.MetadataTensor(A).data):
        np.testing.assert_allclose(dk.linalg.cg(operator, B).numpy(), want)
    columns = np.stack([B, 2 * B], axis=1)
    np.testing.assert_allclose(dk.linalg.cg(a, columns).numpy(), np.linalg.solve(A, columns))
    np.testing.assert_allclose(dk.linalg.cg(lambda v: a @ v, columns).numpy(), np.linalg.solve(A, columns))
    hermitian = A + 0.3j * np.triu(A, 1) - 0.3j * np.tril(A, -1)
    np.testing.assert_allclose(dk.linalg.cg(hermitian, B + 1j).numpy(), np.linalg.solve(hermitian, B + 1j))


def test_a_type_does_not_become_dense() -> None:
    d = dk.tensor(D, requires_grad=True)
    with dk.densify(on="error"):
        x = dk.linalg.cg(Diagonal(d), dk.asarray(B))
        np.testing.assert_allclose(x.detach().numpy(), B / D)
        (x * x).sum().backward()
        assert d.grad is not None
        np.testing.assert_allclose(d.grad.numpy(), -2 * B**2 / D**3)
        gradient = dk.func.grad(lambda one: dk.linalg.cg(one, dk.asarray(B)).sum())(Diagonal(dk.asarray(D)))
        assert isinstance(gradient, Diagonal)
        np.testing.assert_allclose(gradient.d.numpy(), -B / D**2)


def test_derivatives_of_both_modes_and_orders_are_those_of_a_direct_solution() -> None:
    def by_cg(a: Any, b: Any) -> Any:
        return dk.linalg.cg(symmetric(a), b, rtol=1e-14)

    inputs = (dk.tensor(A, requires_grad=True), dk.tensor(B, requires_grad=True))
    assert dk.autograd.gradcheck(by_cg, inputs)
    assert dk.autograd.gradgradcheck(by_cg, inputs)
    ta, tb = dk.asarray(np.cos(A)), dk.asarray(np.sin(B))

    def direct(a: Any, b: Any) -> Any:
        return dk.linalg.solve(symmetric(a), b)

    raw = (dk.asarray(A), dk.asarray(B))
    got, want = (dk.func.jvp(f, raw, (ta, tb))[1] for f in (by_cg, direct))
    np.testing.assert_allclose(got.numpy(), want.numpy())


def tangent(f: Any) -> Any:
    return lambda x: dk.func.jvp(f, (x,), (dk.asarray([1.0, -2.0, 0.5]),))[1]


@pytest.mark.parametrize("outer", [dk.func.grad, tangent], ids=["reverse", "forward"])
@pytest.mark.parametrize("inner", [dk.func.grad, tangent], ids=["reverse", "forward"])
def test_the_modes_may_be_mixed(inner: Any, outer: Any) -> None:
    b = dk.asarray(B)

    def second(solve: Any) -> Any:
        return outer(lambda d: inner(lambda one: (solve(one) ** 2).sum())(d).sum())(dk.asarray(D))

    got, want = second(lambda d: dk.linalg.cg(Diagonal(d), b, rtol=1e-14)), second(lambda d: b / d)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-8)


def test_a_third_derivative_is_refused() -> None:
    def loss(d: Any) -> Any:
        return (dk.linalg.cg(Diagonal(d), dk.asarray(B)) ** 2).sum()

    def second(d: Any) -> Any:
        return dk.func.grad(lambda one: dk.func.grad(loss)(one).sum())(d).sum()

    for third in (dk.func.grad(second), tangent(second)):
        with pytest.raises(AutogradError, match=r"linalg\.cg: its derivatives are computed to the second order"):
            third(dk.asarray(D))


def test_gradients_flow_to_what_a_function_uses() -> None:
    scale = dk.tensor(2.0, requires_grad=True)
    x = dk.linalg.cg(lambda v: scale * v, dk.ones(3))
    x.sum().backward()
    assert scale.grad is not None
    assert scale.grad.item() == pytest.approx(-3 / 4)
    with dk.no_grad():
        assert not dk.linalg.cg(lambda v: scale * v, dk.ones(3)).requires_grad


def test_a_type_can_answer_itself() -> None:
    @dk.array_type()
    class Twice:
        shape, dtype = (3, 3), dk.float64

    @dk.implements(dk.linalg.cg)
    def halved(A: Twice, b: dk.Tensor, /) -> Any:
        return b / 2

    twice: Any = Twice()
    assert dk.linalg.cg(twice, dk.ones(3)).tolist() == [0.5, 0.5, 0.5]
    assert "cg" in dir(dk.linalg)
    assert dk.linalg.cg in dk.overrides.get_overridable_functions()[dk.linalg]


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match=r"A must have shape \(n, n\) and b .* found \(3, 3\) and \(2,\)"):
        dk.linalg.cg(dk.asarray(A), dk.ones(2))
    with pytest.raises(TypeError, match="b must be a tensor of floating-point numbers"):
        dk.linalg.cg(dk.asarray(A), dk.asarray([1, 2, 3]))
    with pytest.raises(np.linalg.LinAlgError, match=r"not solved after 1 steps; raise maxiter= or rtol="):
        dk.linalg.cg(dk.asarray(A), B, maxiter=1)
    with pytest.raises(ValueError, match=r"A gives an array of shape \(2,\) for a vector of 3 elements"):
        dk.linalg.cg(lambda v: v[:2], B)
