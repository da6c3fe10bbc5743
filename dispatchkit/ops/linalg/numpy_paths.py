"""NumPy's shorter ways for linear algebra: its function at once; what it refuses is for the body, which says why."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from dispatchkit.backends.numpy import DOUBLE
from dispatchkit.backends.sums import total
from dispatchkit.declare.call_errors import MISTAKES
from dispatchkit.declare.decorators import body_on_numpy
from dispatchkit.ops.linalg.decompositions import QRResult, cholesky, qr
from dispatchkit.ops.linalg.eigen import EighResult, EigResult, eig, eigh, eigvals, eigvalsh
from dispatchkit.ops.linalg.elements import cross, diagonal, outer, trace
from dispatchkit.ops.linalg.linalg import SlogdetResult, det, inv, slogdet, solve
from dispatchkit.ops.linalg.norms import matrix_norm, norm
from dispatchkit.ops.linalg.products import bmm, dot, left_out, mm, mv, paired, tensordot, vecdot
from dispatchkit.ops.linalg.singular_values import SVDResult, pinv, svd, svdvals

__all__: list[str] = []

# Its stub does not know all forms of a call.
_vecdot: Callable[..., Any] = np.vecdot
# A named tuple of several results, without the call of its own constructor.
named: Callable[..., Any] = tuple.__new__
# What NumPy's decompositions give in real numbers where all are real, and the standard in complex ones.
COMPLEX = {"f": np.dtype("complex64"), "d": np.dtype("complex128")}
SECOND, THIRD = np.array([1, 2, 0]), np.array([2, 0, 1])
SMALL = 1000
AXES = (type(None), int, tuple)
ENTRYWISE = ("fro", None)
# Of norms that are the largest or smallest sum of a column or row: the axis summed over, the other one, and which.
SUMS: dict[Any, tuple[int, int, Any]] = {
    1: (-2, -1, np.maximum.reduce),
    -1: (-2, -1, np.minimum.reduce),
    np.inf: (-1, -2, np.maximum.reduce),
    -np.inf: (-1, -2, np.minimum.reduce),
}
# A scalar has none of an array's attributes.
REFUSED = (AttributeError, *MISTAKES)


def _complex(x: Any) -> Any:
    return x.astype(COMPLEX[x.dtype.char]) if x.dtype.char in COMPLEX else x


def _declare(operation: Any, compute: Callable[[Any], Any]) -> None:
    """Compute an operation of matrices and nothing else by a function of NumPy that takes them as the body does."""
    body = body_on_numpy(operation)

    def way(x: Any, /) -> Any:
        try:
            return compute(x)
        except LinAlgError:
            pass
        return body(x)

    operation.def_numpy(way)


_declare(inv, np.linalg.inv)
_declare(det, np.linalg.det)
_declare(eigvalsh, np.linalg.eigvalsh)
_declare(svdvals, np.linalg.svdvals)
_declare(slogdet, lambda x: named(SlogdetResult, np.linalg.slogdet(x)))
_declare(eigh, lambda x: named(EighResult, np.linalg.eigh(x)))
_declare(eig, lambda x: named(EigResult, map(_complex, np.linalg.eig(x))))
_declare(eigvals, lambda x: _complex(np.linalg.eigvals(x)))

solve_body = body_on_numpy(solve)
cholesky_body = body_on_numpy(cholesky)
qr_body = body_on_numpy(qr)
svd_body = body_on_numpy(svd)
pinv_body = body_on_numpy(pinv)
trace_body = body_on_numpy(trace)
diagonal_body = body_on_numpy(diagonal)
cross_body = body_on_numpy(cross)
outer_body = body_on_numpy(outer)
norm_body = body_on_numpy(norm)
matrix_norm_body = body_on_numpy(matrix_norm)


@solve.def_numpy
def solve_numpy(x1: Any, x2: Any, /) -> Any:
    try:
        return np.linalg.solve(x1, x2)
    except MISTAKES:
        pass
    return solve_body(x1, x2)


@cholesky.def_numpy
def cholesky_numpy(x: Any, /, *, upper: bool = False) -> Any:
    try:
        return np.linalg.cholesky(x, upper=upper)
    except LinAlgError:
        pass
    return cholesky_body(x, upper=upper)


@qr.def_numpy
def qr_numpy(x: Any, /, *, mode: Any = "reduced") -> Any:
    if mode in ("reduced", "complete"):
        try:
            return named(QRResult, np.linalg.qr(x, mode))
        except LinAlgError:
            pass
    return qr_body(x, mode=mode)


@svd.def_numpy
def svd_numpy(x: Any, /, *, full_matrices: bool = True) -> Any:
    try:
        return named(SVDResult, np.linalg.svd(x, full_matrices))
    except LinAlgError:
        pass
    return svd_body(x, full_matrices=full_matrices)


@pinv.def_numpy
def pinv_numpy(x: Any, /, *, rtol: Any = None) -> Any:
    try:
        return np.linalg.pinv(x, rtol=rtol)
    except MISTAKES:
        pass
    return pinv_body(x, rtol=rtol)


@trace.def_numpy
def trace_numpy(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    try:
        return x.trace(offset, -2, -1, dtype)
    except REFUSED:
        pass
    return trace_body(x, offset=offset, dtype=dtype)


@diagonal.def_numpy
def diagonal_numpy(x: Any, /, *, offset: int = 0) -> Any:
    try:
        return x.diagonal(offset, -2, -1)
    except REFUSED:
        pass
    return diagonal_body(x, offset=offset)


@cross.def_numpy
def cross_numpy(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Multiply few vectors by their elements in turned order, which takes copies of them but half the calls."""
    try:
        if x1.shape[axis] == x2.shape[axis] == 3 and x1.ndim == x2.ndim and x1.size + x2.size < SMALL:
            plus = x1.take(SECOND, axis) * x2.take(THIRD, axis)
            return plus - x1.take(THIRD, axis) * x2.take(SECOND, axis)
        return np.linalg.cross(x1, x2, axis=axis)
    except REFUSED:
        pass
    return cross_body(x1, x2, axis=axis)


