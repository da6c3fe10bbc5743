"""Activations: values at the edges without a peer, values and gradients beside PyTorch's."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it
from tests.nn.functional.peers import agree_with_torch

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("relu", {}),
    ("relu6", {}),
    ("sigmoid", {}),
    ("tanh", {}),
    ("leaky_relu", {}),
    ("leaky_relu", {"negative_slope": 0.3}),
    ("leaky_relu", {"negative_slope": 0.0}),
    ("leaky_relu", {"negative_slope": -2.0}),
    ("elu", {}),
    ("elu", {"alpha": 0.5}),
    ("selu", {}),
    ("celu", {}),
    ("celu", {"alpha": 2.5}),
    ("gelu", {}),
    ("gelu", {"approximate": "tanh"}),
    ("silu", {}),
    ("mish", {}),
    ("softplus", {}),
    ("softplus", {"beta": 2.0, "threshold": 3.0}),
    ("softplus", {"beta": 0.5}),
    ("softsign", {}),
    ("logsigmoid", {}),
    ("hardtanh", {}),
    ("hardtanh", {"min_val": -2.0, "max_val": 0.5}),
    ("hardsigmoid", {}),
    ("hardswish", {}),
    ("threshold", {"threshold": 0.5, "value": -3.0}),
]
# Bends of the functions, and numbers whose exponentials overflow or vanish.
EDGES = [0.0, -0.0, 1e-9, -1e-9, 0.5, 0.7, 1.0, -1.0, -2.0, 3.0, -3.0, 6.0, 1.5, 19.0, 25.0, -25.0, 80.0, -80.0]
FAR = [1e3, -1e3, 1e5, -1e5]
ids = [f"{name}-{kwargs}" for name, kwargs in CALLS]


def theirs(torch: Any, name: str) -> Any:
    return getattr(torch.nn.functional, name)


@pytest.mark.parametrize(("name", "kwargs"), CALLS, ids=ids)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_and_gradients_are_those_of_pytorch(name: str, kwargs: dict[str, Any], dtype: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    # PyTorch's hardsigmoid has a sixth in single precision.
    exact = dtype == "float64" and name != "hardsigmoid"
    tolerance: Any = {"rtol": 1e-12, "atol": 1e-13} if exact else {"rtol": 2e-5, "atol": 2e-6}
    for x in (np.array(EDGES), np.array(FAR), rng.normal(size=(3, 4)) * 3, np.array(0.7), np.zeros((0, 2))):
        agree_with_torch(torch, getattr(F, name), theirs(torch, name), [x.astype(dtype)], kwargs, **tolerance)


@pytest.mark.parametrize(("name", "kwargs"), CALLS, ids=ids)
def test_second_derivatives_are_those_of_pytorch(name: str, kwargs: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    if name == "hardsigmoid":
        pytest.skip("PyTorch has none")
    smooth = np.array([0.4, -0.4, 0.9, -1.7, 2.9, 4.0, -4.0, 30.0, -30.0])
    if name not in ("hardswish", "softsign"):
        smooth = np.append(smooth, 0.0)
    x, t = dk.tensor(smooth, requires_grad=True), torch.tensor(smooth, requires_grad=True)
    (wanted,) = torch.autograd.grad(theirs(torch, name)(t, **kwargs).sum(), t, create_graph=True)
    (g,) = dk.autograd.grad(getattr(F, name)(x, **kwargs).sum(), x, create_graph=True)
    expected, found = np.zeros_like(smooth), np.zeros_like(smooth)
    if wanted.requires_grad:
        expected = torch.autograd.grad(wanted.sum(), t)[0].numpy()
    if g.requires_grad:
        found = dk.autograd.grad(g.sum(), x)[0].numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_shares_are_those_of_pytorch(name: str, axis: int) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(3, 4)) * 30
    agree_with_torch(torch, getattr(F, name), theirs(torch, name), [x], {"axis": axis})


@pytest.mark.parametrize("shape", [(4,), (2, 6), (2, 3, 4)])
def test_glu_is_that_of_pytorch(shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=shape) * 3
    for axis in range(-len(shape), len(shape)):
        if shape[axis] % 2 == 0:
            agree_with_torch(torch, F.glu, theirs(torch, "glu"), [x], {"axis": axis})


@pytest.mark.parametrize(
    ("shape", "weights"), [((4,), 1), ((2, 3), 1), ((2, 3), 3), ((2, 3, 2, 2), 3), ((2, 3, 4), 1), ((), 1)]
)
def test_prelu_is_that_of_pytorch(shape: tuple[int, ...], weights: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=shape), rng.normal(size=weights)
    agree_with_torch(torch, F.prelu, theirs(torch, "prelu"), [x, weight], {}, gradients=(0, 1))


@pytest.mark.parametrize("name", ["relu", "sigmoid", "tanh", "softmax", "log_softmax"])
def test_what_stands_among_the_functions_of_arrays_is_the_same_object(name: str) -> None:
    assert getattr(F, name) is getattr(dk, name)
    assert name in vars(F)["__all__"]


LIMITS: list[tuple[str, dict[str, Any], float, float]] = [
    ("leaky_relu", {"negative_slope": 0.5}, -1e300, -5e299),
    ("elu", {"alpha": 2.0}, -1e300, -2.0),
    ("elu", {}, 1e300, 1e300),
    ("celu", {"alpha": 0.5}, -1e300, -0.5),
    ("selu", {}, -1e300, -1.0507009873554804934193349852946 * 1.6732632423543772848170429916717),
    ("gelu", {}, 1e300, 1e300),
    ("gelu", {"approximate": "tanh"}, 1e300, 1e300),
    ("gelu", {"approximate": "tanh"}, -1e300, 0.0),
    ("silu", {}, 1e300, 1e300),
    ("silu", {}, -1e300, 0.0),
    ("mish", {}, 1e300, 1e300),
    ("mish", {}, -1e300, 0.0),
    ("softplus", {}, -1e300, 0.0),
    ("softplus", {}, 1e300, 1e300),
    ("softplus", {"threshold": math.inf}, 1e300, 1e300),
    ("softsign", {}, -1e300, -1.0),
    ("logsigmoid", {}, -1e300, -1e300),
    ("logsigmoid", {}, 1e300, 0.0),
    ("hardsigmoid", {}, math.inf, 1.0),
    ("hardswish", {}, -math.inf, 0.0),
    ("hardswish", {}, math.inf, math.inf),
    ("relu6", {}, math.inf, 6.0),
    ("hardtanh", {}, -math.inf, -1.0),
]


@pytest.mark.parametrize(("name", "kwargs", "x", "limit"), LIMITS)
def test_far_from_zero_they_are_their_limits_and_so_are_the_derivatives(
    name: str, kwargs: dict[str, Any], x: float, limit: float
) -> None:
    leaf = dk.tensor([x], requires_grad=True)
    y = getattr(F, name)(leaf, **kwargs)
    np.testing.assert_allclose(y.detach().numpy(), [limit], rtol=1e-15)
    y.sum().backward()
    slope = kwargs.get("negative_slope", 1.0 if abs(limit) >= 1e299 else 0.0)
    assert leaf.grad is not None
    np.testing.assert_array_equal(leaf.grad.numpy(), [slope])


@pytest.mark.parametrize(("name", "kwargs"), CALLS, ids=ids)
def test_nan_stays_and_integers_become_floating(name: str, kwargs: dict[str, Any]) -> None:
    function = getattr(F, name)
    y = function(dk.tensor([math.nan, 1.0]), **kwargs)
    assert math.isnan(y[0].item())
    assert not math.isnan(y[1].item())
    whole = function(dk.tensor([-2, 1]), **kwargs)
    if name != "relu":
        assert whole.dtype == dk.float64
    np.testing.assert_array_equal(whole.numpy(), function(dk.tensor([-2.0, 1.0]), **kwargs).numpy())
    assert function(dk.tensor([-2.0, 1.0], dtype=dk.float32), **kwargs).dtype == dk.float32


def test_parameters_go_by_position_too() -> None:
    x = dk.tensor([-2.0, 1.0])
    pairs = [
        (F.leaky_relu(x, 0.5), F.leaky_relu(x, negative_slope=0.5)),
        (F.elu(x, 0.5), F.elu(x, alpha=0.5)),
        (F.softplus(x, 2.0, 1.0), F.softplus(x, beta=2.0, threshold=1.0)),
        (F.hardtanh(x, 0.0, 0.5), F.hardtanh(x, min_val=0.0, max_val=0.5)),
    ]
    for one, other in pairs:
        np.testing.assert_array_equal(one.numpy(), other.numpy())


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: F.hardtanh(dk.ones(2), 1.0, -1.0), ValueError, "hardtanh: min_val must not exceed max_val, found 1.0 and"),
    (lambda: F.celu(dk.ones(2), 0.0), ValueError, "celu: alpha must not be 0"),
    (lambda: F.softplus(dk.ones(2), 0.0), ValueError, "softplus: beta must not be 0"),
    (
        lambda: F.gelu(dk.ones(2), approximate="tan"),  # type: ignore[call-overload]
        ValueError,
        "gelu: approximate must be 'none' or 'tanh', found 'tan'",
    ),
    (
        lambda: F.glu(dk.ones((2, 3))),
        ValueError,
        r"glu: axis -1 must have an even number of elements, found 3 in the shape \(2, 3\)",
    ),
    (lambda: F.glu(dk.ones(()), axis=0), ValueError, "glu: axis 0 is out of bounds"),
    (
        lambda: F.prelu(dk.ones((2, 3)), dk.ones(2)),
        ValueError,
        r"prelu: argument 'weight' has shape \(2,\), expected \(3,\), a slope for each channel",
    ),
    (
        lambda: F.prelu(dk.ones((2, 3)), dk.ones(3, dtype=dk.complex128)),
        TypeError,
        "prelu: argument 'weight' must be of real numbers, found complex128",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_what_is_refused_is_named(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_without_scipy_the_exact_gelu_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from dispatchkit.ops import special as special_namespace

    monkeypatch.setitem(sys.modules, "scipy", None)
    special_namespace.scipy_function.cache_clear()
    text = r'gelu: .*SciPy, which is not installed: pip install "dispatchkit\[scipy\]", or choose approximate="tanh"'
    for x in (dk.ones(2), dk.ones(2, requires_grad=True)):
        with pytest.raises(ImportError, match=text):
            F.gelu(x)
        assert F.gelu(x, approximate="tanh").shape == (2,)


def test_rules_with_parameters_serve_both_modes() -> None:
    def f(x: Any) -> Any:
        return F.leaky_relu(x, negative_slope=0.3).sum()

    x = dk.tensor([-1.0, 2.0])
    np.testing.assert_array_equal(dk.func.grad(f)(x).numpy(), [0.3, 1.0])
    _, t = dk.func.jvp(f, (x,), (dk.tensor([1.0, 10.0]),))
    assert t.item() == 0.3 + 10.0
    np.testing.assert_array_equal(dk.func.vmap(lambda row: F.elu(row, alpha=2.0))(dk.zeros((2, 3))).numpy(), 0.0)
