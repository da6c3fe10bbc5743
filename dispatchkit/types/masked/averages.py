"""Averages and covariances of masked arrays, of what is there in all of the arrays that a product is of."""

from __future__ import annotations

from typing import Any

from dispatchkit import linalg, ops
from dispatchkit.ops.statistics.averages import fit_weights, scale_covariances
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.types.masked.masked import MaskedTensor, parts, validity_of, with_value
from dispatchkit.types.masked.reductions import mean_masked

__all__: list[str] = []

implements = tensor_protocol.implements


@implements(ops.average, MaskedTensor)
def average_masked(
    x: Any, /, *, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """Average what is there with a weight that is there; missing where these weights sum to 0."""
    if weights is None:
        weights = ops.ones_like(x.data)
    shares, known = (fit_weights(ops, part, x.shape, axis) for part in (parts(weights)[0], validity_of(weights)))
    known = known & validity_of(x)
    shares = ops.where(known, shares, 0)
    total = ops.sum(shares, axis=axis, keepdims=keepdims)
    present = ops.any(known, axis=axis, keepdims=keepdims) & (total != 0)
    products = ops.where(known, parts(x)[0], 0) * shares
    y = MaskedTensor(ops.sum(products, axis=axis, keepdims=keepdims) / ops.where(present, total, 1), present)
    return (y, MaskedTensor(ops.astype(total, y.dtype), present)) if returned else y


@implements(ops.cov)
def cov_masked(
    x: MaskedTensor, /, *, rowvar: bool = True, correction: float = 1, fweights: Any = None, aweights: Any = None
) -> Any:
    """Estimate each covariance from the observations that are there in both variables, as `numpy.ma.cov` does."""
    if x.ndim > 2 or fweights is not None or aweights is not None:
        return decline("covariances of masked arrays are of one or two axes, without weights; write x.filled(value)")
    x = ops.reshape(x, (1, -1)) if x.ndim < 2 else x if rowvar else ops.matrix_transpose(x)
    deviations = with_value(x - mean_masked(x, axis=1, keepdims=True), 0)
    known = ops.astype(x.valid, ops.real(deviations).dtype)
    freedom = known @ known.T - correction
    c = deviations @ ops.conj(deviations).T / ops.where(freedom > 0, freedom, 1)
    made = MaskedTensor(c, freedom > 0)
    return ops.reshape(made, ()) if made.shape == (1, 1) else made


@implements(ops.corrcoef)
def corrcoef_masked(x: MaskedTensor, /, *, rowvar: bool = True) -> Any:
    c = cov_masked(x, rowvar=rowvar)
    return scale_covariances(ops, c, linalg.diagonal(c) if c.ndim else c) if isinstance(c, MaskedTensor) else c
