"""Reductions without NaN, against NumPy's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from tests.protocol.support import steps_of

NAN, INF = np.nan, np.inf
HOLED = np.array([[[1.0, NAN, -2.0], [4.0, 0.5, NAN]], [[NAN, NAN, 3.0], [NAN, -1.0, 2.0]]])
ARRAYS: dict[str, Any] = {
    "float64": HOLED,
    "float32": HOLED.astype("float32"),
    "not contiguous": HOLED.T[::-1],
    "without NaN": np.nan_to_num(HOLED),
    "nothing but NaN": np.full((2, 2), NAN),
    "one lane of NaN": np.array([[NAN, NAN], [1.0, 3.0]]).T,
    "infinite": np.array([[INF, NAN, 1.0], [INF, 2.0, NAN]]),
    "integers": np.array([[3, -1], [4, 7]]),
    "small integers": np.array([[3, -1], [4, 7]], dtype="int8"),
    "booleans": np.array([[True, False], [True, True]]),
    "0-D": np.array(2.5),
    "0-D NaN": np.array(NAN),
}
COMPLEX = {"complex": HOLED + 1j * HOLED[::-1], "complex64": (HOLED * (1 - 2j)).astype("complex64")}
REAL = ("nanmax", "nanmin")
NAMES = ("nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar")


def by_numpy(name: str, x: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(np, name)(x, **kwargs)


@pytest.mark.parametrize("content", [*ARRAYS, *COMPLEX])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_numpy(name: str, content: str) -> None:
    x = {**ARRAYS, **COMPLEX}[content]
    if (content in COMPLEX and name in REAL) or (content == "infinite" and name in ("nanstd", "nanvar")):
        pytest.skip("not for complex numbers; NumPy's subtraction of infinities warns")
    calls: list[dict[str, Any]] = [{}, {"keepdims": True}]
    if x.ndim > 1:
        calls += [{"axis": 0}, {"axis": -1}, {"axis": (0, 1), "keepdims": True}]
    for kwargs in calls:
        expected = np.asarray(by_numpy(name, x, **kwargs))
        found = getattr(dk, name)(x, **kwargs)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5 if x.dtype.itemsize in (4, 8) else 1e-12)


@pytest.mark.parametrize("name", ["nanmean", "nanprod", "nanstd", "nansum", "nanvar"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtype_of_the_result(name: str, dtype: str) -> None:
    for x in (HOLED, ARRAYS["integers"]):
        expected = by_numpy(name, x, dtype=dtype)
        found = getattr(dk, name)(x, dtype=np.dtype(dtype))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["nanstd", "nanvar"])
@pytest.mark.parametrize("correction", [0, 1, 0.5, 2, 3])
def test_correction_by_either_name(name: str, correction: float) -> None:
    x = np.array([[1.0, NAN, 4.0], [2.0, 3.0, 7.0]])
    expected = by_numpy(name, x, axis=1, ddof=correction)
    for keyword in ("correction", "ddof"):
        found = getattr(dk, name)(x, axis=1, **{keyword: correction})
        np.testing.assert_allclose(found.numpy(), expected)
    with pytest.raises(ValueError, match=rf"{name}: correction and ddof are the same; found both, 1 and 0"):
        getattr(dk, name)(x, correction=1, ddof=0)


@pytest.mark.parametrize("name", NAMES)
def test_a_nan_has_no_gradient_and_makes_none(name: str) -> None:
    x = dk.tensor([[1.0, NAN, 3.0], [NAN, NAN, NAN]], requires_grad=True)
    getattr(dk, name)(x, axis=1).sum().backward()
    assert x.grad is not None
    assert x.grad[0, 1] == 0
    assert x.grad is not None
    assert bool(dk.all(dk.isfinite(x.grad)))
    assert x.grad is not None
    assert x.grad[1].tolist() == [0, 0, 0]


def test_equal_elements_have_no_spread_and_no_gradient() -> None:
    x = dk.tensor([2.0, NAN, 2.0], requires_grad=True)
    dk.nanstd(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["nanmean", "nansum"])
def test_gradients_are_those_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    x, y = dk.tensor(HOLED[0], requires_grad=True), torch.tensor(HOLED[0], requires_grad=True)
    (getattr(x, name)(0) ** 2).sum().backward()
    (getattr(y, name)(0) ** 2).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy())


@pytest.mark.parametrize("name", ["nanmean", "nanprod", "nanstd", "nansum", "nanvar"])
def test_complex_gradients_agree_with_differences(name: str) -> None:
    z = dk.tensor([[1.0 + 2j, -0.5j], [2.0, 1j]], requires_grad=True)
    holes = dk.asarray([[1.0, 1.0], [1.0, NAN]])
    assert dk.autograd.gradcheck(lambda z: getattr(dk, name)(z[:1] * holes[:1], axis=1), (z,))


@pytest.mark.parametrize("name", REAL)
def test_extremes_of_nothing(name: str) -> None:
    with pytest.raises(ValueError, match="zero-size array"):
        getattr(dk, name)(np.ones((0, 2)), axis=0)


def test_sums_of_nothing() -> None:
    assert dk.nansum(dk.zeros(0)).item() == 0
    assert dk.nanprod(dk.zeros(0)).item() == 1
    assert np.isnan(dk.nanmean(dk.zeros(0)).item())


def test_methods_are_those_of_pytorch() -> None:
    assert hasattr(dk.Tensor, "nansum")
    assert hasattr(dk.Tensor, "nanmean")
    assert not any(hasattr(dk.Tensor, name) for name in ("nanmax", "nanmin", "nanprod", "nanstd", "nanvar"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(7,), (2, 3), ()], ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"correction": 1}, {"ddof": 0.5}, {"correction": 6}, {"keepdims": True}], ids=str
)
@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
def test_the_spread_of_all_elements_is_that_of_those_that_are_left(
    name: str, options: dict[str, Any], shape: tuple[int, ...], dtype: Any
) -> None:
    values = np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape) ** 2
    for missing in (0, 2, values.size):
        x = values.copy()
        x.reshape(-1)[:missing] = np.nan
        # Along every axis by its number, which goes the way of rows and columns.
        along = getattr(dk, name)(dk.asarray(x[..., None]), axis=tuple(range(x.ndim + 1)), **options)
        found = getattr(dk, name)(dk.asarray(x), **options)
        assert found.dtype == dtype
        assert found.shape == (x.ndim * (1,) if "keepdims" in options else ())
        np.testing.assert_allclose(np.asarray(found).ravel(), np.asarray(along).ravel(), rtol=1e-6)
    with pytest.raises(ValueError, match=f"{name}: correction and ddof are the same; found both, 1 and 2"):
        getattr(dk, name)(dk.asarray(values), correction=1, ddof=2)


@pytest.mark.parametrize("axis", [0, -1, 1, -2], ids=str)
def test_an_axis_of_a_vector_is_looked_at(axis: int) -> None:
    x = dk.asarray([1.0, np.nan, 3.0])
    if axis in (0, -1):
        assert dk.nanvar(x, axis=axis).item() == 1.0
    else:
        with pytest.raises(np.exceptions.AxisError, match="axis"):
            dk.nanvar(x, axis=axis)


def test_the_spread_of_a_vector_takes_few_steps() -> None:
    x = dk.asarray([1.0, np.nan, 3.0])
    dk.nanvar(x)
    assert steps_of(lambda: dk.nanvar(x)) < 66
