"""Systems of equations with Toeplitz matrices, and their determinants, by algorithms that never make the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from typing_extensions import override

from dispatchkit import autograd, fft, ops
from dispatchkit.tensor import Tensor

__all__ = ["LogDeterminant", "Solution", "fast_length", "one_by_one"]


def fast_length(least: int) -> int:
    """Return a length at which Fourier transforms are fast: a product of twos and a few threes and fives."""
    return min(odd << max(-(-least // odd) - 1, 0).bit_length() for odd in (1, 3, 5, 9, 15, 25, 27, 45, 75))


MOST_STEPS = 100  # of conjugate gradients; Levinson's recursion is as fast where more are needed


class Solution(autograd.Function):
    """``solve(T, b)`` for the Toeplitz matrix of a first column and a first row, and b of shape (n, k).

    Derivatives are those of the solution: ``dx = solve(T, db - dT @ x)``.
    """

    @staticmethod
    @override
    def forward(column: Tensor, row: Tensor, b: Tensor) -> Tensor:
        dtype = np.result_type(column.dtype, row.dtype, b.dtype)
        x = solution(*(np.asarray(t.detach()) for t in (column, row, b)))
        return ops.asarray(x, dtype=dtype).to(like=b)

    @staticmethod
    @override
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[:2], output)
        ctx.save_for_forward(*inputs[:2], output)

    @staticmethod
    @override
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        column, row, x = ctx.saved_tensors
        n = column.shape[-1]
        right = Solution.apply(*_adjoint(column, row), g)
        products = ops.sum(_correlated(x, -right), axis=-1)
        return products[n - 1 :], ops.concat([0 * products[:1], ops.flip(products[: n - 1])]), right

    @staticmethod
    @override
    def jvp(ctx: Any, column_t: Tensor | None, row_t: Tensor | None, b_t: Tensor | None) -> Tensor:
        column, row, x = ctx.saved_tensors
        right = ops.zeros_like(x) if b_t is None else b_t
        if column_t is not None or row_t is not None:
            column_t = ops.zeros_like(column) if column_t is None else column_t
            right = right - _times(column_t, ops.zeros_like(row) if row_t is None else row_t, x)
        found: Tensor = Solution.apply(column, row, right)
        return found

    @staticmethod
    @override
    def vmap(info: Any, in_dims: Any, *tensors: Tensor) -> Any:
        return _one_after_another(Solution, info, in_dims, tensors), 0


class LogDeterminant(autograd.Function):
    """Sign and logarithm of the absolute value of the determinant of a real Toeplitz matrix."""

    @staticmethod
    @override
    def forward(column: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        sign, logarithm = log_determinant(*(np.asarray(t.detach()) for t in (column, row)))
        found = ops.asarray([sign, logarithm], dtype=column.dtype).to(like=column)
        return found[0], found[1]

    @staticmethod
    @override
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        ctx.mark_non_differentiable(output[0])

    @staticmethod
    @override
    def backward(ctx: Any, sign: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
        weights = _sums_of_inverse(*ctx.saved_tensors)
        n = ctx.saved_tensors[0].shape[-1]
        lower, upper = weights[n - 1 :], ops.flip(weights[: n - 1])
        return g * lower, g * ops.concat([0 * weights[:1], upper])

    @staticmethod
    @override
    def jvp(ctx: Any, column_t: Tensor | None, row_t: Tensor | None) -> Any:
        column, row = ctx.saved_tensors
        n = column.shape[-1]
        weights = _sums_of_inverse(column, row)
        total = 0 * weights[0]
        if column_t is not None:
            total = total + ops.sum(weights[n - 1 :] * column_t)
        if row_t is not None:
            total = total + ops.sum(ops.flip(weights[: n - 1]) * row_t[1:])
        return None, total

    @staticmethod
    @override
    def vmap(info: Any, in_dims: Any, *tensors: Tensor) -> Any:
        return _one_after_another(LogDeterminant, info, in_dims, tensors), (0, 0)


def _one_after_another(function: Any, info: Any, in_dims: Any, tensors: tuple[Tensor, ...]) -> Any:
    found = [
        function.apply(
            *(t if d is None else ops.take(t, ops.asarray(i), axis=d) for t, d in zip(tensors, in_dims, strict=True))
        )
        for i in range(info.batch_size)
    ]
    if isinstance(found[0], tuple):
        return tuple(ops.stack(list(parts)) for parts in zip(*found, strict=True))
    return ops.stack(found)


def one_by_one(function: Callable[..., Any], vectors: tuple[Tensor, ...], *columns: Tensor) -> list[Tensor]:
    """Return the results of a function of each matrix of a batch, one after the other, in one array each.

    Parameters
    ----------
    function : is given the vectors of one matrix and columns, and gives a tensor or a tuple of them
    vectors : of shape (..., n)
    columns : of shape (..., n, k)
    """
    axes = [*[(x, 1) for x in vectors], *[(x, 2) for x in columns]]
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - own] for x, own in axes))
    if not batch:
        found = function(*vectors, *columns)
        return list(found) if isinstance(found, tuple) else [found]
    fields = [ops.broadcast_to(x, (*batch, *x.shape[x.ndim - own :])) for x, own in axes]
    results = [function(*(x[index] for x in fields)) for index in np.ndindex(batch)]
    listed = [one if isinstance(one, tuple) else (one,) for one in results]
    return [ops.reshape(ops.stack(list(one)), (*batch, *one[0].shape)) for one in zip(*listed, strict=True)]


# On tensors.


def _adjoint(column: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
    """Return first column and first row of the conjugate transpose."""
    return ops.conj(ops.concat([column[:1], row[1:]])), ops.conj(column)


def _convolved(x: Tensor, y: Tensor) -> Tensor:
    """Return the convolution of vectors, or of columns one by one, along the first axis."""
    length = x.shape[0] + y.shape[0] - 1
    n = fast_length(length)
    if "c" in (x.dtype.kind, y.dtype.kind):
        return fft.ifft(fft.fft(x, n=n, axis=0) * fft.fft(y, n=n, axis=0), axis=0)[:length]
    return fft.irfft(fft.rfft(x, n=n, axis=0) * fft.rfft(y, n=n, axis=0), n=n, axis=0)[:length]


def _correlated(x: Tensor, y: Tensor) -> Tensor:
    """Return ``sum(conj(x[j]) * y[j + k])`` for k from 1 - n to n - 1."""
    return _convolved(ops.flip(ops.conj(x), axis=0), y)


def _times(column: Tensor, row: Tensor, x: Tensor) -> Tensor:
    n = column.shape[0]
    diagonals = ops.concat([ops.flip(row[1:]), column])
    return _convolved(diagonals[:, None], x)[n - 1 : 2 * n - 1]


def _sums_of_inverse(column: Tensor, row: Tensor) -> Tensor:
    """Return the sum of each diagonal of the inverse, as `ToeplitzTensor.diagonals` orders those of the matrix.

    The derivative of log|det T| by the element of one diagonal is the sum of the opposite diagonal of the inverse; that
    sum follows from the first and the last column of the inverse by the formula of Gohberg and Semencul.
    """
    n = column.shape[0]
    ends = np.zeros((n, 2))
    ends[0, 0] = ends[-1, -1] = 1
    solved = Solution.apply(column, row, ops.asarray(ends, dtype=column.dtype).to(like=column))
    first, last = solved[:, 0], ops.flip(solved[:, -1])
    offsets = ops.arange(1 - n, n, dtype=column.dtype, device=column.device)
    weighted = _correlated(ops.arange(n, dtype=column.dtype, device=column.device) * first, last)
    sums: Tensor = ((n - offsets) * _correlated(first, last) - 2 * weighted) / first[0]
    return sums


# On arrays of NumPy.


def solution(column: Any, row: Any, b: Any) -> Any:
    """Return the solution of a system, in double precision, with right-hand sides as columns.

    Raises
    ------
    numpy.linalg.LinAlgError : if no method gives a solution with a small residual
    ImportError : without SciPy
    """
    from scipy.linalg import solve_toeplitz  # noqa: PLC0415  # optional dependency

    dtype = np.result_type(column, row, b, np.float64)
    column, row, b = (np.asarray(x, dtype) for x in (column, row, b))
    if not b.size:
        return b.copy()
    if not all(np.isfinite(x).all() for x in (column, row, b)):
        raise np.linalg.LinAlgError("the matrix or the right-hand side holds inf or nan")
    times = _Product(column, row)
    for method in (_by_conjugate_gradients, lambda *_: solve_toeplitz((column, row), b, check_finite=False)):
        with np.errstate(all="ignore"):
            x = method(times, b)
            if x is not None and times.solved_by(x, b):
                return x
    raise np.linalg.LinAlgError("neither conjugate gradients nor Levinson's recursion find an exact solution")


class _Product:
    """The product with one Toeplitz matrix."""

    def __init__(self, column: Any, row: Any) -> None:
        n = column.size
        self.hermitian = np.array_equal(row[1:], column[1:].conj()) and not np.imag(column[0])
        self.column, self.length = column, fast_length(2 * n - 1)
        self.kind = column.dtype.kind
        gap = np.zeros(self.length - 2 * n + 1, column.dtype)
        self.spectrum = self.transform(np.concatenate([column, gap, row[:0:-1]]), self.length)
        self.size = np.abs(column).sum() + np.abs(row[1:]).sum()

    def transform(self, x: Any, n: int) -> Any:
        return np.fft.fft(x, n) if self.kind == "c" else np.fft.rfft(x, n)

    def back(self, spectrum: Any, n: int) -> Any:
        return np.fft.ifft(spectrum, n) if self.kind == "c" else np.fft.irfft(spectrum, n)

    def __call__(self, x: Any) -> Any:
        return self.back(self.transform(x, self.length) * self.spectrum, self.length)[: x.size]

    def solved_by(self, x: Any, b: Any) -> bool:
        """Return whether the residual of each column is that of a backward stable method."""
        residual = np.linalg.norm(b - np.stack([self(c) for c in x.T], axis=1), axis=0)
        bound = self.size * np.linalg.norm(x, axis=0) + np.linalg.norm(b, axis=0)
        return bool(np.all(residual <= 1e-13 * bound))


def _by_conjugate_gradients(times: _Product, b: Any) -> Any:
    """Return the solution, preconditioned by T. Chan's circulant; None where the matrix shows not to be positive."""
    from scipy.sparse.linalg import LinearOperator, cg  # noqa: PLC0415  # optional dependency

    c, n = times.column, b.shape[0]
    if not times.hermitian:
        return None
    j = np.arange(n)
    nearest = ((n - j) * c + j * np.roll(c[::-1], 1).conj()) / n
    eigenvalues = times.transform(nearest, n).real
    if not np.all(eigenvalues > 0):
        return None
    matrix = LinearOperator((n, n), matvec=times, dtype=b.dtype)

    def precondition(x: Any) -> Any:
        return times.back(times.transform(x, n) / eigenvalues, n)

    inverse = LinearOperator((n, n), matvec=precondition, dtype=b.dtype)
    found = [cg(matrix, column, rtol=1e-14, maxiter=MOST_STEPS, M=inverse)[0] for column in b.T]
    return np.stack(found, axis=1)


