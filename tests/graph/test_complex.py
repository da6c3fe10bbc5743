"""Complex gradients: the derivative by the real part plus i times that by the imaginary part, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

Z = np.array([0.5 + 1.25j, -0.75 + 0.5j])
W = np.array([1.5 - 0.5j, 0.25 + 2.0j])

LOSSES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    # With their gradients by the convention, worked out by hand.
    "abs squared": (lambda z: (dk.abs(z) ** 2).sum(), lambda z: 2 * z),
    "real part": (lambda z: dk.real(z).sum(), lambda z: np.ones_like(z)),
    "imaginary part": (lambda z: dk.imag(z).sum(), lambda z: 1j * np.ones_like(z)),
    "square": (lambda z: dk.real(z * z).sum(), lambda z: 2 * np.conj(z)),
    "product": (lambda z: dk.real(z * dk.asarray(W)).sum(), lambda z: np.conj(W)),
    "product with conjugate": (lambda z: dk.real(z * dk.conj(z)).sum(), lambda z: 2 * z),
    "exponential": (lambda z: dk.real(dk.exp(z)).sum(), lambda z: np.conj(np.exp(z))),
    "quotient": (lambda z: dk.imag(1 / z).sum(), lambda z: 1j * np.conj(-1 / z**2)),
    "abs": (lambda z: dk.abs(z).sum(), lambda z: z / np.abs(z)),
    "inner product": (lambda z: dk.real(z @ dk.asarray(W)), lambda z: np.conj(W)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_of_a_real_loss(name: str) -> None:
    loss, expected = LOSSES[name]
    z = dk.tensor(Z, requires_grad=True)
    loss(z).backward()
    assert z.grad is not None
    assert z.grad.dtype == dk.complex128
    np.testing.assert_allclose(z.grad.numpy(), expected(Z), rtol=1e-12)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(dk, name)
    for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "tanh", "square", "reciprocal", "conj", "abs")
} | {
    "power": lambda z: z**3,
    "complex power": lambda z: z ** (1.5 + 0.5j),
    "sum": dk.sum,
    "prod": dk.prod,
    "mean": dk.mean,
    "division": lambda z: z / (z + 2),
    "outer": lambda z: z[:, None] @ z[None, :],
    "in place": lambda z: (z * 1j).mul_(z),
    "real and complex": lambda z: dk.real(z) * z,
    "where": lambda z: dk.where(dk.real(z) > 0, z, z * 2j),
    "concat": lambda z: dk.concat([z, dk.abs(z)]),
    "solve": lambda z: dk.linalg.solve(z * dk.eye(2) + 1j, z),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_agree_with_differences(name: str) -> None:
    assert dk.autograd.gradcheck(FUNCTIONS[name], (dk.tensor(Z, requires_grad=True),))


@pytest.mark.parametrize("name", ["exp", "power", "division", "conj", "in place"])
def test_second_derivatives_agree_with_differences(name: str) -> None:
    assert dk.autograd.gradgradcheck(FUNCTIONS[name], (dk.tensor(Z, requires_grad=True),), atol=1e-4)


def test_the_gradient_of_something_real_is_real() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    dk.real(x * dk.asarray(W)).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == dk.float64
    np.testing.assert_array_equal(x.grad.numpy(), W.real)


def test_a_real_operand_among_complex_ones_agrees_with_differences() -> None:
    x, z = dk.tensor([1.0, 2.0], requires_grad=True), dk.tensor(Z, requires_grad=True)
    assert dk.autograd.gradcheck(lambda x, z: x * z + z**2 / x, (x, z))


def test_a_complex_output_is_pulled_back_by_a_complex_cotangent() -> None:
    z = dk.tensor(Z, requires_grad=True)
    (z * z).backward(dk.tensor([1j, 1.0 + 0j]))
    assert z.grad is not None
    np.testing.assert_allclose(z.grad.numpy(), np.array([1j, 1.0]) * np.conj(2 * Z))


def test_single_precision_stays_single() -> None:
    z = dk.tensor(Z, dtype=dk.complex64, requires_grad=True)
    dk.abs(z * dk.asarray(W)).sum().backward()
    assert z.grad is not None
    assert z.grad.dtype == dk.complex64


def test_a_complex_cotangent_of_a_real_tensor_raises() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(dk.AutogradError, match="gradient is complex128, the tensor to differentiate float64"):
        (x * 2).backward(dk.asarray([1j, 2j]))
