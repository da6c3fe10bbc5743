"""Solutions of linear equations in the sense of least squares."""

from __future__ import annotations

from typing import NamedTuple

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import linalg
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared import conjugate, floating, require_finite, require_matrix, shape_of

__all__ = ["lstsq"]


class LstsqResult(NamedTuple):
    """What solves equations in the sense of least squares, and how well.

    Attributes
    ----------
    solution : shape (..., N), or (..., N, K)
    residuals : sums of squares of ``b - a @ solution``, shape (..., K); (..., 0) for M <= N
    rank : of the matrices, with their batch axes
    singular_values : of the matrices, in descending order, shape (..., min(M, N))
    """

    solution: Array
    residuals: Array
    rank: Array
    singular_values: Array


@linalg(
    samples=lambda: [
        sample(draw(4, 2), draw(4)),
        sample(draw(4, 2), draw(4, 3)),
        sample(draw(2, 3), draw(2)),
        sample(draw(2, 4, 2), draw(2, 4)),
        sample(draw(2, 2, 3), draw(2, 1)),
    ]
)
def lstsq(xp: Namespace, a: Array, b: Array, /, *, rcond: float | None = None) -> LstsqResult:
    """Solve systems of linear equations ``a @ y = b`` in the sense of least squares.

    Parameters
    ----------
    a : array of shape (..., M, N)
    b : array of shape (M,), one vector, (..., M), one for each matrix, or (..., M, K), matrices, whose batch axes
        broadcast with those of `a`. What can be read as either is vectors
    rcond : singular values of `a` up to `rcond` times the largest are taken for 0; ``max(M, N) * eps`` by default

    Returns
    -------
    solution : array of shape (..., N), or (..., N, K), of which ``b - a @ solution`` is shortest; where several are,
        as for M < N, the shortest of them
    residuals : real array of shape (..., K), the squares of these lengths; K is 1 for vectors. Where M <= N it is of
        shape (..., 0), as NumPy's is
    rank : integer array with the batch axes of `a`
    singular_values : real array with the batch axes of `a`, and min(M, N) numbers in descending order

    Raises
    ------
    ValueError : if `a` has less than two axes, `b` does not fit it, or `rcond` is negative
    numpy.linalg.LinAlgError : if a matrix holds inf or NaN, or the iteration does not converge

    Notes
    -----
    The solution is ``pinv(a) @ b`` and differentiated as that, which holds while the rank does not change. Of matrices
    with M > N of deficient rank NumPy leaves out the residuals; here they are given, so that no shape depends on the
    values. Source: NumPy, `numpy.linalg.lstsq`; batches as in PyTorch, `torch.linalg.lstsq`.

    Examples
    --------
    >>> a, b = dk.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), dk.tensor([1.0, 3.0, 2.0])
    >>> fit = dk.linalg.lstsq(a, b)
    >>> fit.solution, fit.residuals, fit.rank
    (tensor([1.5000, 0.5000]), tensor([1.5000]), tensor(2))
    """
    require_matrix(lstsq, a, "a")
    vectors = _are_vectors(a, b)
    a, b = floating(xp, a), floating(xp, b)
    if a.dtype != b.dtype:
        dtype = xp.result_type(a.dtype, b.dtype)
        a, b = xp.astype(a, dtype), xp.astype(b, dtype)
    require_finite(a, name="a")
    if vectors:
        b = b[..., None]
    rows, columns = a.shape[-2:]
    singular_values = xp.linalg.svdvals(a)
    cutoff = _cutoff(xp, rcond, max(rows, columns), singular_values)
    solution = xp.linalg.pinv(a, rtol=cutoff) @ b
    rest = b - a @ solution
    squares = rest * rest
    if holds_complex(rest):
        squares = xp.real(rest * conjugate(xp, rest))
    residuals = xp.sum(squares, axis=-2)
    if rows <= columns:
        residuals = residuals[..., :0]
    kept = singular_values > cutoff * singular_values[..., :1]
    rank = xp.sum(xp.astype(kept, xp.int64), axis=-1)
    if vectors:
        solution = solution[..., 0]
    return LstsqResult(solution, residuals, rank, singular_values)


def _are_vectors(a: Array, b: Array) -> bool:
    """Return whether right sides are vectors, and no matrices.

    Raises
    ------
    ValueError : if they do not fit the matrices
    """
    matrices, sides = shape_of(a), shape_of(b)
    rows = matrices[-2]
    vectors = sides in ((rows,), matrices[:-1])
    if not vectors and (len(sides) < 2 or sides[-2] != rows):
        raise ValueError(
            f"{lstsq.__name__}: b must be of shape ({rows},), {matrices[:-1]} or (..., {rows}, K) to fit a of shape "
            f"{matrices}, found {sides}"
        )
    return vectors


def _cutoff(xp: Namespace, rcond: float | None, longest: int, singular_values: Array) -> float:
    """Return up to which part of the largest singular value others are taken for 0."""
    if rcond is None:
        return longest * float(xp.finfo(singular_values.dtype).eps)
    if not rcond >= 0:
        raise ValueError(f"{lstsq.__name__}: rcond must not be negative, found {rcond}")
    return float(rcond)
