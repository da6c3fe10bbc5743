"""Reductions of masked arrays: over what is there, with what follows from counts, orders and deviations."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.statistics.moments import fit_weights, scale_covariances
from dispatchkit.ops.statistics.quantiles import between
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.types.masked.array import (
    MaskedTensor,
    neutral,
    parts,
    sort_masked,
    validity_of,
    with_value,
    wrap_masked,
)
from dispatchkit.types.rules import array_of, axis_of, implements, implements_each, is_plain


@implements_each((ops.softmax, ops.log_softmax), MaskedTensor)
def softmax_masked(op: Any, x: MaskedTensor, /, *, axis: Any = -1) -> MaskedTensor:
    return MaskedTensor(op(_lowest(x), axis=axis), ops.clone(x.valid))


@implements(ops.logsumexp, MaskedTensor)
def logsumexp_masked(x: MaskedTensor, /, *, axis: Any = None, keepdims: bool = False) -> MaskedTensor:
    result = ops.logsumexp(_lowest(x), axis=axis, keepdims=keepdims)
    return MaskedTensor(result, ops.any(x.valid, axis=axis, keepdims=keepdims))


def _lowest(x: MaskedTensor) -> Any:
    """Return the data with a finite number in the places of missing elements whose exponential is zero."""
    if x.dtype.kind not in "fc":
        x = ops.astype(x, ops.float64)
    return with_value(x, ops.finfo(x.dtype).min)


@implements_each((ops.sum, ops.prod, ops.max, ops.min, ops.all, ops.any, ops.count_nonzero), MaskedTensor)
def reduce_masked(
    op: Any, x: MaskedTensor, /, *, axis: Any = None, keepdims: bool = False, **kwargs: Any
) -> MaskedTensor:
    result = op(with_value(x, neutral(op, x)), axis=axis, keepdims=keepdims, **kwargs)
    left = ops.any(x.valid, axis=axis, keepdims=keepdims)
    flags = array_of(left)
    # The extreme of nothing is an infinity; a gradient is not to see it.
    if flags is None or np.count_nonzero(flags) < flags.size:
        result = ops.where(left, result, ops.asarray(0, dtype=result.dtype, device=result.device))
    return wrap_masked(result, left)


def in_single(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule that computes half precision in single: sums and counts leave its range."""

    @wraps(rule)
    def compute(x: MaskedTensor, /, **options: Any) -> Any:
        if x.dtype != np.float16:
            return rule(x, **options)
        return ops.astype(rule(ops.astype(x, np.float32), **options), np.float16)

    return compute


NAN_REDUCTIONS = (ops.nansum, ops.nanprod, ops.nanmax, ops.nanmin, ops.nanmean, ops.nanvar, ops.nanstd)


@implements_each(NAN_REDUCTIONS, MaskedTensor)
def reduce_but_nan(
    op: Any, x: MaskedTensor, /, *, axis: Any = None, keepdims: bool = False, **options: Any
) -> MaskedTensor:
    """Reduce what is there and a number; missing where nothing is there, whether it is a number or not."""
    left = ops.any(x.valid, axis=axis, keepdims=keepdims)
    if x.dtype.kind not in "fc":
        plain = getattr(ops, op.__name__.removeprefix("nan"))
        dtype = options.pop("dtype", None)
        options = {name: value for name, value in options.items() if value is not None}
        result = plain(x if dtype is None else ops.astype(x, dtype), axis=axis, keepdims=keepdims, **options)
        return MaskedTensor(result.data, left)
    result = op(with_value(x, float("nan")), axis=axis, keepdims=keepdims, **options)
    return MaskedTensor(ops.where(left, result, ops.asarray(0, dtype=result.dtype, device=result.device)), left)


def _count(x: MaskedTensor, axis: Any, keepdims: bool) -> Any:
    return ops.sum(x.valid, axis=axis, keepdims=keepdims)


