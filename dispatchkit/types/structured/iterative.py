"""What has no closed form, estimated by products with the matrix alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dispatchkit import autograd, linalg, ops, random
from dispatchkit.graph.recording import no_grad
from dispatchkit.random import Generator
from dispatchkit.tensor import Tensor

__all__ = ["LogdetEstimate", "estimate_logdet"]


class LogdetEstimate(NamedTuple):
    """What `estimate_logdet` gives: an estimate, and its standard error over the probes."""

    logabsdet: Tensor
    error: float


def estimate_logdet(
    matrix: Any, *, probes: int = 30, steps: int = 30, generator: Generator | None = None, rtol: float = 1e-8
) -> LogdetEstimate:
    """Estimate the logarithm of the determinant of a symmetric positive definite matrix by random vectors.

    Parameters
    ----------
    matrix : matrix of shape (n, n): a tensor, or any type with a rule for `matmul` with tensors of shape (n, k)
    probes : number of random vectors of ±1, at least 2
    steps : of Lanczos' method for each of them
    generator : draws the vectors; by default the one of `manual_seed`
    rtol : of the systems that the derivative solves by `linalg.cg`

    Returns
    -------
    LogdetEstimate : the estimate, a 0-D tensor, and its standard error, which falls as ``1 / sqrt(probes)``; the error
        of the quadrature, which falls geometrically with `steps`, is not in it

    Raises
    ------
    ValueError : if the matrix is not square, or there are less than 2 probes or 1 step
    numpy.linalg.LinAlgError : if the matrix shows not to be positive definite

    Notes
    -----
    ``log det A = E[zᵀ log(A) z]`` for vectors z of independent signs (Hutchinson); each term is a quadrature whose
    nodes and weights are eigenvalues and eigenvectors of the matrix of Lanczos' method started at z. The first
    derivative is that of ``E[zᵀ A⁻¹ dA z]`` with the same vectors, in both modes; a second one in reverse mode is
    refused. Source: S. Ubaru, J. Chen and Y. Saad, Fast estimation of tr(f(A)) via stochastic Lanczos quadrature, SIAM
    J. Matrix Anal. Appl. 38 (2017) 1075-1099.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.types.structured import estimate_logdet
    >>> t = dk.types.ToeplitzTensor(dk.exp(-dk.arange(200.0)) + dk.where(dk.arange(200) == 0, 1.0, 0.0))
    >>> found = estimate_logdet(t, generator=dk.Generator(0))
    >>> bool(abs(found.logabsdet - dk.linalg.slogdet(t).logabsdet) < 3 * found.error)
    True
    """
    shape = tuple(matrix.shape)
    if len(shape) != 2 or shape[0] != shape[1] or probes < 2 or steps < 1:
        raise ValueError(
            f"estimate_logdet: it takes a square matrix, 2 or more probes and 1 or more steps, found shape {shape}, "
            f"{probes} probes and {steps} steps"
        )
    dtype = matrix.dtype if np.dtype(matrix.dtype).kind == "f" else np.float64
    signs = ops.astype(2 * random.randint(0, 2, shape=(shape[0], probes), generator=generator) - 1, dtype)
    with no_grad():
        terms = _quadratures(matrix, signs, min(steps, shape[0]))
    value, error = ops.mean(terms), float(ops.std(terms, correction=1)) / probes**0.5
    slope = ops.matmul(matrix, signs)
    if not (slope.requires_grad or slope.is_tracer):
        return LogdetEstimate(value, error)
    with no_grad():
        solved = linalg.cg(matrix, signs, rtol=rtol).detach()
    # Of value zero: what the derivative is taken of.
    change = ops.sum(solved * (slope - slope.detach())) / probes
    return LogdetEstimate(value + _Once.apply(change), error)


class _Once(autograd.Function):
    """The identity, with a first derivative alone."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    @autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g

    @staticmethod
    def jvp(ctx: Any, t: Tensor) -> Tensor:
        return t


def _quadratures(matrix: Any, signs: Tensor, steps: int) -> Tensor:
    """Return the estimate of ``zᵀ log(A) z`` for each column z, by the recurrence of Lanczos in exact arithmetic.

    Raises
    ------
    numpy.linalg.LinAlgError : if an eigenvalue of the small matrices is not positive
    """
    n, probes = signs.shape
    tridiagonal = np.zeros((probes, steps, steps))
    before, now, beta = ops.zeros_like(signs), signs / n**0.5, ops.zeros((probes,), dtype=signs.dtype)
    for k in range(steps):
        after = ops.matmul(matrix, now).detach() - beta * before
        alpha = ops.sum(after * now, axis=0)
        after = after - alpha * now
        beta = linalg.vector_norm(after, axis=0)
        tridiagonal[:, k, k] = np.asarray(alpha)
        if k + 1 < steps:
            tridiagonal[:, k, k + 1] = tridiagonal[:, k + 1, k] = np.asarray(beta)
            # Where the vectors span an invariant space the rest is decoupled by a zero, and has no weight.
            spent = beta <= 1e-12 * ops.abs(alpha)
            beta = ops.where(spent, 0.0, beta)
            before, now = now, ops.where(spent, now, after / ops.where(spent, 1.0, beta))
    values, vectors = np.linalg.eigh(tridiagonal)
    weights = vectors[:, 0, :] ** 2
    if np.any(values[weights > 1e-14] <= 0):
        raise np.linalg.LinAlgError("estimate_logdet: the matrix is not positive definite")
    logarithms = np.log(np.where(values > 0, values, 1.0))
    return ops.asarray(n * np.sum(weights * logarithms, axis=1), dtype=signs.dtype)
