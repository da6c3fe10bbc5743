"""Variances of long rows of NumPy arrays, whose means may be far from 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((5, 300), -1), ((5, 300), None), ((4, 3, 20, 20), (0, 2, 3)), ((3, 300), 0)]
)
@pytest.mark.parametrize("moved", [0.0, 1.0, 1000.0, 1e20])
def test_variances_keep_their_digits_wherever_the_mean_is(
    dtype: str, shape: tuple[int, ...], axis: Any, moved: float
) -> None:
    scale = 1e17 if moved == 1e20 else 1.0
    x = (np.random.default_rng(0).standard_normal(shape) * scale + moved).astype(dtype)
    precise = x.astype("float64")
    for function, reference in ((dk.var, np.var), (dk.std, np.std)):
        for correction, keepdims in ((0, False), (1, True)):
            wanted = reference(precise, axis=axis, ddof=correction, keepdims=keepdims)
            found = function(dk.asarray(x), axis=axis, correction=correction, keepdims=keepdims).numpy()
            assert found.dtype == dtype
            npt.assert_allclose(found, wanted, rtol=3e-4 if dtype == "float32" else 1e-9 if moved > 1 else 1e-13)


def test_a_variance_of_infinities_is_nan() -> None:
    x = np.zeros((2, 300))
    x[0, 0] = np.inf
    with np.errstate(invalid="ignore"):
        assert np.isnan(dk.var(dk.asarray(x), axis=-1).numpy()).tolist() == [True, False]
