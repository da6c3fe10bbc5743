"""`PermutationTensor`: a matrix that permutes the rows of what it multiplies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds, wrap_array
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.printing import cut, summarised
from dispatchkit.types.rules import (
    Number,
    array_of,
    check_product,
    implements,
    implements_each,
    plain_arrays,
    promote,
)
from dispatchkit.types.structured.base import StructuredTensor, as_tensor, floating, require_finite, same_size
from dispatchkit.types.structured.diagonal import DiagonalTensor, ScalarTensor
from dispatchkit.types.structured.lazy import ProductTensor


@tensor_protocol.array_type(fields=("permutation", "dtype"))
class PermutationTensor(StructuredTensor):
    """The matrices with a 1 in each row and in each column: ``P @ x`` is ``x[permutation]``.

    Parameters
    ----------
    permutation : tensor of shape (..., n), or what `asarray` makes one of: the column of the 1 in each row; the axes
        in front are a batch; an array of NumPy is copied, and cannot be changed in the matrix
    dtype : type of the elements; float64 by default

    Raises
    ------
    ValueError : if `permutation` has no axis, or does not hold each of 0 to n-1 once
    TypeError : if it holds no integers

    Notes
    -----
    Products and inverses are permutations again and take O(n), a product with a matrix takes its rows or columns. The
    sign of the determinant is that of the cycles. Source: the permutation matrices of linear_operator.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> p = dk.types.PermutationTensor([2, 0, 1])
    >>> p @ dk.asarray([10.0, 20.0, 30.0]), dk.linalg.inv(p)
    (tensor([30., 10., 20.]), PermutationTensor([1, 2, 0]))
    >>> dk.linalg.det(dk.types.PermutationTensor([1, 0]))
    tensor(-1.)
    """

    # The permutation that nobody changes, what shape and dtype a vector has, and how it is permuted and permuted back.
    _fixed: tuple[Any, ...] = (None,) * 5

    def __init__(self, permutation: Any, *, dtype: Any = np.float64) -> None:
        self.permutation = as_tensor("PermutationTensor", "permutation", permutation, 1)
        self.dtype = np.dtype(dtype)
        if self.permutation.dtype.kind not in "iu" and self.permutation.size:
            raise TypeError(f"PermutationTensor: permutation must hold integers, not {self.permutation.dtype}")
        places = ops.arange(self.permutation.shape[-1], device=self.permutation.device)
        if not holds(ops.sort(self.permutation, axis=-1) == places, traced=True):
            raise ValueError("PermutationTensor: permutation must hold each of 0 to n-1 once")
        self.permutation = _unchangeable(self.permutation)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: (..., n, n)."""
        return (*self.permutation.shape, self.permutation.shape[-1])

    def map_elements(self, function: Callable[[Any], Any]) -> Any:
        """Return the matrix with what a function makes of 1 in the place of each 1."""
        element = function(ops.ones((), dtype=self.dtype, device=self.permutation.device))
        if not holds(ops.isfinite(element), traced=True):
            return decline("zeros do not stay zero")
        # Whether the number is 1 and the permutation moves anything decides neither type nor shape.
        return ProductTensor(ScalarTensor(self.shape[-1], element), _permutation(self.permutation, element.dtype))

    def in_dtype(self, dtype: Any) -> PermutationTensor:
        """Return the matrix with ones of another dtype."""
        return _permutation(self.permutation, dtype)

    def map_batch(self, function: Callable[[Any], Any]) -> Any:
        """Return the matrix with a function of the axes of the batch applied."""
        return _permutation(function(self.permutation), self.dtype)

    def places(self) -> Any:
        """Return where the ones are."""
        columns = ops.arange(self.shape[-1]).to(like=self.permutation)
        return ops.equal(self.permutation[..., :, None], columns)

    def added_to(self, x: Tensor) -> Any:
        """Return a tensor with ones added."""
        places = ops.arange(self.shape[-1], device=x.device)
        return x + self.elements_at(places[:, None], places[None, :])

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices."""
        return ops.astype(self.permutation[..., rows] == columns, self.dtype)

    def times(self, columns: Tensor) -> Tensor:
        """Return a tensor with its rows permuted."""
        return _take(columns, self.permutation, -2)

    def times_from_left(self, rows: Tensor) -> Tensor:
        """Return a tensor with its columns permuted."""
        return _take(rows, inverse_of(self.permutation), -1)

    def solve_columns(self, columns: Tensor) -> Tensor:
        """Return a tensor with its rows permuted back."""
        return _take(columns, inverse_of(self.permutation), -2)

    def times_vector(self, x: Tensor) -> Any:
        """Return a vector with its elements permuted."""
        if self.permutation.ndim > 1:
            return super().times_vector(x)
        return ops.take(x, self.permutation)

    def solve_vector(self, x: Tensor) -> Any:
        """Return a vector with its elements permuted back."""
        if self.permutation.ndim > 1:
            return super().solve_vector(x)
        arrays = plain_arrays(x, self.permutation)
        if arrays is None:
            return ops.take(x, inverse_of(self.permutation))
        result = np.empty_like(arrays[0])
        result[arrays[1]] = arrays[0]
        return ops.asarray(result)

    vector_times = solve_vector

    def times_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return a vector with its elements permuted."""
        permutation = array_of(self.permutation)
        if permutation is None or permutation.shape != x.shape or x.ndim != 1 or x.dtype != self.dtype:
            return None
        self._fix(permutation)
        return x[permutation]

    def array_times(self, x: np.ndarray) -> np.ndarray | None:
        """Return a vector with its elements permuted back."""
        permutation = array_of(self.permutation)
        if permutation is None or permutation.shape != x.shape or x.ndim != 1 or x.dtype != self.dtype:
            return None
        if self._fix(permutation):
            return x[self._fixed[-1]]
        result = np.empty(x.shape, x.dtype)
        result[permutation] = x
        return result

    def _fix(self, array: np.ndarray) -> bool:
        """Keep for further calls what is known of a permutation that nobody can change; return whether it is one."""
        if not _is_unchangeable(array) or type(self) is not PermutationTensor:
            return False
        self._fixed = self.permutation, array.shape, self.dtype, array, _inverse(array)
        return True

    def solve_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return a vector with its elements permuted back."""
        if x.dtype.kind in "fc":
            return self.array_times(x)
        return None

    @summarised
    def __repr__(self) -> str:
        dtype = ""
        if self.dtype != np.float64:
            dtype = f", dtype={self.dtype}"
        return f"PermutationTensor([{cut(self.permutation.tolist())}]{dtype})"


def _permutation(permutation: Tensor, dtype: Any) -> PermutationTensor:
    """Return a matrix of what is known to be a permutation, and is nobody else's to change."""
    matrix = object.__new__(PermutationTensor)
    array = array_of(permutation)
    if array is not None and array.base is None:
        array.flags.writeable = False
    matrix.permutation, matrix.dtype = permutation, np.dtype(dtype)
    return matrix


