"""`SparseTensor`: a matrix of which some elements are stored, the others being zero."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, Self

import numpy as np

from dispatchkit import autograd, ops
from dispatchkit.protocol.chain import decline
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import ArrayMethods, Tensor
from dispatchkit.types.rules import (
    ZERO_PRESERVING,
    Number,
    all_finite,
    axes_of,
    bind_rule,
    check_product,
    in_either_order,
    promote,
)

FORMATS = ("coo", "csr", "csc")


class SparsePattern:
    """Where the stored elements of a sparse matrix are: fixed, and shared by matrices that differ in the values.

    Parameters
    ----------
    first : for ``"coo"`` the rows; for ``"csr"`` and ``"csc"`` where each row (column) starts among the elements
    second : the columns; for ``"csc"`` the rows
    shape : of the matrix
    format : ``"coo"``, ``"csr"`` or ``"csc"``

    Raises
    ------
    ValueError : if the indices do not fit each other or the shape, or an element is there twice
    TypeError : if they are no integers

    Examples
    --------
    >>> import dispatchkit as dk
    >>> pattern = dk.types.SparsePattern([0, 1, 1], [1, 0, 2], (2, 3))
    >>> dk.types.SparseTensor(dk.asarray([2.0, 3.0, -1.0]), pattern).to_dense()
    tensor([[ 0.,  2.,  0.],
            [ 3.,  0., -1.]])
    """

    def __init__(self, first: Any, second: Any, shape: tuple[int, int], format: str = "coo") -> None:  # SciPy's
        if format not in FORMATS:
            raise ValueError(f"SparseTensor: format must be 'coo', 'csr' or 'csc', not {format!r}")
        self.first, self.second, self.format = np.asarray(first), np.asarray(second), format
        self.shape = (int(shape[0]), int(shape[1]))
        for indices in (self.first, self.second):
            if indices.ndim != 1 or (indices.dtype.kind not in "iu" and indices.size):
                raise TypeError(
                    f"SparseTensor: indices must be vectors of integers, found shape {indices.shape} of {indices.dtype}"
                )
        self.first, self.second = (_narrow(indices, self.shape) for indices in (self.first, self.second))
        self._check()

    def _check(self) -> None:
        lines = self.shape[1 if self.format == "csc" else 0]
        ends = self.first
        if self.format == "coo" and len(self.first) != len(self.second):
            raise ValueError(
                f"SparseTensor: there are {len(self.first)} row indices and {len(self.second)} column indices"
            )
        fits = len(ends) == lines + 1 and ends[0] == 0 and ends[-1] == len(self.second)
        if self.format != "coo" and not (fits and (np.diff(ends) >= 0).all()):
            raise ValueError(
                f"SparseTensor: pointers of {self.format} must rise from 0 to the number of elements, "
                f"{len(self.second)}, in {lines + 1} steps"
            )
        for name, indices, length in (("row", self.rows, self.shape[0]), ("column", self.columns, self.shape[1])):
            if len(indices) and not 0 <= indices.min() <= indices.max() < length:
                raise ValueError(f"SparseTensor: a {name} index is out of range for an axis of length {length}")
        if len(np.unique(self.keys)) != len(self.keys):
            raise ValueError("SparseTensor: an element is stored twice; add its values up first")

    @property
    def rows(self) -> Any:
        """Row of each stored element."""
        return self.first if self.format == "coo" else self._lines() if self.format == "csr" else self.second

    @property
    def columns(self) -> Any:
        """Column of each stored element."""
        return self._lines() if self.format == "csc" else self.second

    @property
    def keys(self) -> Any:
        """Number of each stored element, counted along the rows of the whole matrix."""
        return self.rows.astype(np.int64) * self.shape[1] + self.columns

    def _lines(self) -> Any:
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def transposed(self) -> SparsePattern:
        """Return the pattern of the transpose, which shares the indices."""
        if self.format == "coo":
            return known_pattern(self.second, self.first, self.shape[::-1], "coo")
        return known_pattern(self.first, self.second, self.shape[::-1], "csc" if self.format == "csr" else "csr")

    def of_keys(self, keys: Any, shape: tuple[int, int]) -> SparsePattern:
        """Return the pattern of elements with rising numbers.

        Parameters
        ----------
        keys : the number of each element, counted row by row from 0 on; NumPy array of shape (nnz,), rising
        shape : of the matrix
        """
        rows, columns = np.divmod(keys, max(shape[1], 1))
        if self.format == "coo":
            return known_pattern(rows, columns, shape, "coo")
        return known_pattern(np.searchsorted(rows, np.arange(shape[0] + 1)), columns, shape, "csr")

    def __saved__(self) -> list[Any]:
        return [self.first, self.second, list(self.shape), self.format]

    @classmethod
    def __loaded__(cls, saved: Any) -> SparsePattern:
        first, second, shape, format = saved
        return cls(first, second, shape, format)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, SparsePattern):
            return NotImplemented
        return self.shape == other.shape and np.array_equal(self.keys, other.keys)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        indices = f"first={self.first.tolist()}, second={self.second.tolist()}"
        return f"SparsePattern({indices}, shape={self.shape}, format={self.format!r})"


def _narrow(indices: Any, shape: Any) -> Any:
    """Return indices in 32 bits where these are enough: SciPy's kernels convert them at each call otherwise."""
    dtype = np.int32 if max(*shape, len(indices)) < 2**31 else np.int64
    if indices.size and (indices.min() < 0 or indices.max() >= 2**31):
        dtype = np.int64
    return indices.astype(dtype, copy=False)


