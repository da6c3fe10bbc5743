"""Functions of PyTorch that are operations but for some of their arguments, or for some dtypes."""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from dispatchkit.as_torch.calling.promotion import common_dtype
from dispatchkit.as_torch.shared import several, written_functions
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS, is_array
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.storage import Storage

# Of elements.


def square(input):
    if input.dtype == xp.bool:
        return xp.astype(input, xp.int64)
    return xp.square(input)


def logaddexp(input, other):
    if not xp.isdtype(xp.result_type(input, other), "complex floating"):
        return xp.logaddexp(input, other)
    is_larger = xp.real(input) >= xp.real(other)
    large, small = xp.where(is_larger, input, other), xp.where(is_larger, other, input)
    apart = xp.where(large == small, 0.0, small - large)
    return xp.log1p(xp.exp(apart)) + large


def _is_integral(x):
    """Return whether an operand is of integers."""
    if is_array(x):
        return bool(xp.isdtype(x.dtype, "integral"))
    return isinstance(x, int) and not isinstance(x, bool)


def pow(input, exponent):
    if not (_is_integral(input) and _is_integral(exponent)):
        return xp.pow(input, exponent)
    if not is_array(exponent):
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return xp.pow(input, exponent)
    # Powers of what is further from 0 than 1 are less than 1.
    powers = xp.pow(input, xp.maximum(exponent, 0))
    signs = xp.where(exponent % 2 == 0, xp.multiply(input, input), input)
    return xp.where(exponent < 0, xp.where(xp.multiply(input, input) == 1, signs, 0), powers)


def floor_divide(input, other):
    if isinstance(input, Storage) and type(other) in (int, float):
        other = xp.asarray(other, dtype=common_dtype((input, other)))
    if not (is_array(input) and is_array(other) and xp.isdtype(xp.result_type(input, other), "real floating")):
        return xp.floor_divide(input, other)
    x, y = input.detach(), other.detach()
    with np.errstate(all="ignore"):
        return _whole_quotient(x, y)


def _whole_quotient(x, y):
    """Return PyTorch's quotient rounded down."""
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    quotient = xp.where((rest != 0) & ((y < 0) != (rest < 0)), quotient - 1, quotient)
    whole = xp.floor(quotient)
    whole = xp.where(quotient - whole > 0.5, whole + 1, whole)
    whole = xp.where(quotient == 0, xp.copysign(xp.zeros_like(whole), x / y), whole)
    return xp.where(y == 0, x / y, whole)


def logit(input, eps=None):
    # No number limits nothing.
    if eps is not None and not math.isnan(eps):
        input = xp.where(input < eps, eps, xp.where(input > 1 - eps, 1 - eps, input))
    return xp.special.logit(input)


def lgamma(input):
    # The limit at minus infinity is infinity, too.
    return xp.special.gammaln(xp.where(input == -np.inf, np.inf, input))


def lerp(input, end, weight):
    apart = end - input
    if is_array(weight):
        return xp.where(xp.abs(weight) < 0.5, input + weight * apart, end - apart * (1 - weight))
    if abs(weight) < 0.5:
        return input + weight * apart
    return end - apart * (1 - weight)


def clamp_max(input, max):
    return xp.clip(input, None, max)


def clamp_min(input, min):
    return xp.clip(input, min, None)


# Of whole arrays.


def mean(input, dim=None, keepdim=False, *, dtype=None):
    if dtype is not None:
        input = xp.astype(input, numpy_dtype(dtype))
    return xp.mean(input, axis=dim, keepdims=keepdim)


def linalg_vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if dtype is not None:
        x = xp.astype(x, numpy_dtype(dtype))
    return xp.linalg.vector_norm(x, ord=ord, axis=dim, keepdims=keepdim)


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    return xp.isin(elements, test_elements, invert=invert)


def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    if dtype is None or xp.isdtype(dtype, ("real floating", "complex floating")):
        return xp.linspace(start, end, steps, dtype=dtype, device=device, requires_grad=requires_grad)
    # Towards 0, as PyTorch makes integers of the numbers.
    return xp.astype(xp.linspace(start, end, steps, device=device), dtype)