def _unchangeable(permutation: Tensor) -> Tensor:
    """Return a permutation of NumPy's as a tensor that nobody can write into, a copy unless it is one; others as such.

    What was checked then goes on being true, and its inverse is computed once.
    """
    array = array_of(permutation)
    if array is None or _is_unchangeable(array):
        return permutation
    copy = np.array(array)
    copy.flags.writeable = False
    unchangeable: Tensor = wrap_array(Tensor, copy)
    return unchangeable


def _is_unchangeable(array: np.ndarray) -> bool:
    return array.base is None and not array.flags.writeable


def inverse_of(permutation: Tensor) -> Tensor:
    """Return where each number from 0 on stands in permutations."""
    arrays = plain_arrays(permutation)
    if arrays is None or permutation.ndim > 1:
        return ops.argsort(permutation, axis=-1)
    return ops.asarray(_inverse(arrays[0]))


def _inverse(permutation: np.ndarray) -> np.ndarray:
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(inverse.size, dtype=inverse.dtype)
    return inverse


def _take(x: Tensor, permutation: Tensor, axis: int) -> Tensor:
    if permutation.ndim == 1:
        return ops.take(x, permutation, axis=axis)
    beside = -2
    if axis == -2:
        beside = -1
    index = ops.expand_dims(permutation, axis=beside)
    batch = np.broadcast_shapes(x.shape[:-2], index.shape[:-2])
    x = ops.broadcast_to(x, (*batch, *x.shape[-2:]))
    return ops.take_along_axis(x, ops.broadcast_to(index, x.shape), axis=axis)


