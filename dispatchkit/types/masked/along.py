"""Masked arrays along an axis: order, cumulative sums, differences, softmax."""

from __future__ import annotations

from typing import Any

from dispatchkit import ops
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.types.masked.masked import MaskedTensor, neutral, safe, with_value

__all__ = ["sort_masked"]

implements = tensor_protocol.implements


@implements(ops.argsort)
def argsort_masked(x: MaskedTensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    by_value = ops.argsort(safe(ops.argsort, x), axis=axis, descending=descending, stable=True)
    missing = ops.take_along_axis(~x.valid, by_value, axis=axis)
    return ops.take_along_axis(by_value, ops.argsort(missing, axis=axis, stable=True), axis=axis)


@implements(ops.sort)
def sort_masked(x: MaskedTensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the elements in order, the missing ones last."""
    order = argsort_masked(x, axis=axis, descending=descending)
    return ops.take_along_axis(x, order, axis=axis)


def _register_cumulative() -> None:
    for function in (ops.cumulative_sum, ops.cumulative_prod):

        def cumulative_masked(
            x: MaskedTensor,
            /,
            *,
            axis: Any = None,
            dtype: Any = None,
            include_initial: bool = False,
            op: Any = function,
        ) -> Any:
            if include_initial:
                return decline("the initial element has no place in the mask")
            return MaskedTensor(op(with_value(x, neutral(op, x)), axis=axis, dtype=dtype), ops.clone(x.valid))

        cumulative_masked.__name__ = cumulative_masked.__qualname__ = f"{function.__name__}_masked"
        implements(function, MaskedTensor)(cumulative_masked)


_register_cumulative()


@implements(ops.diff, MaskedTensor)
def diff_masked(x: MaskedTensor, /, n: int = 1, *, axis: int = -1) -> MaskedTensor:
    if n < 1:
        return x
    length, along = x.shape[axis], axis % x.ndim
    ahead, behind = (tuple([slice(None)] * along + [part]) for part in (slice(1, None), slice(0, max(length - 1, 0))))
    step = ops.not_equal(x[ahead], x[behind]) if x.dtype == ops.bool else x[ahead] - x[behind]
    return diff_masked(step, n - 1, axis=axis)


@implements(ops.softmax, MaskedTensor)
def softmax_masked(x: MaskedTensor, /, *, axis: Any = -1) -> MaskedTensor:
    return MaskedTensor(ops.softmax(_lowest(x), axis=axis), ops.clone(x.valid))


@implements(ops.log_softmax, MaskedTensor)
def log_softmax_masked(x: MaskedTensor, /, *, axis: Any = -1) -> MaskedTensor:
    return MaskedTensor(ops.log_softmax(_lowest(x), axis=axis), ops.clone(x.valid))


@implements(ops.logsumexp, MaskedTensor)
def logsumexp_masked(x: MaskedTensor, /, *, axis: Any = None, keepdims: bool = False) -> MaskedTensor:
    result = ops.logsumexp(_lowest(x), axis=axis, keepdims=keepdims)
    return MaskedTensor(result, ops.any(x.valid, axis=axis, keepdims=keepdims))


def _lowest(x: MaskedTensor) -> Any:
    """Return the data with a finite number in the places of missing elements whose exponential is zero."""
    x = x if x.dtype.kind in "fc" else ops.astype(x, ops.float64)
    return with_value(x, ops.finfo(x.dtype).min)
