"""Largest and smallest elements of many short rows of NumPy arrays, which are found by their places."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(700, 8), (5, 20, 64), (4, 1024), (4, 1025), (700, 7)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_extremes_of_rows_are_numpys(dtype: str, shape: tuple[int, ...], keepdims: bool) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    x[0, ..., 3], x[1, ..., 2], x[2] = np.nan, np.inf, -np.inf
    for axis in (-1, len(shape) - 1, 0):
        for ours, theirs in ((dk.max, np.max), (dk.min, np.min)):
            found = ours(dk.asarray(x), axis=axis, keepdims=keepdims).numpy()
            npt.assert_array_equal(found, theirs(x, axis=axis, keepdims=keepdims), strict=True)


def test_rows_in_another_order_have_their_own_extremes() -> None:
    x = np.random.default_rng(0).standard_normal((100, 90))
    for given in (x.T, x[::-1], x[:, ::2]):
        npt.assert_array_equal(dk.max(dk.asarray(given), axis=-1).numpy(), given.max(-1))


def test_the_gradient_of_a_largest_element_flows_to_it() -> None:
    x = dk.tensor(np.random.default_rng(0).standard_normal((500, 16)), requires_grad=True)
    dk.max(x, axis=-1).sum().backward()
    assert x.grad is not None
    npt.assert_array_equal(x.grad.numpy(), x.detach().numpy() == x.detach().numpy().max(-1, keepdims=True))
