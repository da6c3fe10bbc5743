"""Cotangents brought to what they are of."""

from __future__ import annotations

from typing import Any

from dispatchkit.backends.arrays import same_dtype

__all__ = ["project"]


def project(xp: Any, g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Bring a cotangent to the shape and dtype of its primal.

    Axes that broadcasting stretched are summed; the gradient of something real is real.

    Parameters
    ----------
    xp : namespace that computes on `g`
    g : the cotangent
    shape, dtype : of the value whose gradient it is
    """
    if g.shape != shape:
        extra = g.ndim - len(shape)
        axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1)
        if axes:
            g = xp.sum(g, axis=axes)
        if g.shape != shape:
            g = xp.reshape(g, shape)
    if not same_dtype(g.dtype, dtype):
        if xp.isdtype(g.dtype, "complex floating") and not xp.isdtype(dtype, "complex floating"):
            g = xp.real(g)
        if not same_dtype(g.dtype, dtype):
            g = xp.astype(g, dtype)
    return g
