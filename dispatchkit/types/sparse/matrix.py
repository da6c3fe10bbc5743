"""`SparseTensor`: a matrix of which some elements are stored, the others being zero."""

from __future__ import annotations

import math
from importlib import import_module
from operator import attrgetter
from typing import Any, Self

import numpy as np

from dispatchkit import autograd, ops
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import ArrayMethods, Tensor
from dispatchkit.tensor.printing import summarised
from dispatchkit.types.rules import (
    check_product,
    implements,
    is_plain,
    permutation_of,
    promote,
)
from dispatchkit.types.sparse_pattern import FORMATS, SparsePattern, kernels, product


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
    TypeError : if the values are no numbers or booleans
    ValueError : if there are not as many as the pattern says

    Notes
    -----
    The pattern is fixed: results store zeros that come out, so ``A - A`` has the elements of A, and gradients are
    those of the stored elements. Products with tensors, sums, extremes, transposes, slices, `concat` and what maps 0 to
    0 take time in proportion to the stored elements and the rows or columns that are read; sums and products of two
    sparse matrices store the union, the intersection, or what the pattern of the product is. One row or column, and
    elements at indices, are plain tensors. In ``@`` elements that are not stored add nothing, also where the other
    factor is infinite; elementwise, where they would not stay zero or False (``A + 1``, ``A * inf``, ``A < 1``), the
    matrix becomes dense, with a warning. Products use SciPy's kernels where it is installed. Source: Gustavson, "Two
    Fast Algorithms for Sparse Matrices: Multiplication and Permuted Transposition" (1978); SciPy, `scipy.sparse`.

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
        if not ops.isdtype(self.values.dtype, ("numeric", "bool")):
            raise TypeError(f"SparseTensor: values must be numbers or booleans, not of dtype {self.values.dtype}")
        if self.values.shape != pattern.second.shape:
            raise ValueError(
                f"SparseTensor: the pattern has {len(pattern.second)} elements, values have shape {self.values.shape}"
            )

    @classmethod
    def coo(cls, values: Any, rows: Any, columns: Any, *, shape: tuple[int, int], sum_duplicates: bool = False) -> Self:
        """Return a matrix by the row and the column of each stored element, in any order.

        Parameters
        ----------
        values : of shape (nnz,)
        rows, columns : integers of shape (nnz,)
        shape : of the matrix
        sum_duplicates : whether to add up what is given for one place, as in the assembly of finite elements; the
            elements then are in the order of rows

        Raises
        ------
        ValueError : if a place is given twice and `sum_duplicates` is False

        Examples
        --------
        >>> import dispatchkit as dk
        >>> a = dk.types.SparseTensor.coo([1.0, 2.0, 4.0], [0, 1, 0], [1, 1, 1], shape=(2, 2), sum_duplicates=True)
        >>> a.to_dense()
        tensor([[0., 5.],
                [0., 2.]])
        """
        if not sum_duplicates:
            return cls(values, SparsePattern(rows, columns, shape, "coo"))
        values = ops.asarray(values)
        pattern, places = SparsePattern.of_repeated(rows, columns, shape)
        if values.shape != places.shape:
            raise ValueError(f"SparseTensor: there are {len(places)} indices, values have shape {values.shape}")
        zeros = ops.zeros(pattern.second.shape, dtype=values.dtype, device=values.device)
        return cls(ops.index_put(zeros, places, values, accumulate=True), pattern)

    @classmethod
    def csr(cls, values: Any, columns: Any, pointers: Any, *, shape: tuple[int, int], check: bool = True) -> Self:
        """Return a matrix by the columns of its elements, row by row, and where each row starts.

        Parameters
        ----------
        values : of shape (nnz,)
        columns : integers of shape (nnz,)
        pointers : integers of shape (M + 1,); row i has the elements ``pointers[i]`` to ``pointers[i + 1] - 1``
        shape : of the matrix
        check : False for indices that are known to be right, of which then only the numbers and the ends are looked at:
            in no time that grows with them. A wrong one gives wrong results, or ends the process

        Raises
        ------
        ValueError : if the pointers do not rise to the number of elements, a column is out of range, or an element is
            stored twice
        TypeError : if the indices are no integers

        Examples
        --------
        >>> import dispatchkit as dk
        >>> dk.types.SparseTensor.csr([1.0, 2.0, 4.0], [1, 0, 1], [0, 1, 3], shape=(2, 2)).to_dense()
        tensor([[0., 1.],
                [2., 4.]])
        """
        return cls(values, SparsePattern(pointers, columns, shape, "csr", check=check))

    @classmethod
    def from_scipy(cls, matrix: Any) -> Self:
        """Return a SciPy matrix or array, which shares its memory where nothing has to be changed.

        Formats other than COO, CSR and CSC become CSR; what is stored twice is added up.

        Parameters
        ----------
        matrix : a sparse matrix or array of SciPy with two axes

        Raises
        ------
        ValueError : if it has another number of axes
        """
        if len(matrix.shape) != 2:
            raise ValueError(
                f"SparseTensor.from_scipy: matrix must have two axes, found shape {matrix.shape}; a vector becomes one "
                f"row by matrix.reshape(1, -1)"
            )
        if matrix.format not in FORMATS:
            matrix = matrix.tocsr()
        if not matrix.has_canonical_format:
            rows = matrix.tocsr(copy=True)
            rows.sum_duplicates()
            matrix = rows.asformat(matrix.format)
        if matrix.format == "coo":
            indices = matrix.row, matrix.col
        else:
            indices = matrix.indptr, matrix.indices
        return cls(matrix.data, SparsePattern(*indices, matrix.shape, matrix.format))

    def to_scipy(self) -> Any:
        """Return a SciPy array of the same format, which shares the values' memory.

        Raises
        ------
        AutogradError : if the values require a gradient; detach them
        ImportError : without SciPy
        """
        try:
            sparse = import_module("scipy.sparse")
        except ImportError as error:
            raise ImportError("SparseTensor.to_scipy needs SciPy: pip install scipy") from error
        first, second = self.pattern.first, self.pattern.second
        indices: Any = (second, first)
        if self.format == "coo":
            indices = ((first, second),)
        return getattr(sparse, f"{self.format}_array")((self.values.numpy(), *indices), shape=self.shape)

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

    dtype = property(attrgetter("values.dtype"), doc="Type of the elements.")

    device = property(attrgetter("values.device"), doc="Where the values are.")

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        zeros = ops.zeros(self.shape, dtype=self.dtype, device=self.device)
        dense: Tensor = ops.index_put(zeros, (self.pattern.rows, self.pattern.columns), self.values)
        return dense

    def extra_repr(self) -> str:
        """Return what a module shows of it."""
        return f"nnz={self.nnz}, shape={self.shape}"

    @summarised
    def __repr__(self) -> str:
        return f"SparseTensor({self.extra_repr()}, dtype={self.dtype}, format='{self.format}')"


