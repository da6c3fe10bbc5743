"""Zeros, infinities and NaN: the special cases that the standard lists, against Python's own mathematics.

Python follows the C standard, as the array API standard does, so this does not ask NumPy about itself. Where C has
changed since, or NumPy departs, the standard's own lines stand below as they are.
"""

from __future__ import annotations

import cmath
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

INF, NAN = math.inf, math.nan
REALS = [sign * x for x in (0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 710.0, 1e300, 5e-324, INF) for sign in (1.0, -1.0)] + [NAN]
PARTS = [0.0, -0.0, 0.5, 1.0, -1.0, -2.5, INF, -INF, NAN]
COMPLEXES = [complex(a, b) for a in PARTS for b in PARTS]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def agree(got: float, want: float) -> bool:
    """Return whether two numbers are the same up to rounding, zeros with their signs and NaN included."""
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if got == want:
        return math.copysign(1, got) == math.copysign(1, want)
    return math.isclose(got, want, rel_tol=1e-14)


def answered(function: Callable[..., float], *args: float, pole: float) -> float:
    """Return what a function of Python's gives, as arrays have it: NaN outside its domain, infinite at a pole."""
    try:
        return float(function(*args))
    except OverflowError:
        return INF if function is not math.sinh else math.copysign(INF, args[0])
    except ValueError:
        return math.copysign(INF, pole or args[0]) if abs(args[0]) == abs(pole) else NAN


# Each with the point where it is infinite, NaN if there is none.
REAL: dict[str, tuple[Callable[[float], float], float]] = {
    **{name: (getattr(math, name), NAN) for name in ("exp", "expm1", "sqrt", "sin", "cos", "tan", "sinh", "cosh")},
    **{name: (getattr(math, name), NAN) for name in ("tanh", "asin", "acos", "atan", "asinh", "acosh")},
    "abs": (abs, NAN),
    "log": (math.log, 0.0),
    "log2": (math.log2, 0.0),
    "log10": (math.log10, 0.0),
    "log1p": (math.log1p, -1.0),
    "atanh": (math.atanh, 1.0),
}


@pytest.mark.parametrize("name", REAL)
def test_real_special_cases(name: str) -> None:
    function, pole = REAL[name]
    got = getattr(dk, name)(dk.asarray(REALS)).tolist()
    for x, y in zip(REALS, got, strict=True):
        want = answered(function, x, pole=pole)
        if name.startswith("log") and x == pole:
            want = -INF
        if name == "atanh" and abs(x) == 1:
            want = math.copysign(INF, x)
        if name in ("sin", "cos", "tan", "sinh", "cosh", "tanh") and 1e3 < abs(x) < INF:
            continue  # their accuracy at such arguments is not what is asked here
        assert agree(y, want), f"{name}({x}) is {y}, not {want}"


def floor_divide(x1: float, x2: float) -> float:
    if x2 == 0:
        return NAN if x1 == 0 or math.isnan(x1) else math.copysign(INF, x1) * math.copysign(1, x2)
    if math.isinf(x1) or math.isinf(x2):
        y = x1 / x2
        return y if math.isinf(y) or math.isnan(y) or y == 0 else float(math.floor(y))
    return x1 // x2


def remainder(x1: float, x2: float) -> float:
    return NAN if x2 == 0 else operator.mod(x1, x2)


def pow(x1: float, x2: float) -> float:
    odd = math.isfinite(x2) and x2 % 2 == 1
    try:
        return math.pow(x1, x2)
    except OverflowError:
        return -INF if x1 < 0 and odd else INF
    except ValueError:
        return NAN if x1 != 0 else math.copysign(INF, x1) if odd else INF


BINARY: dict[str, Callable[[float, float], float]] = {
    "floor_divide": floor_divide,
    "remainder": remainder,
    "pow": pow,
    "atan2": math.atan2,
    "hypot": math.hypot,
    "copysign": math.copysign,
    "nextafter": math.nextafter,
    "maximum": lambda x1, x2: NAN if math.isnan(x1) or math.isnan(x2) else max(x1, x2),
}


@pytest.mark.parametrize("name", BINARY)
def test_real_special_cases_of_two(name: str) -> None:
    pairs = list(itertools.product(REALS, REALS))
    got = getattr(dk, name)(dk.asarray([a for a, _ in pairs]), dk.asarray([b for _, b in pairs])).tolist()
    for (a, b), y in zip(pairs, got, strict=True):
        want = BINARY[name](a, b)
        assert agree(y, want) or (name == "maximum" and a == b == 0 == y), f"{name}({a}, {b}) is {y}, not {want}"