def trapezoid(y, x=None, *, dx=1, dim=-1):
    if not y.shape[dim]:
        return xp.zeros_like(xp.sum(y, axis=dim))
    if x is None:
        ends = xp.take(y, xp.asarray([0]), axis=dim) + xp.take(y, xp.asarray([y.shape[dim] - 1]), axis=dim)
        return (xp.sum(y, axis=dim) - xp.squeeze(ends, axis=dim) * 0.5) * dx
    y, steps = _beside(y, x, dim)
    return xp.sum((y[..., 1:] + y[..., :-1]) * steps, axis=-1) / 2


def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    if x is None:
        y, steps = xp.moveaxis(y, dim, -1), dx
    else:
        y, steps = _beside(y, x, dim)
    sums = (y[..., 1:] + y[..., :-1]) * steps
    return xp.moveaxis(xp.cumulative_sum(sums, axis=-1) / 2, -1, dim)


def _beside(y, x, dim):
    """Return an array with an axis moved to its end, and the differences of places along it."""
    if x.ndim == 1:
        steps = xp.diff(x)
    else:
        dim %= y.ndim
        steps = xp.moveaxis(xp.diff(x, axis=dim - y.ndim), dim - y.ndim, -1)
    return xp.moveaxis(y, dim, -1), steps


def index_select(input, dim, index):
    if not input.ndim:
        return xp.reshape(input, ())
    return xp.take(input, xp.reshape(index, (-1,)), axis=dim)


def gather(input, dim, index, *, sparse_grad=False):
    if not input.ndim:
        return xp.broadcast_to(input, index.shape) + 0
    return xp.gather(input, dim, index)


# Of shapes.


def linalg_diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    return TRANSLATIONS["diagonal"](A, offset, dim1, dim2)


def expand(input, size, *, implicit=False):
    if isinstance(size, int):
        size = (size,)
    return xp.expand(input, size)


def tensordot(a, b, dims=2):
    first, second = _axes_of(dims)
    for i, j in zip(first, second, strict=True):
        if a.shape[i] == b.shape[j]:
            continue
        # An axis of one element goes with any.
        if a.shape[i] == 1:
            b = xp.sum(b, axis=j, keepdims=True)
        elif b.shape[j] == 1:
            a = xp.sum(a, axis=i, keepdims=True)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                f"{b.shape[j]} in dim {j}"
            )
    return xp.tensordot(a, b, axes=(first, second))


def _axes_of(dims):
    """Return the axes of both arrays that a tensor product is summed along."""
    if is_array(dims):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        return tuple(range(-dims, 0)), tuple(range(dims))
    first, second = ((axis,) if isinstance(axis, int) else tuple(axis) for axis in dims)
    if len(first) != len(second):
        raise RuntimeError(f"both dimension lists should have same length, got {len(first)} and {len(second)}")
    return first, second


# Of places.


def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    return np.nanquantile(input, q, axis=dim, method=interpolation, keepdims=keepdim)


def put(input, index, source, accumulate=False):
    y = xp.index_put(xp.ravel(input), xp.ravel(index), xp.ravel(source), accumulate=accumulate)
    return xp.reshape(y, input.shape)


def renorm(input, p, dim, maxnorm):
    axes = tuple(axis for axis in range(input.ndim) if axis != dim % input.ndim)
    lengths = xp.linalg.vector_norm(input, ord=p, axis=axes, keepdims=True)
    return input * xp.where(lengths > maxnorm, maxnorm / (lengths + 1e-7), 1.0)


def nonzero_static(input, *, size, fill_value=-1):
    places = xp.argwhere(input)[:size]
    return xp.pad(places, ((0, size - places.shape[0]), (0, 0)), constant_values=fill_value)


def block_diag(*tensors):
    matrices, rows = [np.atleast_2d(x) for x in several(tensors)], []
    ends = list(accumulate(m.shape[1] for m in matrices))
    for m, end in zip(matrices, ends, strict=True):
        rows.append(xp.pad(m, ((0, 0), (end - m.shape[1], ends[-1] - end))))
    return xp.concat(rows, axis=0)


TRANSLATIONS.update(written_functions(globals()))
# Of the same names as operations, by which calls from PyTorch are answered.
ALONE.update(
    {name: TRANSLATIONS.pop(name) for name in ("floor_divide", "gather", "lgamma", "logaddexp", "pow", "square")}
)
TRANSLATIONS |= {"trapz": trapezoid, "special.logit": logit}
ALONE["special.gammaln"] = lgamma
