"""Elementwise functions of sparse matrices, which keep the pattern where what is not stored stays zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit import ops, special
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.types.rules import (
    ZERO_PRESERVING,
    Number,
    all_finite,
    implements,
    implements_each,
    is_plain,
    promote,
)
from dispatchkit.types.sparse.matrix import KERNEL_TYPES, SparseTensor
from dispatchkit.types.sparse_pattern import SparsePattern, combine_elements, known_pattern, union

NOT_ZERO = "what is not stored does not stay zero"
NOT_FINITE = "0 times inf or nan is nan where nothing is stored"
SHAPES = "the shapes differ"


# Patterns that meet.


def on_union(x1: SparseTensor, x2: SparseTensor) -> tuple[SparsePattern, Any, Any]:
    """Return the pattern of what either of two matrices of one shape stores, and the elements of both in it."""
    if x1.pattern == x2.pattern:
        return x1.pattern, x1.values, x2.values
    (values, first), (others, second) = x1.pattern.by_rows(x1.values), x2.pattern.by_rows(x2.values)
    pattern, left, right = union(first, second)
    return pattern.as_format(x1.format), ops.pad(values, (1, 0))[left], ops.pad(others, (1, 0))[right]


def on_both(x1: SparseTensor, x2: SparseTensor) -> tuple[SparsePattern, Any, Any]:
    """Return the pattern of what both of two matrices of one shape store, and the elements of both in it."""
    if x1.pattern == x2.pattern:
        return x1.pattern, x1.values, x2.values
    (values, first), (others, second) = x1.pattern.by_rows(x1.values), x2.pattern.by_rows(x2.values)
    pattern, left, right = union(first, second)
    kept = (left > 0) & (right > 0)
    pointers = np.append(0, np.cumsum(kept))[pattern.first]
    pattern = known_pattern(pointers, pattern.second[kept], x1.shape, "csr").as_format(x1.format)
    return pattern, values[left[kept] - 1], others[right[kept] - 1]


def at_pattern(x: Tensor, pattern: SparsePattern) -> Any:
    """Return what a tensor that broadcasts to a matrix has in the places of a pattern, without the matrix."""
    if not x.ndim:
        return x
    if x.shape[-1] == pattern.shape[1]:
        columns = pattern.columns
    else:
        columns = np.zeros_like(pattern.columns)
    if x.ndim == 1:
        return x[columns]
    if x.shape[-2] == pattern.shape[0]:
        rows = pattern.rows
    else:
        rows = np.zeros_like(pattern.rows)
    return x[rows, columns]


def broadcasts(x: SparseTensor, other: Any) -> bool:
    """Return whether a number or a tensor broadcasts to the shape of a matrix."""
    shape = getattr(other, "shape", ())
    return len(shape) <= 2 and np.broadcast_shapes(x.shape, shape) == x.shape


def with_tensor(op: Any, x: SparseTensor, other: Any, *, swapped: bool = False) -> SparseTensor:
    """Return a function of the stored elements and of what a number or a tensor has in their places."""
    if isinstance(other, Tensor):
        other = at_pattern(other, x.pattern)
    if swapped:
        return SparseTensor(op(other, x.values), x.pattern)
    return SparseTensor(op(x.values, other), x.pattern)


# Products and quotients.


@implements(ops.multiply, commutative=True)
def scale_sparse(x1: SparseTensor, x2: Number | Tensor, /) -> Any:
    if not broadcasts(x1, x2):
        return decline("the product has another shape")
    if not all_finite(x2):
        return decline(NOT_FINITE)
    return with_tensor(ops.multiply, x1, x2)


@implements(ops.multiply)
def multiply_sparse(x1: SparseTensor, x2: SparseTensor, /) -> Any:
    if x1.shape != x2.shape:
        return decline(SHAPES)
    if not all_finite(x1.values, x2.values):
        return decline(NOT_FINITE)
    if x1.pattern == x2.pattern:
        return SparseTensor(x1.values * x2.values, x1.pattern)
    product = _of_arrays("csr_elmul_csr", x1, x2)
    if product is not None:
        return product
    pattern, values, others = on_both(x1, x2)
    return SparseTensor(values * others, pattern)


def divide_sparse(op: Any, x1: SparseTensor, x2: Any, /) -> Any:
    """Divide by numbers of which none is 0 or nan."""
    if not broadcasts(x1, x2):
        return decline("the quotient has another shape")
    if not holds(ops.abs(x2) > 0):
        return decline("0 / 0 is nan where nothing is stored")
    return with_tensor(op, x1, x2)


# Sums.


@implements(ops.add)
def add_sparse(x1: SparseTensor, x2: SparseTensor, /) -> Any:
    if x1.shape != x2.shape:
        return decline(SHAPES)
    if x1.pattern == x2.pattern:
        return SparseTensor(x1.values + x2.values, x1.pattern)
    total = _of_arrays("csr_plus_csr", x1, x2)
    if total is not None:
        return total
    pattern, values, others = on_union(x1, x2)
    return SparseTensor(values + others, pattern)


def _of_arrays(kernel: str, x1: SparseTensor, x2: SparseTensor) -> SparseTensor | None:
    """Return what one of SciPy's kernels makes of plain values, pattern and values at once; None for the long way."""
    if x1.dtype != x2.dtype or x1.dtype.char not in KERNEL_TYPES or not (is_plain(x1.values) and is_plain(x2.values)):
        return None
    (values, first), (others, second) = x1.pattern.by_rows(x1.values.array), x2.pattern.by_rows(x2.values.array)
    combined = combine_elements(kernel, first, second, values, others)
    if combined is None:
        return None
    return SparseTensor(combined[1], combined[0].as_format(x1.format))


