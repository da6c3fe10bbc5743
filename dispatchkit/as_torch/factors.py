"""PyTorch's factors of matrices beyond those of `dispatchkit.linalg`, and functions that make orthogonal matrices."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.as_torch.functions import linalg_solve
from dispatchkit.as_torch.shared import gradient_alone, hermitian_of, lapack_size, written_functions
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS, is_array
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.kinds import kinds


def _swap(rows: Any, k: int, pivot: Any) -> Any:
    """Return an array with two of its rows interchanged: the k-th and, of each matrix, another."""
    places, pivot = xp.arange(rows.shape[-2]), pivot[..., None]
    order = xp.where(places == k, pivot, xp.where(places == pivot, k, places))
    return xp.take_along_axis(rows, xp.broadcast_to(order[..., None], rows.shape), axis=-2)


def _eliminated(A, pivot):
    """Return both triangular factors of matrices in one, and with which row each was swapped, counted from 1."""
    if not pivot and A.numel():
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    pivots = []
    for k in range(min(A.shape[-2:])):
        place = xp.argmax(lapack_size(A[..., k:, k]), axis=-1) + k
        pivots.append(place + 1)
        A = _swap(A, k, place)
        below, corner = A[..., k + 1 :, :], A[..., k, k, None, None]
        column = below[..., k : k + 1] / xp.where(corner == 0, 1, corner)
        rest = below[..., k + 1 :] - column * A[..., k : k + 1, k + 1 :]
        A = xp.concat([A[..., : k + 1, :], xp.concat([below[..., :k], column, rest], axis=-1)], axis=-2)
    if pivots:
        counts = xp.stack(pivots, axis=-1)
    else:
        counts = xp.zeros((*A.shape[:-2], 0))
    return A, xp.astype(counts, xp.int32)


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    count, m = min(LU_data.shape[-2:]), LU_data.shape[-2]
    L = xp.tril(LU_data[..., :count], k=-1) + xp.eye(m, count, dtype=LU_data.dtype)
    nothing = xp.zeros((0,), dtype=LU_data.dtype)
    U = xp.triu(LU_data[..., :count, :])
    if not unpack_data:
        L, U = nothing, nothing
    if not unpack_pivots:
        return nothing, L, U
    batch = LU_data.shape[:-2]
    P = xp.broadcast_to(xp.eye(m, dtype=LU_data.dtype), (*batch, m, m))
    if not P.numel():
        return P, L, U
    further = LU_pivots.shape[: max(LU_pivots.ndim - 1 - len(batch), 0)]
    if set(further) == {1}:
        LU_pivots = xp.reshape(LU_pivots, LU_pivots.shape[len(further) :])
    longer = LU_pivots.shape[-1] > count or LU_pivots.ndim - 1 > len(batch)
    if longer or any(n not in (1, m) for n, m in zip(LU_pivots.shape[-2::-1], batch[::-1], strict=False)):
        raise RuntimeError(
            f"lu_unpack: LU_pivots must have the batch of LU_data, found shapes "
            f"{[*LU_pivots.shape]} and {[*LU_data.shape]}"
        )
    for k in range(LU_pivots.shape[-1]):
        P = _swap(P, k, LU_pivots[..., k] - 1)
    return xp.matrix_transpose(P), L, U


def linalg_lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    if not LU.shape[-1]:
        return linalg_solve_triangular(LU, B, upper=True, left=left)
    P, L, U = lu_unpack(LU, pivots)
    order = xp.argmax(xp.real(P), axis=-1)  # which column of each row is 1
    factors = [(L, False, True), (U, True, False)]
    if adjoint:
        factors = [(xp.conj(xp.matrix_transpose(A)), not upper, unit) for A, upper, unit in factors]
    begins = bool(left) is not bool(adjoint)  # whether the matrix that orders rows stands beside the right sides
    if begins:
        B = _in_order(B, xp.argsort(order, axis=-1), left)
    else:
        factors.reverse()
    for A, upper, unit in factors:
        B = linalg_solve_triangular(A, B, upper=upper, left=left, unitriangular=unit)
    return B if begins else _in_order(B, order, left)


def _in_order(B: Any, order: Any, of_rows: bool) -> Any:
    """Return the rows of matrices, or their columns, in another order."""
    if not of_rows:
        return xp.matrix_transpose(_in_order(xp.matrix_transpose(B), order, True))
    batch = np.broadcast_shapes(B.shape[:-2], order.shape[:-1])
    places = xp.broadcast_to(order[..., None], (*batch, *B.shape[-2:]))
    return xp.take_along_axis(xp.broadcast_to(B, places.shape), places, axis=-2)


def linalg_lstsq(A, B, rcond=None, *, driver=None):
    x, residuals, rank, s = xp.linalg.lstsq(A, B, rcond=rcond)
    m, n = A.shape[-2:]
    nothing = xp.zeros((0,), dtype=s.dtype)
    full = m > n and bool(xp.all(rank == n)) and driver not in (None, "gelsy")
    if not full:
        residuals = nothing
    if driver == "gels":
        rank = xp.zeros((0,), dtype=rank.dtype)
    singular = nothing
    if driver in ("gelsd", "gelss"):
        singular = s.detach()
    return x, residuals, rank, singular


def linalg_pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None):
    if hermitian:
        # Of a Hermitian matrix, as of `eigh`: both triangles have part in the gradient.
        A = hermitian_of("linalg.pinv", A.detach()) + gradient_alone(A)
    if rtol is None:
        rtol = rcond
    if atol is None and not is_array(rtol):
        return xp.linalg.pinv(A, rtol=rtol)
    if atol is None:
        atol = 0.0
    u, s, vh = xp.linalg.svd(A, full_matrices=False)
    if not s.shape[-1]:
        return xp.matrix_transpose(A)
    if rtol is None:
        rtol = xp.where(xp.asarray(atol) > 0, 0.0, max(A.shape[-2:]) * xp.finfo(s.dtype).eps)
    relative = xp.asarray(rtol)[..., None] * s[..., :1]
    least = xp.maximum(xp.asarray(atol)[..., None], relative)
    inverse = xp.where(s > least, 1 / xp.where(s > least, s, 1), 0)
    return xp.conj(xp.matrix_transpose(vh)) @ (inverse[..., None] * xp.conj(xp.matrix_transpose(u)))


def linalg_matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None):
    if hermitian:
        A = hermitian_of("linalg.matrix_rank", A)
    if tol is not None:
        atol, rtol = tol, 0.0
    if atol is None:
        return xp.linalg.matrix_rank(A, rtol=rtol)
    s = xp.linalg.svdvals(A)
    if not s.shape[-1]:
        return xp.zeros(s.shape[:-1], dtype=xp.int64)
    if rtol is None:
        rtol = xp.where(atol > 0, 0.0, max(A.shape[-2:]) * xp.finfo(s.dtype).eps)
    return xp.count_nonzero(s > xp.maximum(atol, rtol * s[..., 0])[..., None], axis=-1)


def svd(input, some=True, compute_uv=True):
    if not compute_uv:
        s = xp.linalg.svdvals(input)
        (*lead, rows, columns) = input.shape
        return (
            xp.zeros((*lead, rows, rows), dtype=input.dtype),
            s,
            xp.zeros((*lead, columns, columns), dtype=input.dtype),
        )
    u, s, vh = xp.linalg.svd(input, full_matrices=not some)
    return u, s, xp.conj(xp.matrix_transpose(vh))


def svd_lowrank(A, q=6, niter=2, M=None):
    centred = A
    if M is not None:
        centred = A - M
    u, s, vh = xp.linalg.svd(centred, full_matrices=False)
    return u[..., :q], s[..., :q], xp.conj(xp.matrix_transpose(vh))[..., :q]


def pca_lowrank(A, q=None, center=True, niter=2):
    if center:
        A = A - xp.mean(A, axis=-2, keepdims=True)
    if q is None:
        q = min(6, *A.shape[-2:])
    return svd_lowrank(A, q)


def linalg_solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    if upper:
        triangle = xp.triu
    else:
        triangle = xp.tril
    A = triangle(A)
    if unitriangular:
        A = xp.where(xp.eye(A.shape[-1], dtype=xp.bool), 1, A)
    if xp.isdtype(A.dtype, "complex floating") or not xp.isdtype(B.dtype, "complex floating"):
        B = xp.astype(B, A.dtype, copy=False)
    if not A.shape[-1]:
        return xp.broadcast_to(B, (*np.broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:]))
    if _is_solved_at_once(A, B):
        return linalg_solve(A, B, left=left)
    if left:
        return _substituted(A, B, upper)
    return _substituted(A.mT, B.mT, not upper).mT


def _is_solved_at_once(A: Any, B: Any) -> Any:
    """Return whether all numbers of triangular equations are finite, and no factor on the diagonal is 0."""
    is_finite = xp.all(xp.isfinite(A)) & xp.all(xp.isfinite(B))
    return holds(xp.all(xp.linalg.diagonal(A) != 0) & is_finite)


def _substituted(A: Any, B: Any, upper: bool) -> Any:
    """Return the solutions of triangular equations one row after the other, infinite or NaN where a factor is 0."""
    n = A.shape[-1]
    rows: dict[int, Any] = {}
    with np.errstate(all="ignore"):
        for place in range(n)[:: 1 - 2 * upper]:
            rest = B[..., place, :]
            for other, row in rows.items():
                rest = rest - A[..., place, other, None] * row
            rows[place] = rest / A[..., place, place, None]
    return xp.stack([rows[place] for place in range(n)], axis=-2)


def cholesky_solve(input, input2, upper=False):
    # The other triangle is not looked at.
    triangle = xp.tril
    if upper:
        triangle = xp.triu
    lower = triangle(input2)
    if upper:
        lower = xp.conj(lower.mT)
    # One factor after the other: their product has the square of their condition number.
    higher = xp.conj(lower.mT)
    if _is_solved_at_once(lower, input):
        return xp.linalg.solve(higher, xp.linalg.solve(lower, input))
    return _substituted(higher, _substituted(lower, input, upper=False), upper=True)


def cholesky_inverse(input, upper=False):
    is_zero = xp.linalg.diagonal(input.detach()) == 0
    if holds(xp.any(is_zero)):
        place = int(xp.max(_first(is_zero)))
        raise np.linalg.LinAlgError(
            f"cholesky_inverse: The diagonal element {place} is zero, the inversion could not be completed "
            f"because the input matrix is singular."
        )
    return cholesky_solve(xp.eye(input.shape[-1], dtype=input.dtype), input, upper)


def _first(is_wrong: Any) -> Any:
    """Return where a vector is true for the first time, counted from 1; 0 where it is nowhere."""
    n = is_wrong.shape[-1]
    if not n:
        return xp.zeros(is_wrong.shape[:-1], dtype=xp.int32)
    place = xp.argmax(xp.astype(is_wrong, xp.int32), axis=-1) + 1
    return xp.astype(xp.where(xp.any(is_wrong, axis=-1), place, 0), xp.int32)


def _without_square_root(A: Any) -> Any:
    """Return which of the leading minor determinants of Hermitian matrices are the first that are not positive."""
    rest, wrong = A.detach(), []
    for k in range(A.shape[-1]):
        corner = xp.real(rest[..., k, k])
        wrong.append(~(corner > 0))
        column = rest[..., :, k, None]
        rest = rest - column @ xp.conj(xp.matrix_transpose(column)) / xp.where(corner > 0, corner, 1)[..., None, None]
    if not wrong:
        return xp.zeros(A.shape[:-2], dtype=xp.int32)
    return _first(xp.stack(wrong, axis=-1))


def _without_pivot(LU: Any) -> Any:
    """Return which pivots of factors are the first that are 0."""
    return _first(xp.linalg.diagonal(LU.detach()) == 0)


def _info(A: Any, numpys: Any, of_each: Any) -> Any:
    """Return LAPACK's information: 0 where NumPy's function takes all matrices, else what another one finds of each."""
    if not A.is_tracer and A.dtype.kind in "fc" and type(A.array) is np.ndarray:
        try:
            if np.isfinite(numpys(A.array)).all():
                return xp.zeros(A.shape[:-2], dtype=xp.int32)
        except np.linalg.LinAlgError:
            pass
    return of_each(A)


def _zero_pivot(A: Any) -> Any:
    """Return which pivots of matrices are the first that are 0."""
    return _without_pivot(_eliminated(A.detach(), True)[0])


def _where_possible(name: str, compute: Any, A: Any, info: Any, check_errors: bool, *others: Any) -> tuple[Any, Any]:
    """Return what a function makes of matrices, NaN where it is not possible, and LAPACK's information."""
    if check_errors and holds(xp.any(info != 0)):
        raise np.linalg.LinAlgError(f"{name}: the computation failed, info is {info.tolist()}")
    failed = (info != 0)[..., None, None]
    identity = xp.eye(A.shape[-1], dtype=A.dtype)
    try:
        y = compute(xp.where(failed, identity, A), *others)
    except np.linalg.LinAlgError:  # of infinities and NaN, whose pivots are not 0
        failed = failed | xp.logical_not(xp.all(xp.isfinite(A), axis=(-2, -1), keepdims=True))
        y = compute(xp.where(failed, identity, A), *others)
    if y.ndim < A.ndim:
        failed = failed[..., 0]
    return xp.where(failed, np.nan, y), info