# Products.

KERNEL_TYPES = "fdFD"


def product_with_vectors(values: Any, x: Any, pattern: SparsePattern) -> Any:
    """Return the product with a vector, or a matrix, by SciPy's kernels; None where they do not take the arrays."""
    tools = kernels()
    if tools is None or values.dtype.char not in KERNEL_TYPES or values.dtype != x.dtype:
        return None
    if pattern.format == "coo":
        values, pattern = pattern.by_rows(values)
    y = np.zeros((pattern.shape[0], *x.shape[1:]), x.dtype)
    name = f"{pattern.format}_matvec"
    if x.ndim > 1:
        name = f"{pattern.format}_matvecs"
    times = getattr(tools, name)
    times(*pattern.shape, *x.shape[1:], pattern.first, pattern.second, values, x.ravel(), y.reshape(-1))
    return y


class SparseProduct(autograd.Function):
    """A sparse matrix, given by values and pattern, times a vector or a matrix."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Any, x: Any, pattern: SparsePattern) -> Any:
        plain = all(not part.is_tracer and isinstance(part.array, np.ndarray) for part in (values, x))
        if plain and (y := product_with_vectors(values.array, x.array, pattern)) is not None:
            return ops.asarray(y)
        parts = x[pattern.columns]
        if x.ndim == 1:
            parts = parts * values
        else:
            parts = parts * values[:, None]
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
            of_values = parts
            if x.ndim != 1:
                of_values = ops.sum(parts, axis=-1)
        if ctx.needs_input_grad[1]:
            of_x = SparseProduct.apply(ops.conj(values), g, pattern.transposed)
        return of_values, of_x, None

    @staticmethod
    def jvp(ctx: Any, of_values: Any, of_x: Any, _: Any) -> Any:
        values, x = ctx.saved_tensors
        parts = []
        if of_x is not None:
            parts = [SparseProduct.apply(values, of_x, ctx.pattern)]
        if of_values is not None:
            parts.append(SparseProduct.apply(of_values, x, ctx.pattern))
        if len(parts) == 1:
            return parts[0]
        return parts[0] + parts[1]


@implements(ops.matmul)
def matmul_sparse_tensor(x1: SparseTensor, x2: Tensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    values, x = promote(x1.values, x2.dtype), promote(x2, x1.dtype)
    if x.ndim <= 2:
        y = None
        if is_plain(values) and is_plain(x):
            y = product_with_vectors(values.array, x.array, x1.pattern)
        if y is None:
            return SparseProduct.apply(values, x, x1.pattern)
        return ops.asarray(y)
    front = ops.moveaxis(x, -2, 0)
    columns = ops.reshape(front, (x1.shape[1], math.prod(front.shape[1:])))
    y = SparseProduct.apply(values, columns, x1.pattern)
    return ops.moveaxis(ops.reshape(y, (x1.shape[0], *front.shape[1:])), 0, -2)


@implements(ops.matmul)
def matmul_tensor_sparse(x1: Tensor, x2: SparseTensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    transposed = matrix_transpose_sparse(x2)
    if x1.ndim == 1:
        return matmul_sparse_tensor(transposed, x1)
    y = matmul_sparse_tensor(transposed, ops.matrix_transpose(x1))
    return ops.matrix_transpose(y)


@implements(ops.matmul)
def matmul_sparse(x1: SparseTensor, x2: SparseTensor, /) -> SparseTensor:
    check_product(x1.shape, x2.shape)
    values, left = x1.pattern.by_rows(promote(x1.values, x2.dtype))
    others, right = x2.pattern.by_rows(promote(x2.values, x1.dtype))
    plain = is_plain(values) and is_plain(others) and values.dtype.char in KERNEL_TYPES
    ones = [np.ones(len(pattern.second), np.float32) for pattern in (left, right)]
    known = product(left, right, *((values.array, others.array) if plain else ones))
    if known and plain:
        return SparseTensor(known[1], known[0].as_format(x1.format))
    counts = np.diff(right.first)[left.second]
    pairs = np.repeat(np.arange(x1.nnz), counts)
    within = np.arange(len(pairs)) - np.repeat(np.cumsum(counts) - counts, counts)
    partners = np.repeat(right.first[left.second], counts) + within
    keys = left.rows[pairs].astype(np.int64) * x2.shape[1] + right.second[partners]
    unique, places = np.unique(keys, return_inverse=True)
    if known:
        pattern = known[0]
    else:
        pattern = SparsePattern.of_keys(unique, (x1.shape[0], x2.shape[1]))
    places = np.argsort(pattern.keys)[places]
    parts = values[pairs] * others[partners]
    zeros = ops.zeros((len(unique),), dtype=parts.dtype, device=parts.device)
    return SparseTensor(ops.index_put(zeros, places, parts, accumulate=True), pattern.as_format(x1.format))


@implements(ops.matrix_transpose)
def matrix_transpose_sparse(x: SparseTensor, /) -> SparseTensor:
    return SparseTensor(x.values, x.pattern.transposed)


@implements(ops.permute_dims)
def permute_dims_sparse(x: SparseTensor, /, axes: tuple[int, ...]) -> Any:
    if permutation_of("permute_dims", x, axes) == (0, 1):
        return x
    return matrix_transpose_sparse(x)