@implements(ops.mean)
@in_single
def mean_masked(x: MaskedTensor, /, *, axis: Any = None, keepdims: bool = False) -> MaskedTensor:
    count = _count(x, axis, keepdims)
    total = ops.sum(with_value(x, 0), axis=axis, keepdims=keepdims)
    dtype = total.dtype
    if dtype.kind != "f":
        dtype = ops.real(total / 1).dtype
    return wrap_masked(total / ops.astype(ops.maximum(count, 1), dtype), count > 0)


def _deviations(x: MaskedTensor, axis: Any, correction: float, keepdims: bool) -> tuple[Any, Any]:
    """Return what elements differ by from their mean, 0 where they are missing, and the degrees of freedom."""
    return with_value(x - mean_masked(x, axis=axis, keepdims=True), 0), _count(x, axis, keepdims) - correction


@implements(ops.var)
@in_single
def var_masked(x: MaskedTensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    centred, freedom = _deviations(x, axis, correction, keepdims)
    parts = [centred]
    if x.dtype.kind == "c":
        parts = [ops.real(centred), ops.imag(centred)]
    total = ops.sum(sum(map(ops.square, parts)), axis=axis, keepdims=keepdims)
    return MaskedTensor(total / ops.astype(ops.where(freedom > 0, freedom, 1), total.dtype), freedom > 0)


@implements(ops.std)
@in_single
def std_masked(x: MaskedTensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    centred, freedom = _deviations(x, axis, correction, keepdims)
    # Its derivative is 0 where all elements are one, which that of a root of the variance is not.
    length = linalg.vector_norm(centred, axis=axis, keepdims=keepdims)
    return MaskedTensor(length / ops.astype(ops.sqrt(ops.where(freedom > 0, freedom, 1)), length.dtype), freedom > 0)


@implements(ops.median)
def median_masked(x: MaskedTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return quantile_masked(x, 0.5, axis=axis, keepdims=keepdims)


@implements(ops.quantile)
def quantile_masked(
    x: MaskedTensor, q: Any, /, *, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    if method != "linear" or isinstance(axis, tuple) or isinstance(q, MaskedTensor):
        return decline("quantiles are found along one axis or all, by interpolation")
    if x.dtype.kind == "c":
        return decline("complex numbers have no order")
    if axis is not None:
        axis = axis_of("quantile", x, axis)
    if getattr(q, "shape", ()):
        each = [quantile_masked(x, part, axis=axis, keepdims=keepdims) for part in ops.reshape(q, (-1,))]
        if not each:
            return decline("there is no quantile to find")
        return ops.reshape(ops.stack(each), (*q.shape, *each[0].shape))
    if axis is None and is_plain(x.data) and is_plain(x.valid) and x.valid.array.any():
        result = ops.quantile(x.data[x.valid], q)
        return MaskedTensor(ops.reshape(result, (1,) * x.ndim if keepdims else ()))
    flat = x
    if axis is None:
        flat = ops.reshape(x, (-1,))
    along = axis
    if axis is None:
        along = 0
    if not flat.shape[along]:  # the median of nothing
        nothing = ops.sum(flat, axis=along, keepdims=True)
        flat = MaskedTensor(ops.astype(nothing.data, (flat.data / 1).dtype), nothing.valid)
    line = sort_masked(flat, axis=along)
    place = ops.maximum(_count(flat, along, True) - 1, 0) * q
    low, high = ops.floor(place), ops.ceil(place)
    numbers = with_value(line, 0) / 1  # of small integers, differences overflow
    below, above = (ops.take_along_axis(numbers, ops.astype(index, ops.int64), axis=along) for index in (low, high))
    result = between(ops, below, above, ops.astype(place - low, numbers.dtype))
    undefined = ops.any(ops.isnan(with_value(flat, 0)), axis=along, keepdims=True)
    result = ops.where(undefined, float("nan"), result)
    quantile = MaskedTensor(result, _count(flat, along, True) > 0)
    if axis is None:
        return ops.reshape(quantile, (1,) * x.ndim if keepdims else ())
    if keepdims:
        return quantile
    return ops.squeeze(quantile, axis=along)


@implements(linalg.trace)
def trace_masked(x: MaskedTensor, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return ops.sum(linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype)


@implements_each((ops.argmax, ops.argmin), MaskedTensor)
def place_masked(op: Any, x: MaskedTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    place = None
    if x.size and is_plain(x.data) and is_plain(x.valid):
        place = op(with_value(x, neutral(op, x)), axis=axis, keepdims=True)
    if place is None or not _are_there(x.valid.array, place.array, axis):
        place = _place_among_all(op, x, axis)
    if keepdims:
        return place
    if axis is None:
        return ops.reshape(place, ())
    return ops.squeeze(place, axis=axis)


def _are_there(valid: Any, places: Any, axis: Any) -> bool:
    """Return whether there is an element in each of the places along an axis, or in the one of all."""
    if axis is None or not valid.ndim:  # of one number the axes 0 and -1 are there, too
        return bool(valid.ravel()[places.item()])
    return bool(np.take_along_axis(valid, places, axis).all())


def _place_among_all(op: Any, x: MaskedTensor, axis: Any) -> Any:
    """Return the places, their axis kept, where what is there may be as what stands for missing elements."""
    if not holds(ops.any(x.valid, axis=axis), traced=True):
        raise ValueError(f"{op.__name__}: every element is missing, so there is no place to give")
    known, missing = with_value(x, neutral(op, x)), ~x.valid
    if axis is None:
        known, missing = ops.reshape(known, (-1,)), ops.reshape(missing, (-1,))
    # Stable: of equal elements the first that is there.
    order = ops.argsort(missing, axis=axis or 0)
    first = op(ops.take_along_axis(known, order, axis=axis or 0), axis=axis or 0, keepdims=True)
    place = ops.take_along_axis(order, first, axis=axis or 0)
    if axis is None:
        return ops.reshape(place, (1,) * x.ndim)
    return place


@implements(ops.average, MaskedTensor)
def average_masked(
    x: Any, /, *, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """Average what is there with a weight that is there; missing where these weights sum to 0."""
    participates = tensor_protocol.types.participates
    if any(participates(type(array)) and not isinstance(array, (MaskedTensor, Tensor)) for array in (x, weights)):
        return decline("an average of masked arrays with another type of arrays")
    if weights is None:
        weights = ops.ones_like(x.data)
    shares, known = (fit_weights(ops, part, x.shape, axis) for part in (parts(weights)[0], validity_of(weights)))
    known = known & validity_of(x)
    shares = ops.where(known, shares, 0)
    total = ops.sum(shares, axis=axis, keepdims=keepdims)
    present = ops.any(known, axis=axis, keepdims=keepdims) & (total != 0)
    products = ops.where(known, parts(x)[0], 0) * shares
    y = MaskedTensor(ops.sum(products, axis=axis, keepdims=keepdims) / ops.where(present, total, 1), present)
    if returned:
        return y, MaskedTensor(ops.astype(total, y.dtype), present)
    return y


@implements(ops.cov)
def cov_masked(
    x: MaskedTensor, /, *, rowvar: bool = True, correction: float = 1, fweights: Any = None, aweights: Any = None
) -> Any:
    """Estimate each covariance from the observations that are there in both variables, as `numpy.ma.cov` does."""
    if x.ndim > 2 or fweights is not None or aweights is not None:
        return decline("covariances of masked arrays are of one or two axes, without weights; write x.filled(value)")
    if x.ndim < 2:
        x = ops.reshape(x, (1, -1))
    elif not rowvar:
        x = ops.matrix_transpose(x)
    deviations = with_value(x - mean_masked(x, axis=1, keepdims=True), 0)
    known = ops.astype(x.valid, ops.real(deviations).dtype)
    freedom = known @ known.T - correction
    c = deviations @ ops.conj(deviations).T / ops.where(freedom > 0, freedom, 1)
    covariances = MaskedTensor(c, freedom > 0)
    if covariances.shape == (1, 1):
        return ops.reshape(covariances, ())
    return covariances


@implements(ops.corrcoef)
def corrcoef_masked(x: MaskedTensor, /, *, rowvar: bool = True) -> Any:
    c = cov_masked(x, rowvar=rowvar)
    if isinstance(c, MaskedTensor):
        return scale_covariances(ops, c, linalg.diagonal(c) if c.ndim else c)
    return c