COMPLEX = [
    *("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
]
# What the present C standard, which the array API standard quotes, has instead of what Python has.
NEWER = {("tanh", 0), ("tan", 1), ("acosh", 0)}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_special_cases(name: str) -> None:
    got = getattr(dk, name)(dk.asarray(COMPLEXES)).tolist()
    for z, y in zip(COMPLEXES, got, strict=True):
        try:
            want = getattr(cmath, name)(z)
        except (ValueError, OverflowError):
            continue  # Python has an exception for infinite results
        parts = (z.real, z.imag)
        if any((name, zero) in NEWER and parts[zero] == 0 and math.isnan(parts[1 - zero]) for zero in (0, 1)):
            continue
        if all(map(math.isfinite, parts)):
            same = agree(y.real, want.real) and agree(y.imag, want.imag)
        else:  # several signs are left open here
            same = agree(abs(y.real), abs(want.real)) and agree(abs(y.imag), abs(want.imag))
        assert same, f"{name}({z}) is {y}, not {want}"


def c(real: float, imag: float) -> complex:
    return complex(real, imag)


# From the pages of the standard, and what NumPy has there.
STANDARD: list[tuple[str, complex, complex]] = [
    ("expm1", c(0, 0), c(0, 0)),
    ("expm1", c(-0.0, 0), c(0, 0)),
    ("expm1", c(1, INF), c(NAN, NAN)),
    ("expm1", c(1, NAN), c(NAN, NAN)),
    ("expm1", c(INF, 0), c(INF, 0)),
    ("expm1", c(-INF, 1), c(-1, 0)),
    ("expm1", c(INF, 1), c(INF, INF)),
    ("expm1", c(-INF, INF), c(-1, 0)),
    ("expm1", c(INF, INF), c(INF, NAN)),
    ("expm1", c(-INF, NAN), c(-1, 0)),
    ("expm1", c(INF, NAN), c(INF, NAN)),
    ("expm1", c(NAN, 0), c(NAN, 0)),
    ("expm1", c(NAN, 1), c(NAN, NAN)),
    ("expm1", c(NAN, NAN), c(NAN, NAN)),
    ("log1p", c(-1, 0), c(-INF, 0)),
    ("log1p", c(1, INF), c(INF, math.pi / 2)),
    ("log1p", c(1, NAN), c(NAN, NAN)),
    ("log1p", c(-INF, 1), c(INF, math.pi)),
    ("log1p", c(INF, 1), c(INF, 0)),
    ("log1p", c(-INF, INF), c(INF, 3 * math.pi / 4)),
    ("log1p", c(INF, INF), c(INF, math.pi / 4)),
    ("log1p", c(INF, NAN), c(INF, NAN)),
    ("log1p", c(NAN, 1), c(NAN, NAN)),
    ("log1p", c(NAN, INF), c(INF, NAN)),
    ("tanh", c(0, NAN), c(0, NAN)),
    ("tanh", c(0, INF), c(0, NAN)),
    ("tanh", c(1, INF), c(NAN, NAN)),
    ("tanh", c(INF, 1), c(1, 0)),
    ("tanh", c(INF, INF), c(1, 0)),
    ("tanh", c(INF, NAN), c(1, 0)),
    ("tanh", c(NAN, 0), c(NAN, 0)),
    ("tanh", c(NAN, 1), c(NAN, NAN)),
    ("acosh", c(0, NAN), c(NAN, math.pi / 2)),
    ("sign", c(0, 0), c(0, 0)),
    ("sign", c(3, -4), c(0.6, -0.8)),
    ("sign", c(NAN, 1), c(NAN, NAN)),
    ("sign", c(1, NAN), c(NAN, NAN)),
    ("sign", c(INF, NAN), c(NAN, NAN)),
    ("sign", c(NAN, INF), c(NAN, NAN)),
    ("abs", c(INF, NAN), c(INF, 0)),
    ("abs", c(NAN, 1), c(NAN, 0)),
    ("sqrt", c(-1, -0.0), c(0, -1)),
]


@pytest.mark.parametrize(("name", "z", "want"), STANDARD)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_special_cases_of_the_standard(name: str, z: complex, want: complex, dtype: Any) -> None:
    if name == "acosh" and z.real == 0 and np.lib.NumpyVersion(np.__version__) < "2.3.0":
        pytest.skip("NumPy has the value that the standard asks for since 2.3")
    y = complex(getattr(dk, name)(dk.asarray([z], dtype=dtype))[0].item())
    for part, wanted in ((y.real, want.real), (y.imag, want.imag)):
        assert agree(abs(part), abs(wanted)) or math.isclose(part, wanted, rel_tol=1e-6), y


def test_single_precision_has_the_same_special_cases() -> None:
    x = np.array(REALS, dtype=np.float32)
    for name in REAL:
        with np.errstate(all="ignore"):
            y = getattr(dk, name)(dk.asarray(x)).numpy()
            wide = getattr(dk, name)(dk.asarray(x.astype(np.float64))).numpy()
        assert y.dtype == np.float32
        small = np.abs(x) < 100
        np.testing.assert_allclose(y[small], wide[small], rtol=1e-5)
        np.testing.assert_array_equal(np.isnan(y), np.isnan(wide))
