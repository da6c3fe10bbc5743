"""Vectors brought to length 1: `normalize`."""

from __future__ import annotations

from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.nn.functional.shapes import FUNCTIONAL
from dispatchkit.ops.shared.arrays import floating, shape_of
from dispatchkit.ops.shared.axes import normal_axes
from dispatchkit.protocol.kinds import kinds

__all__ = ["normalize"]


@operation(
    kind=kinds.function,
    namespace=FUNCTIONAL,
    samples=[
        sample(draw(2, 3, low=0.5)),
        sample(draw(2, 3, low=0.5), 3.0, axis=0),
        sample(draw(3, low=0.5), 1, axis=0),
        sample(draw(2, 2), axis=1, eps=10.0),
    ],
)
def normalize(xp: Namespace, x: Array, /, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Array:
    """Divide vectors by their norms.

    Parameters
    ----------
    x : array with vectors along an axis
    p : order of the norm
    axis : of the vectors
    eps : the least that is divided by

    Returns
    -------
    floating-point array of the shape of `x`

    Raises
    ------
    ValueError : if there is no such axis

    Notes
    -----
    ``x / max(norm(x), eps)``. Source: PyTorch, `torch.nn.functional.normalize`.

    Examples
    --------
    >>> dk.nn.functional.normalize(dk.asarray([[3.0, 4.0], [0.0, 0.0]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    normal_axes(axis, len(shape_of(x)), normalize.__name__)
    x = floating(xp, x)
    norms = xp.linalg.vector_norm(x, axis=axis, keepdims=True, ord=p)
    return x / xp.maximum(norms, xp.asarray(eps, dtype=norms.dtype))
