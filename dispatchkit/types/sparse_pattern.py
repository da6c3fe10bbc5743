"""`SparsePattern`: where the stored elements of a sparse matrix are, and the patterns of sums and products."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from dispatchkit.tensor.printing import cut

FORMATS = ("coo", "csr", "csc")
# From here on indices need 64 bits.
LARGE = 2**31


class SparsePattern:
    """Where the stored elements of a sparse matrix are: fixed, and shared by matrices that differ in the values.

    Parameters
    ----------
    first : for ``"coo"`` the rows; for ``"csr"`` and ``"csc"`` where each row (column) starts among the elements
    second : the columns; for ``"csc"`` the rows
    shape : of the matrix
    format : ``"coo"``, ``"csr"`` or ``"csc"``
    check : False for indices that are known to be right, of which then only the numbers and the ends are looked at. A
        wrong one gives wrong results, or ends the process, since SciPy's functions look at none

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

    def __init__(
        self,
        first: Any,
        second: Any,
        shape: tuple[int, int],
        format: str = "coo",  # SciPy's
        *,
        check: bool = True,
    ) -> None:
        self._set(first, second, shape, format, check=check)
        if check and self._repeats():
            raise ValueError(
                "SparseTensor: an element is stored twice; SparseTensor.coo(..., sum_duplicates=True) adds them up"
            )

    def _set(self, first: Any, second: Any, shape: tuple[int, int], format: str, *, check: bool = True) -> None:
        """Set the indices after checking all but whether an element is there twice; or their numbers alone."""
        if format not in FORMATS:
            raise ValueError(f"SparseTensor: format must be 'coo', 'csr' or 'csc', not {format!r}")
        self.first, self.second, self.format = np.asarray(first), np.asarray(second), format
        self.shape = (int(shape[0]), int(shape[1]))
        for indices in (self.first, self.second):
            if indices.ndim != 1 or (indices.dtype.kind not in "iu" and indices.size):
                raise TypeError(
                    f"SparseTensor: indices must be vectors of integers, found shape {indices.shape} of {indices.dtype}"
                )
        self._check_numbers()
        if check:
            self._check_each()
        self.first, self.second = _narrow(self.first, self.second, self.shape)

    @classmethod
    def of_repeated(cls, rows: Any, columns: Any, shape: tuple[int, int]) -> tuple[SparsePattern, Any]:
        """Return the pattern of places that may be there several times, by rows, and the number of each in it.

        Parameters
        ----------
        rows, columns : integers of shape (n,)
        shape : of the matrix
        """
        repeated = cls.__new__(cls)
        repeated._set(rows, columns, shape, "coo")
        keys, places = np.unique(repeated.keys, return_inverse=True)
        return known_pattern(*np.divmod(keys, max(repeated.shape[1], 1)), repeated.shape, "coo"), places

    def _check_numbers(self) -> None:
        """Check how many indices there are, and where the pointers start and end."""
        if self.format == "coo" and len(self.first) != len(self.second):
            raise ValueError(
                f"SparseTensor: there are {len(self.first)} row indices and {len(self.second)} column indices"
            )
        lines, ends = self.shape[1 if self.format == "csc" else 0], self.first
        if self.format != "coo" and not (len(ends) == lines + 1 and ends[0] == 0 and ends[-1] == len(self.second)):
            raise self._wrong_pointers()

    def _wrong_pointers(self) -> ValueError:
        lines = self.shape[1 if self.format == "csc" else 0]
        return ValueError(
            f"SparseTensor: pointers of {self.format} must rise from 0 to the number of elements, "
            f"{len(self.second)}, in {lines + 1} steps"
        )

    def _check_each(self) -> None:
        """Check that pointers rise and that indices are in range."""
        if self.format != "coo" and not (self.first[1:] >= self.first[:-1]).all():
            raise self._wrong_pointers()
        # Lines are counted by pointers, which have as many.
        axes = [("row", self.first, self.shape[0])] * (self.format == "coo")
        if self.format == "csc":
            axes.append(("row", self.second, self.shape[0]))
        else:
            axes.append(("column", self.second, self.shape[1]))
        for name, indices, length in axes:
            if len(indices) and not _largest_unsigned(indices) < length:
                raise ValueError(f"SparseTensor: a {name} index is out of range for an axis of length {length}")

    def _repeats(self) -> bool:
        """Return whether an element is stored twice."""
        # Whether an index is larger than the one before it, or the first of its line.
        rises = np.empty(len(self.second) + 1, bool)
        rises[0] = rises[-1] = True
        np.greater(self.second[1:], self.second[:-1], out=rises[1:-1])
        if self.format == "coo":
            rises[1:-1] &= self.first[1:] == self.first[:-1]
            rises[1:-1] |= self.first[1:] > self.first[:-1]
        else:
            rises[self.first.astype(np.intp, copy=False)] = True  # NumPy takes narrower ones in twice the time
        return bool(not rises.all() and (np.diff(np.sort(self.keys)) == 0).any())

    @property
    def rows(self) -> Any:
        """Row of each stored element."""
        if self.format == "coo":
            return self.first
        if self.format == "csr":
            return self._lines()
        return self.second

    @property
    def columns(self) -> Any:
        """Column of each stored element."""
        if self.format == "csc":
            return self._lines()
        return self.second

    @property
    def keys(self) -> Any:
        """Number of each stored element, counted along the rows of the whole matrix."""
        return self.rows.astype(np.int64) * self.shape[1] + self.columns

    def _lines(self) -> Any:
        return np.repeat(np.arange(len(self.first) - 1, dtype=self.first.dtype), np.diff(self.first))

    def by_rows(self, values: Any) -> tuple[Any, SparsePattern]:
        """Return values in the order that they have in CSR, and the pattern as CSR, which is kept for the next time.

        Parameters
        ----------
        values : of the stored elements, array of shape (nnz,)
        """
        if self.format == "csr":
            return values, self
        pattern, order = self._by_rows
        return values[order], pattern

    @cached_property
    def _by_rows(self) -> tuple[SparsePattern, Any]:
        tools, numbers = kernels(), np.arange(len(self.second), dtype=self.second.dtype)
        if tools is None:
            order = np.argsort(self.rows, kind="stable")
            return self.of_keys(self.keys[order], self.shape), order
        pointers, columns = np.empty(self.shape[0] + 1, numbers.dtype), np.empty_like(numbers)
        order = np.empty_like(numbers)
        tools.coo_tocsr(*self.shape, numbers.size, self.rows, self.columns, numbers, pointers, columns, order)
        return known_pattern(pointers, columns, self.shape, "csr"), order

    @cached_property
    def _sorted(self) -> tuple[Any, Any]:
        """The rising numbers of the stored elements, and where each of them is stored."""
        order = np.argsort(self.keys, kind="stable")
        return self.keys[order], order

    def find(self, rows: Any, columns: Any) -> tuple[Any, Any]:
        """Return where elements are stored, and whether they are.

        Parameters
        ----------
        rows, columns : integers in range, NumPy arrays of one shape
        """
        keys, order = self._sorted
        if not keys.size:
            return np.zeros(rows.shape, np.int64), np.zeros(rows.shape, bool)
        wanted = rows.astype(np.int64) * self.shape[1] + columns
        places = np.minimum(keys.searchsorted(wanted), keys.size - 1)
        return order[places], keys[places] == wanted

    def of_rows(self, rows: Any) -> tuple[Any, Any, Any]:
        """Return where the elements of rows are stored, and row and column of each in the matrix of these rows.

        Parameters
        ----------
        rows : integers in range, NumPy array of shape (n,); a row may be there twice
        """
        if self.format == "csr":
            pattern, order = self, None
        else:
            pattern, order = self._by_rows
        starts = pattern.first[rows].astype(np.int64)
        counts = pattern.first[rows + 1] - starts
        numbers = np.repeat(np.arange(len(rows)), counts)
        ends = np.cumsum(counts)
        places = np.repeat(starts - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)
        if order is None:
            return places, numbers, pattern.second[places]
        return order[places], numbers, pattern.second[places]

    @cached_property
    def transposed(self) -> SparsePattern:
        """The pattern of the transpose, which shares the indices."""
        if self.format == "coo":
            return known_pattern(self.second, self.first, self.shape[::-1], "coo")
        if self.format == "csr":
            return known_pattern(self.first, self.second, self.shape[::-1], "csc")
        return known_pattern(self.first, self.second, self.shape[::-1], "csr")

    def as_format(self, format: str) -> SparsePattern:
        """Return a pattern in CSR for the result of a rule: as COO where its first operand is.

        Parameters
        ----------
        format : of the first operand, ``"coo"``, ``"csr"`` or ``"csc"``
        """
        if format == "coo":
            return known_pattern(self.rows, self.second, self.shape, "coo")
        return self

    @staticmethod
    def of_keys(keys: Any, shape: tuple[int, int]) -> SparsePattern:
        """Return the pattern of elements with rising numbers.

        Parameters
        ----------
        keys : the number of each element, counted row by row from 0 on; NumPy array of shape (nnz,), rising
        shape : of the matrix
        """
        rows, columns = np.divmod(keys, max(shape[1], 1))
        return known_pattern(np.searchsorted(rows, np.arange(shape[0] + 1)), columns, shape, "csr")

    def __reduce__(self) -> Any:
        return known_pattern, (self.first, self.second, self.shape, self.format)

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
        same = self.shape == other.shape and np.array_equal(self.rows, other.rows)
        return same and np.array_equal(self.columns, other.columns)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        indices = f"first=[{cut(self.first.tolist())}], second=[{cut(self.second.tolist())}]"
        return f"SparsePattern({indices}, shape={self.shape}, format={self.format!r})"


