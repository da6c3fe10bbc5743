"""`BlockDiagonalTensor`: matrices along the diagonal of a larger one."""

from __future__ import annotations

import itertools
import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit import autograd, linalg, ops
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.printing import cut, summarised
from dispatchkit.types.rules import array_of, check_product, implements, implements_each, plain_arrays
from dispatchkit.types.structured.base import NO_MATRIX, StructuredTensor, as_tensor, implement_pairs, in_one_dtype
from dispatchkit.types.structured.diagonal import DiagonalTensor
from dispatchkit.types.structured.kept import KEPT
from dispatchkit.types.structured.permutation import in_order


@tensor_protocol.array_type(fields=("blocks",))
class BlockDiagonalTensor(StructuredTensor):
    """Square matrices along the diagonal of a larger one, with zeros elsewhere.

    Parameters
    ----------
    blocks : square matrices of any sizes, each a tensor of shape (..., b, b)

    Raises
    ------
    ValueError : if there is no block, or one is not square

    Notes
    -----
    All is done block by block, so that a system takes the sum of b³. Sums and products of matrices with blocks of the
    same sizes, inverses and Cholesky factors have these blocks, too; eigenvectors are those of the blocks in another
    order. Blocks of one shape are computed at once. Source: the block diagonal matrices of linear_operator, SciPy's
    `block_diag`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> m = dk.types.BlockDiagonalTensor([[[2.0, 1.0], [1.0, 2.0]], [[4.0]]])
    >>> m @ dk.ones(3), dk.linalg.trace(m)
    (tensor([3., 3., 4.]), tensor(8.))
    >>> dk.linalg.inv(m).blocks[1]
    tensor([[0.2500]])
    """

    blocks: tuple[Tensor, ...]

    def __init__(self, blocks: Sequence[Any]) -> None:
        behind = _array_of_blocks(blocks)
        if behind is not None:
            if isinstance(blocks, list):
                blocks = tuple(blocks)
            self._hold(wrap_array(Tensor, behind), blocks)
            return
        self.blocks = tuple(as_tensor("BlockDiagonalTensor", "a block", block, 2) for block in blocks)
        shapes = [block.shape for block in self.blocks]
        if not shapes or any(shape[-1] != shape[-2] for shape in shapes):
            raise ValueError(f"BlockDiagonalTensor: the blocks must be square matrices, found shapes {shapes}")
        self.blocks = in_one_dtype(self.blocks)

    # Blocks of one shape that belong to nobody else are one tensor until somebody asks for them: to make tensors of
    # them takes longer than most of what is computed.

    def _hold(self, whole: Tensor, blocks: Iterable[Any] | None = None) -> None:
        """Have the blocks be a tensor of shape (..., K, b, b).

        Parameters
        ----------
        whole : the tensor
        blocks : the arrays that it shows the memory of, if these are to be the blocks
        """
        vars(self)[KEPT] = {WHOLE: (whole, blocks)}

    def _whole(self) -> Tensor | None:
        """Return the tensor that the blocks are as yet; None where they are tensors of their own."""
        whole: Tensor | None = vars(self).get(KEPT, NOTHING).get(WHOLE, (None,))[0]
        return whole

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            held = vars(self).get(KEPT, NOTHING).get(WHOLE)
            if name != "blocks" or held is None:
                raise AttributeError(f"'BlockDiagonalTensor' object has no attribute '{name}'", name=name, obj=self)
            whole, blocks = held
            if blocks is None:
                self.blocks = tuple(ops.unstack(whole, axis=-3))
            else:
                self.blocks = tuple(map(ops.asarray, blocks))
            vars(self)[KEPT] = {}
            return self.blocks

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, of which the blocks are one."""
        return super().__getstate__() | {"blocks": self.blocks}

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of rows of each block."""
        whole = self._whole()
        if whole is not None:
            return whole.shape[-1:] * whole.shape[-3]
        return tuple(block.shape[-1] for block in self.blocks)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        whole = self._whole()
        if whole is not None:
            rows = whole.shape[-3] * whole.shape[-1]
            return (*whole.shape[:-3], rows, rows)
        batch = np.broadcast_shapes(*{block.shape[:-2] for block in self.blocks})
        rows = sum(self.sizes)
        return (*batch, rows, rows)

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        whole = self._whole()
        if whole is not None:
            return whole.dtype
        return np.result_type(*{block.dtype for block in self.blocks})

    @property
    def slices(self) -> list[slice]:
        """The rows of each block."""
        ends = list(itertools.accumulate(self.sizes, initial=0))
        return [slice(start, stop) for start, stop in itertools.pairwise(ends)]

    @property
    def groups(self) -> list[tuple[list[int], Tensor]]:
        """The places of the blocks of each shape, and these blocks as one tensor of shape (K, ..., b, b)."""
        whole = self._whole()
        if whole is not None:
            return [(list(range(whole.shape[-3])), ops.moveaxis(whole, -3, 0))]
        places: dict[tuple[int, ...], list[int]] = {}
        for place, block in enumerate(self.blocks):
            places.setdefault(block.shape, []).append(place)
        if len(places) == 1 and (stack := self._stack()) is not None:
            return [(list(range(len(self.blocks))), wrap_array(Tensor, stack))]
        groups = []
        for group in places.values():
            blocks = [self.blocks[place] for place in group]
            groups.append((group, ops.stack(blocks)))
        return groups

    def stacked(self) -> Tensor | None:
        """Return the blocks as one tensor of shape (..., K, b, b); None where their shapes differ, or there is one."""
        whole = self._whole()
        if whole is not None:
            return whole
        if len(self.blocks) == 1 or len({block.shape for block in self.blocks}) > 1:
            return None
        stack = self._stack()
        if stack is not None:
            return wrap_array(Tensor, stack)
        return ops.stack(self.blocks, axis=-3)

    def _stack(self) -> np.ndarray | None:
        """Return the blocks as one array of shape (K, b, b), which nothing differentiates; None where they are none.

        Blocks that lie behind one another in memory, such as those of one array, are kept as the array that they are
        parts of, which sees all that is written into them; others are copied into one at each call.
        """
        arrays, whole = self._parts_and_whole()
        if whole is None and arrays:
            return _in_one_array(arrays)
        return whole

    def _parts_and_whole(self) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Return the arrays of blocks of one shape, and the array that they are the parts of, None where there is none.

        No array where the blocks are of several shapes, or something differentiates one, or they are one tensor.
        """
        results = vars(self).setdefault(KEPT, {})
        if WHOLE in results:
            array = array_of(results[WHOLE][0])
            if array is None or array.ndim > 3:
                return [], None
            return [], array
        found: tuple[Any, list[np.ndarray], np.ndarray | None] | None = results.get("stack")
        if found is not None and found[0] is self.blocks:
            _, arrays, behind = found
            # Without a step of Python for each block, which would take as long as the product.
            differentiated = autograd.is_grad_enabled() and any(map(VERTEX_OF, self.blocks))
            if not differentiated and all(map(operator.is_, map(ARRAY_OF, self.blocks), arrays)):
                return arrays, behind
        arrays_now = plain_arrays(*self.blocks)
        if arrays_now is None or arrays_now[0].ndim != 2 or len({array.shape for array in arrays_now}) > 1:
            return [], None
        behind = _array_of_parts(arrays_now)
        results["stack"] = self.blocks, arrays_now, behind
        return arrays_now, behind

    def each_block(self, function: Callable[[Any], Any]) -> list[Any]:
        """Return what a function of matrices gives of each block, in order.

        Parameters
        ----------
        function : takes a tensor of shape (K, ..., b, b), and gives one, or a tuple, with an axis of length K in front
        """
        results: list[Any] = [None] * len(self.blocks)
        for group, blocks in self.groups:
            made = function(blocks)
            if isinstance(made, tuple):
                parts = list(zip(*map(ops.unstack, made), strict=True))
            else:
                parts = ops.unstack(made)
            for place, part in zip(group, parts, strict=True):
                results[place] = part
        return results

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        return self.added_to(ops.zeros(self.shape, dtype=self.dtype, device=self.blocks[0].device))

    def map_elements(self, function: Callable[[Any], Any]) -> BlockDiagonalTensor:
        """Return the matrix with a function applied to each block."""
        whole = self._whole()
        if whole is not None:
            return _of_whole(function(whole))
        return BlockDiagonalTensor([function(block) for block in self.blocks])

    def map_batch(self, function: Callable[[Any], Any]) -> Any:
        """Return the matrix with a function of the axes of the batch applied to each block."""
        batch = self.shape[:-2]
        if any(block.shape[:-2] != batch for block in self.blocks):
            return decline("a block broadcasts along the batch")
        return BlockDiagonalTensor([function(block) for block in self.blocks])

    def zip_elements(self, other: BlockDiagonalTensor, function: Callable[[Any, Any], Any]) -> Any:
        """Return a function of two matrices with blocks of the same sizes."""
        if self.sizes != other.sizes:
            return decline("the blocks have different sizes")
        one, two = self.stacked(), other.stacked()
        if one is not None and two is not None:
            return _of_whole(function(one, two))
        return BlockDiagonalTensor([function(*pair) for pair in zip(self.blocks, other.blocks, strict=True)])

    def restricted(self, x: Tensor) -> BlockDiagonalTensor:
        """Return the blocks of a tensor."""
        return BlockDiagonalTensor([x[..., place, place] for place in self.slices])

    def added_to(self, x: Tensor) -> Tensor:
        """Return a tensor with the blocks added."""
        for place, block in zip(self.slices, self.blocks, strict=True):
            index = ops.arange(place.start, place.stop)
            x = ops.index_put(x, (..., index[:, None], index[None, :]), block, accumulate=True)
        return x

    def elements_at(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return the elements at indices."""
        ends = np.cumsum(self.sizes)
        starts = ops.asarray(ends - self.sizes)
        of_row = ops.searchsorted(ends, rows, side="right")
        of_column = ops.searchsorted(ends, columns, side="right")
        elements = ops.zeros((), dtype=self.dtype)
        for group, blocks in self.groups:
            if blocks.shape[-1]:
                position = np.full(len(self.blocks), -1)  # of each block in the group, -1 where it is in another
                position[group] = range(len(group))
                block = ops.asarray(position)[of_row]
                inside = (of_row == of_column) & (block >= 0)
                index = (block, rows - starts[of_row], columns - starts[of_column])
                place = [ops.where(inside, part, 0) for part in index]
                elements = ops.where(inside, ops.moveaxis(blocks, 0, -3)[(..., *place)], elements)
        return ops.broadcast_to(elements, (*self.shape[:-2], *np.broadcast_shapes(rows.shape, columns.shape)))

    def line_at(self, index: int, axis: int) -> Tensor:
        """Return the row or column at an index: that of one block, with zeros around it."""
        place = bisect_right(list(itertools.accumulate(self.sizes)), index)
        start = sum(self.sizes[:place])
        whole = self._whole()
        if whole is not None:
            block = whole[..., place, :, :]
        else:
            block = self.blocks[place]
        if axis == -1:
            line = block[..., :, index - start]
        else:
            line = block[..., index - start, :]
        line = ops.astype(line, self.dtype, copy=False)
        *batch, length, _ = self.shape
        zeros = ops.zeros((*batch, length), dtype=line.dtype, device=line.device)
        inside = ops.broadcast_to(line, (*batch, line.shape[-1]))
        end = start + line.shape[-1]
        return ops.concat([zeros[..., :start], inside, zeros[..., end:]], axis=-1)

    def times(self, columns: Tensor) -> Any:
        """Return the product with a tensor, block by block."""
        blocks = self.stacked()
        if blocks is not None:
            return _joined(ops.matmul(blocks, _parted(columns, blocks)))
        parts = zip(self.slices, self.blocks, strict=True)
        return self._one_below_the_other([block @ columns[..., place, :] for place, block in parts], columns)

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the solution, block by block."""
        blocks = self.stacked()
        if blocks is not None:
            return _joined(linalg.solve(ops.astype(blocks, columns.dtype, copy=False), _parted(columns, blocks)))
        batch = (*self.shape[:-2],)
        solutions = []
        for place, block in zip(self.slices, self.blocks, strict=True):
            matrix = ops.astype(ops.broadcast_to(block, (*batch, *block.shape[-2:])), columns.dtype)
            solutions.append(linalg.solve(matrix, columns[..., place, :]))
        return self._one_below_the_other(solutions, columns)

    def times_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product with a vector or columns, of all blocks at once."""
        arrays, whole = self._parts_and_whole()
        if whole is None:
            if not arrays or not _fit(len(arrays), arrays[0], x):
                return None
            if len(arrays[0]) >= LARGE:
                parts = x.reshape(len(arrays), -1, *x.shape[1:])
                return np.concatenate([array.dot(part) for array, part in zip(arrays, parts, strict=True)])
            whole = _in_one_array(arrays)
        elif not _fit_whole(whole, x):
            return None
        return np.matmul(whole, _parts(x, whole)).reshape(x.shape)

    def array_times(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product of a vector with the matrix, of all blocks at once."""
        stack = self._stack()
        if stack is None or not _fit_whole(stack, x) or x.ndim != 1:
            return None
        return np.matmul(x.reshape(len(stack), 1, -1), stack).reshape(x.shape)

    def solve_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the solution for a vector or columns, of all blocks at once."""
        stack = self._stack()
        if stack is None or not _fit_whole(stack, x) or x.dtype.char not in "fdFD":
            return None
        try:
            return np.linalg.solve(stack, _parts(x, stack)).reshape(x.shape)
        except np.linalg.LinAlgError:
            return None

    def _one_below_the_other(self, parts: Sequence[Tensor], columns: Tensor) -> Any:
        batch = np.broadcast_shapes(self.shape[:-2], columns.shape[:-2])
        return ops.concat([ops.broadcast_to(part, (*batch, *part.shape[-2:])) for part in parts], axis=-2)

    @summarised
    def __repr__(self) -> str:
        return f"BlockDiagonalTensor([{cut(self.blocks)}])"


ARRAY_OF, VERTEX_OF = operator.attrgetter("array"), operator.attrgetter("_node")


LARGE = 64  # rows of blocks in several places, of which copies in one take longer than a product with each
WHOLE = "whole"  # the name of what is kept of blocks that are one tensor
NOTHING: dict[str, Any] = {}


def _of_whole(whole: Tensor) -> BlockDiagonalTensor:
    """Return the matrix of blocks that are one tensor of shape (..., K, b, b), which is nobody else's."""
    matrix = object.__new__(BlockDiagonalTensor)
    matrix._hold(whole)
    return matrix


def _array_of_blocks(blocks: Any) -> np.ndarray | None:
    """Return the array of shape (K, b, b) of which NumPy's arrays are the items; None where they lie otherwise."""
    if not isinstance(blocks, (list, tuple, np.ndarray)) or len(blocks) < 2:
        return None
    first = blocks[0]
    if type(first) is not np.ndarray or first.ndim != 2 or first.shape[0] != first.shape[1] or not first.size:
        return None
    if first.dtype.kind not in "biufc":
        return None
    if isinstance(blocks, np.ndarray):
        whole = blocks.view()
        whole.flags.writeable = False
        return whole
    if {*map(type, blocks)} != {np.ndarray} or {*map(np.shape, blocks)} != {first.shape}:
        return None
    return _array_of_parts(blocks)


def _array_of_parts(parts: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the array whose items along a first axis are some arrays of one shape; None where they lie otherwise."""
    first = parts[0]
    owner = first
    if first.base is not None:
        owner = first.base
    places = []
    for part in parts:
        if part.base is not owner and part is not owner:
            return None
        if part.strides != first.strides or part.dtype != first.dtype:
            return None
        places.append(part.__array_interface__["data"][0])
    step = first.nbytes
    if len(places) > 1:
        step = places[1] - places[0]
    if any(after - before != step for before, after in itertools.pairwise(places)):
        return None
    return np.lib.stride_tricks.as_strided(first, (len(parts), *first.shape), (step, *first.strides), writeable=False)


def _in_one_array(arrays: list[np.ndarray]) -> np.ndarray:
    """Return arrays of one shape as one array of shape (K, ...)."""
    return np.concatenate(arrays).reshape(-1, *arrays[0].shape)


def _fit(count: int, block: np.ndarray, x: np.ndarray) -> bool:
    """Return whether a vector or columns of an array have the rows of so many blocks like one, and their dtype."""
    return x.ndim in {1, 2} and x.shape[0] == count * len(block) and x.dtype == block.dtype and x.size > 0


def _fit_whole(whole: np.ndarray, x: np.ndarray) -> bool:
    """Return whether a vector or columns of an array have the rows of blocks in one array, and their dtype."""
    shape = whole.shape
    return x.ndim in {1, 2} and x.shape[0] == shape[0] * shape[1] and x.dtype == whole.dtype and x.size > 0


def _parts(x: np.ndarray, stack: np.ndarray) -> np.ndarray:
    """Return a vector or columns by blocks, of shape (K, b, M)."""
    return x.reshape(*stack.shape[:2], -1)


def _parted(columns: Tensor, blocks: Tensor) -> Tensor:
    """Return the rows of a tensor of shape (..., N, M) by blocks, in the shape (..., K, b, M)."""
    return ops.reshape(columns, (*columns.shape[:-2], *blocks.shape[-3:-1], columns.shape[-1]))


def _joined(parts: Tensor) -> Tensor:
    """Return parts of shape (..., K, b, M) one below the other, in the shape (..., N, M)."""
    return ops.reshape(parts, (*parts.shape[:-3], parts.shape[-3] * parts.shape[-2], parts.shape[-1]))


implement_pairs(BlockDiagonalTensor)


@implements_each((ops.add, ops.subtract, ops.matmul), BlockDiagonalTensor, DiagonalTensor)
@implements_each((ops.add, ops.subtract, ops.matmul), DiagonalTensor, BlockDiagonalTensor)
def of_blocks_and_diagonal(function: Any, x1: Any, x2: Any, /) -> Any:
    """Return a function of a block diagonal and a diagonal matrix, which is split into parts of the blocks' sizes."""
    if x1.shape[-1] != x2.shape[-1]:
        return decline("the sizes differ")
    if isinstance(x1, BlockDiagonalTensor):
        pairs = zip(x1.blocks, _diagonal_blocks(x2, x1.slices), strict=True)
    else:
        pairs = zip(_diagonal_blocks(x1, x2.slices), x2.blocks, strict=True)
    return BlockDiagonalTensor([function(*pair) for pair in pairs])


def _diagonal_blocks(x: DiagonalTensor, slices: Iterable[slice]) -> tuple[Any, ...]:
    """Return the blocks of a diagonal matrix that lie at some slices of its axes."""
    return tuple([DiagonalTensor(x.values[..., place]) for place in slices])


@implements(ops.matmul)
def matmul_block_diagonals(x1: BlockDiagonalTensor, x2: BlockDiagonalTensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    return x1.zip_elements(x2, ops.matmul)


@implements(ops.matrix_transpose)
def matrix_transpose_block_diagonal(x: BlockDiagonalTensor, /) -> BlockDiagonalTensor:
    return x.map_elements(ops.matrix_transpose)


@implements_each((linalg.inv, linalg.cholesky), BlockDiagonalTensor)
def map_blocks(function: Any, x: BlockDiagonalTensor, /, **options: Any) -> Any:
    if 0 in x.shape[:-2]:
        return decline(NO_MATRIX)
    whole = x.stacked()
    if whole is not None:
        return _of_whole(function(whole, **options))
    return BlockDiagonalTensor(x.each_block(partial(function, **options)))


@implements(linalg.det)
def det_block_diagonal(x: BlockDiagonalTensor, /) -> Tensor:
    first, *others = (ops.prod(linalg.det(blocks), axis=0) for _, blocks in x.groups)
    return math.prod(others, start=first)


@implements(linalg.slogdet)
def slogdet_block_diagonal(x: BlockDiagonalTensor, /) -> Any:
    signs, logarithms = zip(*(linalg.slogdet(blocks) for _, blocks in x.groups), strict=True)
    first, *others = (ops.prod(part, axis=0) for part in signs)
    logarithm, *more = (ops.sum(part, axis=0) for part in logarithms)
    return linalg.SlogdetResult(math.prod(others, start=first), sum(more, logarithm))


@implements_each((linalg.eigvalsh, linalg.svdvals), BlockDiagonalTensor)
def values_of_block_diagonal(function: Any, x: BlockDiagonalTensor, /) -> Any:
    """Return what there is one of for each row, such as eigenvalues, in order over all blocks."""
    if 0 in x.shape[:-2]:
        return decline(NO_MATRIX)
    return ops.sort(_along(x, x.each_block(function)), axis=-1, descending=function is linalg.svdvals)


@implements(linalg.eigh)
def eigh_block_diagonal(x: BlockDiagonalTensor, /) -> Any:
    if 0 in x.shape[:-2]:
        return decline(NO_MATRIX)
    values, vectors = zip(*x.each_block(linalg.eigh), strict=True)
    ordered, moved = in_order(_along(x, values), x.dtype)
    return linalg.EighResult(ordered, BlockDiagonalTensor(vectors) @ moved)


def _along(x: BlockDiagonalTensor, parts: Sequence[Any]) -> Any:
    """Return vectors that belong to the blocks, one after the other."""
    batch = x.shape[:-2]  # of all blocks, which are asked for it once
    return ops.concat([ops.broadcast_to(part, (*batch, part.shape[-1])) for part in parts], axis=-1)
