"""Derivatives of decompositions for batches, rectangles and complex numbers: differences, PyTorch, forward rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.operation import DeclaredOperation
from tests.declared import OPERATIONS, flat
from tests.linalg.cases import CASES, RECTANGULAR, SQUARE, Shape, invariants, matrices

ALL = [
    pytest.param(name, shape, dtype, id=f"{name}-{'x'.join(map(str, shape))}-{dtype}")
    for name, case in CASES.items()
    for shape in case.shapes
    for dtype in ("float64", "complex128")
]


@pytest.mark.parametrize(("name", "shape", "dtype"), ALL)
def test_gradients_agree_with_differences(name: str, shape: Shape, dtype: str) -> None:
    x = dk.tensor(matrices(shape, dtype), requires_grad=True)
    assert dk.autograd.gradcheck(lambda x: CASES[name].function(dk, x), (x,), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_agree_with_differences(name: str, dtype: str) -> None:
    shape = min(CASES[name].shapes, key=lambda shape: (np.prod(shape) < 2, np.prod(shape)))
    x = dk.tensor(matrices(shape, dtype), requires_grad=True)
    assert dk.autograd.gradgradcheck(lambda x: CASES[name].function(dk, x), (x,), atol=1e-3, rtol=1e-3)


def gradient(xp: Any, name: str, x: Any) -> Any:
    """Return the gradient of a weighted sum of all that a case gives."""
    loss: Any = 0.0
    for y in CASES[name].function(xp, x):
        weights = np.random.default_rng(7).uniform(0.5, 1.5, size=tuple(y.shape))
        loss = loss + xp.sum(xp.real(y * xp.asarray(weights)) if "complex" in str(y.dtype) else y * xp.asarray(weights))
    loss.backward()
    return x.grad.numpy()


@pytest.mark.parametrize(("name", "shape", "dtype"), ALL)
def test_gradients_are_those_of_pytorch(name: str, shape: Shape, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = matrices(shape, dtype)
    want = gradient(torch, name, torch.tensor(x, requires_grad=True))
    np.testing.assert_allclose(gradient(dk, name, dk.tensor(x, requires_grad=True)), want, rtol=1e-8, atol=1e-9)


FORWARD: dict[str, tuple[str, dict[str, Any], tuple[Shape, ...]]] = {
    "qr": ("qr", {}, RECTANGULAR),
    "qr complete": ("qr", {"mode": "complete"}, ((2, 3), (2, 2, 2))),
    "svd": ("svd", {"full_matrices": False}, RECTANGULAR),
    "svd in full": ("svd", {"full_matrices": True}, RECTANGULAR),
    "eigh": ("eigh", {}, SQUARE),
    "eig": ("eig", {}, SQUARE),
    "cholesky": ("cholesky", {}, SQUARE),
    "cholesky upper": ("cholesky", {"upper": True}, SQUARE),
    **{name: (name, {}, SQUARE) for name in ("eigvalsh", "eigvals", "inv", "det", "slogdet")},
    **{name: (name, {}, RECTANGULAR) for name in ("svdvals", "pinv")},
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("case", FORWARD)
def test_tangents_agree_with_differences(case: str, dtype: str) -> None:
    name, kwargs, shapes = FORWARD[case]
    entry = OPERATIONS[f"dispatchkit.linalg.{name}"]
    assert isinstance(entry, DeclaredOperation)
    for shape in shapes:
        x, t = matrices(shape, dtype), matrices(shape, dtype, seed=1)
        if name in ("eigh", "eigvalsh", "cholesky"):
            x, t = ((m + np.conj(m).mT) / 2 for m in (x + 2 * np.eye(shape[-1]), t))
        y = entry.implementation.body(numpy_namespace, x, **kwargs)
        tangents = entry.derivative.rules.jvps["x"].forward(numpy_namespace, t, y, x, **kwargs)

        def determined(parts: Any, name: str = name) -> list[Any]:
            return flat(invariants(np, name, parts)) if name in ("qr", "svd", "eigh", "eig") else list(parts)

        h = 1e-6
        pairs = list(zip(flat(y), flat(tangents), strict=True))
        ahead, behind = ([one + step * tangent for one, tangent in pairs] for step in (h, -h))
        there, back = (flat(entry.implementation.body(numpy_namespace, x + step * t, **kwargs)) for step in (h, -h))
        for a, b, c, d in zip(*map(determined, (ahead, behind, there, back)), strict=True):
            np.testing.assert_allclose(a - b, c - d, rtol=1e-4, atol=1e-4 * h, err_msg=f"{case} {shape}")


def test_a_rule_for_tangents_is_there_for_each_decomposition() -> None:
    names = {name for name, _, _ in FORWARD.values()}
    rules = {e.name for e in OPERATIONS.values() if e.namespace.endswith("linalg") and "x" in e.derivative.rules.jvps}
    assert names == rules - {"vector_norm"}


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_tensordot_takes_a_number_for_an_array_without_axes(dtype: str) -> None:
    x = dk.tensor([1, 2], dtype=dtype, requires_grad=True)
    for first, second in ((x, 2.0), (2.0, x)):
        x.grad = None
        y = dk.tensordot(first, second, axes=0)
        assert y.tolist() == [2, 4]
        dk.real(y).sum().backward()
        grad: Any = x.grad
        assert grad.tolist() == [2, 2]
        assert grad.dtype == y.dtype == x.dtype
    with pytest.raises(ValueError, match="tensordot: cannot sum over 1 axes of 1-D and 0-D arrays"):
        dk.tensordot(x, 2.0, axes=1)


PRODUCTS: dict[str, tuple[Shape, Shape]] = {
    "dot": ((3,), (3,)),
    "outer": ((2,), (3,)),
    "mv": ((2, 3), (3,)),
    "mm": ((2, 3), (3, 4)),
    "bmm": ((2, 2, 3), (2, 3, 1)),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_fixed_numbers_of_axes_have_derivatives(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    args = [
        rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0) for shape in PRODUCTS[name]
    ]
    tensors = tuple(dk.tensor(x, requires_grad=True) for x in args)
    assert dk.autograd.gradcheck(getattr(dk, name), tensors, atol=1e-5)
    assert dk.autograd.gradgradcheck(getattr(dk, name), tensors, atol=1e-5)
