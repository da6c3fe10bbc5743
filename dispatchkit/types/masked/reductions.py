"""Reductions of masked arrays, which skip what is missing, and are missing where nothing is left."""

from __future__ import annotations

from typing import Any

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.statistics.quantiles import between
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.types.masked.along import sort_masked
from dispatchkit.types.masked.masked import MaskedTensor, neutral, with_value

__all__: list[str] = []

implements = tensor_protocol.implements


def _register_reductions() -> None:
    for function in (ops.sum, ops.prod, ops.max, ops.min, ops.all, ops.any, ops.count_nonzero):

        def reduce_masked(
            x: MaskedTensor, /, *, axis: Any = None, keepdims: bool = False, op: Any = function, **kwargs: Any
        ) -> MaskedTensor:
            result = op(with_value(x, neutral(op, x)), axis=axis, keepdims=keepdims, **kwargs)
            left = ops.any(x.valid, axis=axis, keepdims=keepdims)
            # The extreme of nothing is an infinity; a gradient is not to see it.
            return MaskedTensor(ops.where(left, result, ops.asarray(0, dtype=result.dtype, device=result.device)), left)

        reduce_masked.__name__ = reduce_masked.__qualname__ = f"{function.__name__}_masked"
        implements(function, MaskedTensor)(reduce_masked)


_register_reductions()


def _count(x: MaskedTensor, axis: Any, keepdims: bool) -> Any:
    return ops.sum(x.valid, axis=axis, keepdims=keepdims)


@implements(ops.mean)
def mean_masked(x: MaskedTensor, /, *, axis: Any = None, keepdims: bool = False) -> MaskedTensor:
    count = _count(x, axis, keepdims)
    total = ops.sum(with_value(x, 0), axis=axis, keepdims=keepdims)
    return MaskedTensor(total / ops.astype(ops.maximum(count, 1), ops.real(total / 1).dtype), count > 0)


def _centred(x: MaskedTensor, axis: Any, correction: float, keepdims: bool) -> tuple[Any, Any]:
    """Return what elements differ by from their mean, 0 where they are missing, and the degrees of freedom."""
    return with_value(x - mean_masked(x, axis=axis, keepdims=True), 0), _count(x, axis, keepdims) - correction


@implements(ops.var)
def var_masked(x: MaskedTensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    centred, freedom = _centred(x, axis, correction, keepdims)
    parts = (ops.real(centred), ops.imag(centred)) if x.dtype.kind == "c" else (centred,)
    total = ops.sum(sum(map(ops.square, parts)), axis=axis, keepdims=keepdims)
    return MaskedTensor(total / ops.astype(ops.where(freedom > 0, freedom, 1), total.dtype), freedom > 0)


@implements(ops.std)
def std_masked(x: MaskedTensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    centred, freedom = _centred(x, axis, correction, keepdims)
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
    if method != "linear" or isinstance(axis, tuple) or len(getattr(q, "shape", ())) or isinstance(q, MaskedTensor):
        return decline("quantiles are found along one axis or all, one at a time, by interpolation")
    if x.dtype.kind == "c":
        return decline("complex numbers have no order")
    flat = x if axis is not None else ops.reshape(x, (-1,))
    along = 0 if axis is None else axis
    line = sort_masked(flat, axis=along)
    place = ops.maximum(_count(flat, along, True) - 1, 0) * q
    low, high = ops.floor(place), ops.ceil(place)
    numbers = with_value(line, 0) / 1  # of small integers, differences overflow
    below, above = (ops.take_along_axis(numbers, ops.astype(index, ops.int64), axis=along) for index in (low, high))
    result = between(ops, below, above, ops.astype(place - low, numbers.dtype))
    undefined = ops.any(ops.isnan(with_value(flat, 0)), axis=along, keepdims=True)
    result = ops.where(undefined, float("nan"), result)
    made = MaskedTensor(result, _count(flat, along, True) > 0)
    if axis is None:
        return ops.reshape(made, (1,) * x.ndim if keepdims else ())
    return made if keepdims else ops.squeeze(made, axis=along)


@implements(linalg.trace)
def trace_masked(x: MaskedTensor, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return ops.sum(linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype)


def _register_places() -> None:
    for function in (ops.argmax, ops.argmin):

        def place_masked(x: MaskedTensor, /, *, axis: Any = None, keepdims: bool = False, op: Any = function) -> Any:
            if not holds(ops.any(x.valid, axis=axis), traced=True):
                raise ValueError(f"{op.__name__}: every element is missing, so there is no place to give")
            # Stable: of equal elements the first that is there.
            order = ops.argsort(~x.valid if axis is not None else ops.reshape(~x.valid, (-1,)), axis=axis or 0)
            known = with_value(x, neutral(op, x))
            data = known if axis is not None else ops.reshape(known, (-1,))
            first = op(ops.take_along_axis(data, order, axis=axis or 0), axis=axis or 0, keepdims=True)
            found = ops.take_along_axis(order, first, axis=axis or 0)
            if axis is None:
                return ops.reshape(found, (1,) * x.ndim if keepdims else ())
            return found if keepdims else ops.squeeze(found, axis=axis)

        place_masked.__name__ = place_masked.__qualname__ = f"{function.__name__}_masked"
        implements(function, MaskedTensor)(place_masked)


_register_places()