def linalg_cholesky_ex(A, *, upper=False, check_errors=False):
    factor = partial(xp.linalg.cholesky, upper=upper)
    read = A
    if upper:  # the triangle that is read
        read = xp.conj(xp.matrix_transpose(A))
    info = _info(read, np.linalg.cholesky, _without_square_root)
    return _where_possible("linalg.cholesky", factor, A, info, check_errors)


def linalg_lu_factor(A, *, pivot=True):
    return linalg_lu_factor_ex(A, pivot=pivot, check_errors=True)[:2]


def linalg_lu_factor_ex(A, *, pivot=True, check_errors=False):
    LU, pivots = _eliminated(A, pivot)
    info = _without_pivot(LU)
    if check_errors and holds(xp.any(info != 0)):
        raise np.linalg.LinAlgError(
            f"linalg.lu_factor: a pivot is 0, by which lu_solve would divide, info is {info.tolist()}; lu_factor_ex "
            f"returns such factors"
        )
    return LU, pivots, info


def linalg_lu(A, *, pivot=True):
    LU, pivots, _ = linalg_lu_factor_ex(A, pivot=pivot)
    return lu_unpack(LU, pivots, unpack_pivots=pivot)


def linalg_inv_ex(A, *, check_errors=False):
    info = _info(A, np.linalg.inv, _zero_pivot)
    return _where_possible("linalg.inv", xp.linalg.inv, A, info, check_errors)


