"""PyTorch's reductions over the elements that a mask shows, `torch.masked`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from dispatchkit.as_torch.shared import in_floats
from dispatchkit.as_torch.table import Function
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp

# What stands for elements that the mask hides, and counts for nothing.
NEUTRAL = {
    **dict.fromkeys(("sum", "cumsum"), 0.0),
    **dict.fromkeys(("prod", "cumprod"), 1.0),
    **dict.fromkeys(("amax", "argmax", "logsumexp", "softmax", "log_softmax"), -math.inf),
    **dict.fromkeys(("amin", "argmin", "softmin"), math.inf),
}
# Functions along one axis, which may be given in a tuple.
ALONG_ONE = frozenset({"cumsum", "cumprod", "softmax", "log_softmax", "softmin"})
OF_WHOLE_ARRAYS = {"softmin": "nn.functional.softmin"}


def filler(neutral, dtype):
    """Return what counts for nothing in a dtype: for integers the least or largest there are stand for infinities."""
    if (
        isinstance(neutral, float)
        and math.isinf(neutral)
        and not xp.isdtype(dtype, ("real floating", "complex floating"))
    ):
        if dtype == xp.bool:
            return neutral > 0
        limits = xp.iinfo(dtype)
        if neutral > 0:
            return limits.max
        return limits.min
    return neutral


def in_single_floats(x):
    """Return integers and booleans as float32, in which PyTorch computes their moments."""
    if xp.isdtype(x.dtype, ("real floating", "complex floating")):
        return x
    return xp.astype(x, xp.float32)


def lost_degrees(unbiased, correction):
    """Return what is taken off the number of elements."""
    if correction is None:
        return int(unbiased is None or unbiased)
    return correction


def reduced_by(name, whole, x, dim, given):
    """Return what a function makes of an array, with those of its options that are given."""
    if name == "prod" and not x.ndim and dim in (None, ()):
        if xp.isdtype(x.dtype, ("integral", "bool")):
            return xp.astype(x, xp.int64, copy=False)
        return x
    if name == "prod" and isinstance(dim, (tuple, list)):
        return product_along(whole, x, dim, bool(given["keepdim"]))
    return whole(x, **{option: value for option, value in given.items() if value is not None})


def product_along(product, x, dims, keepdim):
    """Return products along several axes, or all of them where none are said."""
    axes = {axis % max(x.ndim, 1) for axis in dims} or set(range(x.ndim))
    for axis in sorted(axes, reverse=True):
        x = product(x, axis, keepdim)
    return x


def in_complex_like(x, y, dtype):
    """Return numbers in a dtype, without one as complex ones, if an array is of these."""
    if dtype is not None:
        return xp.astype(y, numpy_dtype(dtype))
    if xp.isdtype(x.dtype, "complex floating"):
        return xp.astype(y, x.dtype)
    return y


def only_axis(name, dim):
    """Return the axis of a function along one, which may be given in a tuple."""
    if name in ALONG_ONE and isinstance(dim, (tuple, list)) and len(dim) == 1:
        return dim[0]
    return dim


def in_floats_for(name, x):
    """Return elements as numbers of the default dtype, if a reduction is of exponentials."""
    if name in ("logsumexp", "softmax", "softmin", "log_softmax"):
        return in_floats(x)
    return x


def visible(input, mask, neutral, dtype=None):
    """Return an array with what a mask hides replaced by what counts for nothing."""
    x = input
    if dtype is not None:
        x = xp.astype(input, numpy_dtype(dtype))
    if mask is None:
        return x
    if mask.ndim <= input.ndim and np.broadcast_shapes(mask.shape, x.shape) != tuple(x.shape):
        raise RuntimeError(f"a mask of shape {[*mask.shape]} cannot be expanded to the input's shape {[*x.shape]}")
    if mask.ndim > input.ndim:
        raise IndexError(
            f"_input_mask expected broadcastable mask, but its dimensionality, {mask.ndim}, is higher than that of the "
            f"input, {input.ndim}"
        )
    return xp.where(mask, x, xp.asarray(filler(neutral, x.dtype), dtype=x.dtype))


def median_along(whole, /, input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """Return medians along an axis, by a function that leaves NaN out."""
    x = input
    if mask is not None:
        x = visible(in_floats(input), mask, math.nan, dtype)
    return xp.astype(whole(x, dim, keepdim).values, numpy_dtype(dtype or input.dtype), copy=False)


def masked_functions(of: Mapping[str, Function]) -> dict[str, Function]:
    """Return the functions of `torch.masked`.

    Parameters
    ----------
    of : the functions of PyTorch on whole arrays, by their paths
    """

    def reduction(name, /, input, dim=None, *, keepdim=None, dtype=None, mask=None):
        whole = of[OF_WHOLE_ARRAYS.get(name, name)]
        if dtype is None:
            input = in_floats_for(name, input)
        x = visible(input, mask, NEUTRAL[name], dtype)
        if dim is None and name == "logsumexp":
            dim = tuple(range(x.ndim))
        given = {"dim": only_axis(name, dim), "keepdim": keepdim}
        y = reduced_by(name, whole, x, dim, given)
        if name in ("sum", "prod", "cumsum", "cumprod"):
            return y
        return xp.astype(y, x.dtype, copy=False)

    def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        ones = visible(xp.ones_like(input), mask, 0, dtype)
        return of["sum"](visible(input, mask, 0, dtype), dim, keepdim) / of["sum"](ones, dim, keepdim)

    def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, **options):
        correction = lost_degrees(unbiased, correction)
        input = in_single_floats(input)
        ones = visible(xp.ones_like(xp.real(input)), options.get("mask"), 0)
        squares = (xp.abs(input - mean(input, dim, keepdim=True, **options)) * ones) ** 2
        y = of["sum"](squares, dim, keepdim) / xp.maximum(of["sum"](ones, dim, keepdim) - correction, 0)
        return in_complex_like(input, y, options.get("dtype"))

    def std(input, dim=None, unbiased=None, **options):
        return xp.sqrt(var(input, dim, unbiased, **options))

    def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
        return of["linalg.vector_norm"](visible(input, mask, math.inf if ord < 0 else 0, dtype), ord, dim, keepdim)

    def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
        x = visible(input, mask, 0, dtype)
        return x / xp.maximum(norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask), eps)

    def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
        parts = visible(input, input_mask, -math.inf), visible(other, other_mask, -math.inf)
        return xp.astype(of["logaddexp"](*parts), numpy_dtype(dtype or input.dtype), copy=False)

    written = (mean, var, std, norm, normalize, logaddexp)
    further = {"median": partial(median_along, of["nanmedian"])}
    return further | {name: partial(reduction, name) for name in NEUTRAL} | {each.__name__: each for each in written}
