"""What further distributions are written with, `torch.distributions.utils`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from dispatchkit.as_torch.distributions.continuous import EULER
from dispatchkit.as_torch.distributions.discrete import clamped
from dispatchkit.as_torch.distributions.distribution import normals, parameters
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import enable_grad

__all__ = ["OF_UTILS"]


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Return numbers and tensors as tensors of one shape."""
    return tuple(parameters(*values)[:-1])


def sum_rightmost(value: Any, dim: int) -> Any:
    """Return the sums over so many last axes."""
    if dim == 0:
        return value
    return xp.sum(value, axis=tuple(range(-dim, 0)))


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Return the logarithms of probabilities, or of the odds.

    Parameters
    ----------
    probs : the probabilities
    is_binary : whether they are of one of two values each
    """
    inside = clamped(probs)
    if is_binary:
        return xp.log(inside) - xp.log1p(-inside)
    return xp.log(inside)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Return the probabilities of logits.

    Parameters
    ----------
    logits : of the last axis together, or each for itself
    is_binary : whether each is for itself
    """
    if is_binary:
        return xp.sigmoid(logits)
    return xp.softmax(logits, axis=-1)


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """Return the elements of lower triangles up to a diagonal, row by row."""
    rows, columns = _places(mat.shape[-1], diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Return matrices whose lower triangles up to a diagonal have elements, row by row."""
    n = 0
    while len(_places(n, diag)[0]) < vec.shape[-1]:
        n += 1
    if len(_places(n, diag)[0]) != vec.shape[-1]:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangle"
        )
    matrix = xp.zeros((*vec.shape[:-1], n, n), dtype=vec.dtype)
    return xp.index_put(matrix, (..., *_places(n, diag)), vec)


def _places(n: int, diag: int) -> tuple[list[int], list[int]]:
    """Return rows and columns of the lower triangle of a matrix."""
    pairs = [(i, j) for i in range(n) for j in range(min(i + diag + 1, n))]
    return [i for i, _ in pairs], [j for _, j in pairs]


class lazy_property(cached_property[Any]):  # noqa: N801  # PyTorch's
    """A property that is computed when it is first read, with its gradient, and then kept.

    Parameters
    ----------
    wrapped : computes it
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        super().__init__(enable_grad(wrapped))


def standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    """Draw normal numbers.

    Parameters
    ----------
    shape, dtype, device : of the tensor
    """
    return normals(shape, xp.empty((), dtype=dtype, device=device))


# What `torch.distributions.utils` has.
OF_UTILS: dict[str, Any] = {
    **{each.__name__: each for each in (broadcast_all, probs_to_logits, logits_to_probs, tril_matrix_to_vec)},
    "vec_to_tril_matrix": vec_to_tril_matrix,
    "clamp_probs": clamped,
    "lazy_property": lazy_property,
    "euler_constant": EULER,
}