def linalg_solve_ex(A, B, *, left=True, check_errors=False):
    info = _info(A, np.linalg.inv, _zero_pivot)
    return _where_possible("linalg.solve", partial(linalg_solve, left=left), A, info, check_errors, B)


def lu(A, pivot=True, get_infos=False):
    return linalg_lu_factor_ex(A, pivot=pivot)[: 2 + bool(get_infos)]


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    matrix = A
    if transpose:
        matrix = A.mT
    x = linalg_solve_triangular(matrix, b, upper=upper is not transpose, unitriangular=unitriangular)
    return x, xp.broadcast_to(A, (*np.broadcast_shapes(A.shape[:-2], b.shape[:-2]), *A.shape[-2:]))


TRANSLATIONS.update(written_functions(globals()))


# Functions of matrices by which orthogonal ones are made: the exponential, and products of reflections.

# Where the norm is at most 1, the terms of the series beyond this one are less than the rounding error.
TERMS = 18


def matrix_exp(input: Any) -> Any:
    return linalg_matrix_exp(input)


def linalg_matrix_exp(A: Any) -> Any:
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_exp: A must be batches of square matrices, but they are of shape {tuple(A.shape)}"
        )
    if 0 in A.shape:
        return xp.clone(A)
    halvings = _halvings(A)
    x, unit = A * 0.5**halvings, xp.eye(A.shape[-1], dtype=A.dtype)
    y = unit + x / TERMS
    for term in range(TERMS - 1, 0, -1):
        y = unit + (x @ y) / term
    for _ in range(halvings):
        y = y @ y
    return y


