"""What Gaussian processes ask of positive definite matrices: diagonals added, quadratic forms, roots."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.tensor import Tensor
from dispatchkit.types.structured.base import StructuredTensor, as_tensor, without_axis
from dispatchkit.types.structured.diagonal import DiagonalTensor, ScalarTensor
from dispatchkit.types.structured.lazy import ProductTensor
from dispatchkit.types.structured.systems import scipy_module
from dispatchkit.types.structured.triangular import TriangularTensor


class InvQuadLogdet(NamedTuple):
    """What `inv_quad_logdet` gives.

    Parameters
    ----------
    inv_quad : the quadratic form of the inverse, of shape (...) or (..., k)
    logdet : the logarithm of the determinant, of shape (...)

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.types.structured import inv_quad_logdet
    >>> inv_quad_logdet(dk.types.ScalarTensor(2, 1.0), dk.ones(2)).inv_quad
    tensor(2.)
    """

    inv_quad: Tensor
    logdet: Tensor


def add_diagonal(matrix: Any, diagonal: Any) -> Any:
    """Add numbers to the diagonal of a matrix, such as the variance of noise.

    Parameters
    ----------
    matrix : structured matrix or tensor of shape (..., n, n)
    diagonal : a number, or a tensor of shape (), (1,) or (..., n)

    Returns
    -------
    StructuredTensor : the sum with a `ScalarTensor` where there is one number, else with a `DiagonalTensor`; one of a
        tensor, too

    Raises
    ------
    ValueError : if the matrix is not square, or the diagonal has another length

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.types.structured import add_diagonal
    >>> add_diagonal(dk.types.ToeplitzTensor([2.0, 1.0]), 0.5)
    ToeplitzTensor(tensor([2.5000, 1.0000]))
    """
    n = matrix.shape[-1]
    numbers = isinstance(diagonal, (int, float, complex))
    dtype = None
    if numbers:
        dtype = np.result_type(matrix.dtype, diagonal)
    values = ops.asarray(diagonal, dtype=dtype)
    if matrix.shape[-2] != n or (values.ndim and values.shape[-1] not in (1, n)):
        raise ValueError(
            f"add_diagonal: it takes a square matrix and a diagonal of its length, found shapes {tuple(matrix.shape)} "
            f"and {values.shape}"
        )
    if values.shape in ((), (1,)):
        return matrix + ScalarTensor(n, ops.reshape(values, ()))
    return matrix + DiagonalTensor(ops.broadcast_to(values, (*values.shape[:-1], n)))


def inv_quad(matrix: Any, right: Tensor, *, reduce: bool = True) -> Tensor:
    """Return ``rightᴴ @ matrix⁻¹ @ right`` for each column.

    Parameters
    ----------
    matrix : structured matrix or tensor of shape (..., n, n)
    right : tensor of shape (n,) or (..., n, k)
    reduce : whether the result is the sum over the columns

    Returns
    -------
    Tensor : of shape (...), or (..., k) where it is not reduced

    Raises
    ------
    numpy.linalg.LinAlgError : if the matrix is singular

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.types.structured import inv_quad
    >>> inv_quad(dk.types.DiagonalTensor([1.0, 2.0]), dk.asarray([[1.0, 2.0], [2.0, 4.0]]), reduce=False)
    tensor([ 3., 12.])
    """
    right = as_tensor("inv_quad", "right", right, 1)

    def of_columns(columns: Tensor) -> Any:
        return ops.real(linalg.vecdot(columns, linalg.solve(matrix, columns), axis=-2))

    products: Tensor
    if right.ndim == 1:
        products = without_axis(of_columns(right[:, None]), -1)
    else:
        products = of_columns(right)
    if reduce and right.ndim > 1:
        return ops.sum(products, axis=-1)
    return products


def inv_quad_logdet(matrix: Any, right: Tensor, *, reduce: bool = True) -> InvQuadLogdet:
    """Return what the logarithm of a Gaussian density needs: ``rightᴴ @ matrix⁻¹ @ right`` and ``log det matrix``.

    Parameters
    ----------
    matrix : Hermitian positive definite structured matrix, or tensor, of shape (..., n, n)
    right : tensor of shape (n,) or (..., n, k)
    reduce : whether the quadratic form is summed over the columns

    Returns
    -------
    InvQuadLogdet : tensors of shape (...), the first one of shape (..., k) where it is not reduced

    Raises
    ------
    numpy.linalg.LinAlgError : if the matrix shows not to be positive definite

    Notes
    -----
    A structure that solves systems does so, and computes its determinant, by the sign of which it is judged; any other,
    such as a `SumTensor`, is factorized by Cholesky's method.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.types.structured import inv_quad_logdet
    >>> inv_quad_logdet(dk.types.DiagonalTensor([1.0, 2.0]), dk.asarray([1.0, 2.0]))
    InvQuadLogdet(inv_quad=tensor(3.), logdet=tensor(0.6931))
    """
    if isinstance(matrix, StructuredTensor) and type(matrix).solve_columns is StructuredTensor.solve_columns:
        root = root_decomposition(matrix)
        matrix = ProductTensor(root, _adjoint(root))
    sign, logdet = linalg.slogdet(matrix)
    _require_positive("inv_quad_logdet", ops.real(sign), "determinant")
    return InvQuadLogdet(inv_quad(matrix, right, reduce=reduce), logdet)


def root_decomposition(matrix: Any) -> StructuredTensor:
    """Return a lower triangular matrix ``R`` with ``R @ Rᴴ = matrix``: the factor of Cholesky, as a structured matrix.

    Parameters
    ----------
    matrix : Hermitian positive definite structured matrix, or tensor, of shape (..., n, n)

    Returns
    -------
    StructuredTensor : of the structure of the matrix where that is kept, else a `TriangularTensor`

    Raises
    ------
    numpy.linalg.LinAlgError : if the matrix is not positive definite

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.types.structured import root_decomposition
    >>> root_decomposition(dk.types.DiagonalTensor([4.0, 9.0])) @ dk.ones(2)  # a sample, if they are random
    tensor([2., 3.])
    """
    factor = linalg.cholesky(matrix)
    if isinstance(factor, StructuredTensor):
        return factor
    return TriangularTensor(factor)


def root_inv_decomposition(matrix: Any) -> StructuredTensor:
    """Return an upper triangular matrix ``R`` with ``R @ Rᴴ = matrix⁻¹``.

    Parameters
    ----------
    matrix : Hermitian positive definite structured matrix, or tensor, of shape (..., n, n)

    Returns
    -------
    StructuredTensor : of the structure of the inverse of the root

    Raises
    ------
    numpy.linalg.LinAlgError : if the matrix is not positive definite

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.types.structured import root_inv_decomposition
    >>> root_inv_decomposition(dk.types.DiagonalTensor([4.0, 16.0]))
    DiagonalTensor([0.5000, 0.2500])
    """
    root: StructuredTensor = linalg.inv(_adjoint(root_decomposition(matrix)))
    return root


def sqrt_inv_matmul(matrix: Any, right: Tensor) -> Tensor:
    """Return ``matrix^(-1/2) @ right``, with the inverse of the positive definite square root.

    Parameters
    ----------
    matrix : Hermitian positive definite structured matrix, or tensor, of shape (..., n, n)
    right : tensor of shape (n,) or (..., n, k)

    Returns
    -------
    Tensor : of the shape of the solution of a system

    Raises
    ------
    numpy.linalg.LinAlgError : if the matrix is not positive definite

    Notes
    -----
    It is a sum over ``(matrix + shift I)⁻¹ @ right``, of as many shifts as the ratio of the eigenvalues asks for (some
    20 where it is 1000), exact up to rounding: structures that keep a multiple of the identity and solve systems do so
    here. Derivatives are by each element, as those of `solve`, and need no distinct eigenvalues. The eigenvalues have
    to be numbers: a batch of matrices has them, a matrix under `vmap` does not. Source: N. Hale, N. J. Higham and L. N.
    Trefethen, Computing A^α, log(A), and related matrix functions by contour integrals, SIAM J. Numer. Anal. 46 (2008)
    2505-2523, method 3.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.types.structured import sqrt_inv_matmul
    >>> sqrt_inv_matmul(dk.types.DiagonalTensor([4.0, 16.0]), dk.ones(2))
    tensor([0.5000, 0.2500])
    """
    right = as_tensor("sqrt_inv_matmul", "right", right, 1)
    values = linalg.eigvalsh(matrix.detach())
    if not values.size:
        return linalg.solve(matrix, right)
    _require_positive("sqrt_inv_matmul", values, "least eigenvalue")
    low, ratio = float(ops.min(values)), float(ops.min(values) / ops.max(values))
    special = scipy_module("special", "sqrt_inv_matmul")
    period, count = special.ellipkm1(ratio), math.ceil(2 * (3 - math.log(ratio)))
    sn, cn, dn, _ = special.ellipj((np.arange(count) + 0.5) * period / count, 1 - ratio)
    weights = 2 * period * low**0.5 / (math.pi * count) * dn / cn**2
    parts = (
        weight * linalg.solve(add_diagonal(matrix, shift), right)
        for weight, shift in zip(weights.tolist(), (low * (sn / cn) ** 2).tolist(), strict=True)
    )
    return functools.reduce(ops.add, parts)


def _adjoint(x: Any) -> Any:
    if ops.isdtype(x.dtype, "complex floating"):
        return ops.conj(ops.matrix_transpose(x))
    return ops.matrix_transpose(x)


def _require_positive(name: str, values: Tensor, what: str) -> None:
    if not holds(values > 0, traced=True):
        raise np.linalg.LinAlgError(f"{name}: the matrix is not positive definite: its {what} is not positive")
