"""NumPy's universal functions that are no operation here, made of operations; what they get are arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.ops.shared.arrays import conjugate
from dispatchkit.tensor.numpy_arguments import as_array

__all__ = ["universal"]

LOG_OF_2 = math.log(2)


def _of_real_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Leave complex numbers, for which NumPy's function is not defined, to NumPy's error."""

    @functools.wraps(function)
    def of_real_numbers(*args: Any) -> Any:
        if any(x.dtype.kind == "c" for x in args):
            return NotImplemented
        return function(*args)

    return of_real_numbers


def _floating(x: Any) -> Any:
    """Return an array as one of floating-point numbers, small integers in the dtype that NumPy gives them."""
    return x if x.dtype.kind in "fc" else xp.astype(x, np.result_type(x.dtype, np.float16))


def _promoted(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return two arrays in the dtype that both have together."""
    dtype = xp.result_type(x1, x2)
    return as_array(x1, dtype), as_array(x2, dtype)


def exp2(x: Any) -> Any:
    return xp.pow(2.0, _floating(x))


@_of_real_numbers
def logaddexp2(x1: Any, x2: Any) -> Any:
    x1, x2 = _promoted(_floating(x1), _floating(x2))
    return xp.logaddexp(x1 * LOG_OF_2, x2 * LOG_OF_2) / LOG_OF_2


@_of_real_numbers
def degrees(x: Any) -> Any:
    return _floating(x) * (180 / math.pi)


@_of_real_numbers
def radians(x: Any) -> Any:
    return _floating(x) * (math.pi / 180)


@_of_real_numbers
def fabs(x: Any) -> Any:
    return xp.abs(_floating(x))


def fmax(x1: Any, x2: Any) -> Any:
    return _but_nan(x1, x2, xp.maximum)


def fmin(x1: Any, x2: Any) -> Any:
    return _but_nan(x1, x2, xp.minimum)


def _but_nan(x1: Any, x2: Any, choose: Callable[..., Any]) -> Any:
    """Return what is chosen of two arrays, of which NaN is never one unless both are."""
    return xp.where(xp.isnan(x1), x2, xp.where(xp.isnan(x2), x1, choose(x1, x2)))


def float_power(x1: Any, x2: Any) -> Any:
    def double(x: Any) -> Any:
        return as_array(x, np.complex128 if x.dtype.kind == "c" else np.float64)

    return xp.pow(double(x1), double(x2))


@_of_real_numbers
def fmod(x1: Any, x2: Any) -> Any:
    x1, x2 = _promoted(x1, x2)
    if x1.dtype.kind != "f":  # the smallest integer has no absolute value
        rest = xp.remainder(x1, x2)
        return xp.where((rest != 0) & ((rest < 0) != (x1 < 0)), rest - x2, rest)
    rest = xp.remainder(xp.abs(x1), xp.abs(x2))
    return xp.where(x1 < 0, -rest, rest)


@_of_real_numbers
def heaviside(x1: Any, x2: Any) -> Any:
    x1 = _floating(x1)
    return xp.where(x1 == 0, x2, xp.maximum(xp.sign(x1), 0.0))


def rint(x: Any) -> Any:
    return xp.round(_floating(x))


@_of_real_numbers
def ldexp(x1: Any, x2: Any) -> Any:
    x1 = _floating(x1)
    return x1 * exp2(as_array(x2, x1.dtype))


def divmod(x1: Any, x2: Any) -> Any:  # NumPy's name
    return xp.floor_divide(x1, x2), xp.remainder(x1, x2)


@_of_real_numbers
def modf(x: Any) -> Any:
    x = _floating(x)
    whole = xp.trunc(x)
    with np.errstate(invalid="ignore"):  # infinity has no part behind the point
        rest = x - whole
    return xp.copysign(xp.where(xp.isinf(x), xp.zeros_like(x), rest), x), whole


def matvec(x1: Any, x2: Any) -> Any:
    return xp.matmul(x1, xp.expand_dims(x2, axis=-1))[..., 0]


def vecmat(x1: Any, x2: Any) -> Any:
    return xp.matmul(xp.expand_dims(conjugate(xp, x1), axis=-2), x2)[..., 0, :]


universal: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(exp2, logaddexp2, degrees, radians, fabs, fmax, fmin, float_power),
        *(fmod, heaviside, rint, ldexp, divmod, modf, matvec, vecmat),
    )
} | {"deg2rad": radians, "rad2deg": degrees}