def _halvings(x: Any) -> int:
    """Return how often matrices are to be halved until their norms are at most 1."""
    while getattr(x, "is_tracer", False):
        x = x.value
    norms = np.abs(np.asarray(x.detach().array)).sum(axis=-1)
    largest = float(norms.max())
    if not math.isfinite(largest) or largest <= 1:
        return 0
    return math.ceil(math.log2(largest))


def orgqr(input: Any, input2: Any) -> Any:
    return linalg_householder_product(input, input2)


def linalg_householder_product(input: Any, tau: Any) -> Any:
    rows, columns = input.shape[-2:]
    if rows < columns or tau.shape[-1] > columns:
        raise RuntimeError(
            f"linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1], and that "
            f"to tau.shape[-1]; found input of shape {tuple(input.shape)} and tau of shape {tuple(tau.shape)}"
        )
    y = xp.eye(rows, columns, dtype=input.dtype)
    below, unit = xp.tril(input, k=-1), xp.eye(rows, columns, dtype=input.dtype)
    for place in reversed(range(tau.shape[-1])):
        v = (below + unit)[..., :, place : place + 1]
        y = y - tau[..., place, None, None] * (v @ (xp.conj(xp.matrix_transpose(v)) @ y))
    return xp.broadcast_to(y, input.shape)


