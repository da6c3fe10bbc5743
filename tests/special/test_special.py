"""`dispatchkit.special`: values, derivatives at the edges, and who computes."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

SPECIAL: Any = dk.special
INF, NAN = math.inf, math.nan
EVERYWHERE = [-INF, -30.0, -2.5, -1.0, -0.5, -1e-9, -0.0, 0.0, 1e-9, 0.25, 0.5, 1.0, 1.5, 6.0, 40.0, 1e5, INF, NAN]
UNIT = [-INF, -1.0, -0.999, -0.25, 0.0, 1e-9, 0.25, 0.75, 0.999, 1.0, 1.5, NAN]
POINTS = {
    **dict.fromkeys(("erf", "erfc", "ndtr", "gammaln", "digamma", "expit"), EVERYWHERE),
    **dict.fromkeys(("erfinv", "logit"), UNIT),
}
PAIRS = [(a, b) for a in (-2.0, 0.0, 0.5, INF, NAN) for b in (-1.0, 0.0, 0.5, 3.0, INF, NAN)]


def scipy_special() -> Any:
    return pytest.importorskip("scipy.special")


def quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function at points where NumPy warns of infinities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*args)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("name", POINTS)
def test_values_and_dtypes_are_those_of_scipy(name: str, dtype: str) -> None:
    expected = getattr(scipy_special(), name)
    x = np.array([1, 2, 3] if dtype == "int64" else POINTS[name], dtype=dtype)
    y = quietly(getattr(SPECIAL, name), dk.asarray(x))
    want = expected(x)
    assert y.dtype == want.dtype
    np.testing.assert_allclose(y.numpy(), want, rtol=2e-7 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_of_several_arguments_are_those_of_scipy(dtype: str) -> None:
    special = scipy_special()
    x1, x2 = np.array(PAIRS, dtype=dtype).T
    y = dk.special.xlogy(dk.asarray(x1), dk.asarray(x2))
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.numpy(), special.xlogy(x1, x2))
    for n in range(4):
        x = np.array(EVERYWHERE, dtype=dtype)
        found = dk.special.polygamma(n, dk.asarray(x))
        assert found.dtype == dtype
        np.testing.assert_allclose(found.numpy(), special.polygamma(n, x), rtol=1e-6 if dtype == "float32" else 1e-13)


def test_values_of_python() -> None:
    scipy_special()
    for x in (-2.5, -0.1, 0.3, 4.0):
        assert dk.special.erf(dk.asarray(x)).item() == pytest.approx(math.erf(x), rel=1e-14)
        assert dk.special.erfc(dk.asarray(x)).item() == pytest.approx(math.erfc(x), rel=1e-14)
        assert dk.special.gammaln(dk.asarray(x)).item() == pytest.approx(math.lgamma(x), rel=1e-14)


@pytest.mark.parametrize("name", POINTS)
def test_derivatives_are_those_of_pytorch(name: str) -> None:
    scipy_special()
    torch = pytest.importorskip("torch")
    # At the poles of its derivative, which is infinite there, PyTorch's has large numbers, and NaN at -infinity.
    points = [x for x in POINTS[name] if name != "digamma" or x not in (-INF, -30.0, -1.0)]
    ours, theirs = dk.tensor(points, requires_grad=True), torch.tensor(points, dtype=torch.float64, requires_grad=True)
    quietly(lambda: dk.sum(getattr(SPECIAL, name)(ours)).backward())
    getattr(torch.special, name)(theirs).sum().backward()
    assert ours.grad is not None
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-8, atol=1e-300)


def test_derivatives_of_xlogy_are_those_of_pytorch() -> None:
    scipy_special()
    torch = pytest.importorskip("torch")
    ours = [dk.tensor(list(values), requires_grad=True) for values in zip(*PAIRS, strict=True)]
    theirs = [torch.tensor(x.tolist(), dtype=torch.float64, requires_grad=True) for x in ours]
    quietly(lambda: dk.sum(dk.special.xlogy(*ours)).backward())
    torch.special.xlogy(*theirs).sum().backward()
    for one, other in zip(ours, theirs, strict=True):
        assert one.grad is not None
        np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-14)


def test_xlogy_of_zero_and_zero() -> None:
    scipy_special()
    x1, x2 = dk.tensor([0.0, 0.0], requires_grad=True), dk.tensor([0.0, 2.0], requires_grad=True)
    y = dk.special.xlogy(x1, x2)
    assert y.tolist() == [0.0, 0.0]
    quietly(lambda: dk.sum(y).backward())
    assert x1.grad is not None
    assert x1.grad.tolist() == [0.0, math.log(2.0)]
    assert x2.grad is not None
    assert math.isnan(x2.grad[0].item())
    assert x2.grad[1].item() == 0.0


def test_xlogy_takes_numbers_on_either_side() -> None:
    scipy_special()
    x = dk.tensor(np.array([0.5, 2.0], dtype=np.float32), requires_grad=True)
    entropy = dk.special.xlogy(x, 4.0) + dk.special.xlogy(3.0, x)
    assert entropy.dtype == dk.float32
    dk.sum(entropy).backward()
    assert x.grad is not None
    assert x.grad.dtype == dk.float32
    np.testing.assert_allclose(x.grad.numpy(), np.log(4.0) + 3 / np.array([0.5, 2.0]), rtol=1e-6)


def test_derivatives_nest_to_the_fifth() -> None:
    special = scipy_special()
    x = dk.tensor([0.75, 2.5], requires_grad=True)
    y = dk.special.gammaln(x)
    for order in range(5):
        (y,) = dk.autograd.grad(dk.sum(y), x, create_graph=True)
        np.testing.assert_allclose(y.detach().numpy(), special.polygamma(order, [0.75, 2.5]), rtol=1e-13)


def test_the_logistic_function_is_one_operation() -> None:
    assert dk.special.expit is dk.sigmoid


@pytest.mark.parametrize("name", ["erf", "erfc", "erfinv", "ndtr", "gammaln", "digamma", "logit"])
def test_complex_numbers_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name}: takes real numbers, found complex ones"):
        getattr(SPECIAL, name)(dk.asarray([1j]))


def test_complex_numbers_among_several_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^xlogy: takes real numbers, found complex ones"):
        dk.special.xlogy(dk.asarray([1.0]), 1j)
    with pytest.raises(TypeError, match=r"^polygamma: takes real numbers, found complex ones"):
        dk.special.polygamma(1, dk.asarray([1j]))


def test_the_order_of_polygamma_is_an_int_from_0_on() -> None:
    with pytest.raises(ValueError, match=r"^polygamma: n must be at least 0, found -1"):
        dk.special.polygamma(-1, dk.asarray([1.0]))
    with pytest.raises(TypeError, match=r"^polygamma: n must be an int, found 0.5"):
        dk.special.polygamma(0.5, dk.asarray([1.0]))


ABSENT = """
import sys
sys.modules["scipy"] = None
import dispatchkit as dk

