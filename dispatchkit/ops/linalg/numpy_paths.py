"""Fast paths of linear algebra for NumPy arrays; what NumPy refuses is left to the body, which says why."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from dispatchkit.backends.numpy import DOUBLE, total
from dispatchkit.declare.call_errors import BACKEND_ERRORS
from dispatchkit.declare.decorators import body_on_numpy
from dispatchkit.ops.linalg.elements import cross, diagonal, outer, trace
from dispatchkit.ops.linalg.norms import SPECTRAL, matrix_norm, norm
from dispatchkit.ops.linalg.products import dot, left_out, mm, mv, paired, tensordot

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
REFUSED = (AttributeError, *BACKEND_ERRORS)


trace_body = body_on_numpy(trace)
diagonal_body = body_on_numpy(diagonal)
cross_body = body_on_numpy(cross)
outer_body = body_on_numpy(outer)
norm_body = body_on_numpy(norm)
matrix_norm_body = body_on_numpy(matrix_norm)


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
    """Leave out NumPy's own choice of an algorithm where all elements or one axis of real numbers are asked for."""
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
        if type(axis) in AXES and (ord not in SPECTRAL or type(axis) is int):
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


def _declare_product(operation: Any, ndim1: int, ndim2: int, compute: Callable[[Any, Any], Any]) -> None:
    """Compute a product of arrays of fixed numbers of axes at once where they have these."""
    body = body_on_numpy(operation)

    def fast(x1: Any, x2: Any, /) -> Any:
        if getattr(x1, "ndim", 0) == ndim1 and getattr(x2, "ndim", 0) == ndim2:
            return compute(x1, x2)
        return body(x1, x2)

    operation.def_numpy(fast)


_declare_product(dot, 1, 1, np.dot)
_declare_product(mm, 2, 2, np.matmul)
_declare_product(mv, 2, 1, np.matmul)


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