@operation(kind=kinds.decomposition, namespace="torch", decomposes=False, differentiable=False)
def reflections(xp: Any, x: Any, /) -> Any:
    """Return R and, below it, the vectors of the reflections that Q is a product of, and how far each reflects."""
    a = np.asarray(x)
    raw, tau = np.linalg.qr(a, mode="raw")
    return xp.asarray(raw.swapaxes(-1, -2).astype(a.dtype)), xp.asarray(tau.astype(a.dtype))


def geqrf(input):
    return reflections(input)


def ormqr(input, input2, input3, left=True, transpose=False):
    if input3.ndim != input.ndim or input2.ndim != input.ndim - 1:
        raise RuntimeError(
            f"torch.ormqr: Expected other to have the same number of dimensions as input, and tau one less, but got "
            f"shapes {[*input.shape]}, {[*input2.shape]} and {[*input3.shape]}"
        )
    for name, batch in (("tau", input2.shape[:-1]), ("other", input3.shape[:-2])):
        if batch != input.shape[:-2]:
            raise RuntimeError(
                f"torch.ormqr: Expected batch dimensions of {name} to be equal to input.shape[:-2], "
                f"{[*input.shape[:-2]]}, but got {[*batch]}"
            )
    rows, reflections = input.shape[-2], input2.shape[-1]
    length = input3.shape[-2 if left else -1]
    if length != rows or reflections != min(length, input.shape[-1]):
        raise RuntimeError(
            f"torch.ormqr: input of shape {[*input.shape]} takes tau of length {min(length, input.shape[-1])} and "
            f"other of length {rows}, found {reflections} and {length}"
        )
    # Of reflections that change nothing there are as many more as make the product square.
    below = xp.pad(input[..., :reflections], {-1: (0, rows - reflections)})
    q = linalg_householder_product(below, xp.pad(input2, {-1: (0, rows - reflections)}))
    if transpose:
        q = xp.conj(xp.matrix_transpose(q))
    if left:
        return q @ input3
    return input3 @ q


# Old names, and arrays of more axes taken for matrices.


def pinverse(input, rcond=1e-15):
    return linalg_pinv(input, rcond)


def qr(input, some=True):
    mode = "reduced"
    if not some:
        mode = "complete"
    return xp.linalg.qr(input, mode=mode)


def chain_matmul(*matrices):
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(matrices) == 1:
        return matrices[0]
    return TRANSLATIONS["linalg.multi_dot"](matrices)


def adjoint(input):
    if input.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of them, found 1-D")
    y = xp.matrix_transpose(input) if input.ndim else input
    if xp.isdtype(input.dtype, "complex floating"):
        return xp.conj(y)
    return y


def linalg_tensorinv(A, ind=2):
    if not 0 < ind <= A.ndim:
        raise RuntimeError(f"Expected 'ind' to be positive and at most the number of axes, {A.ndim}, but got {ind}")
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(first) != math.prod(last):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(last)} != {math.prod(first)}"
        )
    return xp.reshape(xp.linalg.inv(xp.reshape(A, (math.prod(first), math.prod(last)))), (*last, *first))


def linalg_cond(input, p=None):
    if 0 not in input.shape:
        return np.linalg.cond(input, p)
    if p in ("fro", "nuc") and input.shape[-1] != input.shape[-2]:
        rows, columns = input.shape[-2:]
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    return xp.zeros(input.shape[:-2], dtype=xp.real(input).dtype)


def linalg_tensorsolve(A, B, dims=None):
    if dims is not None and A.ndim:
        A = xp.moveaxis(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    if B.ndim > A.ndim:
        raise RuntimeError(
            f"linalg.tensorsolve: A must have at least as many axes as B, found shapes {[*A.shape]} and {[*B.shape]}"
        )
    unknown = tuple(A.shape[B.ndim :])
    if math.prod(unknown) != math.prod(B.shape):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {math.prod(unknown)} != {math.prod(B.shape)}"
        )
    rows = math.prod(B.shape)
    columns = xp.linalg.solve(xp.reshape(A, (rows, math.prod(unknown))), xp.reshape(B, (rows, 1)))
    return xp.reshape(columns, unknown)


OPERATIONS = frozenset({"reflections"})
ALONE.update(
    {path: f for path, f in written_functions(globals()).items() if path not in TRANSLATIONS.keys() | OPERATIONS}
)
TRANSLATIONS["linalg.cond"] = ALONE.pop("linalg.cond")
