"""What the functions of `dispatchkit.fft` refuse, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk

FFT: Any = dk.fft
X = dk.ones((2, 3))
Z = dk.asarray([1j, 2.0])
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL_AXES = ("fftn", "ifftn", "rfftn", "irfftn")

REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    # The call, the error, and its text after the name of the operation.
    "integers": (lambda f: f(dk.asarray([1, 2])), TypeError, "x must be an array of .*floating-point .*, found int64"),
    "booleans": (lambda f: f(dk.asarray([True])), TypeError, "x must be an array of .*floating-point .*, found bool"),
    "norm": (
        lambda f: f(X, norm="unitary"),
        ValueError,
        "norm must be 'backward', 'ortho' or 'forward', found 'unitary'",
    ),
    "no norm": (lambda f: f(X, norm=None), ValueError, "norm must be 'backward', 'ortho' or 'forward', found None"),
    "no elements": (
        lambda f: f(dk.ones((2, 0))),
        ValueError,
        r"x must have elements along axis 1, or .* be given, found shape \(2, 0\)",
    ),
}
REFUSED_ONE: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "n = 0": (lambda f: f(X, n=0), ValueError, "n must be at least 1, found 0"),
    "n < 0": (lambda f: f(X, n=-1), ValueError, "n must be at least 1, found -1"),
    "n no int": (lambda f: f(X, n=2.0), TypeError, "n must be an int, found 2.0"),
    "axis": (lambda f: f(X, axis=2), ValueError, "axis 2 is out of bounds for array of dimension 2"),
    "axis no int": (lambda f: f(X, axis=None), TypeError, "axis must be an int, found None"),
    "number": (lambda f: f(1.0), ValueError, "axis -1 is out of bounds for array of dimension 0"),
}
REFUSED_SEVERAL: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "s = 0": (lambda f: f(X, s=(2, 0), axes=(0, 1)), ValueError, r"s\[1\] must be at least 1, found 0"),
    "s no ints": (lambda f: f(X, s=(2, 0.5), axes=(0, 1)), TypeError, r"s\[1\] must be an int, found 0.5"),
    "s no sequence": (lambda f: f(X, s=2, axes=(0,)), TypeError, "s must be a tuple or list of ints, found 2"),
    "s without axes": (lambda f: f(X, s=(2, 2)), ValueError, r"axes must be given with it, found s=\(2, 2\)"),
    "s and axes": (
        lambda f: f(X, s=(2, 2), axes=(0,)),
        ValueError,
        r"s and axes must be of the same length, found \(2, 2\) and \(0,\)",
    ),
    "axes": (lambda f: f(X, axes=(0, 2)), ValueError, "axis 2 is out of bounds for array of dimension 2"),
    "axes no sequence": (lambda f: f(X, axes=0), TypeError, "axes must be a tuple or list of ints, found 0"),
    "axis twice": (lambda f: f(X, axes=(0, -2)), ValueError, "repeated axis"),
    "no axes": (lambda f: f(X, axes=()), ValueError, r"there must be an axis to transform, .* axes=\(\)"),
    "0-D": (lambda f: f(dk.asarray(1.0)), ValueError, r"there must be an axis to transform, found shape \(\)"),
}


def check(name: str, call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call(getattr(FFT, name))
    assert name in str(caught.value)


@pytest.mark.parametrize("case", [*REFUSED, *REFUSED_ONE])
@pytest.mark.parametrize("name", ONE_AXIS)
def test_transforms_along_one_axis_refuse(name: str, case: str) -> None:
    check(name, *(REFUSED | REFUSED_ONE)[case])


@pytest.mark.parametrize("case", [*REFUSED, *REFUSED_SEVERAL])
@pytest.mark.parametrize("name", SEVERAL_AXES)
def test_transforms_along_several_axes_refuse(name: str, case: str) -> None:
    check(name, *(REFUSED | REFUSED_SEVERAL)[case])


@pytest.mark.parametrize("name", ["rfft", "ihfft", "rfftn"])
def test_transforms_of_real_numbers_refuse_complex_ones(name: str) -> None:
    check(
        name, lambda f: f(Z), TypeError, f"^{name}: x must be an array of real floating-point numbers, found complex128"
    )


@pytest.mark.parametrize(("name", "parameter"), [("irfft", "n"), ("hfft", "n"), ("irfftn", r"s\[0\]")])
def test_half_of_nothing_needs_a_length(name: str, parameter: str) -> None:
    text = rf"^{name}: {parameter} must be given where x has one element along axis 0, found shape \(1,\)"
    check(name, lambda f: f(dk.ones(1)), ValueError, text)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_refuse(name: str) -> None:
    check(name, lambda f: f(0), ValueError, f"^{name}: n must be at least 1, found 0")
    check(name, lambda f: f(2.5), TypeError, f"^{name}: n must be an int, found 2.5")
    check(name, lambda f: f(4, d=0), ValueError, f"^{name}: d, the distance of the samples, must not be 0")
    wanted = "dtype must be of real floating-point numbers"
    check(name, lambda f: f(4, dtype=dk.int64), TypeError, f"^{name}: {wanted}, found int64")
    check(name, lambda f: f(4, dtype=dk.complex128), TypeError, f"^{name}: {wanted}, found complex128")


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts_refuse(name: str) -> None:
    check(name, lambda f: f(X, axes=2), ValueError, rf"^dispatchkit\.fft\.{name}: axis 2 is out of bounds")
    check(name, lambda f: f(X, axes=(0, 0)), ValueError, "repeated axis")
