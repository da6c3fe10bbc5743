"""Elements, rows, columns and parts of sparse matrices, and matrices that are joined from several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.types.rules import all_finite, array_of, axes_of, axis_of, implements, implements_each
from dispatchkit.types.sparse.matrix import SparseTensor, matrix_transpose_sparse
from dispatchkit.types.sparse_pattern import assembled

WHOLE = slice(None)
THREE_AXES = "the result has three axes"


@implements(ops.getitem, SparseTensor)
def getitem_sparse(x: Any, key: Any, /) -> Any:
    parts = _read_key(x, key if isinstance(key, tuple) else (key,))
    if parts is NotImplemented:
        return parts
    new = [i for i, part in enumerate(parts) if part is None]
    row, column = (part for part in parts if part is not None)
    arrays = [part for part in (row, column) if isinstance(part, np.ndarray)]
    if any(part.ndim for part in arrays):
        if new:
            return decline("a new axis beside vectors")
        return _by_vectors(x, row, column)
    if len(arrays) == 2:
        return ops.reshape(_elements(x, row, column), (1,) * len(new))
    if not arrays:
        if new:
            return decline(THREE_AXES)
        return _part(x, row, column)
    if len(new) == 1:
        return _line_as_matrix(x, row, column, parts)
    kept = [part for part in parts if not isinstance(part, np.ndarray)]
    line = _line(x, row, column)
    if new:
        return ops.expand_dims(line, axis=tuple(i for i, part in enumerate(kept) if part is None))
    return line


def _read_key(x: Any, key: tuple[Any, ...]) -> Any:
    """Return the index of each axis: integers from 0 on as arrays, slices, and None for new axes; or a decline."""
    if not isinstance(x, SparseTensor) or any(isinstance(part, Tensor) and part.is_tracer for part in key):
        return decline("the index is not known")
    if len(key) == 1 and _is_mask(key[0], x):
        mask = key[0]
        if not isinstance(mask, SparseTensor):
            return list(np.nonzero(_as_indices(mask)))
        rows, columns = (index.numpy() for index in nonzero_sparse(mask))
        return [rows, columns]
    parts: list[Any] = []
    for part in key:
        if isinstance(part, (slice, type(None), type(Ellipsis))):
            parts.append(part)
            continue
        index = _as_indices(part)
        if index is NotImplemented:
            return index
        parts.append(index)
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if used > 2 or sum(part is Ellipsis for part in parts) > 1:
        raise IndexError(f"getitem: the index is for more than the two axes of a matrix: {key}")
    gap = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    parts = [*parts[:gap], *[WHOLE] * (2 - used), *parts[gap + 1 :]]
    axis = 0
    for i, part in enumerate(parts):
        if part is not None:
            parts[i] = _in_range(part, x.shape[axis])
            axis += 1
    return parts


def _is_mask(part: Any, x: SparseTensor) -> bool:
    return getattr(part, "dtype", None) == np.bool_ and part.shape == x.shape


def _as_indices(part: Any) -> Any:
    """Return an index as a NumPy array; a decline for one that adds an axis, or is sparse."""
    if isinstance(part, SparseTensor):
        return decline("a sparse matrix is an index as a mask of the same shape alone")
    if type(part) is int:
        return np.array(part)
    if isinstance(part, Tensor):
        part = part.detach().numpy()
    dtype = None
    if not np.size(part):
        dtype = int
    index = np.asarray(part, dtype)
    if index.dtype.kind not in "iub":
        raise IndexError(f"getitem: an index must be of integers or booleans, found {index.dtype}")
    if index.dtype == np.bool_ and not index.ndim:
        return decline("a boolean adds an axis")
    return index


def _in_range(part: Any, length: int) -> Any:
    """Return an index of an axis with numbers from 0 on."""
    if isinstance(part, slice):
        return part
    if part.dtype == np.bool_:
        if part.shape != (length,):
            raise IndexError(f"getitem: a mask of shape {part.shape} does not fit an axis of length {length}")
        return np.flatnonzero(part)
    if not part.ndim:
        number = int(part)
        if not -length <= number < length:
            raise IndexError(f"getitem: index {number} is out of range for an axis of length {length}")
        return np.array(number % length)
    outside = part[(part < -length) | (part >= length)]
    if outside.size:
        raise IndexError(f"getitem: index {outside.flat[0]} is out of range for an axis of length {length}")
    return np.where(part < 0, part + length, part)


def _elements(x: SparseTensor, rows: np.ndarray, columns: np.ndarray) -> Any:
    """Return the elements at indices in range, of one shape: plain, with zeros for what is not stored."""
    places, stored = x.pattern.find(rows, columns)
    if stored.all():
        return x.values[places]
    plain = array_of(x.values)
    if plain is not None and plain.size:
        return wrap_array(Tensor, np.where(stored, plain[places], plain.dtype.type(0)))
    # In the graph also where none is stored: their gradient is zero.
    values = x.values if x.values.size else ops.pad(x.values, (1, 0))
    return ops.where(stored, values[places], ops.zeros((), dtype=x.dtype, device=x.device))


def _line(x: SparseTensor, row: Any, column: Any) -> Any:
    """Return a part of one row or of one column as a vector."""
    if isinstance(row, slice):
        return _line(matrix_transpose_sparse(x), column, row)
    places, _, columns = x.pattern.of_rows(row.reshape(1))
    chosen = range(x.shape[1])[column]
    if chosen != range(x.shape[1]):
        kept, columns = _chosen(columns, chosen)
        places = places[kept]
    zeros = ops.zeros((len(chosen),), dtype=x.dtype, device=x.device)
    return ops.index_put(zeros, columns, x.values[places])


def _chosen(numbers: np.ndarray, chosen: range) -> tuple[np.ndarray, np.ndarray]:
    """Return which of some indices a range has, and their places in it."""
    steps = (numbers.astype(np.int64) - chosen.start) // chosen.step
    kept = (steps >= 0) & (steps < len(chosen)) & (chosen.start + steps * chosen.step == numbers)
    return kept, steps[kept]


def _line_as_matrix(x: SparseTensor, row: Any, column: Any, parts: list[Any]) -> SparseTensor:
    """Return one row or column, beside which the index has a new axis, as a matrix of one row or column."""
    of_row = isinstance(row, np.ndarray)
    if of_row:
        number = int(row)
    else:
        number = int(column)
    alone = slice(number, number + 1)
    if of_row:
        part = _part(x, alone, column)
    else:
        part = _part(x, row, alone)
    new = next(i for i, index in enumerate(parts) if index is None)
    before = any(isinstance(index, slice) for index in parts[new:])
    if before == of_row:
        return part
    return matrix_transpose_sparse(part)


def _part(x: SparseTensor, row: slice, column: slice) -> SparseTensor:
    """Return the submatrix of two slices."""
    rows, columns = range(x.shape[0])[row], range(x.shape[1])[column]
    if (len(rows), len(columns)) == x.shape and rows.step == columns.step == 1:
        return x
    places = np.arange(x.nnz)
    of_rows, of_columns = x.pattern.rows, x.pattern.columns
    if x.format == "csr" and len(rows) < x.shape[0]:
        places, numbers, of_columns = x.pattern.of_rows(np.asarray(rows, np.int64))
    else:
        kept, numbers = _chosen(of_rows, rows)
        places, of_columns = places[kept], of_columns[kept]
    kept, others = _chosen(of_columns, columns)
    return _built(x, places[kept], numbers[kept], others, (len(rows), len(columns)))


def _built(x: SparseTensor, places: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> SparseTensor:
    """Return a matrix in the format of another with some of its elements in new places."""
    pattern, order = assembled(rows, columns, shape, x.format)
    if order is not None:
        places = places[order]
    return SparseTensor(x.values[places], pattern)


def _by_vectors(x: SparseTensor, row: Any, column: Any) -> Any:
    """Return rows or columns, all pairs of both, or elements, by arrays of indices."""
    if isinstance(row, slice):
        if column.ndim > 1:
            return decline(THREE_AXES)
        return matrix_transpose_sparse(_by_vectors(matrix_transpose_sparse(x), column, row))
    if isinstance(column, slice):
        if row.ndim > 1:
            return decline(THREE_AXES)
        places, numbers, columns = x.pattern.of_rows(row)
        rows = _built(x, places, numbers, columns, (len(row), x.shape[1]))
        return _part(rows, WHOLE, column)
    if row.ndim == column.ndim == 2 and row.shape[1] == 1 and column.shape[0] == 1:
        return _by_vectors(_by_vectors(x, row[:, 0], WHOLE), WHOLE, column[0])
    return _elements(x, *np.broadcast_arrays(row, column))


@implements(ops.take)
def take_sparse(x: SparseTensor, indices: Any, /, *, axis: Any = None) -> Any:
    is_vector = isinstance(indices, (Tensor, np.ndarray)) and indices.ndim <= 1 and indices.dtype.kind in "iu"
    if axis is None or not (is_vector or isinstance(indices, int)):
        return decline("elements are taken by a vector of integers along an axis")
    return getitem_sparse(x, (WHOLE,) * axis_of("take", x, axis) + (indices,))


# Other orders and parts.


@implements(ops.flip)
def flip_sparse(x: SparseTensor, /, *, axis: Any = None) -> SparseTensor:
    axes = axes_of("flip", x, axis)
    rows, columns = (slice(None, None, -1) if i in axes else WHOLE for i in (0, 1))
    return _part(x, rows, columns)


@implements(ops.roll)
def roll_sparse(x: SparseTensor, /, shift: Any, *, axis: Any = None) -> Any:
    if not isinstance(axis, int) or not isinstance(shift, int) or 0 in x.shape:
        return decline("rows or columns are rolled alone")
    axis = axis_of("roll", x, axis)
    indices = [x.pattern.rows.astype(np.int64), x.pattern.columns.astype(np.int64)]
    indices[axis] = (indices[axis] + shift) % x.shape[axis]
    return _built(x, np.arange(x.nnz), indices[0], indices[1], x.shape)


@implements(ops.moveaxis)
def moveaxis_sparse(x: SparseTensor, source: Any, destination: Any, /) -> Any:
    if not (isinstance(source, int) and isinstance(destination, int)):
        return decline("several axes move")
    same = axis_of("moveaxis", x, source) == axis_of("moveaxis", x, destination)
    if same:
        return x
    return matrix_transpose_sparse(x)


@implements_each((ops.tril, ops.triu), SparseTensor)
def triangle_sparse(op: Any, x: SparseTensor, /, *, k: int = 0) -> SparseTensor:
    """Keep the stored elements on one side of a diagonal."""
    offsets = x.pattern.columns.astype(np.int64) - x.pattern.rows
    if op is ops.tril:
        kept = offsets <= k
    else:
        kept = offsets >= k
    places = np.flatnonzero(kept)
    return _built(x, places, x.pattern.rows[places], x.pattern.columns[places], x.shape)


@implements(linalg.diagonal)
def diagonal_sparse(x: SparseTensor, /, *, offset: int = 0) -> Any:
    rows, columns = x.shape
    along = np.arange(max(min(rows, rows + offset, columns, columns - offset), 0))
    return _elements(x, along + max(-offset, 0), along + max(offset, 0))


@implements(linalg.trace)
def trace_sparse(x: SparseTensor, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return ops.sum(diagonal_sparse(x, offset=offset), dtype=dtype)


@implements(ops.diag)
def diag_sparse(x: SparseTensor, /, *, offset: int = 0) -> Any:
    return diagonal_sparse(x, offset=offset)


@implements_each((ops.broadcast_to, ops.expand), SparseTensor)
def broadcast_to_sparse(op: Any, x: SparseTensor, /, shape: Any) -> Any:
    """Return what has the shape already."""
    if tuple(shape) == x.shape:
        return x
    return decline("the result has another shape")


@implements(ops.squeeze)
def squeeze_sparse(x: SparseTensor, /, axis: Any = None) -> Any:
    gone = {i for i in axes_of("squeeze", x, axis) if x.shape[i] == 1 or axis is not None}
    if any(x.shape[i] != 1 for i in gone):
        return decline("an axis is longer than 1")
    return getitem_sparse(x, tuple(0 if i in gone else WHOLE for i in (0, 1)))


@implements(ops.unstack)
def unstack_sparse(x: SparseTensor, /, *, axis: int = 0) -> tuple[Any, ...]:
    before = (WHOLE,) * axis_of("unstack", x, axis)
    return tuple(getitem_sparse(x, (*before, i)) for i in range(x.shape[len(before)]))


@implements(ops.nonzero)
def nonzero_sparse(x: SparseTensor, /) -> Any:
    if x.values.is_tracer:
        return decline("the elements are not known")
    here = np.flatnonzero(np.asarray(x.values.detach().numpy()))
    keys = np.sort(x.pattern.keys[here])
    return tuple(ops.asarray(index).to(like=x.values) for index in np.divmod(keys, max(x.shape[1], 1)))


@implements(ops.argwhere)
def argwhere_sparse(x: SparseTensor, /) -> Any:
    places = nonzero_sparse(x)
    if places is NotImplemented:
        return places
    return ops.stack(places, axis=1)


# Joined matrices.


@implements(ops.concat, SparseTensor)
def concat_sparse(arrays: Sequence[Any], /, *, axis: Any = 0) -> Any:
    if axis is None or not all(isinstance(x, SparseTensor) for x in arrays):
        return decline("all arrays need to be sparse, and an axis to be given")
    first = arrays[0]
    axis = axis_of("concat", first, axis)
    lengths = {x.shape[1 - axis] for x in arrays}
    if len(lengths) > 1:
        raise ValueError(f"concat: the other axes must be equally long, found shapes {[x.shape for x in arrays]}")
    ends = np.cumsum([x.shape[axis] for x in arrays])
    starts = np.repeat(ends - [x.shape[axis] for x in arrays], [x.nnz for x in arrays])
    rows = np.concatenate([x.pattern.rows.astype(np.int64) for x in arrays])
    columns = np.concatenate([x.pattern.columns.astype(np.int64) for x in arrays])
    length, values = int(ends[-1]), ops.concat([x.values for x in arrays])
    if axis == 0:
        return _in_format(values, rows + starts, columns, (length, first.shape[1]), first.format)
    return _in_format(values, rows, columns + starts, (first.shape[0], length), first.format)


def _in_format(values: Any, rows: Any, columns: Any, shape: tuple[int, int], format: str) -> SparseTensor:
    """Return the matrix of elements of which none is there twice, in a format."""
    pattern, order = assembled(rows, columns, shape, format)
    if order is not None:
        values = values[order]
    return SparseTensor(values, pattern)


@implements(ops.repeat)
def repeat_sparse(x: SparseTensor, repeats: Any, /, *, axis: Any = None) -> Any:
    if axis is None or not isinstance(repeats, int):
        return decline("whole rows or columns are repeated equally often")
    axis = axis_of("repeat", x, axis)
    return getitem_sparse(x, (WHOLE,) * axis + (np.repeat(np.arange(x.shape[axis]), repeats),))


@implements(ops.tile)
def tile_sparse(x: SparseTensor, repetitions: Any, /) -> Any:
    counts: tuple[int, ...]
    if isinstance(repetitions, int):
        counts = (1, repetitions)
    else:
        counts = (*(1,) * (2 - len(repetitions)), *repetitions)
    if len(counts) > 2 or 0 in counts:
        return decline(THREE_AXES)
    wide = concat_sparse([x] * counts[1], axis=1)
    return concat_sparse([wide] * counts[0], axis=0)


@implements(ops.pad)
def pad_sparse(x: SparseTensor, /, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0) -> Any:
    if mode != "constant" or not np.isscalar(constant_values) or constant_values != 0:
        return decline("what is added is not zero")
    widths = np.broadcast_to(np.asarray(pad_width), (2, 2))
    if (widths < 0).any():
        return decline("the widths are negative")
    rows, columns = x.pattern.rows.astype(np.int64) + widths[0, 0], x.pattern.columns.astype(np.int64) + widths[1, 0]
    shape = (x.shape[0] + int(widths[0].sum()), x.shape[1] + int(widths[1].sum()))
    return _built(x, np.arange(x.nnz), rows, columns, shape)


@implements(ops.diff)
def diff_sparse(x: SparseTensor, /, n: int = 1, *, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    if prepend is not None or append is not None or x.dtype == np.bool_ or n < 0:
        return decline("only differences of the matrix itself stay sparse")
    before = (WHOLE,) * axis_of("diff", x, axis)
    for _ in range(n):
        x = getitem_sparse(x, (*before, slice(1, None))) - getitem_sparse(x, (*before, slice(None, -1)))
    return x


@implements(ops.kron)
def kron_sparse(x1: SparseTensor, x2: SparseTensor, /) -> Any:
    if not all_finite(x1.values, x2.values):
        return decline("0 times inf or nan is nan where nothing is stored")
    left, right = x1.pattern, x2.pattern
    rows = left.rows.astype(np.int64)[:, None] * x2.shape[0] + right.rows
    columns = left.columns.astype(np.int64)[:, None] * x2.shape[1] + right.columns
    shape = (x1.shape[0] * x2.shape[0], x1.shape[1] * x2.shape[1])
    values = ops.reshape(x1.values[:, None] * x2.values, (x1.nnz * x2.nnz,))
    return _in_format(values, rows.ravel(), columns.ravel(), shape, x1.format)