# The elementwise functions that map 1 to 1 as well as 0 to 0.
ONE_PRESERVING = (
    *(ops.positive, ops.abs, ops.sign, ops.square, ops.sqrt, ops.cbrt, ops.relu),
    *(ops.floor, ops.ceil, ops.trunc, ops.round, ops.conj, ops.real),
)


@implements_each(ONE_PRESERVING, PermutationTensor)
def map_permutation(function: Any, x: PermutationTensor, /) -> PermutationTensor:
    return _permutation(x.permutation, function(ops.ones((), dtype=x.dtype)).dtype)


@implements(ops.pow)
def pow_permutation(x1: PermutationTensor, x2: Number, /) -> Any:
    if isinstance(x2, complex) or not x2 > 0:
        return decline("zeros do not stay zero")
    return _permutation(x1.permutation, (ops.ones((), dtype=x1.dtype) ** x2).dtype)


@implements(ops.multiply)
def multiply_permutations(x1: PermutationTensor, x2: PermutationTensor, /) -> Any:
    if not same_size("multiply", x1, x2) or not holds(x1.permutation == x2.permutation):
        return decline("the ones stand in different places")
    batch = ops.broadcast_to(x1.permutation, np.broadcast_shapes(x1.permutation.shape, x2.permutation.shape))
    return _permutation(batch, np.result_type(x1.dtype, x2.dtype))


@implements(ops.matmul)
def matmul_permutations(x1: PermutationTensor, x2: PermutationTensor, /) -> PermutationTensor:
    check_product(x1.shape, x2.shape)
    dtype = np.result_type(x1.dtype, x2.dtype)
    return _permutation(_take(x2.permutation[..., None], x1.permutation, -2)[..., 0], dtype)


