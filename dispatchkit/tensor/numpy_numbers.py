"""NumPy's functions of linear algebra, statistics, sets and comparison, made of operations."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from string import ascii_letters
from typing import Any, Literal

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.typing import Array
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.shared import conjugate
from dispatchkit.ops.signal import ConvolveMode
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import closeness
from dispatchkit.tensor.numpy_shapes import composition, compositions

# Products.


@composition
def dot(a: Array, b: Array) -> Any:
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if b.ndim == 1 or max(a.ndim, b.ndim) == 2:
        return xp.matmul(a, b)
    return xp.tensordot(a, b, axes=([-1], [-2]))


compositions |= {
    "inner": lambda a, b, /: a * b if a.ndim == 0 or b.ndim == 0 else xp.tensordot(a, b, axes=([-1], [-1])),
    "vdot": lambda a, b, /: xp.vecdot(xp.ravel(a), xp.ravel(b)),
}


@composition
def linalg_multi_dot(arrays: Sequence[Array]) -> Any:
    matrices = all(x.ndim == 2 for x in arrays[1:-1]) and {arrays[0].ndim, arrays[-1].ndim} <= {1, 2}
    fit = all(x.shape[-1:] == y.shape[:1] for x, y in pairwise(arrays))
    if not matrices or not fit or not 2 <= len(arrays) <= 50:
        return NotImplemented
    terms = [ascii_letters[place : place + 2] for place in range(len(arrays))]
    terms[0], terms[-1] = terms[0][-arrays[0].ndim :], terms[-1][: arrays[-1].ndim]
    return xp.einsum(f"{','.join(terms)}->{terms[0][:-1]}{terms[-1][1:]}", *arrays)


@composition
def linalg_cond(x: Array, p: Any = None) -> Any:
    try:
        condition = _condition(x, p)
    except np.linalg.LinAlgError:
        if x.shape[-2] != x.shape[-1] or not holds(xp.isfinite(x)):
            raise
        regular = xp.linalg.slogdet(x)[0] != 0
        rest = xp.where(regular[..., None, None], x, xp.eye(x.shape[-1], dtype=x.dtype))
        condition = xp.where(regular, _condition(rest, p), math.nan)
    undefined = xp.isnan(condition)
    if holds(~undefined):
        return condition
    return xp.where(undefined & ~xp.any(xp.isnan(x), axis=(-2, -1)), math.inf, condition)


def _condition(x: Any, p: Any) -> Any:
    """Return condition numbers, by norms those of regular matrices."""
    if not x.size:
        raise np.linalg.LinAlgError(f"cond: x must have elements, found shape {tuple(x.shape)}")
    if p in (None, 2, -2):
        s = xp.linalg.svdvals(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            if p == -2:
                return s[..., -1] / s[..., 0]
            return s[..., 0] / s[..., -1]
    return xp.linalg.matrix_norm(x, ord=p) * xp.linalg.matrix_norm(xp.linalg.inv(x), ord=p)


@composition
def linalg_lstsq(a: Array, b: Array, rcond: Any = None) -> Any:
    if a.ndim != 2 or b.ndim not in (1, 2) or min(a.shape) == 0:
        return NotImplemented
    if rcond is not None and rcond < 0:  # which asks LAPACK for its own: by what rounding changes a number at most
        rcond = float(np.finfo(np.result_type(a.dtype, b.dtype, np.float32)).epsneg)
    x, residuals, rank, s = xp.linalg.lstsq(a, b, rcond=rcond)
    if int(rank) < a.shape[1]:
        residuals = residuals[:0]
    return x, residuals, int(rank), s


@composition
def cross(a: Array, b: Array, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = xp.moveaxis(a, axisa, -1), xp.moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        return NotImplemented
    a, b = xp.broadcast_arrays(a, b)
    return xp.moveaxis(xp.linalg.cross(a, b, axis=-1), -1, axisc)


@composition
def correlate(a: Array, v: Array, mode: ConvolveMode = "valid") -> Any:
    if a.size < v.size:
        return NotImplemented
    return xp.convolve(a, xp.flip(conjugate(xp, v)), mode=mode)


# Comparison.


def _closeness(compare: Callable[..., Any]) -> Callable[..., Any]:
    def compare_elements(
        a: Array, b: Array, rtol: Array | float = 1e-5, atol: Array | float | None = None, equal_nan: bool = False
    ) -> Any:
        return compare(a, b, rtol, atol, equal_nan)

    return compare_elements


compositions |= {"isclose": _closeness(closeness.isclose), "allclose": _closeness(closeness.allclose)}


@composition
def array_equal(a1: Array, a2: Array, equal_nan: bool = False) -> Any:
    if tuple(a1.shape) != tuple(a2.shape):
        return False
    equal = a1 == a2
    if equal_nan:
        equal = equal | (xp.isnan(a1) & xp.isnan(a2))
    return bool(xp.all(equal))


def _everywhere(x: Any, value: bool) -> Any:
    """Return a plain array of the shape of another, and of its library, that holds one truth value."""
    return xp.full(tuple(x.shape), value, dtype=np.bool_, like=x)


compositions |= {
    "iscomplex": lambda x, /: xp.imag(x) != 0 if x.dtype.kind == "c" else _everywhere(x, False),
    "isreal": lambda x, /: xp.imag(x) == 0 if x.dtype.kind == "c" else _everywhere(x, True),
    "min_scalar_type": lambda a, /: a.dtype if a.ndim else NotImplemented,  # of a number its value decides
}


def _dtype_of(value: Any) -> Any:
    """Return the dtype of a tensor or an array type, and all else as it is."""
    if tensor_protocol.types.participates(type(value)):
        return value.dtype
    return value


@composition
def result_type(*arrays_and_dtypes: object) -> Any:
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))


@composition
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> Any:
    return np.can_cast(_dtype_of(from_), _dtype_of(to), casting)


# Sets.


@composition
def unique(
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    equal_nan: bool = True,
    sorted: bool = True,  # NumPy's name
) -> Any:
    values, indices, inverse, counts = xp.unique_all(ar)
    if equal_nan and values.dtype.kind in "fc":
        several = int(xp.count_nonzero(xp.isnan(values))) - 1
        if several > 0:  # in the standard every NaN is another
            last = values.size - several - 1
            rest = xp.sum(counts[last:], keepdims=True)
            values, indices = values[: last + 1], indices[: last + 1]
            counts, inverse = xp.concat([counts[:last], rest]), xp.minimum(inverse, last)
    wanted = [(return_index, indices), (return_inverse, inverse), (return_counts, counts)]
    further = [array for asked, array in wanted if asked]
    values = xp.take(xp.ravel(ar), indices)  # through which gradients flow
    if further:
        return (values, *further)
    return values


@composition
def setdiff1d(ar1: Array, ar2: Array, assume_unique: bool = False) -> Any:
    if assume_unique:
        first = xp.ravel(ar1)
    else:
        first = unique(ar1)
    return _where(first, xp.isin(first, xp.ravel(ar2), invert=True))


@composition
def setxor1d(ar1: Array, ar2: Array, assume_unique: bool = False) -> Any:
    return xp.sort(xp.concat([setdiff1d(unique(ar1), ar2), setdiff1d(unique(ar2), ar1)]))


def _where(x: Any, condition: Any) -> Any:
    """Return the elements of a vector at which a condition holds."""
    return xp.take(x, xp.nonzero(condition)[0])


@composition
def digitize(x: Array, bins: Array, right: bool = False) -> Any:
    if bins.ndim != 1 or x.dtype.kind == "c":
        return NotImplemented
    side: Literal["left", "right"] = "right"
    if right:
        side = "left"
    if bool(xp.all(bins[1:] >= bins[:-1])):
        return xp.searchsorted(bins, x, side=side)
    if bool(xp.all(bins[1:] <= bins[:-1])):
        return bins.size - xp.searchsorted(xp.flip(bins), x, side=side)
    return NotImplemented


def _in_order(order: Callable[..., Any]) -> Callable[..., Any]:
    """Return a partition that is a whole order."""

    def partition(a: Array, kth: Any, axis: Any = -1, kind: Literal["introselect"] = "introselect") -> Any:
        if axis is None:
            a, axis = xp.ravel(a), -1
        ordered = order(a, axis=axis)
        length = ordered.shape[axis]
        for place in map(operator.index, np.ravel(kth).tolist()):
            if a.size and not -length <= place < length:
                raise ValueError(f"kth(={place}) out of bounds ({length})")
        return ordered

    return partition


compositions |= {"partition": _in_order(np.sort), "argpartition": _in_order(np.argsort)}
