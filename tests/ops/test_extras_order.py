"""`median` and `quantile` against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk

METHODS: Any = ["linear", "lower", "higher", "midpoint", "nearest"]
A = np.random.default_rng(0).permutation(np.linspace(-3, 5, 24)).reshape(2, 3, 4)
ARRAYS: dict[str, Any] = {
    "float64": A,
    "float32": A.astype("float32"),
    "integers": (10 * A).astype("int64"),
    "small integers": (10 * A).astype("int8"),
    "not contiguous": A.T[::-1],
    "NaN": np.where(A > 4.8, np.nan, A),
    "ties": np.round(A),
}


@pytest.mark.parametrize("content", ARRAYS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (2, 0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_median_is_that_of_numpy(content: str, axis: Any, keepdims: bool) -> None:
    x = ARRAYS[content]
    expected = np.asarray(np.median(x, axis=axis, keepdims=keepdims))
    found = dk.median(x, axis=axis, keepdims=keepdims)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("content", ARRAYS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("q", [0.0, 0.37, 1.0, np.array(0.5), np.array([[0.1, 0.9], [0.25, 1.0]]), np.zeros((0,))])
def test_quantiles_are_those_of_numpy(content: str, method: Any, q: Any) -> None:
    x = ARRAYS[content]
    for kwargs in ({}, {"axis": 1, "keepdims": True}, {"axis": (-1, 0)}):
        expected = np.asarray(np.quantile(x, q, method=method, **kwargs))
        found = dk.quantile(x, q, method=method, **kwargs)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6, atol=1e-6)


@given(st.integers(1, 30), st.floats(0, 1), st.sampled_from(METHODS))
def test_any_share_of_any_number_of_elements(n: int, q: float, method: Any) -> None:
    x = np.random.default_rng(n).normal(size=n)
    np.testing.assert_allclose(dk.quantile(x, q, method=method).numpy(), np.quantile(x, q, method=method), atol=1e-14)


def test_infinite_elements() -> None:
    x = np.array([-np.inf, 1.0, np.inf, np.inf])
    assert dk.quantile(x, dk.asarray([0.0, 1 / 3, 0.5, 1.0])).tolist() == [-np.inf, 1, np.inf, np.inf]
    assert dk.median(x[1:]).item() == np.inf
    assert dk.median(x).item() == np.inf


def test_gradients_reach_the_chosen_elements() -> None:
    x = dk.tensor([5.0, 1.0, 3.0, 9.0], requires_grad=True)
    for q, method, expected in (
        (0.5, "linear", [0.5, 0, 0.5, 0]),
        (0.5, "lower", [0, 0, 1, 0]),
        (0.5, "higher", [1, 0, 0, 0]),
        (0.9, "linear", [0.3, 0, 0, 0.7]),
        (1.0, "linear", [0, 0, 0, 1]),
    ):
        (g,) = dk.autograd.grad(dk.quantile(x, q, method=method), [x])  # type: ignore[call-overload]
        np.testing.assert_allclose(g.numpy(), expected, atol=1e-12)
    (g,) = dk.autograd.grad(dk.median(x), [x])
    assert g.tolist() == [0.5, 0, 0.5, 0]


@pytest.mark.parametrize("method", METHODS)
def test_gradients_are_those_of_pytorch(method: Any) -> None:
    torch = pytest.importorskip("torch")
    x, y = dk.tensor(A[0], requires_grad=True), torch.tensor(A[0], requires_grad=True)
    shares = [0.1, 0.45, 1.0]
    weights = np.arange(9.0).reshape(3, 3)
    (x.quantile(dk.asarray(shares), 1, method) * weights).sum().backward()
    (
        y.quantile(torch.tensor(shares, dtype=torch.float64), 1, interpolation=method) * torch.tensor(weights)
    ).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy())


ERRORS: dict[str, tuple[Any, type[Exception], str]] = {
    "share": (lambda: dk.quantile(A, 1.5), ValueError, r"quantile: q must lie between 0 and 1, found 1\.5"),
    "shares": (lambda: dk.quantile(A, np.array([0.5, -0.1])), ValueError, r"quantile: q must lie .*-0\.1"),
    "NaN": (lambda: dk.quantile(A, np.nan), ValueError, r"quantile: q must lie between 0 and 1, found nan"),
    "method": (
        lambda: dk.quantile(A, 0.5, method="hazen"),
        ValueError,
        r"quantile: method must be one of 'linear', .*found 'hazen'",
    ),
    "complex": (lambda: dk.quantile(A + 0j, 0.5), TypeError, r"quantile: x must hold real numbers, .* complex128"),
    "complex median": (lambda: dk.median(A + 0j), TypeError, r"median: x must hold real numbers"),
    "complex q": (lambda: dk.quantile(A, np.array([0.5j])), TypeError, r"quantile: q must be real, found complex128"),
    "empty": (lambda: dk.median(A[:0], axis=0), ValueError, r"median: there are no elements along axis 0"),
    "axis": (lambda: dk.quantile(A, 0.5, axis=3), ValueError, r"axis 3 is out of bounds|source"),
}


@pytest.mark.parametrize("what", ERRORS)
def test_bad_input_is_named(what: str) -> None:
    call, error, message = ERRORS[what]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("method", METHODS)
def test_an_undefined_result_is_differentiated_by_the_nan_that_makes_it_so(method: Any) -> None:
    rows = [[1.0, np.nan, 3.0, 2.0], [4.0, 1.0, 3.0, 2.0]]
    x = dk.tensor(rows, requires_grad=True)
    y = dk.quantile(x, dk.asarray([0.0, 1.0]), axis=1, method=method)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0, 2.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]
    x.grad = None
    dk.median(x, axis=1).sum().backward()
    halves: Any = x.grad
    assert halves.tolist() == [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