def known_pattern(first: Any, second: Any, shape: Any, format: str) -> SparsePattern:
    """Return a pattern whose indices are known to be right."""
    pattern = SparsePattern.__new__(SparsePattern)
    first, second = _narrow(first, shape), _narrow(second, shape)
    pattern.first, pattern.second, pattern.shape, pattern.format = first, second, tuple(shape), format
    return pattern


@tensor_protocol.array_type(
    fallback=fallback.decompose | fallback.dense, fields=("values", "pattern"), from_dense="from_dense"
)
class SparseTensor(ArrayMethods):
    """A matrix of which some elements are stored, the others being zero.

    Parameters
    ----------
    values : vector of the stored elements, which may require a gradient
    pattern : where they are

    Raises
    ------
    TypeError : if the values are no numbers
    ValueError : if there are not as many as the pattern says

    Notes
    -----
    The pattern is fixed: results store zeros that come out, so ``A - A`` has the elements of A, and gradients are
    those of the stored elements. Products with tensors, sums, transposes and what maps 0 to 0 take time in proportion
    to the stored elements; sums and products of two sparse matrices store the union, the intersection, or what the
    pattern of the product is. In ``@`` elements that are not stored add nothing, also where the other factor is
    infinite; elementwise, where they would not stay zero (``A + 1``, ``A * inf``), the matrix becomes dense, with a
    warning. Products use SciPy's kernels where it is installed. Source: Gustavson, "Two Fast Algorithms for Sparse
    Matrices: Multiplication and Permuted Transposition" (1978); SciPy, `scipy.sparse`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> a = dk.types.SparseTensor.coo([2.0, 3.0], [0, 1], [1, 0], shape=(2, 2))
    >>> a @ dk.asarray([1.0, 10.0]), a.sum()
    (tensor([20.,  3.]), tensor(5.))
    >>> a + a.mT
    SparseTensor(nnz=2, shape=(2, 2), dtype=float64, format='coo')
    """

    def __init__(self, values: Any, pattern: SparsePattern) -> None:
        self.values, self.pattern = ops.asarray(values), pattern
        if not ops.isdtype(self.values.dtype, "numeric"):
            raise TypeError(f"SparseTensor: values must be numbers, not of dtype {self.values.dtype}")
        if self.values.shape != pattern.second.shape:
            raise ValueError(
                f"SparseTensor: the pattern has {len(pattern.second)} elements, values have shape {self.values.shape}"
            )

    @classmethod
    def coo(cls, values: Any, rows: Any, columns: Any, *, shape: tuple[int, int]) -> Self:
        """Return a matrix by the row and the column of each stored element, in any order.

        Parameters
        ----------
        values : of shape (nnz,)
        rows, columns : integers of shape (nnz,)
        shape : of the matrix
        """
        return cls(values, SparsePattern(rows, columns, shape, "coo"))

    @classmethod
    def csr(cls, values: Any, columns: Any, pointers: Any, *, shape: tuple[int, int]) -> Self:
        """Return a matrix by the columns of its elements, row by row, and where each row starts.

        Parameters
        ----------
        values : of shape (nnz,)
        columns : integers of shape (nnz,)
        pointers : integers of shape (M + 1,); row i has the elements ``pointers[i]`` to ``pointers[i + 1] - 1``
        shape : of the matrix
        """
        return cls(values, SparsePattern(pointers, columns, shape, "csr"))

    @classmethod
    def from_scipy(cls, matrix: Any) -> Self:
        """Return a SciPy matrix or array, which shares its memory where nothing has to be changed.

        Formats other than COO, CSR and CSC become CSR; what is stored twice is added up.

        Parameters
        ----------
        matrix : a sparse matrix or array of SciPy with two axes
        """
        matrix = matrix if matrix.format in FORMATS else matrix.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        if matrix.format == "coo":
            return cls(matrix.data, SparsePattern(matrix.row, matrix.col, matrix.shape, "coo"))
        return cls(matrix.data, SparsePattern(matrix.indptr, matrix.indices, matrix.shape, matrix.format))

    def to_scipy(self) -> Any:
        """Return a SciPy array of the same format, which shares the values' memory.

        Raises
        ------
        AutogradError : if the values require a gradient; detach them
        ImportError : without SciPy
        """
        return scipy_array(self.values.numpy(), self.pattern)

    @classmethod
    def from_dense(cls, x: Any, like: SparseTensor | None = None) -> Self:
        """Return what a plain matrix has at the elements of another's pattern; without one, at those not zero.

        Parameters
        ----------
        x : a matrix of shape (M, N)
        like : the matrix whose pattern the result has
        """
        x = ops.asarray(x)
        if like is None:
            rows, columns = np.nonzero(x.detach().numpy())
            pattern = SparsePattern(rows, columns, (x.shape[0], x.shape[1]))
        else:
            pattern = like.pattern
        return cls(x[pattern.rows, pattern.columns], pattern)

    @property
    def nnz(self) -> int:
        """Number of stored elements."""
        return len(self.pattern.second)

    @property
    def format(self) -> str:
        """How the pattern is stored: ``"coo"``, ``"csr"``, or ``"csc"``, as the transpose of the second."""
        return self.pattern.format

    @property
    def shape(self) -> tuple[int, int]:
        """Lengths of the axes."""
        return self.pattern.shape

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.values.dtype

    @property
    def device(self) -> Any:
        """Where the values are."""
        return self.values.device

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        zeros = ops.zeros(self.shape, dtype=self.dtype, device=self.device)
        dense: Tensor = ops.index_put(zeros, (self.pattern.rows, self.pattern.columns), self.values)
        return dense

    def extra_repr(self) -> str:
        """Return what a module shows of it."""
        return f"nnz={self.nnz}, shape={self.shape}"

    def __repr__(self) -> str:
        return f"SparseTensor({self.extra_repr()}, dtype={self.dtype}, format='{self.format}')"


