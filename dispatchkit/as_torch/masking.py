"""PyTorch's reductions over the elements that a mask shows, `torch.masked`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.as_torch.shared import in_floats
from dispatchkit.as_torch.table import Function
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import holds

# What stands for elements that the mask hides, and counts for nothing.
NEUTRAL = {
    **dict.fromkeys(("sum", "cumsum"), 0.0),
    **dict.fromkeys(("prod", "cumprod"), 1.0),
    **dict.fromkeys(("amax", "argmax", "logsumexp", "softmax", "log_softmax"), -math.inf),
    **dict.fromkeys(("amin", "argmin", "softmin"), math.inf),
}
# Functions along one axis, the first of those that are given, and along several.
ALONG_ONE = frozenset({"cumsum", "cumprod", "softmax", "log_softmax", "softmin"})
ALONG_SEVERAL = frozenset({"sum", "amax", "amin", "logsumexp"})
# Functions that compute in the dtype that is asked for; of the others results are cast.
COMPUTED_IN = frozenset({"sum", "cumsum", "cumprod", "softmax", "log_softmax", "softmin"})
OF_WHOLE_ARRAYS = {"softmin": "nn.functional.softmin"}


def filler(neutral, dtype):
    """Return what counts for nothing in a dtype: for integers the least or largest there are stand for infinities.

    Raises
    ------
    NotImplementedError : for booleans, which have none
    """
    if not math.isinf(neutral) or xp.isdtype(dtype, ("real floating", "complex floating")):
        return neutral
    if dtype == xp.bool:
        raise NotImplementedError("masked extremes and sums of exponentials are not implemented for 'Bool'")
    limits = xp.iinfo(dtype)
    if neutral > 0:
        return limits.max
    return limits.min


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
    if name == "prod" and (isinstance(dim, (tuple, list)) or (dim is None and given["keepdim"] is not None)):
        return product_along(whole, x, dim or (), given["keepdim"] or False)
    return whole(x, **{option: value for option, value in given.items() if value is not None})


def product_of_one(x, dtype):
    """Return the product of a number along no axis, an integer in int64 unless another dtype was asked for."""
    if dtype is None and xp.isdtype(x.dtype, ("integral", "bool")):
        return xp.astype(x, xp.int64, copy=False)
    return x


def product_along(product, x, dims, keepdim):
    """Return products along several axes, or all of them where none are said."""
    axes = {axis % max(x.ndim, 1) for axis in dims} or set(range(x.ndim))
    for axis in sorted(axes, reverse=True):
        x = product(x, axis, keepdim)
    return x


def canonical_axes(dim, ndim):
    """Return axes from the first on, all of them where none are said.

    Raises
    ------
    IndexError : for one that there is not
    RuntimeError : for one that is said twice
    """
    if dim is None or dim == ():
        return tuple(range(ndim))
    axes = []
    for axis in (dim,) if isinstance(dim, int) else dim:
        if not -max(ndim, 1) <= axis < max(ndim, 1):
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, {max(ndim, 1) - 1}], but got "
                f"{axis})"
            )
        if axis % max(ndim, 1) in axes:
            raise RuntimeError(f"dim={axis} appears multiple times in the list of dims")
        axes.append(axis % max(ndim, 1))
    return tuple(sorted(axes))


def visible(input, mask, neutral):
    """Return an array with what a mask hides replaced by what counts for nothing."""
    if mask is None:
        return input
    if np.broadcast_shapes(mask.shape, input.shape) != tuple(input.shape):
        raise RuntimeError(f"a mask of shape {[*mask.shape]} cannot be expanded to the input's shape {[*input.shape]}")
    return xp.where(mask, input, xp.asarray(filler(neutral, input.dtype), dtype=input.dtype))


def median_along(whole, /, input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """Return medians along an axis, by a function that leaves NaN out; in `dtype` those of integers alone."""
    axis = canonical_axes(dim, input.ndim)[0] if input.ndim else dim
    y = whole(visible(in_floats(input), mask, math.nan), axis, keepdim).values
    if xp.isdtype(input.dtype, ("real floating", "complex floating")):
        return y
    if mask is not None and holds(xp.any(xp.isnan(y))):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return xp.astype(y, numpy_dtype(dtype or input.dtype), copy=False)


def moments(of: Mapping[str, Function]) -> tuple[Function, ...]:
    """Return the means, variances and deviations of elements that a mask shows, as PyTorch computes them.

    Parameters
    ----------
    of : the functions of PyTorch on whole arrays, by their paths
    """

    def total_of(x, axes, keepdim, mask, dtype):
        return of["sum"](visible(x, mask, 0), axes, bool(keepdim), dtype=dtype)

    def count_of(x, axes, keepdim, mask):
        shown = xp.ones(x.shape, dtype=xp.bool)
        if mask is not None:
            shown = xp.broadcast_to(mask, x.shape)
        return of["sum"](shown, axes, bool(keepdim))

    def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        axes = canonical_axes(dim, input.ndim)
        total = total_of(input, axes, keepdim, mask, dtype or input.dtype)
        return of["div"](total, count_of(input, axes, keepdim, mask))

    def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
        correction, axes = lost_degrees(unbiased, correction), canonical_axes(dim, input.ndim)
        dtype = numpy_dtype(dtype or in_single_floats(input).dtype)
        inner = dtype if dtype.kind in "fc" else np.dtype(np.float32)
        count = count_of(input, axes, True, mask)
        apart = of["sub"](input, of["div"](total_of(input, axes, True, mask, dtype), count))
        y = total_of(apart * xp.conj(apart), axes, keepdim, mask, inner)
        count = xp.reshape(count, y.shape)
        if correction != 0:
            real = np.empty(0, inner).real.dtype
            count = xp.maximum(xp.astype(count, real) - correction, 0)
        return xp.astype(of["div"](y, count), dtype, copy=False)

    def std(input, dim=None, unbiased=None, **options):
        return of["sqrt"](var(input, dim, unbiased, **options))

    return mean, var, std


def masked_functions(of: Mapping[str, Function]) -> dict[str, Function]:
    """Return the functions of `torch.masked`.

    Parameters
    ----------
    of : the functions of PyTorch on whole arrays, by their paths
    """

    def reduction(name, /, input, dim=None, *, keepdim=None, dtype=None, mask=None):
        whole = of[OF_WHOLE_ARRAYS.get(name, name)]
        x = visible(input, mask, NEUTRAL[name])
        if name == "prod" and dtype is not None:
            x = xp.astype(x, numpy_dtype(dtype), copy=False)
        if name == "prod" and not x.ndim and dim in (None, ()):
            return product_of_one(x, dtype)
        if name in ALONG_ONE:
            dim = canonical_axes(dim, x.ndim)[0] if x.ndim else 0
        elif name in ALONG_SEVERAL:
            dim = canonical_axes(dim, x.ndim)
        given = {"dim": dim, "keepdim": None if keepdim is None else bool(keepdim)}
        if name in COMPUTED_IN:
            given["dtype"] = dtype
        y = reduced_by(name, whole, x, dim, given)
        if name in COMPUTED_IN or name == "prod":
            return y  # of integers in int64, unless another one is asked for
        return xp.astype(y, numpy_dtype(dtype or input.dtype), copy=False)

    def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
        x = visible(input, mask, math.inf if ord < 0 else 0)
        return of["linalg.vector_norm"](x, ord, dim, bool(keepdim), dtype=dtype or input.dtype)

    def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
        length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
        return of["div"](visible(input, mask, 0), xp.maximum(length, eps))

    def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
        parts = visible(input, input_mask, -math.inf), visible(other, other_mask, -math.inf)
        return xp.astype(of["logaddexp"](*parts), numpy_dtype(dtype or input.dtype), copy=False)

    written = (*moments(of), norm, normalize, logaddexp)
    further: dict[str, Any] = {"median": partial(median_along, of["nanmedian"])}
    return further | {name: partial(reduction, name) for name in NEUTRAL} | {each.__name__: each for each in written}
