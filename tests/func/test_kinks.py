"""Derivatives of formulas at points where what they are composed of has a kink, and they have none."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch

POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0]
STEP = 1e-6
# They are functions of arrays, or no function of numbers.
OTHERS = frozenset({"matmul", "matvec", "vecdot", "vecmat"})


def with_second(ufunc: Any, constant: float, x: Any) -> Any:
    return ufunc(x, constant)


def formulas() -> dict[str, Callable[[Any], Any]]:
    """Return NumPy's universal functions of one number, and of two with either one constant."""
    named: dict[str, Callable[[Any], Any]] = {}
    for name in sorted(set(dir(np)) - OTHERS):
        ufunc = getattr(np, name)
        if not isinstance(ufunc, np.ufunc) or "d->" not in "".join(ufunc.types) or "dd->?" in ufunc.types:
            continue
        if ufunc.nin == 1:
            named[name] = ufunc
            continue
        for constant in (3.0, -3.0, 1.0, 0.5):
            named[f"{name}(x, {constant})"] = partial(with_second, ufunc, constant)
            named[f"{name}({constant}, x)"] = partial(ufunc, constant)
    return named


FORMULAS = formulas()


def floats_of(result: Any) -> list[Any]:
    members = result if isinstance(result, tuple) else (result,)
    return [y for y in members if isinstance(y, dk.Tensor) and y.dtype.kind == "f"]


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_derivative_is_that_of_both_sides_where_these_agree(name: str) -> None:
    func = FORMULAS[name]
    try:
        count = len(floats_of(func(dk.asarray([0.5]))))
    except TypeError:
        pytest.skip("takes no tensors, or no floating-point numbers")
    for index in range(count):

        def value(x: Any, index: int = index) -> Any:
            return floats_of(func(x))[index].sum()

        for point in POINTS:
            left, middle, right = (float(value(dk.asarray([point + step]))) for step in (-STEP, 0.0, STEP))
            before, after = (middle - left) / STEP, (right - middle) / STEP
            jumps = not abs(before) < 1e3  # or is steep, or no number
            if jumps or not abs(before - after) <= 1e-3 * max(1.0, abs(before)):
                continue
            x = dk.asarray([point])
            slope = dk.func.grad(value)(x).item()
            assert slope == pytest.approx(before, rel=2e-3, abs=2e-3), f"{name} at {point}"
            tangent = dk.func.jvp(value, (x,), (dk.ones(1),))[1].item()
            assert tangent == pytest.approx(slope, rel=1e-9, abs=1e-12), f"{name} at {point}"


@pytest.mark.parametrize("fmod", [np.fmod, lambda x, y: torch.fmod(torch.tensor(x), y).detach()], ids=["np", "torch"])
def test_fmod_keeps_the_sign_of_zero(fmod: Callable[..., Any]) -> None:
    x = dk.asarray([0.0, -0.0, 3.0, -3.0, 4.5, -4.5, np.nan, np.inf])
    expected = [0.0, -0.0, 0.0, -0.0, 1.5, -1.5, np.nan, np.nan]
    with np.errstate(invalid="ignore"):
        for divisor in (3.0, -3.0):
            result = fmod(x, divisor).numpy()
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(np.signbit(result[:6]), np.signbit(expected[:6]))


def test_fmod_has_pytorchs_derivatives() -> None:
    x = dk.asarray([0.0, -0.0, 2.0, 4.5, -4.5])
    for divisor, of_divisor in ((3.0, [0.0, 0.0, 0.0, -1.0, 1.0]), (-3.0, [0.0, 0.0, 0.0, 1.0, -1.0])):
        y = dk.full_like(x, divisor)
        first, second = dk.func.grad(lambda x, y: np.fmod(x, y).sum(), argnums=(0, 1))(x, y)
        np.testing.assert_array_equal(first.numpy(), np.ones(5))
        np.testing.assert_array_equal(second.numpy(), of_divisor)


def test_modf_has_the_slope_of_its_rest() -> None:
    x: Any = dk.asarray([0.0, -0.0, 2.0, -2.0, 1.5, -1.5, np.inf, -np.inf])
    rest: Any
    whole: Any
    rest, whole = np.modf(x)
    np.testing.assert_array_equal(rest.numpy(), np.modf(x.numpy())[0])
    np.testing.assert_array_equal(np.signbit(rest.numpy()), np.signbit(x.numpy()))
    np.testing.assert_array_equal(whole.numpy(), np.modf(x.numpy())[1])
    gradient = dk.func.grad(lambda x: np.modf(x)[0].sum())(x[:6])
    np.testing.assert_array_equal(gradient.numpy(), np.ones(6))