@implements(ops.add, commutative=True)
def add_sparse_to_tensor(x1: SparseTensor, x2: Number | Tensor, /) -> Any:
    if not isinstance(x2, Tensor) or x2.shape[-2:] != x1.shape:
        return decline(NOT_ZERO)
    x2, values = promote(x2, x1.dtype), promote(x1.values, x2.dtype)
    return ops.index_put(x2, (..., x1.pattern.rows, x1.pattern.columns), values, accumulate=True)


def subtract_sparse(x1: Any, x2: Any, /) -> Any:
    """Add minus the second, in the dtype that it has with the first."""
    if isinstance(x1, Number) or isinstance(x2, Number):
        return decline(NOT_ZERO)
    if x1.dtype == x2.dtype == np.bool_:
        return decline("booleans have no difference")
    if not isinstance(x2, SparseTensor):
        return add_sparse_to_tensor(x1, -promote(x2, x1.dtype))
    minus = SparseTensor(-promote(x2.values, x1.dtype), x2.pattern)
    if isinstance(x1, SparseTensor):
        return add_sparse(x1, minus)
    return add_sparse_to_tensor(minus, x1)


for _pair in ((SparseTensor, SparseTensor), (SparseTensor, Tensor), (Tensor, SparseTensor)):
    implements(ops.subtract, *_pair)(subtract_sparse)


# Functions of one and of two.


PRESERVING = (
    *(*ZERO_PRESERVING, ops.negative, ops.positive, ops.relu, ops.cbrt, special.erf),
    *(ops.isnan, ops.isinf, ops.signbit),
)
COMPARISONS = (ops.equal, ops.not_equal, ops.less, ops.less_equal, ops.greater, ops.greater_equal)
# Comparisons that are True for two zeros have no rule: their result is dense.
BITWISE = (ops.bitwise_and, ops.bitwise_or, ops.bitwise_xor)
# Functions of two that give 0 or False for two zeros.
OF_TWO = (
    *(ops.not_equal, ops.less, ops.greater, ops.maximum, ops.minimum, ops.hypot),
    *(ops.logical_and, ops.logical_or, ops.logical_xor, *BITWISE),
)
# Functions of two that may do so for a zero and a number.
OF_NUMBERS = (*COMPARISONS, ops.maximum, ops.minimum, ops.pow, ops.logical_and, *BITWISE)


@implements_each(PRESERVING, SparseTensor)
def map_sparse(function: Any, x: SparseTensor, /) -> SparseTensor:
    """Map the stored elements, where 0 is mapped to 0."""
    return SparseTensor(function(x.values), x.pattern)


