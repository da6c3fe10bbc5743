"""`softmax` and `log_softmax` against PyTorch, and against their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.ops.reductions import softmaxes

A = np.random.default_rng(0).normal(size=(2, 3, 4))


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_values_are_those_of_the_formulas(axis: Any, dtype: str) -> None:
    x = (5 * A).astype(dtype)
    shares = np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for found, expected in ((dk.softmax(x, axis=axis), shares), (dk.log_softmax(x, axis=axis), np.log(shares))):
        assert found.dtype == shares.dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


ROWS = {
    "far apart": [0.0, 1e5, -1e5],
    "equal and large": [1e300, 1e300, 1e300],
    "minus infinity": [-np.inf, 1.0, 2.0],
    "NaN": [np.nan, 1.0, 2.0],
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_values_and_gradients_are_those_of_pytorch(name: str, row: str) -> None:
    torch = pytest.importorskip("torch")
    x = dk.tensor(ROWS[row], requires_grad=True)
    y = torch.tensor(ROWS[row], dtype=torch.float64, requires_grad=True)
    found, expected = getattr(x, name)(0), getattr(y, name)(0)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy())
    weights = np.array([1.0, 2.0, 4.0])
    found.backward(dk.asarray(weights))
    expected.backward(torch.tensor(weights))
    assert x.grad is not None
    assert y.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), atol=1e-15)


def test_logarithms_of_shares_that_round_to_zero() -> None:
    assert dk.log_softmax(dk.asarray([0.0, 2000.0])).tolist() == [-2000, 0]


def test_no_elements_along_the_axis() -> None:
    assert dk.softmax(dk.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(ValueError, match="zero-size array"):
        dk.softmax(dk.zeros((2, 0)))


# Rows that are summed by products, and arrays that are not: of long rows, of other memory, along other axes.
LAYOUTS: dict[str, tuple[Any, int]] = {
    "rows": (lambda x: x, -1),
    "rows by their number": (lambda x: x, 1),
    "rows that lie apart": (lambda x: x[:, ::2], -1),
    "columns": (lambda x: x, 0),
    "rows of a transpose": (lambda x: x.T, -1),
    "matrices": (lambda x: x.reshape(2, 3, 40), -1),
}


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("float64", 1e-14)])
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("longest", [1, 1 << 12])
def test_shares_and_their_gradients_are_those_of_their_definition_and_leave_the_argument(
    longest: int, name: str, dtype: str, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(softmaxes, "LONGEST", longest)
    layout, axis = LAYOUTS[name]
    rng = np.random.default_rng(0)
    x = layout(rng.normal(0.0, 5.0, (6, 40)).astype(dtype))
    g = rng.normal(size=x.shape).astype(dtype)
    precise = np.exp(x.astype(np.longdouble) - x.max(axis=axis, keepdims=True))
    shares = precise / precise.sum(axis=axis, keepdims=True)
    wanted = {
        dk.softmax: (shares, shares * (g - (g * shares).sum(axis=axis, keepdims=True))),
        dk.log_softmax: (np.log(shares), g - shares * g.sum(axis=axis, keepdims=True)),
    }
    for function, (value, gradient) in wanted.items():
        leaf, before = dk.Tensor(x, requires_grad=True), x.copy()
        y = function(leaf, axis=axis)
        y.backward(dk.asarray(g))
        assert leaf.grad is not None
        assert y.dtype == leaf.grad.dtype == dtype
        npt.assert_allclose(y.detach().numpy(), value.astype(float), rtol=tolerance * 20, atol=tolerance)
        npt.assert_allclose(leaf.grad.numpy(), gradient.astype(float), rtol=0, atol=tolerance * 20)
        npt.assert_array_equal(x, before)
