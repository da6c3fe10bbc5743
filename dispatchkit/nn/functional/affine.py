"""Linear maps with a bias: `linear`, `bilinear`."""

from __future__ import annotations

from math import prod
from typing import Any

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.nn.functional.shapes import FUNCTIONAL, expect
from dispatchkit.ops.shared.arrays import conjugate, shape_of
from dispatchkit.protocol.kinds import kinds

__all__ = ["linear"]


@operation(
    kind=kinds.function,
    namespace=FUNCTIONAL,
    samples=[
        sample(draw(2, 3), draw(4, 3), draw(4)),
        sample(draw(2, 3), draw(4, 3)),
        sample(draw(3), draw(2, 3), draw(2)),
        sample(draw(2, 2, 3), draw(2, 3), draw(2)),
        sample(draw(2, 3), draw(3), draw()),
        sample(draw(0, 3), draw(2, 3), draw(2)),
    ],
)
def linear(xp: Namespace, x: Array, weight: Array, /, bias: Array | None = None) -> Array:
    """Multiply vectors by a matrix and add a bias.

    Parameters
    ----------
    x : array of shape (..., in_features)
    weight : array of shape (out_features, in_features), or (in_features,)
    bias : array of shape (out_features,), or () for a weight of one axis; none is added if None

    Returns
    -------
    array of shape (..., out_features), or (...) for a weight of one axis

    Raises
    ------
    ValueError : if the shapes do not fit

    Notes
    -----
    ``x @ weight.T + bias``, with cotangents ``g @ weight``, ``g.T @ x`` and the sum of ``g``. Source: PyTorch,
    `torch.nn.functional.linear`.

    Examples
    --------
    >>> dk.nn.functional.linear(dk.asarray([1.0, 2.0]), dk.asarray([[1.0, 1.0], [0.0, 3.0]]), dk.asarray([0.5, 0.0]))
    tensor([3.5000, 6.0000])
    """
    _check(x, weight, bias)
    if xp is numpy_namespace:
        return _on_numpy(x, weight, bias)
    y = xp.matmul(x, xp.matrix_transpose(weight) if len(weight.shape) == 2 else weight)
    return y if bias is None else xp.add(y, bias)


def _check(x: Any, weight: Any, bias: Any) -> None:
    of_x, of_weight = shape_of(x), shape_of(weight)
    of_bias = of_weight[:-1] if bias is None else shape_of(bias)
    if len(of_weight) in (1, 2) and of_x and of_x[-1] == of_weight[-1] and of_bias == of_weight[:-1]:
        return
    expect(linear, "weight", of_weight, len(of_weight) in (1, 2), "(out_features, in_features)")
    right, behind = bool(of_x) and of_x[-1] == of_weight[-1], f"for a weight of shape {of_weight}"
    expect(linear, "x", of_x, right, f"(..., {of_weight[-1]}) {behind}")
    expect(linear, "bias", of_bias, False, f"{of_weight[:-1]} {behind}")


def _on_numpy(x: Any, weight: Any, bias: Any) -> Any:
    """Compute without a second array for the sum, and with one product of matrices for all of a batch."""
    if weight.ndim == 2 and x.ndim > 2:
        rows = x.reshape(prod(x.shape[:-1]), x.shape[-1])
        y = (rows @ weight.T).reshape(*x.shape[:-1], weight.shape[0])
    else:
        y = x @ weight.T
    if bias is None:
        return y
    if y.ndim == 0 or y.dtype != bias.dtype:
        return y + bias
    y += bias
    return y


@linear.def_vjp("x")
def linear_vjp_x(xp, g, weight):
    weight = conjugate(xp, weight)
    return g[..., None] * weight if weight.ndim == 1 else xp.matmul(g, weight)


@linear.def_vjp("weight")
def linear_vjp_weight(xp, g, x):
    x = conjugate(xp, x)
    rows = xp.reshape(x, (prod(x.shape[:-1]), x.shape[-1])) if x.ndim != 2 else x
    if g.ndim < x.ndim:
        return xp.matmul(xp.reshape(g, (rows.shape[0],)), rows)
    # In the layout of the weight, so that an optimiser's step runs through both in order.
    return xp.matmul(xp.matrix_transpose(xp.reshape(g, (rows.shape[0], g.shape[-1]))), rows)


@linear.def_vjp("bias")
def linear_vjp_bias(xp, g, weight):
    return xp.sum(g, axis=tuple(range(g.ndim - weight.ndim + 1)))


@linear.def_jvp("x")
def linear_jvp_x(xp, t, weight):
    return xp.matmul(t, xp.matrix_transpose(weight) if weight.ndim == 2 else weight)


@linear.def_jvp("weight")
def linear_jvp_weight(xp, t, x, weight):
    return xp.matmul(x, xp.matrix_transpose(t) if weight.ndim == 2 else t)


@linear.def_jvp("bias")
def linear_jvp_bias(xp, t, y):
    return xp.broadcast_to(t, y.shape)
