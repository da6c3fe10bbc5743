"""`average`, `cov`, `corrcoef` against NumPy and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

RNG = np.random.default_rng(0)
A = RNG.normal(size=(2, 3, 4))
M = RNG.normal(size=(3, 5))
Z = M + 1j * RNG.normal(size=(3, 5))
WEIGHTS: dict[str, tuple[Any, Any]] = {
    "none": (None, None),
    "none along an axis": (1, None),
    "of the shape": (None, RNG.uniform(1, 2, size=A.shape)),
    "of the shape along an axis": (-2, RNG.uniform(1, 2, size=A.shape)),
    "of an axis": (-1, np.arange(4)),
    "of several axes": ((0, 2), RNG.uniform(1, 2, size=(2, 4))),
    "of several axes in another order": ((2, 0), RNG.uniform(1, 2, size=(4, 2))),
    "complex": (0, np.array([1j, 2.0])),
    "negative": (0, np.array([-1.0, 3.0])),
}


@pytest.mark.parametrize("form", WEIGHTS)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
def test_averages_are_those_of_numpy(form: str, keepdims: bool, dtype: str) -> None:
    axis, weights = WEIGHTS[form]
    x = (10 * A).astype(dtype)
    by_numpy: Any = np.average  # its stubs do not take a flag that is not known
    expected = by_numpy(x, axis=axis, weights=weights, returned=True, keepdims=keepdims)
    found = dk.average(x, axis=axis, weights=weights, returned=True, keepdims=keepdims)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == np.shape(other)
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-5 if dtype == "float32" else 1e-12)
    alone = dk.average(x, axis=axis, weights=weights, keepdims=keepdims)
    assert alone.dtype == np.asarray(expected[0]).dtype
    np.testing.assert_array_equal(alone.numpy(), found[0].numpy())


def test_an_average_of_small_integers_does_not_wrap_around() -> None:
    x, weights = np.array([100, -100, 90], np.int8), np.array([100, 3, 120], np.uint8)
    assert dk.average(x, weights=weights).item() == np.average(x, weights=weights)


def test_an_average_knows_bad_weights() -> None:
    with pytest.raises(ValueError, match=r"average: weights must have shape \(2, 3, 4\) or, for axis 1, \(3,\), found"):
        dk.average(A, axis=1, weights=np.ones(4))
    with pytest.raises(ValueError, match=r"average: weights must have shape \(2, 3, 4\), found \(4,\)"):
        dk.average(A, weights=np.ones(4))
    with pytest.raises(ZeroDivisionError, match=r"average: weights sum to 0"):
        dk.average(A, axis=0, weights=np.array([1.0, -1.0]))


COVARIANCES: dict[str, dict[str, Any]] = {
    "plain": {},
    "columns": {"rowvar": False},
    "biased": {"correction": 0},
    "repeated": {"fweights": np.array([1, 2, 0, 3, 1])},
    "weighted": {"aweights": np.array([1.0, 0.5, 2.0, 1.0, 0.25])},
    "both": {"fweights": np.array([1, 2, 0, 3, 1]), "aweights": np.array([1.0, 0.5, 2.0, 1.0, 0.25]), "correction": 2},
}


@pytest.mark.parametrize("form", COVARIANCES)
@pytest.mark.parametrize("x", [M, Z, M[0], M[:1], np.round(9 * M).astype(int), M.astype("float32"), M[::-1, ::-1]])
def test_covariances_are_those_of_numpy(form: str, x: Any) -> None:
    kwargs = dict(COVARIANCES[form])
    if form == "columns" and x.shape == (1, 5):
        pytest.skip("one observation")
    expected = np.cov(x, ddof=kwargs.get("correction", 1), **{k: v for k, v in kwargs.items() if k != "correction"})
    found = dk.cov(x, **kwargs)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4 if x.dtype == "float32" else 1e-10, atol=1e-6)


@pytest.mark.parametrize("kwargs", [{}, {"correction": 0}, {"aweights": True, "fweights": True}])
def test_covariances_and_their_gradients_are_those_of_pytorch(kwargs: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    own, other = dict(kwargs), dict(kwargs)
    for name in set(kwargs) - {"correction"}:
        own[name], other[name] = COVARIANCES["both"][name], torch.tensor(COVARIANCES["both"][name])
    x, y = dk.tensor(M, requires_grad=True), torch.tensor(M, requires_grad=True)
    found, expected = x.cov(**own), y.cov(**other)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy())
    (found**2).sum().backward()
    (expected**2).sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), atol=1e-12)


def test_a_complex_covariance_has_gradients() -> None:
    z = dk.tensor(Z[:2, :3], requires_grad=True)
    assert dk.autograd.gradcheck(dk.cov, (z,))


@pytest.mark.parametrize("x", [M, Z, M[0], np.round(9 * M).astype(int)])
@pytest.mark.parametrize("rowvar", [True, False])
def test_correlations_are_those_of_numpy(x: Any, rowvar: bool) -> None:
    found, expected = dk.corrcoef(x, rowvar=rowvar), np.corrcoef(x, rowvar=rowvar)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.numpy(), expected)


def test_correlations_stay_within_bounds() -> None:
    x = np.outer([1.0, 3.0, -0.1], RNG.normal(size=7))
    assert np.abs(dk.corrcoef(x).numpy()).max() <= 1


ERRORS: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (A, {}, ValueError, r"cov: x must have one or two axes, found shape \(2, 3, 4\)"),
    (M, {"fweights": np.ones(5)}, TypeError, r"cov: fweights must be integers, found float64"),
    (M, {"fweights": np.ones(3, int)}, ValueError, r"cov: fweights must have shape \(5,\), found \(3,\)"),
    (M, {"aweights": np.ones((1, 5))}, ValueError, r"cov: aweights must have shape \(5,\), found \(1, 5\)"),
    (M, {"aweights": -np.ones(5)}, ValueError, r"cov: aweights must not be negative"),
    (M, {"aweights": 1j * np.ones(5)}, TypeError, r"cov: aweights must be real, found complex128"),
]


@pytest.mark.parametrize(("x", "kwargs", "error", "message"), ERRORS)
def test_cov_names_what_is_wrong(x: Any, kwargs: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dk.cov(x, **kwargs)


def test_corrcoef_names_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"corrcoef: x must have one or two axes"):
        dk.corrcoef(A)