def scipy_array(values: Any, pattern: SparsePattern) -> Any:
    """Return a SciPy array of the pattern's format.

    Raises
    ------
    ImportError : without SciPy
    """
    try:
        sparse = import_module("scipy.sparse")
    except ImportError as error:
        raise ImportError("SparseTensor.to_scipy needs SciPy: pip install scipy") from error
    if pattern.format == "coo":
        return sparse.coo_array((values, (pattern.first, pattern.second)), shape=pattern.shape)
    make = sparse.csr_array if pattern.format == "csr" else sparse.csc_array
    return make((values, pattern.second, pattern.first), shape=pattern.shape)


implements = tensor_protocol.implements


# Products.


class SparseProduct(autograd.Function):
    """A sparse matrix, given by values and pattern, times a vector or a matrix."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Any, x: Any, pattern: SparsePattern) -> Any:
        known = all(not part.is_tracer and isinstance(part.array, np.ndarray) for part in (values, x))
        # SciPy leaves zeros that are stored as COO out of products with matrices; IEEE's of 0 and inf is nan.
        if pattern.format == "coo" and x.ndim > 1 and not all_finite(x):
            known = False
        if known and values.dtype.char in "fdFD":
            try:
                product = scipy_array(values.numpy(), pattern) @ x.numpy()
                # SciPy gives a number for one row.
                return ops.asarray(np.reshape(product, (pattern.shape[0], *x.shape[1:])))
            except ImportError:
                pass  # the way without SciPy
        parts = x[pattern.columns]
        parts = parts * (values if x.ndim == 1 else values[:, None])
        zeros = ops.zeros((pattern.shape[0], *x.shape[1:]), dtype=parts.dtype, device=parts.device)
        return ops.index_put(zeros, pattern.rows, parts, accumulate=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        values, x, ctx.pattern = inputs
        ctx.save_for_backward(values, x)
        ctx.save_for_forward(values, x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        values, x = ctx.saved_tensors
        pattern, of_values, of_x = ctx.pattern, None, None
        if ctx.needs_input_grad[0]:
            parts = g[pattern.rows] * ops.conj(x[pattern.columns])
            of_values = parts if x.ndim == 1 else ops.sum(parts, axis=-1)
        if ctx.needs_input_grad[1]:
            of_x = SparseProduct.apply(ops.conj(values), g, pattern.transposed())
        return of_values, of_x, None

    @staticmethod
    def jvp(ctx: Any, of_values: Any, of_x: Any, _: Any) -> Any:
        values, x = ctx.saved_tensors
        parts = [SparseProduct.apply(values, of_x, ctx.pattern)] if of_x is not None else []
        if of_values is not None:
            parts.append(SparseProduct.apply(of_values, x, ctx.pattern))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@implements(ops.matmul)
def matmul_sparse_tensor(x1: SparseTensor, x2: Tensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    values, x = promote(x1.values, x2.dtype), promote(x2, x1.dtype)
    if x.ndim <= 2:
        return SparseProduct.apply(values, x, x1.pattern)
    front = ops.moveaxis(x, -2, 0)
    columns = ops.reshape(front, (x1.shape[1], math.prod(front.shape[1:])))
    y = SparseProduct.apply(values, columns, x1.pattern)
    return ops.moveaxis(ops.reshape(y, (x1.shape[0], *front.shape[1:])), 0, -2)


@implements(ops.matmul)
def matmul_tensor_sparse(x1: Tensor, x2: SparseTensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    y = matmul_sparse_tensor(matrix_transpose_sparse(x2), x1 if x1.ndim == 1 else ops.matrix_transpose(x1))
    return y if x1.ndim == 1 else ops.matrix_transpose(y)


@implements(ops.matmul)
def matmul_sparse(x1: SparseTensor, x2: SparseTensor, /) -> SparseTensor:
    check_product(x1.shape, x2.shape)
    order = np.argsort(x2.pattern.rows, kind="stable")  # of the elements of x2, row by row
    starts = np.searchsorted(x2.pattern.rows[order], np.arange(x2.shape[0] + 1))
    counts = np.diff(starts)[x1.pattern.columns]
    left = np.repeat(np.arange(x1.nnz), counts)
    within = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = order[np.repeat(starts[x1.pattern.columns], counts) + within]
    shape = (x1.shape[0], x2.shape[1])
    keys = x1.pattern.rows[left].astype(np.int64) * shape[1] + x2.pattern.columns[right]
    return _sum_by_key(x1.pattern, keys, x1.values[left] * x2.values[right], shape)


def _sum_by_key(pattern: SparsePattern, keys: Any, parts: Any, shape: tuple[int, int]) -> SparseTensor:
    """Return the matrix whose elements are sums of parts, each with the number of its element."""
    unique, places = np.unique(keys, return_inverse=True)
    zeros = ops.zeros((len(unique),), dtype=parts.dtype, device=parts.device)
    return SparseTensor(ops.index_put(zeros, places, parts, accumulate=True), pattern.of_keys(unique, shape))


@implements(ops.matrix_transpose)
def matrix_transpose_sparse(x: SparseTensor, /) -> SparseTensor:
    return SparseTensor(x.values, x.pattern.transposed())


@implements(ops.permute_dims)
def permute_dims_sparse(x: SparseTensor, /, axes: tuple[int, ...]) -> Any:
    if sorted(a % 2 for a in axes if -2 <= a < 2) != [0, 1]:
        raise ValueError(f"permute_dims: axes {tuple(axes)} are no permutation of (0, 1)")
    return x if axes[0] % 2 == 0 else matrix_transpose_sparse(x)


# Elementwise.


@in_either_order(ops.multiply)
def scale_sparse(x1: SparseTensor, x2: Number | Tensor, /) -> Any:
    if isinstance(x2, Tensor) and (x2.ndim > 2 or np.broadcast_shapes(x1.shape, x2.shape) != x1.shape):
        return decline("the product has another shape")
    if not all_finite(x2):
        return decline("0 times inf or nan is nan where nothing is stored")
    if isinstance(x2, Tensor) and x2.ndim:
        x2 = ops.broadcast_to(x2, x1.shape)[x1.pattern.rows, x1.pattern.columns]
    return SparseTensor(x1.values * x2, x1.pattern)


@implements(ops.multiply)
def multiply_sparse(x1: SparseTensor, x2: SparseTensor, /) -> Any:
    if x1.shape != x2.shape:
        return decline("the shapes differ")
    if not all_finite(x1.values, x2.values):
        return decline("0 times inf or nan is nan where nothing is stored")
    if x1.pattern == x2.pattern:
        return SparseTensor(x1.values * x2.values, x1.pattern)
    keys, left, right = np.intersect1d(x1.pattern.keys, x2.pattern.keys, assume_unique=True, return_indices=True)
    return SparseTensor(x1.values[left] * x2.values[right], x1.pattern.of_keys(keys, x1.shape))


@implements(ops.divide)
def divide_sparse(x1: SparseTensor, x2: Number, /) -> Any:
    if not abs(x2) > 0:
        return decline("0 / 0 is nan where nothing is stored")
    return SparseTensor(x1.values / x2, x1.pattern)


@implements(ops.add)
def add_sparse(x1: SparseTensor, x2: SparseTensor, /) -> Any:
    if x1.shape != x2.shape:
        return decline("the shapes differ")
    if x1.pattern == x2.pattern:
        return SparseTensor(x1.values + x2.values, x1.pattern)
    keys = np.concatenate([x1.pattern.keys, x2.pattern.keys])
    return _sum_by_key(x1.pattern, keys, ops.concat([x1.values, x2.values]), x1.shape)


@implements(ops.subtract)
def subtract_sparse(x1: SparseTensor, x2: SparseTensor, /) -> Any:
    return add_sparse(x1, _minus(x2, x1))


def _minus(x: SparseTensor, other: Any) -> SparseTensor:
    """Return minus a matrix, in the dtype that it has with another array."""
    return SparseTensor(-promote(x.values, other.dtype), x.pattern)


NOT_ZERO = "what is not stored does not stay zero"


@in_either_order(ops.add)
def add_sparse_to_tensor(x1: SparseTensor, x2: Number | Tensor, /) -> Any:
    if not isinstance(x2, Tensor) or x2.shape[-2:] != x1.shape:
        return decline(NOT_ZERO)
    return ops.index_put(promote(x2, x1.dtype), (..., x1.pattern.rows, x1.pattern.columns), x1.values, accumulate=True)


@implements(ops.subtract)
def subtract_sparse_from_tensor(x1: Number | Tensor, x2: SparseTensor, /) -> Any:
    return add_sparse_to_tensor(_minus(x2, x1), x1) if isinstance(x1, Tensor) else decline(NOT_ZERO)


@implements(ops.subtract)
def subtract_tensor_from_sparse(x1: SparseTensor, x2: Number | Tensor, /) -> Any:
    if not isinstance(x2, Tensor):
        return decline(NOT_ZERO)
    return add_sparse_to_tensor(x1, -promote(x2, x1.dtype))


def map_sparse(function: Any, x: SparseTensor, /) -> SparseTensor:
    return SparseTensor(function(x.values), x.pattern)


for _function in (*ZERO_PRESERVING, ops.negative, ops.positive):
    implements(_function, SparseTensor)(bind_rule(_function, map_sparse))


# Reductions.


@implements(ops.sum)
def sum_sparse(x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    axes = axes_of("sum", x, axis)
    if not axes:
        return decline("a sum along no axis is the matrix itself")
    total = ops.sum(x.values)
    if len(axes) == 1:
        kept = x.pattern.columns if 0 in axes else x.pattern.rows
        length = x.shape[1 if 0 in axes else 0]
        zeros = ops.zeros((length,), dtype=total.dtype, device=x.device)
        total = ops.index_put(zeros, kept, ops.astype(x.values, total.dtype), accumulate=True)
    return ops.reshape(total, tuple(1 if a in axes else x.shape[a] for a in (0, 1))) if keepdims else total


@implements(ops.mean)
def mean_sparse(x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    axes = axes_of("mean", x, axis)
    count = math.prod(x.shape[a] for a in axes)
    if not count or not axes:
        return decline("a mean of nothing is nan")
    return ops.sum(x, axis=axis, keepdims=keepdims) / count
