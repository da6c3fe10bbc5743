"""`polygamma` of an array of orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

X = dk.asarray([0.5, 1.5, 2.5])
ORDERS = dk.asarray([0, 1, 3])
# By SciPy 1.17.
VALUES = [-1.9635100260214235, 0.9348022005446793, 0.22390584881725205]
SLOPES = [4.934802200544679, -0.8287966442343199, -0.3137559995067888]


@pytest.mark.parametrize("n", [ORDERS, np.asarray([0, 1, 3])], ids=["tensor", "array"])
def test_orders_may_differ_from_element_to_element(n: Any) -> None:
    np.testing.assert_allclose(dk.special.polygamma(n, X).numpy(), VALUES, rtol=1e-12)
    np.testing.assert_allclose(dk.func.grad(lambda x: dk.special.polygamma(n, x).sum())(X).numpy(), SLOPES, rtol=1e-12)
    tangent = dk.func.jvp(lambda x: dk.special.polygamma(n, x), (X,), (dk.ones(3),))[1]
    np.testing.assert_allclose(tangent.numpy(), SLOPES, rtol=1e-12)
    curvature = dk.func.hessian(lambda x: dk.special.polygamma(n, x).sum())(X)
    np.testing.assert_allclose(curvature.numpy(), np.diag(dk.special.polygamma(ORDERS + 2, X).numpy()), rtol=1e-12)


def test_orders_broadcast_and_form_batches() -> None:
    table = dk.special.polygamma(ORDERS[:, None], X)
    np.testing.assert_allclose(table.numpy(), [dk.special.polygamma(n, X).numpy() for n in (0, 1, 3)], rtol=1e-12)
    np.testing.assert_array_equal(dk.func.vmap(lambda n: dk.special.polygamma(n, X))(ORDERS).numpy(), table.numpy())
    both = dk.func.vmap(dk.special.polygamma)(ORDERS, X)
    np.testing.assert_allclose(both.numpy(), VALUES, rtol=1e-12)


@pytest.mark.parametrize("n", [2, np.int64(2), np.asarray(2), dk.asarray(2)], ids=repr)
def test_one_order_may_be_in_an_array(n: Any) -> None:
    np.testing.assert_array_equal(dk.special.polygamma(n, X).numpy(), dk.special.polygamma(2, X).numpy())


def test_the_dtype_is_that_of_the_elements() -> None:
    assert dk.special.polygamma(ORDERS, X.astype(dk.float32)).dtype == dk.float32
    assert dk.special.polygamma(ORDERS, dk.asarray([1, 2, 3])).dtype == dk.float64


def test_orders_that_are_no_integers_or_negative_are_refused() -> None:
    with pytest.raises(TypeError, match="polygamma: n must be an int or an array of ints, found one of float64"):
        dk.special.polygamma(dk.asarray([0.5, 1.0, 1.0]), X)
    with pytest.raises(ValueError, match="polygamma: n must be at least 0 everywhere, found"):
        dk.special.polygamma(dk.asarray([0, -1, 2]), X)
    with pytest.raises(TypeError, match=r"polygamma: n must be an int, found 1\.5"):
        dk.special.polygamma(1.5, X)