def _largest_unsigned(indices: Any) -> int:
    """Return the largest of some integers, in one pass, where one below 0 counts as more than any length."""
    return int(indices.view(indices.dtype.str.replace("i", "u")).max())


def _narrow(first: Any, second: Any, shape: Any) -> tuple[Any, Any]:
    """Return indices of one type, of 32 bits where these are enough: SciPy's kernels take no others."""
    dtype: Any = np.int64
    if max(*shape, len(second)) < LARGE:
        dtype = np.int32
    return first.astype(dtype, copy=False), second.astype(dtype, copy=False)


def known_pattern(first: Any, second: Any, shape: Any, format: str) -> SparsePattern:
    """Return a pattern whose indices are known to be right."""
    pattern = SparsePattern.__new__(SparsePattern)
    pattern.first, pattern.second = _narrow(first, second, shape)
    pattern.shape, pattern.format = tuple(shape), format
    return pattern


def assembled(rows: Any, columns: Any, shape: tuple[int, int], format: str) -> tuple[SparsePattern, Any]:
    """Return the pattern of elements of which none is there twice, and their order in it; None for the same.

    Parameters
    ----------
    rows, columns : integers in range, NumPy arrays of shape (nnz,)
    shape : of the matrix
    format : of the pattern
    """
    if format == "coo":
        return known_pattern(rows, columns, shape, "coo"), None
    if format == "csr":
        lines, others = rows, columns
    else:
        lines, others = columns, rows
    order = np.lexsort((others, lines))
    counts = np.bincount(lines, minlength=shape[0 if format == "csr" else 1])
    return known_pattern(np.append(0, np.cumsum(counts)), others[order], shape, format), order