@outer.def_numpy
def outer_numpy(x1: Any, x2: Any, /) -> Any:
    if getattr(x1, "ndim", 0) == 1 == getattr(x2, "ndim", 0):
        return x1[:, None] * x2
    return outer_body(x1, x2)


@norm.def_numpy
def norm_numpy(x: Any, /, *, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Leave out NumPy's own choice of a way where all elements or one axis of real numbers are asked for."""
    try:
        if ord is None and x.dtype.kind == "f":
            if axis is None and not keepdims and x.dtype is DOUBLE:
                flat = x.ravel("K")
                return np.sqrt(flat.dot(flat))
            if type(axis) is int and x.ndim:
                return np.sqrt(total(x * x, axis=axis, keepdims=keepdims))
        if ord == 1 and type(axis) is int and x.ndim and x.dtype.kind in "fc":
            return total(np.abs(x), axis=axis, keepdims=keepdims)
        # NumPy takes a float for an axis, too.
        if type(axis) in AXES:
            return np.linalg.norm(x, ord, axis, keepdims)
    except REFUSED:
        pass
    return norm_body(x, ord=ord, axis=axis, keepdims=keepdims)


@matrix_norm.def_numpy
def matrix_norm_numpy(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Leave the norms by singular values to the body, which takes as long."""
    try:
        if ord == "fro" and x.dtype is DOUBLE:
            return np.sqrt(total(x * x, axis=(-2, -1), keepdims=keepdims))
        if ord in SUMS and x.dtype.kind in "fc" and x.size:
            summed, picked, pick = SUMS[ord]
            sums = total(np.abs(x), axis=summed, keepdims=True)
            return pick(sums, picked if keepdims else (-2, -1), None, None, keepdims)
        if ord in ENTRYWISE and x.size:
            return np.linalg.norm(x, ord, (-2, -1), keepdims)
    except REFUSED:
        pass
    return matrix_norm_body(x, keepdims=keepdims, ord=ord)


@vecdot.def_numpy
def vecdot_numpy(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return _vecdot(x1, x2) if type(axis) is int and axis == -1 else _vecdot(x1, x2, axis=axis)


def _declare_product(operation: Any, ndim1: int, ndim2: int, compute: Callable[[Any, Any], Any]) -> None:
    """Compute a product of arrays of fixed numbers of axes at once where they have these."""
    body = body_on_numpy(operation)

    def way(x1: Any, x2: Any, /) -> Any:
        if getattr(x1, "ndim", 0) == ndim1 and getattr(x2, "ndim", 0) == ndim2:
            return compute(x1, x2)
        return body(x1, x2)

    operation.def_numpy(way)


_declare_product(dot, 1, 1, np.dot)
_declare_product(mm, 2, 2, np.matmul)
_declare_product(mv, 2, 1, np.matmul)


bmm_body = body_on_numpy(bmm)


@bmm.def_numpy
def bmm_numpy(x1: Any, x2: Any, /) -> Any:
    if getattr(x1, "ndim", 0) == 3 == getattr(x2, "ndim", 0) and x1.shape[0] == x2.shape[0]:
        return np.matmul(x1, x2)
    return bmm_body(x1, x2)


tensordot_body = body_on_numpy(tensordot)


@tensordot.def_numpy
def tensordot_numpy(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Multiply matrices of the axes that are left and those that are summed over."""
    try:
        turned1, turned2, count = x1, x2, axes
        if type(axes) is not int:
            summed1, summed2 = paired(axes, x1.ndim, x2.ndim)
            count = len(summed1) if len(summed1) == len(summed2) else -1
            turned1 = x1.transpose((*left_out(summed1, x1.ndim), *summed1))
            turned2 = x2.transpose((*summed2, *left_out(summed2, x2.ndim)))
        shape1, shape2 = turned1.shape, turned2.shape
        place = len(shape1) - count
        if count >= 0 <= place and shape1[place:] == shape2[:count]:
            shape, size = shape1[:place] + shape2[count:], prod(shape2[:count])
            y = np.dot(turned1.reshape(prod(shape1[:place]), size), turned2.reshape(size, prod(shape2[count:])))
            return y if y.shape == shape else y.reshape(shape)
    except REFUSED:
        pass
    return tensordot_body(x1, x2, axes=axes)