def log_determinant(column: Any, row: Any) -> tuple[float, float]:
    """Return sign and logarithm of the absolute value of the determinant of a real matrix.

    Raises
    ------
    numpy.linalg.LinAlgError : if a leading minor is 0 or so small that the recursion would lose digits
    """
    n, symmetric = column.size, np.array_equal(row[1:], column[1:])
    if not n:
        return 1.0, 0.0
    column, row = np.asarray(column, np.float64), np.asarray(row, np.float64)
    # Of the leading matrix T_k: T_k @ forward = (pivot, 0, ..., 0), T_k @ backward[::-1] = (0, ..., 0, pivot).
    forward = np.zeros(n)
    forward[0] = 1.0
    backward = forward if symmetric else forward.copy()
    down, right = column[::-1].copy(), row[::-1].copy()
    pivot, sign, logarithm = column[0], 1.0, 0.0
    for k in range(1, n + 1):
        if pivot == 0 or not np.isfinite(pivot):
            raise np.linalg.LinAlgError("a leading minor is zero, or an element is inf or nan")
        sign, logarithm = sign * np.sign(pivot), logarithm + np.log(abs(pivot))
        if k == n:
            break
        alpha = down[n - 1 - k : n - 1] @ forward[:k] / pivot
        beta = alpha if symmetric else right[n - 1 - k : n - 1] @ backward[:k] / pivot
        if abs(1 - alpha * beta) < 1e-4 and not (symmetric and abs(alpha) < 1):
            raise np.linalg.LinAlgError("a leading minor is nearly zero, and the recursion would lose digits")
        change = 0.0 if symmetric else beta * forward[k - 1 :: -1]
        forward[1 : k + 1] -= alpha * backward[k - 1 :: -1]
        if not symmetric:
            backward[1 : k + 1] -= change
        pivot *= 1 - alpha * beta
    return float(sign), float(logarithm)