@implements(ops.matmul)
def matmul_permutation_diagonal(x1: PermutationTensor, x2: DiagonalTensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    if x2.values.ndim == 1:
        permuted = x1 @ x2.values
    else:
        permuted = (x1 @ x2.values[..., None])[..., 0]
    return DiagonalTensor(permuted) @ x1


@implements(ops.matmul)
def matmul_diagonal_permutation(x1: DiagonalTensor, x2: PermutationTensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    if not holds(x2.permutation == ops.arange(x2.shape[-1], device=x2.permutation.device)):
        return decline("the product is no diagonal matrix")
    batch = np.broadcast_shapes(x1.shape[:-1], x2.shape[:-1])
    return DiagonalTensor(ops.broadcast_to(promote(x1.values, x2.dtype), batch))


@implements(ops.astype)
def astype_permutation(
    x: PermutationTensor, dtype: Any, /, *, copy: bool = True, device: Any = None
) -> PermutationTensor:
    return _permutation(ops.astype(x.permutation, x.permutation.dtype, copy=copy, device=device), dtype)


@implements(ops.matrix_transpose)
def matrix_transpose_permutation(x: PermutationTensor, /) -> PermutationTensor:
    return _permutation(inverse_of(x.permutation), x.dtype)


@implements(linalg.inv)
def inv_permutation(x: PermutationTensor, /) -> PermutationTensor:
    return _permutation(inverse_of(x.permutation), floating(ops.zeros((), dtype=x.dtype)).dtype)


@implements(linalg.det)
def det_permutation(x: PermutationTensor, /) -> Tensor:
    """Return the determinants: -1 for an odd number of exchanges."""
    dtype = floating(ops.zeros((), dtype=x.dtype)).dtype
    permutation = array_of(x.permutation)
    if permutation is not None and permutation.ndim == 1 and permutation.size > MANY_TO_FOLLOW:
        return ops.asarray(1 - 2 * _exchanges(permutation), dtype=dtype)
    n = x.shape[-1]
    places, then = ops.arange(n), x.permutation
    # The least place that is reached in 1, 2, 4, ... steps: in the end that of the whole cycle.
    least = ops.broadcast_to(places, then.shape)
    for _ in range(n.bit_length()):
        least = ops.minimum(least, ops.take_along_axis(least, then, axis=-1))
        then = ops.take_along_axis(then, then, axis=-1)
    cycles = ops.sum(least == places, axis=-1)
    return 1 - 2 * ops.astype((n - cycles) % 2, dtype)


MANY_TO_FOLLOW = 30_000  # elements, which outgrow the caches: to follow cycles then waits for the memory at each step


def _exchanges(permutation: np.ndarray) -> int:
    """Return the number of exchanges that sort a permutation, 0 or 1 as it is even or odd.

    It is sorted digit by digit, each a stable partition that passes zeros over the ones before them: memory is read in
    order.
    """
    odd = 0
    order = permutation
    if order.size < 2**31:
        order = order.astype(np.int32)
    for digit in range((order.size - 1).bit_length()):
        digits = (order >> digit & 1).astype(np.bool_)
        # Reading by places takes a fifth of the time that reading by booleans takes.
        zeros, ones = np.flatnonzero(~digits), np.flatnonzero(digits)
        odd ^= (int(np.count_nonzero(zeros & 1)) - zeros.size * (zeros.size - 1) // 2) & 1
        order = np.concatenate([order[zeros], order[ones]])
    return odd


@implements(linalg.slogdet)
def slogdet_permutation(x: PermutationTensor, /) -> Any:
    sign = det_permutation(x)
    return linalg.SlogdetResult(sign, ops.zeros_like(ops.real(sign)))


# Factors of which permutations are a part.


@implements(linalg.svdvals)
def svdvals_permutation(x: PermutationTensor, /) -> Tensor:
    return ops.ones(x.shape[:-1], dtype=ops.real(floating(ops.zeros((), dtype=x.dtype))).dtype)


@implements(linalg.svd)
def svd_permutation(x: PermutationTensor, /, *, full_matrices: bool = True) -> Any:
    dtype = floating(ops.zeros((), dtype=x.dtype)).dtype
    left: Any = _permutation(x.permutation, dtype)
    right: Any = _permutation(ops.broadcast_to(ops.arange(x.shape[-1]), x.permutation.shape), dtype)
    return linalg.SVDResult(left, linalg.svdvals(x), right)


def in_order(values: Tensor, dtype: Any, *, descending: bool = False) -> tuple[Tensor, Any]:
    """Return values in order, and the matrix whose product with the vectors of the values brings these into it."""
    order = ops.argsort(values, axis=-1, descending=descending)
    return ops.take_along_axis(values, order, axis=-1), ops.matrix_transpose(_permutation(order, dtype))


@implements(linalg.eigh)
def eigh_diagonal(x: DiagonalTensor, /) -> Any:
    require_finite("eigh", x, x.values)
    values = floating(x.values)
    return linalg.EighResult(*in_order(ops.real(values), values.dtype))


@implements(linalg.svd)
def svd_diagonal(x: DiagonalTensor, /, *, full_matrices: bool = True) -> Any:
    require_finite("svd", x, x.values)
    values = floating(x.values)
    sizes = ops.abs(values)
    ordered, moved = in_order(sizes, values.dtype, descending=True)
    signs: Any = DiagonalTensor(ops.where(sizes == 0, ops.ones((), dtype=values.dtype), ops.sign(values)))
    return linalg.SVDResult(signs @ moved, ordered, moved.mT)