@implements(ops.astype)
def astype_sparse(x: SparseTensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> SparseTensor:
    return SparseTensor(ops.astype(x.values, dtype, copy=copy, device=device), x.pattern)


@implements_each(OF_TWO, SparseTensor, SparseTensor)
def combine_sparse(op: Any, x1: SparseTensor, x2: SparseTensor, /) -> Any:
    """Combine what either matrix stores, by a function that gives 0 or False for two zeros."""
    if x1.shape != x2.shape:
        return decline(SHAPES)
    pattern, values, others = on_union(x1, x2)
    return SparseTensor(op(values, others), pattern)


def combine_with_numbers(op: Any, x1: SparseTensor, x2: Any, /) -> Any:
    """Combine a matrix with a number or a tensor, by a function that gives 0 or False for 0 and these."""
    return _combined(op, x1, x2, swapped=False)


def combine_numbers_with(op: Any, x1: Any, x2: SparseTensor, /) -> Any:
    """Combine a number or a tensor with a matrix, by a function that gives 0 or False for these and 0."""
    return _combined(op, x2, x1, swapped=True)


def _is_complex(other: Any) -> bool:
    """Return whether a number or the elements of a tensor are complex, which have no order."""
    if isinstance(other, Tensor):
        return bool(other.dtype.kind == "c")
    return isinstance(other, complex)


def _combined(op: Any, x: SparseTensor, other: Any, *, swapped: bool) -> Any:
    if not broadcasts(x, other):
        return decline("the result has another shape")
    if op is ops.pow and (swapped or _is_complex(other) or not holds(other > 0)):
        return decline(NOT_ZERO)
    zero = ops.zeros((), dtype=x.dtype, device=x.device)
    if swapped:
        at_zero = op(other, zero)
    else:
        at_zero = op(zero, other)
    if holds(at_zero == 0):
        return with_tensor(op, x, other, swapped=swapped)
    return decline(NOT_ZERO)


for _type in (bool, int, float, complex, Tensor):
    implements_each((ops.divide, ops.floor_divide, ops.remainder), SparseTensor, _type)(divide_sparse)
    implements_each(OF_NUMBERS, SparseTensor, _type)(combine_with_numbers)
    implements_each(OF_NUMBERS, _type, SparseTensor)(combine_numbers_with)


@implements(ops.clip)
def clip_sparse(x: SparseTensor, /, min: Any = None, max: Any = None) -> Any:
    """Clip at numbers between which 0 lies, and at sparse matrices."""
    lower = _clipped_at(x, min, ops.less_equal, lambda values, bound: ops.clip(values, min=bound))
    if lower is NotImplemented:
        return NotImplemented
    return _clipped_at(lower, max, ops.greater_equal, lambda values, bound: ops.clip(values, max=bound))


def _clipped_at(x: SparseTensor, bound: Any, keeps_zero: Any, clip: Any) -> Any:
    """Return a matrix clipped at one bound, which `keeps_zero` compares with 0 where it is a number."""
    if bound is None:
        return x
    if isinstance(bound, SparseTensor):
        if bound.shape != x.shape:
            return decline(SHAPES)
        pattern, values, bounds = on_union(x, bound)
        return SparseTensor(clip(values, bounds), pattern)
    is_number = isinstance(bound, Number) or (isinstance(bound, Tensor) and bound.ndim == 0)
    if not is_number:
        return decline("bounds are numbers or sparse matrices")
    if not holds(keeps_zero(bound, 0)):
        return decline(NOT_ZERO)
    return SparseTensor(clip(x.values, bound), x.pattern)


@implements(ops.where)
def where_sparse(condition: SparseTensor, x1: Any, x2: Any, /) -> Any:
    others = [x for x in (x1, x2) if isinstance(x, SparseTensor)]
    if any(x.shape != condition.shape for x in others):
        return decline(SHAPES)
    if not isinstance(x2, SparseTensor) and not (getattr(x2, "ndim", 0) == 0 and holds(x2 == 0)):
        return decline(NOT_ZERO)
    if not isinstance(x1, SparseTensor) and not broadcasts(condition, x1):
        return decline("the result has another shape")
    if not isinstance(x2, SparseTensor):
        pattern, chosen, values = condition.pattern, condition.values, x2
    else:
        pattern, chosen, values = on_union(condition, x2)
    if isinstance(x1, SparseTensor):
        places, stored = x1.pattern.find(pattern.rows, pattern.columns)
        first = ops.pad(x1.values, (1, 0))[np.where(stored, places + 1, 0)]
    else:
        first = x1
        if isinstance(x1, Tensor):
            first = at_pattern(x1, pattern)
    return SparseTensor(ops.where(chosen, first, values), pattern)


@implements(ops.masked_fill)
def masked_fill_sparse(x: SparseTensor, /, mask: SparseTensor, value: Any) -> Any:
    if x.shape != mask.shape:
        return decline(SHAPES)
    pattern, values, chosen = on_union(x, mask)
    return SparseTensor(ops.masked_fill(values, chosen, value), pattern)
