"""Eigenvalues of banded matrices, compared with those of dense ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import BandedTensor

pytest.importorskip("scipy")
rng = np.random.default_rng(0)


def hermitian(n: int, b: int, batch: tuple[int, ...] = (), complex_too: bool = False) -> BandedTensor:
    bands = rng.normal(size=(*batch, 2 * b + 1, n)) + 1j * complex_too * rng.normal(size=(*batch, 2 * b + 1, n))
    half = BandedTensor(bands if complex_too else bands.real, lower=b, upper=b)
    made: Any = half + dk.conj(half.mT)
    return BandedTensor(made.elements, lower=b, upper=b)


@pytest.mark.parametrize("x", [hermitian(5, 1), hermitian(3, 0), hermitian(2, 4), hermitian(6, 2, (2, 2), True)])
def test_eigenvalues_are_those_of_the_dense_matrix(x: Any) -> None:
    with dk.densify(on="error"):
        values = dk.linalg.eigvalsh(x)
    np.testing.assert_allclose(values.numpy(), np.linalg.eigvalsh(x.to_dense().numpy()), rtol=1e-10, atol=1e-12)


def of_bands(bands: Any, dense: bool, what: str) -> Any:
    x: Any = BandedTensor(bands, lower=1, upper=1)
    x = (x + x.mT) / 2
    x = x.to_dense() if dense else x
    if what == "values":
        return dk.sum(dk.sin(dk.linalg.eigvalsh(x)))
    values, vectors = dk.linalg.eigh(x)
    return dk.sum(values[-2:] * (vectors.mT @ dk.arange(4.0))[-2:] ** 2)


@pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")
@pytest.mark.parametrize("what", ["values", "vectors"])
def test_derivatives_are_those_of_the_dense_matrix(what: str) -> None:
    bands = dk.asarray(rng.normal(size=(3, 4)))
    tangent = dk.asarray(rng.normal(size=(3, 4)))
    functions = [partial(of_bands, dense=dense, what=what) for dense in (False, True)]
    one, other = (dk.func.grad(f)(bands).numpy() for f in functions)
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    one, other = (dk.func.jvp(f, (bands,), (tangent,))[1].numpy() for f in functions)
    np.testing.assert_allclose(one, other, rtol=1e-9)
    one, other = (dk.func.hessian(f)(bands).numpy() for f in functions)
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


@pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")
def test_gradients_of_equal_eigenvalues_are_finite() -> None:
    bands = dk.ones((1, 3), requires_grad=True)
    dk.linalg.eigvalsh(BandedTensor(bands, lower=0, upper=0)).sum().backward()
    assert bands.grad is not None
    np.testing.assert_allclose(bands.grad.numpy(), 1.0)


@pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")
def test_batches_under_vmap() -> None:
    bands = hermitian(4, 1, (3,)).bands
    found = dk.func.vmap(lambda b: dk.linalg.eigvalsh(BandedTensor(b, lower=1, upper=1)))(bands)
    wanted = np.linalg.eigvalsh(BandedTensor(bands, lower=1, upper=1).to_dense().numpy())
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-12)


def test_what_is_not_hermitian_and_derivatives_are_left_to_the_dense_matrix() -> None:
    lopsided = BandedTensor([[0.0, 1.0], [3.0, 3.0], [2.0, 0.0]], lower=1, upper=1)
    followed = BandedTensor(dk.ones((1, 3), requires_grad=True), lower=0, upper=0)
    for x in (lopsided, followed):
        with dk.densify(on="error"), pytest.raises(dk.DensifyError):
            dk.linalg.eigvalsh(x)