x = dk.tensor([0.5], requires_grad=True)
print(dk.special.expit(x))
calls = {
    "digamma": lambda: dk.special.digamma(x),
    "polygamma": lambda: dk.special.polygamma(1, x),
    "xlogy": lambda: dk.special.xlogy(x, 2.0),
}
for name, call in calls.items():
    try:
        call()
    except ImportError as error:
        print(error)
print(dk.coverage(dk.types.ScalarTensor)["erf"].bucket)
"""


def test_without_scipy_the_error_names_operation_and_extra() -> None:
    found = subprocess.run([sys.executable, "-W", "error", "-c", ABSENT], capture_output=True, text=True, check=True)
    missing = 'computes with SciPy, which is not installed: pip install "dispatchkit[scipy]"'
    assert found.stdout.splitlines() == [
        "tensor([0.6225], grad_fn=<SigmoidBackward>)",
        f"dispatchkit.special.digamma {missing}",
        f"dispatchkit.special.polygamma {missing}",
        f"dispatchkit.special.xlogy {missing}",
        "inherited",
    ]


def test_arrays_of_a_library_without_special_functions_stay_its_own() -> None:
    special = scipy_special()
    strict = pytest.importorskip("array_api_strict")
    x = dk.Tensor(strict.asarray([0.25, 0.5]), requires_grad=True)
    for name in ("erf", "gammaln", "logit"):
        y = getattr(SPECIAL, name)(x)
        assert isinstance(y.array, type(x.array))
        np.testing.assert_array_equal(np.asarray(y.array), getattr(special, name)([0.25, 0.5]))
    y = dk.special.polygamma(1, x)
    y.backward(dk.Tensor(strict.ones(2)))
    assert x.grad is not None
    np.testing.assert_allclose(np.asarray(x.grad.array), special.polygamma(2, [0.25, 0.5]), rtol=1e-13)


def test_pytorch_computes_on_its_own_tensors() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    values = torch.tensor([0.25, 0.5], dtype=torch.float32)
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "erf": lambda special, x: special.erf(x),
        "digamma": lambda special, x: special.digamma(x),
        "polygamma": lambda special, x: special.polygamma(2, x),
        "xlogy": lambda special, x: special.xlogy(x, 0.5),
    }
    for call in calls.values():
        x, theirs = dk.Tensor(values, requires_grad=True), values.clone().requires_grad_()
        y, z = call(dk.special, x), call(torch.special, theirs)
        assert y.array.dtype == torch.float32
        np.testing.assert_array_equal(y.array.numpy(), z.detach().numpy())
        y.backward(dk.Tensor(torch.ones(2)))
        z.sum().backward()
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.array.numpy(), theirs.grad.numpy(), rtol=1e-5)


@pytest.mark.parametrize("shape", [(600,), (3, 500), (2 << 15,)])
def test_the_error_function_of_many_in_single_precision_is_that_in_double(shape: tuple[int, ...]) -> None:
    x = np.resize(np.concatenate([np.linspace(-4.5, 4.5, 40_001), np.logspace(-44, 38, 501)]), shape).astype("float32")
    edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -3e38, 3e38]
    x.reshape(-1)[: len(edges)] = edges
    found, wanted = dk.special.erf(dk.asarray(x)).numpy(), dk.special.erf(dk.asarray(x.astype("float64"))).numpy()
    assert found.dtype == x.dtype
    digit = np.spacing(np.abs(wanted).astype("float32"))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(x))
    assert np.nanmax(np.abs(found - wanted) / digit) <= 4  # of a hyperbolic tangent of a few last digits, too
    np.testing.assert_array_equal(np.signbit(found), np.signbit(x))
    assert np.nanmax(np.abs(found)) <= 1
    np.testing.assert_array_equal(dk.special.erf(dk.asarray(x.T)).numpy(), found.T)