def kernels() -> Any:
    """Return the functions that SciPy's sparse matrices call, which check nothing; None where it is not installed."""
    try:
        return import_module("scipy.sparse")._sparsetools
    except ImportError:
        return None


def union(first: SparsePattern, second: SparsePattern) -> tuple[SparsePattern, Any, Any]:
    """Return the CSR pattern of what either of two stores, and for each element its number in both, 0 if absent.

    Parameters
    ----------
    first, second : in CSR, of one shape; their elements are counted from 1 on
    """
    tools, counts = kernels(), (len(first.second), len(second.second))
    if tools is None or sum(counts) >= LARGE:
        keys, places = np.unique(np.concatenate([first.keys, second.keys]), return_inverse=True)
        left, right = np.zeros((2, len(keys)), int)
        left[places[: counts[0]]], right[places[counts[0] :]] = (np.arange(1, count + 1) for count in counts)
        return SparsePattern.of_keys(keys, first.shape), left, right
    # The numbers are in the lower and in the upper half, and no sum of them is 0, which SciPy would leave out.
    left, right = (np.arange(unit, (count + 1) * unit, unit) for count, unit in zip(counts, (1, 2**32), strict=True))
    pointers, columns = np.empty_like(first.first), np.empty(sum(counts), first.first.dtype)
    codes = np.empty(sum(counts), np.int64)
    arrays = [first.first, first.second, left, second.first, second.second, right]
    tools.csr_plus_csr(*first.shape, *arrays, pointers, columns, codes)
    codes = codes[: pointers[-1]]
    left = codes & (2**32 - 1)
    codes >>= 32
    return known_pattern(pointers, columns[: len(codes)], first.shape, "csr"), left, codes


