"""NumPy's functions of statistics, calculus and polynomials, its transforms and what it makes `like` an array."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.typing import Array
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.shared import normal_axis
from dispatchkit.ops.statistics.quantiles import QuantileMethod, between
from dispatchkit.tensor.conversion import dense_form
from dispatchkit.tensor.numpy_arguments import as_array
from dispatchkit.tensor.numpy_shapes import composition, compositions

# Statistics.


@composition
def quantile(
    a: Array, q: Array | float, axis: Any = None, method: QuantileMethod = "linear", keepdims: bool = False
) -> Any:
    return xp.quantile(a, _as_share(q), axis=axis, method=method, keepdims=keepdims)


def _as_share(q: Any, whole: float = 1.0) -> Any:
    """Return quantiles as plain numbers up to 1; what has a unit, such as percent, says itself what it is a share of.

    Parameters
    ----------
    q : quantiles
    whole : what plain numbers are shares of
    """
    if hasattr(q, "unit"):
        return dense_form(q)
    if whole == 1:
        return q
    return q / whole


@composition
def nanquantile(
    a: Array, q: Array | float, axis: Any = None, method: Literal["linear"] = "linear", keepdims: bool = False
) -> Any:
    if isinstance(axis, tuple) or a.dtype.kind == "c" or np.ndim(q) > 1 or not a.size:
        return NotImplemented
    q = _as_share(q)
    if not bool(xp.all((q >= 0) & (q <= 1))):
        raise ValueError(f"Quantiles must be in the range [0, 1], found {q}")
    if a.dtype.kind != "f":
        return xp.quantile(a, q, axis=axis, keepdims=keepdims)
    if hasattr(a, "without_nan"):  # a type that knows of missing elements
        return xp.quantile(a.without_nan(), q, axis=axis, keepdims=keepdims)
    if axis is None:
        result = nanquantile(xp.ravel(a), q, 0)
        if keepdims:
            return xp.reshape(result, (*result.shape, *(1,) * a.ndim))
        return result
    a = xp.sort(xp.moveaxis(a, axis, -1), axis=-1)  # every NaN comes last
    count = xp.count_nonzero(xp.logical_not(xp.isnan(a)), axis=-1, keepdims=True)
    place = q * xp.maximum(xp.astype(count, xp.result_type(a, q)) - 1, 0)
    low = xp.floor(place)
    below, above = (xp.take_along_axis(a, xp.astype(index(place), np.int64), axis=-1) for index in (xp.floor, xp.ceil))
    result = between(xp, below, above, place - low)
    if keepdims:
        result = xp.moveaxis(result, -1, axis)
    if np.ndim(q) == 0:
        if keepdims:
            return result
        return result[..., 0]
    if keepdims:
        return NotImplemented
    return xp.moveaxis(result, -1, 0)


def _by_percents(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of quantiles that are given in percent."""

    @functools.wraps(function)
    def percentile(a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
        return function(a, _as_share(q, 100), *args, **kwargs)

    return percentile


compositions |= {"percentile": _by_percents(quantile), "nanpercentile": _by_percents(nanquantile)}


def _but_nan(search: Callable[..., Any], worst: float) -> Callable[..., Any]:
    """Return a search for an extreme element that finds no NaN."""

    def search_numbers(a: Array, axis: Any = None, keepdims: bool = False) -> Any:
        if a.dtype.kind in "fc":
            if bool(xp.any(xp.all(xp.isnan(a), axis=axis))):
                raise ValueError("All-NaN slice encountered")
            a = xp.where(xp.isnan(a), worst, a)
        return search(a, axis=axis, keepdims=keepdims)

    return search_numbers


compositions |= {"nanargmax": _but_nan(xp.argmax, -math.inf), "nanargmin": _but_nan(xp.argmin, math.inf)}


compositions |= {
    "nancumprod": lambda a, /, axis=None, dtype=None: np.cumprod(xp.where(xp.isnan(a), 1, a), axis=axis, dtype=dtype),
    "nancumsum": lambda a, /, axis=None, dtype=None: np.cumsum(xp.where(xp.isnan(a), 0, a), axis=axis, dtype=dtype),
    "nanmedian": lambda a, /, axis=None, keepdims=False: nanquantile(a, 0.5, axis, "linear", keepdims),
    "ptp": lambda a, /, axis=None, keepdims=False: (
        xp.max(a, axis=axis, keepdims=keepdims) - xp.min(a, axis=axis, keepdims=keepdims)
    ),
}


# Calculus.


def _along(x: Any, axis: int, start: int | None, stop: int | None) -> Any:
    """Return a part of an array along an axis."""
    return x[(slice(None),) * normal_axis(axis, x.ndim, "axis") + (slice(start, stop),)]


@composition
def trapezoid(y: Array, x: Array | None = None, dx: Array | float = 1.0, axis: int = -1) -> Any:
    if x is not None:
        if x.dtype.kind == "b":
            return NotImplemented
        if x.ndim == 1:
            dx = xp.reshape(x[1:] - x[:-1], (-1, *(1,) * (y.ndim - normal_axis(axis, y.ndim, "axis") - 1)))
        else:
            dx = _along(x, axis, 1, None) - _along(x, axis, None, -1)
    return xp.sum(dx * (_along(y, axis, 1, None) + _along(y, axis, None, -1)) / 2.0, axis=axis)


@composition
def gradient(f: Array, *varargs: Array | float, axis: Any = None, edge_order: int = 1) -> Any:
    if axis is None:
        axes = tuple(range(f.ndim))
    elif isinstance(axis, tuple):
        axes = tuple(axis)
    else:
        axes = (axis,)
    if len(varargs) == 1:
        spacings = varargs * len(axes)
    else:
        spacings = varargs or (1.0,) * len(axes)
    axes = tuple(normal_axis(k, f.ndim, "axis") for k in axes)
    if len(spacings) != len(axes) or len(set(axes)) != len(axes):
        return NotImplemented
    if any(np.ndim(h) and tuple(np.shape(h)) != (f.shape[k],) for k, h in zip(axes, spacings, strict=True)):
        return NotImplemented
    if edge_order not in (1, 2) or any(f.shape[k] <= edge_order for k in axes):
        return NotImplemented
    if f.dtype.kind not in "fc":
        f = xp.astype(f, np.float64)
    slopes = tuple(xp.astype(_slope(f, k, h, edge_order), f.dtype) for k, h in zip(axes, spacings, strict=True))
    if len(slopes) == 1:
        return slopes[0]
    return slopes


def _slope(f: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    """Return central differences along an axis, one-sided ones at its ends."""
    f = xp.moveaxis(f, axis, -1)
    if not isinstance(spacing, (int, float, complex)) and spacing.dtype.kind not in "fc":
        spacing = as_array(spacing, np.float64)  # small and unsigned integers would wrap around
    before, here, after = f[..., :-2], f[..., 1:-1], f[..., 2:]
    if np.ndim(spacing) == 0:
        first0 = first1 = last0 = last1 = spacing
        middle = (after - before) / (2 * spacing)
    else:
        steps = spacing[1:] - spacing[:-1]
        h0, h1 = steps[:-1], steps[1:]
        first0, first1, last0, last1 = steps[0], steps[min(1, steps.size - 1)], steps[-1], steps[max(-2, -steps.size)]
        middle = -h1 / (h0 * (h0 + h1)) * before + (h1 - h0) / (h0 * h1) * here + h0 / (h1 * (h0 + h1)) * after
        # Between equal steps the element in the middle has no part, which may be infinite.
        middle = xp.where((h0 == h1) & ~xp.isfinite(middle), (after - before) / (h0 + h1), middle)
    if edge_order == 1:
        start, end = (f[..., 1:2] - f[..., :1]) / first0, (f[..., -1:] - f[..., -2:-1]) / last0
    else:
        start = _edge(f[..., :1], f[..., 1:2], f[..., 2:3], first0, first1)
        end = -_edge(f[..., -1:], f[..., -2:-1], f[..., -3:-2], last0, last1)
    return xp.moveaxis(xp.concat([start, middle, end], axis=-1), -1, axis)


def _edge(y0: Any, y1: Any, y2: Any, h0: Any, h1: Any) -> Any:
    """Return the slope at the first of three places, from a parabola through all."""
    both = h0 + h1
    return -(h0 + both) / (h0 * both) * y0 + both / (h0 * h1) * y1 - h0 / (h1 * both) * y2


@composition
def nan_to_num(
    x: Array,
    copy: bool = True,
    nan: Array | float = 0.0,
    posinf: Array | float | None = None,
    neginf: Array | float | None = None,
) -> Any:
    if x.dtype.kind == "c":
        real, imag = (nan_to_num(part, True, nan, posinf, neginf) for part in (xp.real(x), xp.imag(x)))
        numbers = real + 1j * imag
    elif x.dtype.kind != "f":
        numbers = x
    else:
        info = np.finfo(x.dtype)
        numbers = xp.where(xp.logical_not(xp.isnan(x)), x, nan)
        limits = (math.inf, posinf, info.max), (-math.inf, neginf, info.min)
        for infinity, replacement, limit in limits:
            number = replacement
            if replacement is None:
                number = xp.ones_like(x) * float(limit)
            numbers = xp.where(x != infinity, numbers, number)
        numbers = xp.astype(numbers, x.dtype)
    if copy:
        return numbers
    x[...] = numbers
    return x


@composition
def unwrap(p: Array, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    if p.dtype.kind not in "fiu":
        return NotImplemented
    steps = xp.diff(p, axis=axis)  # in the dtype of the elements, as NumPy takes them
    if p.dtype.kind in "iu" and not isinstance(period, int) and getattr(period, "dtype", np.dtype(float)).kind == "f":
        p, steps = xp.astype(p, np.float64), xp.astype(steps, np.float64)
    if p.dtype.kind != "f":
        return NotImplemented
    half = period / 2
    turned = xp.remainder(steps + half, period) - half
    turned = xp.where((turned == -half) & (steps > 0), half, turned)
    change = xp.where(xp.abs(steps) < (half if discont is None else discont), 0.0, turned - steps)
    rest = _along(p, axis, 1, None) + xp.cumulative_sum(change, axis=axis)
    return xp.concat([_along(p, axis, None, 1), rest], axis=axis)


@composition
def angle(z: Array, deg: bool = False) -> Any:
    if z.dtype.kind == "c":
        imag, real = xp.imag(z), xp.real(z)
    else:
        imag, real = 0, z
    radians = xp.atan2(imag, real)
    if deg:
        return radians * (180 / math.pi)
    return radians


@composition
def sinc(x: Array) -> Any:
    y = math.pi * x
    return xp.where(y == 0, 1.0, xp.sin(y) / xp.where(y == 0, 1.0, y))


compositions["fix"] = lambda x, /: xp.trunc(x)


def round(a: Array, decimals: int = 0) -> Any:  # NumPy's name
    decimals = operator.index(decimals)
    if decimals == 0:
        return xp.round(a)
    if a.dtype.kind not in "fc":
        scale = 10.0**-decimals
        if decimals > 0:
            return a
        return xp.astype(xp.round(a / scale) * scale, a.dtype)
    if a.dtype.kind == "c" and not holds(xp.isfinite(a)):
        return NotImplemented  # a number times a complex infinity is NaN
    with np.errstate(over="ignore"):
        scale = float(np.power(10.0, abs(decimals)))  # infinite, of too many
    if decimals > 0:
        return xp.round(a * scale) / scale
    return xp.round(a / scale) * scale


compositions["round"] = compositions["around"] = round


# Polynomials.


@composition
def polyval(p: Array, x: Array) -> Any:
    if p.ndim != 1:
        return NotImplemented
    value = xp.zeros_like(x)
    for place in range(p.shape[0]):
        value = value * x + p[place]
    return value


# Transforms of the last two axes.


def _of_two_axes(transform: Callable[..., Any]) -> Callable[..., Any]:
    """Return a transform that is of the last two axes by default."""

    def transform_two(a: Array, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
        return transform(a, s=s, axes=axes, norm=norm)

    return transform_two


for _transform in (np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn):
    compositions[f"fft.{_transform.__name__[:-1]}2"] = _of_two_axes(_transform)


# New arrays, asked for by `like`.


def _as_tensor(a: Any, dtype: Any = None) -> Any:
    return xp.asarray(a, dtype=dtype)


compositions["array"] = lambda object, dtype=None, copy=None: xp.asarray(object, dtype=dtype, copy=copy)
compositions |= dict.fromkeys(("asanyarray", "ascontiguousarray", "asfortranarray", "require"), _as_tensor)


@composition
def empty_like(prototype: Array, dtype: Any = None, *, shape: Any = None) -> Any:
    if shape is None:
        return xp.empty_like(prototype, dtype=dtype)
    if dtype is None:
        dtype = prototype.dtype
    return xp.empty(shape, dtype=dtype)


compositions |= {
    "empty": lambda shape, dtype=None: xp.empty(shape, dtype=dtype),
    "identity": lambda n, dtype=None: xp.eye(n, dtype=dtype),
    "tri": lambda N, M=None, k=0, dtype=float: xp.tril(xp.ones((N, N if M is None else M), dtype=dtype), k=k),
}
