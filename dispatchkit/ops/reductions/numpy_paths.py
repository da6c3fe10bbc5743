"""Fast paths for NumPy arrays of reductions that leave out NaN: as if there were none, until a result is NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.backends.sums import HALF, SINGLE, total
from dispatchkit.declare.decorators import body_on_numpy
from dispatchkit.declare.typing import DType
from dispatchkit.ops.reductions.nan import nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar, one_correction
from dispatchkit.ops.shared.axes import Axis, count
from dispatchkit.ops.statistics.numpy_paths import DOUBLE_OF, holds_nan, squares

__all__: list[str] = []

_product: Any = np.multiply.reduce
_body_of_sum, _body_of_prod, _body_of_mean = map(body_on_numpy, (nansum, nanprod, nanmean))


@nansum.def_numpy
def nansum_numpy(x: Any, /, *, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Any:
    if dtype is not None:
        return _body_of_sum(x, axis=axis, dtype=dtype, keepdims=keepdims)
    y = total(x, axis=axis, keepdims=keepdims)
    if x.dtype.kind in DOUBLE_OF or not holds_nan(y):
        return y
    return total(np.where(np.isnan(x), 0, x), axis=axis, keepdims=keepdims)


@nanprod.def_numpy
def nanprod_numpy(x: Any, /, *, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Any:
    if dtype is not None:
        return _body_of_prod(x, axis=axis, dtype=dtype, keepdims=keepdims)
    y = _product(x, axis, None, None, keepdims)
    if x.dtype.kind in DOUBLE_OF or not holds_nan(y):
        return y
    return _product(np.where(np.isnan(x), 1, x), axis, None, None, keepdims)


@nanmean.def_numpy
def nanmean_numpy(x: Any, /, *, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Any:
    if dtype is not None or x.size < 2:
        return _body_of_mean(x, axis=axis, dtype=dtype, keepdims=keepdims)
    if x.dtype is HALF:
        return nanmean_numpy(x.astype(SINGLE), axis=axis, keepdims=keepdims).astype(HALF)
    y = total(x, axis=axis, dtype=DOUBLE_OF.get(x.dtype.kind), keepdims=keepdims)
    if not holds_nan(y):
        return y / count(x.shape, axis)
    gaps = np.isnan(x)
    y = total(np.where(gaps, 0, x), axis=axis, keepdims=keepdims)
    return _per_element(y, count(x.shape, axis) - total(gaps, axis=axis, dtype=np.intp, keepdims=keepdims), 0)


def _per_element(y: Any, found: Any, correction: float) -> Any:
    """Return totals divided by numbers of elements less a correction; NaN where no more than that are found."""
    some = found > max(correction, 0)
    return np.where(some, y / np.where(some, found - correction, 1).astype(y.real.dtype), np.nan)


def _nan_variance(x: Any, axis: Axis, correction: float, keepdims: bool) -> Any:
    whole = total(x, axis=axis, dtype=DOUBLE_OF.get(x.dtype.kind), keepdims=True)
    n = count(x.shape, axis)
    if n > correction and not holds_nan(whole):
        return total(squares(x, whole / n), axis=axis, keepdims=keepdims) / (n - correction)
    gaps = np.isnan(x)
    found = n - total(gaps, axis=axis, dtype=np.intp, keepdims=True)
    mean = _per_element(total(np.where(gaps, 0, x), axis=axis, keepdims=True), found, 0)
    y = total(np.where(gaps, 0, squares(x, mean)), axis=axis, keepdims=True)
    y = _per_element(y, found, correction)
    return y if keepdims else y.squeeze(axis)


def _declare_spread(operation: Any, root: Callable[[Any], Any]) -> None:
    """Compute a variance, or a root of it, without its NaN."""
    body = body_on_numpy(operation)

    def compute(
        x: Any,
        /,
        *,
        axis: Axis = None,
        dtype: DType = None,
        correction: float = 0.0,
        ddof: float | None = None,
        keepdims: bool = False,
    ) -> Any:
        if dtype is not None or x.size < 2:
            return body(x, axis=axis, dtype=dtype, correction=correction, ddof=ddof, keepdims=keepdims)
        wide = x.astype(SINGLE) if x.dtype is HALF else x
        y = root(_nan_variance(wide, axis, one_correction(operation.__name__, correction, ddof), keepdims))
        return y.astype(HALF) if x.dtype is HALF else y

    operation.def_numpy(compute)


_declare_spread(nanvar, lambda variance: variance)
_declare_spread(nanstd, np.sqrt)


def _without_nan(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Return an extreme that leaves out NaN in one pass, from the reduction of NumPy's function of pairs that does."""

    def extreme(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return reduce(x, axis, None, None, keepdims)

    return extreme


nanmax.def_numpy(_without_nan(np.fmax.reduce))
nanmin.def_numpy(_without_nan(np.fmin.reduce))