def combine_elements(
    kernel: str, first: SparsePattern, second: SparsePattern, values: Any, others: Any
) -> tuple[SparsePattern, Any] | None:
    """Return the CSR pattern of a sum or a product of elements by SciPy's kernels, and its elements.

    None without SciPy, and where a zero comes out, which SciPy leaves out.

    Parameters
    ----------
    kernel : ``"csr_plus_csr"`` or ``"csr_elmul_csr"``
    first, second : in CSR, of one shape
    values, others : of the elements; NumPy arrays of one dtype that the kernels know
    """
    tools, counts = kernels(), (len(values), len(others))
    if tools is None or sum(counts) >= LARGE:
        return None
    combine, pointers = getattr(tools, kernel), np.empty_like(first.first)
    columns, combined = np.empty(sum(counts), first.first.dtype), np.empty(sum(counts), values.dtype)
    indices = (first.first, first.second), (second.first, second.second)
    stored = None
    if not _gives_no_zero(kernel, values, others):
        # How many elements there are to store: those of sums, or products, of ones, none of which is 0.
        ones = [np.ones(count, np.int8) for count in counts]
        places = (pointers, columns, combined.view(np.int8))
        combine(*first.shape, *indices[0], ones[0], *indices[1], ones[1], *places)
        stored = int(pointers[-1])
    combine(*first.shape, *indices[0], values, *indices[1], others, pointers, columns, combined)
    count = int(pointers[-1])
    if stored is not None and count != stored:
        return None
    return known_pattern(pointers, columns[:count], first.shape, "csr"), combined[:count]


def _gives_no_zero(kernel: str, values: Any, others: Any) -> bool:
    """Return whether it is plain to see that no sum, or no product, of elements of two arrays is 0."""
    if values.dtype.kind != "f" or not (values.size and others.size):
        return False
    if kernel == "csr_plus_csr":
        return bool(values.min() > 0 < others.min())
    return bool(np.abs(values).min() * np.abs(others).min() > 0)


def product(first: SparsePattern, second: SparsePattern, values: Any, others: Any) -> tuple[SparsePattern, Any] | None:
    """Return the CSR pattern of a product by SciPy's kernels, and its elements; None without SciPy.

    Parameters
    ----------
    first, second : in CSR
    values, others : of the elements; NumPy arrays of one dtype that the kernels know
    """
    tools, shape = kernels(), (first.shape[0], second.shape[1])
    if tools is None:
        return None
    indices = (first.first, first.second, second.first, second.second)
    dtype = np.result_type(*indices)
    size = tools.csr_matmat_maxnnz(*shape, *(part.astype(dtype, copy=False) for part in indices))
    dtype = np.result_type(dtype, np.int32 if size < LARGE else np.int64)
    a, b, c, d = (part.astype(dtype, copy=False) for part in indices)
    pointers, columns, y = np.empty(len(a), a.dtype), np.empty(size, a.dtype), np.empty(size, values.dtype)
    tools.csr_matmat(*shape, a, b, values, c, d, others, pointers, columns, y)
    if pointers[-1] < size:
        # SciPy leaves out zeros that come out, but from blocks of two elements, here each with a 0; in reverse order.
        y, blocks = np.zeros((size, 2), y.dtype), np.stack([others, np.zeros_like(others)], axis=1)
        tools.bsr_matmat(size, *shape, 1, 2, 1, a, b, values, c, d, blocks.ravel(), pointers, columns, y.ravel())
        back = np.repeat(pointers[:-1] + pointers[1:] - 1, np.diff(pointers)) - np.arange(size)
        columns, y = columns[back], y[back, 0]
    return known_pattern(pointers, columns, shape, "csr"), y
