"""`SparseTensor`: a matrix of which some elements are stored, the others being zero."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

import numpy as np

from dispatchkit import ops
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import ArrayMethods, Tensor

__all__ = ["SparsePattern", "SparseTensor", "scipy_array"]

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
    made = SparsePattern.__new__(SparsePattern)
    first, second = _narrow(first, shape), _narrow(second, shape)
    made.first, made.second, made.shape, made.format = first, second, tuple(shape), format
    return made


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
        duplicates = not matrix.has_canonical_format
        if duplicates:
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
