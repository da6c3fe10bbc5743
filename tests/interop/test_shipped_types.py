"""Every type that ships, handed to NumPy, PyTorch and JAX: values of the dense form, and the type where it can be."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import types
from tests.report.shipped import samples

MATRIX = dk.asarray([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
WRAPPERS: list[Any] = [
    types.MaskedTensor(MATRIX, MATRIX > 0.6),
    types.NamedTensor(MATRIX, ("rows", "columns")),
    types.QuantityTensor(MATRIX, "m"),
    types.UncertainTensor(MATRIX, 0.1 * dk.ones((3, 3))),
]
# What has no plain form says what to write instead.
WITHOUT_DENSE = {
    "MaskedTensor": r"x\.filled\(value\)",
    "QuantityTensor": r"\.magnitude",
    "UncertainTensor": r"\.value",
}
ALL = [pytest.param(x, id=f"{type(x).__name__}-{place}") for place, x in enumerate([*samples(), *WRAPPERS])]
everyone = pytest.mark.parametrize("x", ALL)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Let the dense form be made: it is what is compared."""
    with dk.densify(on="allow"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def elements(x: Any) -> Any:
    """Return the elements of a result as NumPy's array."""
    match x:
        case types.MaskedTensor():
            return elements(x.filled(0.0))
        case types.QuantityTensor():
            return elements(x.magnitude)
        case types.UncertainTensor():
            return elements(x.value)
        case dk.Tensor():
            return np.asarray(x.detach().array)
    return np.asarray(x.detach() if hasattr(x, "detach") else x)


def ones(n: int) -> Any:
    return np.ones((n, 2))


@everyone
def test_numpy(x: Any) -> None:
    name = type(x).__name__
    if name in WITHOUT_DENSE:
        with pytest.raises(ValueError, match=WITHOUT_DENSE[name]):
            np.asarray(x)
    doubled = np.multiply(x, 2.0)
    assert type(doubled) is type(x * 2.0)
    np.testing.assert_allclose(elements(doubled), 2.0 * elements(x))


@everyone
def test_pytorch(x: Any) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    doubled = torch.mul(x, 2.0)
    assert type(doubled) is type(x * 2.0)
    np.testing.assert_allclose(elements(doubled), 2.0 * elements(x), rtol=1e-6)
    if x.ndim == 2 and not isinstance(x, types.NamedTensor):  # whose products go by names
        product = torch.matmul(x, torch.asarray(ones(x.shape[-1])))
        np.testing.assert_allclose(elements(product), elements(x) @ ones(x.shape[-1]), rtol=1e-6, atol=1e-12)


@everyone
def test_jax(x: Any) -> None:
    jax = pytest.importorskip("jax")
    pytest.importorskip("dispatchkit.interop.jax")
    jax.config.update("jax_enable_x64", True)
    leaves, structure = jax.tree.flatten(x)
    assert type(jax.tree.unflatten(structure, leaves)) is type(x)
    doubled = jax.jit(lambda a: a * 2.0)(x)
    assert type(doubled) is type(x * 2.0)
    np.testing.assert_allclose(elements(doubled), 2.0 * elements(x), rtol=1e-6)
    if x.ndim == 2 and not isinstance(x, types.NamedTensor):
        columns = dk.Tensor(jax.numpy.asarray(ones(x.shape[-1])))
        product = jax.jit(lambda a: dk.matmul(a, columns))(x)
        np.testing.assert_allclose(elements(product), elements(x) @ ones(x.shape[-1]), rtol=1e-6, atol=1e-12)
