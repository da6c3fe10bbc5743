"""Activations of NumPy arrays in few passes against their formulas in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.nn import functional
from dispatchkit.nn.functional import activations, activations_numpy, smooth, smooth_numpy
from dispatchkit.ops.elementwise.exponential import logistic

pytestmark = pytest.mark.usefixtures("engine")

X = np.linspace(-13, 13, 40_001, dtype="float32")
EPS = float(np.finfo("float32").eps)
FUNCTIONS = [functional.gelu, functional.silu]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_single_precision_is_as_exact_as_it_can_be(function: Any) -> None:
    found, wanted = function(dk.asarray(X)).numpy(), function(dk.asarray(X.astype("float64"))).numpy()
    assert found.dtype == X.dtype
    # A negative power of e has the rounding error of its exponent, which is up to x**2 / 2.
    assert np.all(np.abs(found - wanted) <= np.abs(wanted) * EPS * (4 + X.astype("float64") ** 2 / 2) + 1e-37)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_derivative_in_single_precision_is_that_in_double(function: Any) -> None:
    grads: list[Any] = []
    for dtype in ("float32", "float64"):
        x = dk.tensor(X.astype(dtype), requires_grad=True)
        function(x).sum().backward()
        grads.append(x.grad)
    assert grads[0].dtype == dk.float32
    assert np.abs(grads[0].numpy() - grads[1].numpy()).max() <= 8 * EPS


@pytest.mark.parametrize("function", FUNCTIONS)
def test_second_derivatives_in_single_precision_run_through_the_formulas(function: Any) -> None:
    x = dk.asarray(X[::500])
    second = dk.func.vmap(dk.func.grad(dk.func.grad(function)))
    assert np.abs(second(x).numpy() - second(x.double()).numpy()).max() <= 4e-6


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_no_number_or_too_large_is_as_in_double_precision(function: Any) -> None:
    x = np.asarray([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0, -0.0, 1e-45, 200.0, -200.0], "float32")
    with np.errstate(all="ignore"):
        found, wanted = function(dk.asarray(x)).numpy(), function(dk.asarray(x.astype("float64"))).numpy()
    np.testing.assert_allclose(found, wanted.astype("float32"), rtol=EPS, atol=1e-45, equal_nan=True)


@pytest.mark.parametrize(
    ("function", "compute"), [(functional.gelu, smooth_numpy.gelu), (functional.silu, smooth_numpy.silu)]
)
@pytest.mark.parametrize("shape", [(), (0, 2), (3, 5), (2, smooth_numpy.BLOCK)])
def test_any_shape_and_layout_is_computed_in_blocks(
    function: Any, compute: Callable[[Any], Any], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smooth, "FEWEST", 0)
    x = np.random.default_rng(0).standard_normal(shape).astype("float32").T
    taken = []

    def noted(x: Any) -> Any:
        taken.append(x.shape)
        return compute(x)

    monkeypatch.setattr(smooth_numpy, compute.__name__, noted)
    found = function(dk.asarray(x))
    assert taken == ([x.shape] if dk.nn.get_engine() == "numpy" else [])  # Numba has a loop of its own
    np.testing.assert_allclose(found.numpy(), function(dk.asarray(x.astype("float64"))).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", [functional.gelu, functional.silu])
def test_a_derivative_that_comes_with_the_value_is_that_of_the_formula(function: Any) -> None:
    x = np.linspace(-8, 8, 5000, dtype="float32").reshape(50, 100)
    leaf = dk.tensor(x, requires_grad=True)
    y = function(leaf)
    np.testing.assert_array_equal(y.detach().numpy(), function(leaf.detach()).numpy())
    y.sum().backward()
    wanted = dk.tensor(x.astype("float64"), requires_grad=True)
    function(wanted).sum().backward()
    assert leaf.grad is not None
    assert wanted.grad is not None
    assert leaf.grad.dtype == dk.float32
    np.testing.assert_allclose(leaf.grad.numpy(), wanted.grad.numpy(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("scipy", [False, True])
def test_few_numbers_are_as_exact_with_scipy_as_without(scipy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    dk.nn.set_engine("numpy")
    by_loops = []
    compute = smooth_numpy.gelu

    def noted(x: Any) -> Any:
        by_loops.append(x.size)
        return compute(x)

    monkeypatch.setattr(smooth, "_has_scipy", lambda: scipy)
    monkeypatch.setattr(smooth_numpy, "gelu", noted)
    x = X[::20].copy()
    for edge in (0.0, -np.inf):
        x[-1] = edge
        values, slopes = [], []
        for dtype in ("float32", "float64"):
            leaf = dk.tensor(x.astype(dtype), requires_grad=True)
            with np.errstate(all="raise" if dtype == "float32" else "ignore"):
                values.append(functional.gelu(leaf.detach()).numpy())
                y = functional.gelu(leaf)
            np.testing.assert_array_equal(y.detach().numpy(), values[-1])
            y.sum().backward()
            assert leaf.grad is not None
            slopes.append(leaf.grad.numpy())
        assert values[0].dtype == slopes[0].dtype == x.dtype
        bounds = np.abs(values[1]) * EPS * (4 + x.astype("float64") ** 2 / 2) + 1e-37
        np.testing.assert_array_equal(np.isnan(values[0]), np.isneginf(x))
        assert np.nanmax(np.abs(values[0] - values[1]) - bounds) <= 0
        assert np.nanmax(np.abs(slopes[0] - slopes[1])) <= 8 * EPS
    assert by_loops == ([] if scipy else [x.size] * 4)


FORMULAS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "hardswish": (functional.hardswish, lambda x: activations._hardswish(numpy_namespace, x)),
    "hardtanh": (lambda x: functional.hardtanh(x, -0.5, 2.0), lambda x: np.clip(x, -0.5, 2.0)),
    "relu6": (functional.relu6, lambda x: activations._relu6(numpy_namespace, x)),
    "elu": (functional.elu, lambda x: activations._elu(numpy_namespace, x, 1.0)),
    "elu with a slope": (lambda x: functional.elu(x, 0.25), lambda x: activations._elu(numpy_namespace, x, 0.25)),
    "elu with a steep slope": (lambda x: functional.elu(x, 2.0), lambda x: activations._elu(numpy_namespace, x, 2.0)),
    "selu": (functional.selu, lambda x: activations._selu(numpy_namespace, x)),
    "softplus": (functional.softplus, lambda x: smooth._softplus(numpy_namespace, x, 1.0, 20.0)),
    "softplus below a threshold": (
        lambda x: functional.softplus(x, threshold=2.0),
        lambda x: smooth._softplus(numpy_namespace, x, 1.0, 2.0),
    ),
    "logsigmoid": (functional.logsigmoid, lambda x: smooth._logsigmoid(numpy_namespace, x)),
    "sigmoid": (dk.sigmoid, lambda x: logistic(numpy_namespace, x)),
    "gelu by tanh": (
        lambda x: functional.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(smooth_numpy.ROOT * (x + smooth_numpy.CUBIC * x**3))),
    ),
}
EDGES = [0.0, -0.0, np.inf, np.nan, -np.nan, 1e30, -1e30, 1e-30, -1e-30, 3.0, -3.0, 6.0, 18.0, 21.0, 30.0, -30.0, 2.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, len(EDGES), 600, 5000, 2 * activations_numpy.BLOCK + 3])
@pytest.mark.parametrize("name", FORMULAS)
def test_few_and_many_elements_are_what_the_formula_gives(name: str, count: int, dtype: str) -> None:
    function, formula = FORMULAS[name]
    x = np.resize(np.asarray([*EDGES, *np.random.default_rng(0).uniform(-4, 4, 583)], dtype), count)
    found = function(dk.asarray(x)).numpy()
    with np.errstate(all="ignore"):
        wanted = formula(x.astype("float64"))
    assert found.dtype == x.dtype
    least, eps = 0.0, 4 * float(np.finfo(dtype).eps)
    if name == "gelu by tanh":
        # Of hyperbolic tangents next to -1 the formula is left with few digits; a power of e has those of its exponent.
        least, eps = 4e-15, 4 * eps
    np.testing.assert_allclose(found, wanted.astype(dtype), rtol=eps, atol=max(least, 1e-37), equal_nan=True)
    if name == "relu6":
        return  # of two zeros NumPy takes either
    numbers = ~np.isnan(wanted) & (wanted == 0)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(wanted)[numbers])
    columns = np.stack([x, x], 1).T
    np.testing.assert_allclose(function(dk.asarray(columns)).numpy()[1], found, rtol=eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("count", [7, 5000])
def test_the_slope_of_gelu_is_that_of_its_formula(approximate: Any, count: int, dtype: str) -> None:
    x = np.resize(np.asarray([0.0, -0.0, 1e30, -1e30, 0.5, -3.0, 5.0], dtype), count)
    slopes = []
    for leaf in (dk.tensor(x, requires_grad=True), dk.tensor(x.astype("float64"), requires_grad=True)):
        y = functional.gelu(leaf, approximate=approximate)
        slopes.append(dk.autograd.grad(y.sum(), leaf, create_graph=leaf.dtype != x.dtype)[0])
    (second,) = dk.autograd.grad(functional.gelu(leaf, approximate=approximate).sum(), leaf, create_graph=True)
    for slope in slopes:
        np.testing.assert_allclose(
            slope.detach().numpy(), second.detach().numpy(), rtol=0, atol=32 * float(np.finfo(dtype).eps)
        )


def test_zeros_of_bounds_are_told_apart() -> None:
    x = dk.asarray([-1.0])
    signs = [functional.hardtanh(x, low, 1.0).item() for low in (0.0, -0.0, 0.0)]
    assert np.signbit(signs).tolist() == [False, True, False]


def test_bounds_that_no_element_has_are_left_to_the_formula() -> None:
    x = dk.asarray(np.asarray([-3e38, 3e38], "float32"))
    assert functional.hardtanh(x, -np.inf, 1.0).tolist() == [x[0].item(), 1.0]
    assert np.isnan(functional.hardtanh(x, -1.0, np.nan).numpy()).all()
